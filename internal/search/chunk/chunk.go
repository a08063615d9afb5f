// Package chunk cuts files into chunks for semantic search: functions, types, sections and
// discoveries. It does not index or rank them.
package chunk

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"time"

	"remit/internal/search/outline"
)

// The sources of a chunk. Session is for chunks that describe sessions; no file is cut into it.
const (
	Discovery = "discovery"
	Code      = "code"
	Docs      = "docs"
	Session   = "session"
)

// The types of a discovery.
const (
	Pattern  = "pattern"
	Rule     = "rule"
	Decision = "decision"
	Issue    = "issue"
)

const (
	// MaxText is the maximum length of a chunk's text in bytes.
	MaxText = 2000
	// MaxChunks is the maximum number of chunks of a project file.
	MaxChunks = 400
)

// A Chunk is a chunk: a meaningful part of a file.
type Chunk struct {
	// Source is Discovery, Code, Docs or Session.
	Source string
	// Type is the type of a discovery: Pattern, Rule, Decision or Issue. Other chunks have none.
	Type string
	// Name is the name of a symbol ("AuthService.login"; "Len, Less, Swap" for several short ones),
	// or the path of a heading ("Setup > Docker"). It may be empty.
	Name string
	// Text is the text to display: valid UTF-8 without NUL, at most MaxText bytes.
	Text string
	// Module is the module of the file, unless the text names another.
	Module string
	// Session is the session that the text names, or empty.
	Session string
	// Date is the date that the text contains, in UTC, or zero.
	Date time.Time
	// Line and End are its first and last line. Both count from 1.
	Line, End int
}

// Of cuts a project file into chunks, ordered by line. Binary files and files that no person reads
// have no chunks; generated files and data have at most one.
func Of(name string, content []byte) []Chunk {
	how, language := kindOf(name, content)
	if how == nothing {
		return nil
	}
	f := newFile(name, language, content)
	var found []Chunk
	switch how {
	case asHead:
		found = f.head()
	case asProse:
		found = readDocument(f).chunks()
	default:
		found = append(f.code(), f.marked()...)
	}
	return f.finish(found)
}

// finish sets the common fields of a file's chunks, and removes excess chunks.
func (f *file) finish(found []Chunk) []Chunk {
	module := outline.Module(f.name)
	for i := range found {
		found[i].Module = cmp.Or(found[i].Module, module)
	}
	return inOrder(mostTelling(found, MaxChunks))
}

// inOrder sorts chunks by line, and shortens and cleans names that came from a text.
func inOrder(found []Chunk) []Chunk {
	for i := range found {
		p := &found[i]
		p.Name, p.Module, p.Session = cutName(p.Name), cutName(p.Module), cutName(p.Session)
	}
	slices.SortStableFunc(found, func(a, b Chunk) int { return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.End, b.End)) })
	return found
}

// mostTelling returns at most limit chunks: discoveries first, then the beginnings of symbols, then
// the rest.
func mostTelling(found []Chunk, limit int) []Chunk {
	if len(found) <= limit {
		return found
	}
	ranked := make([]Chunk, 0, len(found))
	for rank := range 3 {
		last := ""
		for _, p := range found {
			if rankOf(p, last) == rank {
				ranked = append(ranked, p)
			}
			last = p.Name
		}
	}
	return ranked[:limit]
}

func rankOf(p Chunk, nameBefore string) int {
	switch {
	case p.Source == Discovery:
		return 0
	case p.Name != "" && p.Name != nameBefore:
		return 1
	}
	return 2
}

// IndexText returns the text of a chunk that is indexed and embedded: the last parts of the path,
// the name and the text. For a discovery, only a few words about its subject precede the text.
func (p *Chunk) IndexText(name string) string {
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

// writeSubject writes the subject of a discovery: its module, or else the name of its file, and the
// headings above it. It is brief, since more words would dominate a short text. The symbol at which
// a comment stands is not a heading.
func (p *Chunk) writeSubject(b *strings.Builder, name string) {
	module := p.about()
	writeLine(b, module)
	if module == "" {
		writeLine(b, tellingStem(name))
	}
	if strings.Contains(p.Name, " ") {
		writeLine(b, p.telling())
	}
}

// about returns the module of a discovery, if it is informative.
func (p *Chunk) about() string {
	if p.Module == outline.Root || p.Module == "docs" || p.Module == "adr" {
		return ""
	}
	return p.Module
}

// telling returns the part of a discovery's name that adds to its text: not the title of the whole
// document, which all its chunks share, and not a heading with which the text begins.
func (p *Chunk) telling() string {
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

// lastParts returns the last two folders of a path and the file name without extension, as words.
func lastParts(name string) string {
	parts := strings.Split(path.Clean("/"+strings.ToValidUTF8(name, " ")), "/")[1:]
	last := len(parts) - 1
	parts[last] = stem(parts[last])
	return strings.TrimSpace(strings.Join(parts[max(0, last-2):], " "))
}

// tellingStem returns the name of a file without its extension, if it is informative.
func tellingStem(name string) string {
	base := strings.ToLower(path.Base(name))
	switch purpose := purposeOf(name); {
	case strings.HasSuffix(base, ".jsonl"), purpose == instructions, purpose == contributing, purpose == practices:
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
