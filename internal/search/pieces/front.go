package pieces

import (
	"strings"
	"time"

	"remit/internal/search/markdown"
)

// A front is what a document says about itself before it begins.
type front struct {
	title, kind, module, status, session string
	tags                                 []string
	date                                 time.Time
	after                                int // the first line of the document itself
}

// readFront reads the front matter of a document, of which it knows keys with values on one line, and lists of words. It is no
// reader of YAML or TOML: what one of those refuses is still worth finding.
func readFront(f *file) front {
	matter := markdown.FindFront(f.text)
	found := front{after: 1 + strings.Count(f.text[:matter.Length], "\n")}
	key := ""
	for line := range strings.Lines(matter.Body) {
		key = found.read(strings.TrimRight(line, "\n"), key)
	}
	return found
}

// read reads a line; those of a list belong to the key before. It returns the key that lines after it belong to.
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
