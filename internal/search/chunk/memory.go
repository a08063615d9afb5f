package chunk

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"remit/internal/search/entries"
	"remit/internal/search/outline"
)

// Memory cuts a memory file into discoveries: a file of JSON lines has one in each line, a Markdown
// file one in each item and section. It skips lines that cannot be parsed, and entries that later
// ones supersede or take back. A discovery has no module unless it names a module or a file.
func Memory(name string, content []byte) []Chunk {
	found := memoryChunks(name, entries.Current(name, content))
	if bytes.Contains(content, []byte("supersedes")) {
		tellSuperseded(found, entries.Parse(name, content))
	}
	return found
}

// tellSuperseded adds to the text of a chunk that it supersedes an earlier entry.
func tellSuperseded(found []Chunk, list []entries.Entry) {
	for _, e := range list {
		i, _ := slices.BinarySearchFunc(found, e.Line, func(p Chunk, line int) int { return cmp.Compare(p.End, line) })
		if e.Supersedes == "" || e.State != entries.Live || i == len(found) || found[i].Line > e.Line {
			continue
		}
		note := "\n(supersedes the entry " + e.Supersedes + ")"
		text := found[i].Text
		found[i].Text = strings.TrimRight(text[:boundary(text, MaxText-len(note))], " \t\n") + note
	}
}

func memoryChunks(name string, content []byte) []Chunk {
	f := newFile(name, "markdown", content)
	switch strings.ToLower(path.Ext(name)) {
	case ".md", ".markdown", ".txt":
		return f.practices()
	}
	var found []Chunk
	for n := 1; n <= f.lines(); n++ {
		line := strings.TrimSpace(f.line(n))
		if line == "" {
			continue
		}
		if p, ok := Entry(name, line); ok {
			p.Line, p.End = n, n
			found = append(found, p)
		}
	}
	return inOrder(found)
}

// practices treats everything in a document as discoveries.
func (f *file) practices() []Chunk {
	d := readDocument(f)
	d.purpose = practices
	found := d.chunks()
	for i := range found {
		p := &found[i]
		if p.Source != Discovery {
			p.Source, p.Type = Discovery, practiceType(p.Text)
		}
	}
	return inOrder(found)
}

// Entry parses one line of a memory file. It returns false if the line contains no text.
func Entry(name, line string) (Chunk, bool) {
	var value any
	if json.Unmarshal([]byte(line), &value) != nil {
		return Chunk{}, false
	}
	e := entry{}
	switch v := value.(type) {
	case string:
		e.add(v)
	case map[string]any:
		e.read(v)
	case []any:
		e.add(stringsIn(v, 0)...)
	}
	if wordBytes(e.text) == 0 {
		return Chunk{}, false
	}
	if e.kind == "" {
		e.kind = cmp.Or(typeNamed(stem(path.Base(name))), guessType(e.text))
	}
	return Chunk{
		Source: Discovery, Type: e.kind, Name: e.tags, Text: cutText(e.text), Module: e.module, Session: e.session, Date: e.date,
	}, true
}

// An entry is the parsed content of a memory line.
type entry struct {
	text, kind, tags, module, session string
	date                              time.Time
}

// add appends texts, each on its own line, except those already contained.
func (e *entry) add(texts ...string) {
	for _, text := range texts {
		if len(e.text) > MaxText {
			return
		}
		text = strings.TrimSpace(strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", " "))
		said, more := strings.ToLower(e.text), strings.ToLower(text)
		switch {
		case text == "" || strings.Contains(said, more):
		case e.text == "" || strings.Contains(more, said):
			e.text = text
		default:
			e.text += "\n" + text
		}
	}
}

// read reads an object by the keys that people commonly use.
func (e *entry) read(object map[string]any) {
	byKey := map[string]any{}
	for key, value := range object { // created_at, createdAt and "Created At" are the same key
		byKey[strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(key))] = value
	}
	for _, key := range contentKeys() {
		e.add(stringsIn(byKey[key], 0)...)
	}
	known := e.text != ""
	for _, key := range []string{"rationale", "reason", "reasoning", "why", "context", "cause", "rootcause", "consequences", "impact"} {
		e.add(stringsIn(byKey[key], 0)...)
	}
	if other := stringsIn(byKey["alternatives"], 0); known && len(other) > 0 {
		e.add("Alternatives: " + strings.Join(other, "; "))
	}
	e.about(byKey)
	if e.text == "" {
		e.add(otherTexts(byKey)...)
	}
}

