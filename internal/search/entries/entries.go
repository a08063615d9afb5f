// Package entries parses memory files: which entries they have, which of them later entries
// supersede or take back, and which say almost the same. It does not read files.
package entries

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"remit/internal/search/markdown"
)

// State says whether an entry still counts.
type State string

// The states of an entry.
const (
	Live       State = ""
	Superseded State = "superseded" // a later entry takes its place
	Undone     State = "undone"     // a later entry takes it back
)

// Entry is an entry of a memory file: a line of a .jsonl file, a list item or a paragraph of a
// Markdown file with the code, table or quote after it.
type Entry struct {
	ID         string // the beginning of the hash of Text
	Line, End  int    // its first and last line, counted from 1
	Text       string // as it is in the file, with newlines as line ends
	Supersedes string // the ID of the earlier entry that this one supersedes or takes back, or ""
	Undo       bool   // it only takes the earlier entry back
	State      State
	By         string // the ID of the entry that superseded it or took it back
}

// idLength is how many hexadecimal digits an ID has.
const idLength = 12

// IsID reports whether a text has the form of an ID.
func IsID(text string) bool {
	return len(text) == idLength && strings.Trim(text, "0123456789abcdef") == ""
}

func idOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:idLength/2])
}

// IsLog reports whether a memory file has a JSON value in each line. All others are Markdown.
func IsLog(name string) bool { return strings.EqualFold(path.Ext(name), ".jsonl") }

// Parse returns the entries of a memory file, the oldest first. An entry that was superseded still
// supersedes others; one that was taken back does not.
func Parse(name string, content []byte) []Entry {
	text := string(bytes.TrimPrefix(content, []byte("\uFEFF")))
	var list []Entry
	if IsLog(name) {
		list = parseLog(text)
	} else {
		list = parseMarkdown(strings.ReplaceAll(text, "\r\n", "\n"))
	}
	settle(list)
	return list
}

func parseLog(text string) (list []Entry) {
	number := 0
	for line := range strings.Lines(text) {
		number++
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		list = append(list, newLine(line, number))
	}
	return list
}

func newLine(line string, number int) Entry {
	e := Entry{ID: idOf(line), Line: number, End: number, Text: line}
	e.Supersedes, e.Undo = markOfLine(line)
	return e
}

// The words that mark an entry that supersedes another or takes it back.
const (
	supersedesKey = "supersedes"
	undoType      = "undo"
)

// markOfLine returns what a JSON line supersedes. Other values under the same key mean nothing.
func markOfLine(line string) (supersedes string, undo bool) {
	if !strings.Contains(line, supersedesKey) {
		return "", false
	}
	var fields struct{ Supersedes, Type any }
	if json.Unmarshal([]byte(line), &fields) != nil {
		return "", false
	}
	id, _ := fields.Supersedes.(string)
	if !IsID(id) {
		return "", false
	}
	return id, fields.Type == undoType
}

// parseMarkdown returns the entries of a Markdown file. Headings and comments are none. Text that
// is appended changes no entry before a comment, because a comment ends the block above it.
func parseMarkdown(text string) (list []Entry) {
	d := markdown.Parse(text)
	supersedes := "" // by the next entry
	last := -1       // where the last entry begins, if code, a table or a quote still belongs to it
	for _, b := range d.Blocks {
		block := strings.TrimSpace(text[b.Start:b.End])
		id, undo := markOfComment(block)
		switch isPart := b.Kind == markdown.Code || b.Kind == markdown.Table || b.Kind == markdown.Quote; {
		case id != "" && !undo:
			supersedes, last = id, -1
		case b.Kind == markdown.Title || block == "" || b.Kind == markdown.Remark && !undo:
			last = -1
		case isPart && last >= 0:
			e := &list[len(list)-1]
			e.End, e.Text = d.Line(b.End), strings.TrimSpace(text[last:b.End])
		case undo:
			list, last = append(list, Entry{Line: d.Line(b.Start), End: d.Line(b.End), Text: block, Supersedes: id, Undo: true}), -1
		default:
			list = append(list, Entry{Line: d.Line(b.Start), End: d.Line(b.End), Text: block, Supersedes: supersedes})
			supersedes, last = "", b.Start
		}
	}
	for i := range list {
		list[i].ID = idOf(list[i].Text)
	}
	return list
}

// markOfComment returns what the comment of a Markdown file supersedes or takes back.
func markOfComment(block string) (id string, undo bool) {
	inner, isComment := strings.CutPrefix(block, "<!--")
	inner, ends := strings.CutSuffix(inner, "-->")
	word, id, _ := strings.Cut(strings.TrimSpace(inner), ":")
	id = strings.TrimSpace(id)
	if !isComment || !ends || !IsID(id) || word != supersedesKey && word != undoType {
		return "", false
	}
	return id, word == undoType
}

// settle sets the states of entries. It begins with the newest, because an entry that was taken
// back has no effect.
func settle(list []Entry) {
	type mark struct {
		state State
		by    string
	}
	marks := map[string]mark{}
	for i := range slices.Backward(list) {
		e := &list[i]
		found := marks[e.ID]
		e.State, e.By = found.state, found.by
		if e.Supersedes == "" || e.State == Undone {
			continue
		}
		if _, named := marks[e.Supersedes]; named {
			continue
		}
		state := Superseded
		if e.Undo {
			state = Undone
		}
		marks[e.Supersedes] = mark{state, e.ID}
	}
}

// Current returns the content of a memory file with blank lines in place of the entries that were
// superseded or taken back, and of those that only take others back.
func Current(name string, content []byte) []byte {
	if !bytes.Contains(content, []byte(supersedesKey)) && !bytes.Contains(content, []byte(undoType)) {
		return content
	}
	gone := map[int]bool{}
	for _, e := range Parse(name, content) {
		for n := e.Line; (e.State != Live || e.Undo) && n <= e.End; n++ {
			gone[n] = true
		}
	}
	if len(gone) == 0 {
		return content
	}
	var b bytes.Buffer
	number := 0
	for line := range bytes.Lines(content) {
		if number++; gone[number] {
			line = line[len(bytes.TrimRight(line, "\r\n")):] // the last line may have no end
		}
		b.Write(line)
	}
	return b.Bytes()
}

// Mark returns an entry as it is stored if it supersedes an earlier one: a JSON object gets another
// key, Markdown a comment above it. It returns false if the entry is neither.
func Mark(name, text, supersedes string) (string, bool) {
	if !IsLog(name) {
		if strings.TrimSpace(text) == UndoEntry(name, "") {
			return "<!-- undo: " + supersedes + " -->", true
		}
		return "<!-- supersedes: " + supersedes + " -->\n" + text, true
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &fields) != nil || fields == nil {
		return "", false
	}
	if _, given := fields[supersedesKey]; given {
		id, _ := markOfLine(text)
		return text, id == supersedes
	}
	open := strings.TrimRight(strings.TrimSuffix(strings.TrimSpace(text), "}"), " \t\r\n")
	if len(fields) > 0 {
		open += ","
	}
	return open + `"supersedes":"` + supersedes + `"}`, true
}

// UndoEntry returns the entry that takes back the one that it supersedes.
func UndoEntry(name, timestamp string) string {
	if !IsLog(name) {
		return "<!-- undo -->"
	}
	return `{"timestamp":"` + timestamp + `","type":"undo"}`
}
