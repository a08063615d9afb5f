// Package chunk cuts files into the pieces that are searched by meaning: functions, types, headings and discoveries.
package chunk

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"time"

	"remit/internal/search/outline"
)

// These are the sources of a piece. Session is for those who tell of sessions; no file is cut into it.
const (
	Discovery = "discovery"
	Code      = "code"
	Docs      = "docs"
	Session   = "session"
)

// These are the types of a discovery.
const (
	Pattern  = "pattern"
	Rule     = "rule"
	Decision = "decision"
	Issue    = "issue"
)

const (
	// MaxText is the length of the longest text of a piece, in bytes.
	MaxText = 2000
	// MaxPieces is how many pieces a file of the project has at most.
	MaxPieces = 400
)

// A Piece is a part of a file that says something of its own.
type Piece struct {
	// Source is Discovery, Code, Docs or Session.
	Source string
	// Type is the kind of a discovery: Pattern, Rule, Decision or Issue. Other pieces have none.
	Type string
	// Name is that of a symbol ("AuthService.login"; "Len, Less, Swap" of several short ones), or the path of a heading
	// ("Setup > Docker"). It may be empty.
	Name string
	// Text is what is shown: valid UTF-8 without NUL, of at most MaxText bytes.
	Text string
	// Module is the module of the file, unless the text says otherwise.
	Module string
	// Session is the session that the text names; empty if it names none.
	Session string
	// Date is the date that the text gives, in UTC; zero if it gives none.
	Date time.Time
	// Line and End are the first and the last line of it. Both count from 1.
	Line, End int
}

// Of cuts a file of a project, in order of lines. What is not text has no pieces, nor has what no person reads; what was
// generated and data have one at most.
func Of(name string, content []byte) []Piece {
	how, language := kindOf(name, content)
	if how == nothing {
		return nil
	}
	f := newFile(name, language, content)
	var found []Piece
	switch how {
	case asHead:
		found = f.head()
	case asProse:
		found = readDocument(f).pieces()
	default:
		found = append(f.code(), f.marked()...)
	}
	return f.finish(found)
}

// finish fills in what every piece of a file has, and leaves out what is too much.
func (f *file) finish(found []Piece) []Piece {
	module := outline.Module(f.name)
	for i := range found {
		found[i].Module = cmp.Or(found[i].Module, module)
	}
	return inOrder(mostTelling(found, MaxPieces))
}

// inOrder sorts pieces by their lines, and makes names short and clean that came from a text.
func inOrder(found []Piece) []Piece {
	for i := range found {
		p := &found[i]
		p.Name, p.Module, p.Session = cutName(p.Name), cutName(p.Module), cutName(p.Session)
	}
	slices.SortStableFunc(found, func(a, b Piece) int { return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.End, b.End)) })
	return found
}

// mostTelling keeps so many pieces: discoveries first, then what begins a symbol, then the rest.
func mostTelling(found []Piece, most int) []Piece {
	if len(found) <= most {
		return found
	}
	ranked := make([]Piece, 0, len(found))
	for rank := range 3 {
		last := ""
		for _, p := range found {
			if rankOf(p, last) == rank {
				ranked = append(ranked, p)
			}
			last = p.Name
		}
	}
	return ranked[:most]
}

func rankOf(p Piece, nameBefore string) int {
	switch {
	case p.Source == Discovery:
		return 0
	case p.Name != "" && p.Name != nameBefore:
		return 1
	}
	return 2
}

// Words is what is indexed and embedded of a piece in a file: the last parts of the path, the name and the text. A
// discovery stands for itself: before its text is only what it is about, in a few words.
func (p *Piece) Words(name string) string {
	var b strings.Builder
	b.Grow(len(p.Name) + len(p.Text) + 64)
	if p.Source == Discovery {
		p.writeSubject(&b, name)
	} else {
		writeLine(&b, lastParts(name))
		writeLine(&b, p.Name)
	}
	b.WriteString(p.Text)
	return b.String()
}

// writeSubject writes what a discovery is about, in few words, as those of a short text would drown in more: its module,
// or else the name of its file, and the headings above it. The symbol that a comment stands at is no heading.
func (p *Piece) writeSubject(b *strings.Builder, name string) {
	module := p.about()
	writeLine(b, module)
	if module == "" {
		writeLine(b, tellingStem(name))
	}
	if strings.Contains(p.Name, " ") {
		writeLine(b, p.telling())
	}
}

// about is the module that a discovery is of, if that says anything.
func (p *Piece) about() string {
	if p.Module == outline.Root || p.Module == "docs" || p.Module == "adr" {
		return ""
	}
	return p.Module
}

// telling is what of a discovery's name says more than its text: neither the title of a whole document, which all in it
// share, nor a heading that the text begins with.
func (p *Piece) telling() string {
	name := p.Name
	if _, rest, ok := strings.Cut(name, " > "); ok {
		name = rest
	}
	if i := strings.LastIndex(name, " > "); i >= 0 && strings.HasPrefix(p.Text, name[i+3:]) {
		return name[:i]
	}
	if strings.HasPrefix(p.Text, name) {
		return ""
	}
	return name
}

func writeLine(b *strings.Builder, text string) {
	if text != "" {
		b.WriteString(text)
		b.WriteByte('\n')
	}
}

// lastParts gives the last two folders of a path and the name of its file without an extension, as words.
func lastParts(name string) string {
	parts := strings.Split(path.Clean("/"+strings.ToValidUTF8(name, " ")), "/")[1:]
	last := len(parts) - 1
	parts[last] = stem(parts[last])
	return strings.TrimSpace(strings.Join(parts[max(0, last-2):], " "))
}

// tellingStem is the name of a file without its extension, if it says what the file is about.
func tellingStem(name string) string {
	base := strings.ToLower(path.Base(name))
	switch habit := habitOf(name); {
	case strings.HasSuffix(base, ".jsonl"), habit == instructions, habit == contributing, habit == practices:
		return ""
	case strings.HasPrefix(base, "readme"), strings.HasPrefix(base, "index."):
		return ""
	}
	return stem(path.Base(strings.ToValidUTF8(name, " ")))
}

func stem(base string) string {
	if cut := strings.TrimSuffix(base, path.Ext(base)); cut != "" {
		return cut
	}
	return base
}