// contentKeys returns the keys of an entry's content, in display order.
func contentKeys() []string {
	return []string{
		"title", "topic", "summary", "content", "text", "message", "decision", "choice", "rule", "convention", "constraint", "policy", "pattern",
		"practice", "bestpractice", "technique", "issue", "problem", "bug", "error", "incident", "symptom", "description", "details", "lesson",
		"lessonlearned", "learning", "insight", "note", "notes", "body", "entry", "fix", "solution", "resolution", "outcome",
	}
}

// about reads the metadata of an entry: type, module, session, date and tags.
func (e *entry) about(byKey map[string]any) {
	e.kind = typeNamed(firstOf(byKey, "type", "kind", "category"))
	for _, key := range []string{"decision", "rule", "pattern", "issue", "bug", "problem", "fix", "lesson", "error"} {
		if e.kind == "" && len(stringsIn(byKey[key], 0)) > 0 {
			e.kind = typeNamed(key)
		}
	}
	e.session = firstOf(byKey, "sessionid", "session")
	e.tags = strings.Join(stringsIn(byKey["tags"], 0), ", ")
	e.module = firstOf(byKey, "module", "component", "area")
	if file := firstOf(byKey, "file", "path", "filepath", "files", "paths"); e.module == "" && file != "" {
		file, _, _ = strings.Cut(strings.ReplaceAll(file, "\\", "/"), ":")
		e.module = outline.Module(strings.TrimLeft(file, "./"))
	}
	for _, key := range dateKeys() {
		if e.date.IsZero() {
			e.date = dateValue(byKey[key])
		}
	}
}

func dateKeys() []string {
	return []string{"timestamp", "date", "createdat", "created", "time", "datetime", "ts", "updatedat"}
}

// firstOf returns the first text under any of these keys.
func firstOf(byKey map[string]any, keys ...string) string {
	for _, key := range keys {
		if texts := stringsIn(byKey[key], 0); len(texts) > 0 {
			return strings.TrimSpace(texts[0])
		}
	}
	return ""
}

// dateValue parses a date: a text, or a number of seconds or milliseconds.
func dateValue(value any) time.Time {
	switch v := value.(type) {
	case string:
		return dateOf(v)
	case float64:
		if v > 1e11 {
			v /= 1000
		}
		if v > 0 && v < 1e11 {
			return ourTime(time.Unix(int64(v), 0))
		}
	}
	return time.Time{}
}

// otherTexts returns the texts of an entry under unknown keys, ordered by key, without metadata.
func otherTexts(byKey map[string]any) []string {
	var all []string
	about := append(dateKeys(), "type", "kind", "category", "sessionid", "session", "module", "id", "uuid", "tags", "version", "author", "user",
		"supersedes")
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		if !slices.Contains(about, key) {
			all = append(all, stringsIn(byKey[key], 0)...)
		}
	}
	return all
}

// maxValueDepth limits the search for texts within nested values.
const maxValueDepth = 6

// stringsIn returns the texts in a value, in order.
func stringsIn(value any, depth int) []string {
	switch v := value.(type) {
	case string:
		if strings.TrimSpace(v) != "" {
			return []string{v}
		}
	case []any:
		var all []string
		for _, one := range v {
			if depth < maxValueDepth {
				all = append(all, stringsIn(one, depth+1)...)
			}
		}
		return all
	case map[string]any:
		if depth >= maxValueDepth {
			return nil
		}
		var all []string
		for _, key := range slices.Sorted(maps.Keys(v)) {
			all = append(all, stringsIn(v[key], depth+1)...)
		}
		return all
	}
	return nil
}
