package books

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"remit/internal/search/markdown"
	"remit/internal/toolsets/books/bookimport"
)

// Finding is an error or a warning about a book.
type Finding struct {
	Level   string `json:"level"`          // error or warning
	Path    string `json:"path"`           // in the book; "" for the book as a whole
	Line    int    `json:"line,omitempty"` // 0 for the file as a whole
	Rule    string `json:"rule"`           // a short, stable name
	Message string `json:"message"`
}

// The levels of findings. An error is wrong whatever the book is used for.
const (
	isError   = "error"
	isWarning = "warning"
)

// Validate checks a book and returns its findings ordered by path and line.
func (l *Library) Validate(ctx context.Context, bookID string, report func(Progress)) ([]Finding, error) {
	if err := checkID(bookID); err != nil {
		return nil, err
	}
	h, err := l.locate(ctx, bookID)
	if err != nil {
		return nil, err
	}
	files, err := l.files(ctx, h, "")
	if err != nil {
		return nil, err
	}
	if len(files) == 0 && !h.registered {
		return nil, l.missing(ctx, h, "")
	}
	v := newInspection(h, files)
	if err := v.read(ctx, l, files, report); err != nil {
		return nil, failure(ctx, err)
	}
	v.checkAll()
	slices.SortStableFunc(v.findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Rule, b.Rule))
	})
	return v.findings, nil
}

// inspection is the state of a Validate call. Paths are relative to the book.
type inspection struct {
	location location
	files    []string
	there    map[string]bool // files and folders
	texts    map[string]*markdown.Document
	broken   []string            // texts that are not UTF-8
	used     map[string]bool     // files that a text refers to
	named    map[string][]string // files by base name; built when first needed
	findings []Finding
}

func newInspection(h location, files []Object) *inspection {
	v := &inspection{location: h, there: map[string]bool{"": true, ".": true}, texts: map[string]*markdown.Document{}, used: map[string]bool{}}
	for i := range files {
		path := strings.TrimPrefix(files[i].Key, h.key(""))
		v.files = append(v.files, path)
		v.there[path] = true
		for at := strings.LastIndexByte(path, '/'); at > 0 && !v.there[path[:at]]; at = strings.LastIndexByte(path[:at], '/') {
			v.there[path[:at]] = true
		}
	}
	return v
}

// read reads and parses every text of the book.
func (v *inspection) read(ctx context.Context, l *Library, files []Object, report func(Progress)) error {
	var texts []int
	total := int64(0)
	for i, path := range v.files {
		if bookimport.IsMarkdown(path) || path == bookFile {
			texts = append(texts, i)
			total += files[i].Size
		}
	}
	count := newCounter(total, report)
	parsed := make([]*markdown.Document, len(texts))
	err := inParallel(ctx, maxParallel, len(texts), func(ctx context.Context, n int) error {
		i := texts[n]
		data, err := l.text(ctx, &filed{Object: files[i], store: v.location.store})
		if err != nil {
			return err
		}
		if text := string(data); utf8.ValidString(text) {
			if v.files[i] == bookFile {
				text = "---\n" + text + "\n---\n"
			}
			parsed[n] = markdown.Parse(text)
		}
		count.add(v.files[i], files[i].Size)
		return nil
	})
	for n, i := range texts {
		if parsed[n] == nil {
			v.broken = append(v.broken, v.files[i])
			continue
		}
		v.texts[v.files[i]] = parsed[n]
	}
	return err
}

func (v *inspection) add(level, path string, line int, rule, message string) {
	v.findings = append(v.findings, Finding{level, path, line, rule, message})
}

// checkAll applies every rule.
func (v *inspection) checkAll() {
	if !v.location.registered {
		v.add(isError, "", 0, "unregistered", "the book is not in registry.yaml, so it is not listed; the next write registers it")
	}
	for _, path := range v.broken {
		v.add(isError, path, 0, "not-utf8", "it is not UTF-8, so it cannot be read as text")
	}
	for _, path := range v.files {
		d := v.texts[path]
		switch {
		case d == nil:
		case path == bookFile:
			v.checkFrontMatter(path, d, 1)
		default:
			v.checkText(path, d)
			v.checkLinks(path, d)
		}
	}
	v.checkSummaries()
	v.checkAssets()
}
