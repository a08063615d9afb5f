package chunk

import (
	"path"
	"slices"
	"strings"
	"time"
	"unicode"

	"remit/internal/search/markdown"
)

// A document is a text for people, in sections.
type document struct {
	*file
	front
	purpose  purpose
	sections []section
}

// A section is a heading with the text up to the next heading.
type section struct {
	path     []string // headings, its own last
	level    int
	from, to int
	blocks   []block // without its heading
}

func (s *section) title() string {
	if len(s.path) == 0 {
		return ""
	}
	return s.path[len(s.path)-1]
}

func (s *section) name() string { return strings.Join(s.path, " > ") }

// readDocument parses the sections of a file.
func readDocument(f *file) *document {
	d := &document{file: f, front: readFront(f), purpose: purposeOf(f.name)}
	var path []string
	var levels []int
	if d.title != "" {
		path, levels = []string{d.title}, []int{0}
	}
	s := section{path: slices.Clone(path), from: d.after, to: d.after - 1}
	for _, b := range f.blocks(d.after) {
		if b.kind != heading {
			s.blocks = append(s.blocks, b)
			s.to = b.to
			continue
		}
		d.close(s)
		for len(levels) > 0 && (levels[len(levels)-1] >= b.level || len(levels) == 1 && path[0] == b.title) {
			path, levels = path[:len(path)-1], levels[:len(levels)-1]
		}
		path, levels = append(path, b.title), append(levels, b.level)
		s = section{path: slices.Clone(path), level: b.level, from: b.from, to: b.to}
	}
	d.close(s)
	if d.purpose == prose && d.isDecision() {
		d.purpose = decisions
	}
	return d
}

func (d *document) close(s section) {
	if s.level > 0 || len(s.blocks) > 0 {
		d.sections = append(d.sections, s)
	}
}

// A purpose is what people use a document for.
type purpose int

const (
	prose        purpose = iota
	decisions            // a record of one decision
	instructions         // rules for people and agents who work on the project
	contributing         // such rules among other things
	practices            // a list of good practices
)

// purposeOf determines the purpose of a document by its path. Decisions in files with other names
// are recognised by their content.
func purposeOf(name string) purpose {
	lower := strings.ToLower(strings.ReplaceAll(name, "\\", "/"))
	base := path.Base(lower)
	folder := "/" + path.Dir(lower) + "/"
	switch base {
	case "claude.md", "claude.local.md", "agents.md", "agent.md", "gemini.md", "copilot-instructions.md", ".cursorrules", ".windsurfrules",
		".clinerules", ".goosehints", "conventions.md":
		return instructions
	}
	extension := path.Ext(base)
	isText := extension == ".md" || extension == ".mdx" || extension == ".mdc" || extension == ".markdown" || extension == ".rst" || extension == ".adoc" || extension == ".txt"
	inside := func(folders ...string) bool {
		return slices.ContainsFunc(folders, func(f string) bool { return strings.Contains(folder, "/"+f+"/") })
	}
	switch {
	case !isText:
		return prose
	case inside(".cursor/rules", ".github/instructions", ".claude/rules", ".windsurf/rules"):
		return instructions
	case strings.HasPrefix(base, "best_practices"), strings.HasPrefix(base, "best-practices"), strings.HasPrefix(base, "bestpractices"):
		return practices
	case strings.HasPrefix(base, "contributing"):
		return contributing
	case inside("adr", "adrs", "decisions", "architecture-decisions", "decision-records") && !isGuide(base):
		return decisions
	}
	return prose
}

// isGuide reports whether a file among decision records is about them, and not a decision itself.
func isGuide(base string) bool {
	stem := stem(base)
	return stem == "readme" || stem == "index" || strings.Contains(stem, "template") || stem == "about"
}

// isDecision reports whether a document records a decision: by its title, or by a number in the
// file name and two of the typical headings.
func (d *document) isDecision() bool {
	if title := strings.ToUpper(d.heading()); strings.HasPrefix(title, "ADR") && (len(title) == 3 || !unicode.IsLetter(rune(title[3]))) {
		return true
	}
	base := path.Base(d.name)
	digits := len(base) - len(strings.TrimLeft(base, "0123456789"))
	if !strings.HasPrefix(strings.ToLower(base), "adr") && (digits < 3 || digits >= len(base) || strings.IndexByte("-_ ", base[digits]) < 0) {
		return false
	}
	count := 0
	for i := range d.sections {
		switch strings.ToLower(d.sections[i].title()) {
		case "status", "context", "decision", "decision outcome", "context and problem statement", "consequences":
			count++
		}
	}
	return count >= 2
}

// heading returns the title of the document: its first heading, or the title in its front matter.
func (d *document) heading() string {
	for i := range d.sections {
		if len(d.sections[i].path) > 0 {
			return d.sections[i].path[0]
		}
	}
	return d.title
}

// A front is the front matter of a document.
type front struct {
	title, kind, module, status, session string
	tags                                 []string
	date                                 time.Time
	after                                int // the first line after it
}

// readFront reads the front matter of a document: keys with values on one line, and lists of words.
// It is deliberately not a YAML or TOML parser: a document with invalid front matter is still worth
// indexing.
func readFront(f *file) front {
	matter := markdown.FindFront(f.text)
	found := front{after: 1 + strings.Count(f.text[:matter.Length], "\n")}
	key := ""
	for line := range strings.Lines(matter.Body) {
		key = found.read(strings.TrimRight(line, "\n"), key)
	}
	return found
}

// read reads a line; list items belong to the key before them. It returns the key to which the next
// lines belong.
func (fm *front) read(line, before string) string {
	text := strings.TrimSpace(line)
	if rest, ok := strings.CutPrefix(text, "- "); ok {
		fm.set(before, rest)
		return before
	}
	if indent(line) > 0 || strings.HasPrefix(text, "#") {
		return before
	}
	i := strings.IndexAny(text, ":=")
	if i < 0 {
		return ""
	}
	key := strings.ToLower(strings.TrimSpace(text[:i]))
	fm.set(key, text[i+1:])
	return key
}

func (fm *front) set(key, value string) {
	value = strings.Trim(strings.TrimSpace(value), `"'`)
	if i := strings.Index(value, " #"); i >= 0 {
		value = strings.Trim(value[:i], `"' `)
	}
	if value == "" {
		return
	}
	switch key {
	case "title":
		fm.title = cutName(value)
	case "date", "created", "created_at", "timestamp":
		fm.date = dateOf(value)
	case "type", "kind", "category":
		fm.kind = value
	case "module", "component", "area":
		fm.module = value
	case "status", "state":
		fm.status = value
	case "session", "session_id", "sessionid":
		fm.session = value
	case "tags", "keywords", "labels":
		for tag := range strings.SplitSeq(strings.Trim(value, "[]"), ",") {
			if tag = strings.Trim(tag, `"' `); tag != "" {
				fm.tags = append(fm.tags, tag)
			}
		}
	}
}
