package console

import (
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/frontends/console/highlight"
	"remit/internal/frontends/console/markdown"
	"remit/internal/toolsets/learning"
)

// memoryPage is the data of the memory page: entries or a document.
type memoryPage struct {
	Here               string // the URL of this page
	Files              []engine.Resource
	Types              []string
	File, Type, Search string
	Days               []group[memoryEntry]
	Found              int
	Document           template.HTML
	Notes              []string
	Pager              pager
	Unserved           *unserved
}

// memoryEntry is an entry as the page shows it.
type memoryEntry struct {
	File, Type, Text string
	Line             int // line number in the file; 0 if unknown
	At               time.Time
	Fields           []frontField

	tree    jsontree.Value
	raw     string
	typeKey string // the field that contains Type
}

const (
	memoryAddress = "memory://"
	// maxMemoryBytes is how much of a memory file, counted from its end, a page shows.
	maxMemoryBytes = 512 << 10
	// entriesPerPage is the number of entries on one page.
	entriesPerPage = 50
)

func (v *visit) showMemory() error {
	q := v.r.URL.Query()
	page := &memoryPage{
		Here: v.r.URL.RequestURI(),
		File: q.Get("file"), Type: q.Get("type"), Search: q.Get("search"),
		Unserved: v.missingTool("memory files", "learning-os", "read_repo_file"),
	}
	if page.Unserved == nil {
		if err := v.fillMemory(page); err != nil {
			return err
		}
	}
	return v.page("memory", "memory", "Memory", page)
}

func (v *visit) fillMemory(page *memoryPage) error {
	resources, err := v.Pages.Resources(v.r.Context(), nil)
	if err != nil {
		return memoryError(err)
	}
	known := false
	for _, r := range resources {
		if strings.HasPrefix(r.URI, memoryAddress) {
			page.Files = append(page.Files, r)
			known = known || r.Name == page.File
		}
	}
	switch {
	case page.File != "" && !known:
		return contract.Errorf(contract.NotFound, "There is no memory file %q", page.File)
	case isMarkdown(page.File):
		return v.readDocument(page)
	default:
		return v.readEntries(page)
	}
}

// memoryError converts an internal failure of the memory store, which may be a database, to
// Unavailable.
func memoryError(err error) error {
	if contract.AsError(err).Kind != contract.Internal {
		return err
	}
	return contract.Errorf(contract.Unavailable, "Memory cannot be read right now; try again").Because(err)
}

// readTail reads the end of a memory file, from the start of a line, without the entries that were
// superseded or taken back. If that is not the whole file, it adds a note to the page.
func (v *visit) readTail(page *memoryPage, file string) (text string, whole bool, err error) {
	who := engine.Requester{Principal: v.person.Principal(), Frontend: frontendPage}
	contents, err := v.Pages.Read(v.r.Context(), who, memoryAddress+file)
	if err != nil {
		return "", false, memoryError(err)
	}
	text = contents[0].Text
	if contents[0].Blob != nil {
		text = strings.ToValidUTF8(string(contents[0].Blob), "\ufffd")
	}
	whole = len(contents) == 1
	if len(text) > maxMemoryBytes {
		text, whole = text[len(text)-maxMemoryBytes:], false
		if _, rest, _ := strings.Cut(text, "\n"); rest != "" {
			text = rest
		} else { // a single line longer than maxMemoryBytes
			text = strings.ToValidUTF8(text, "")
		}
	}
	if !whole {
		page.Notes = append(page.Notes, fmt.Sprintf("%s is long: only its last %d KiB are shown.", file, len(text)>>10))
	}
	return learning.Current(file, text), whole, nil
}

func (v *visit) readDocument(page *memoryPage) error {
	text, whole, err := v.readTail(page, page.File)
	if err != nil {
		return err
	}
	if whole {
		_, text = markdown.Split(text)
	}
	page.Document = markdown.Render([]byte(text), markdown.Options{Shift: 1, Highlight: highlight.Code})
	return nil
}

// readEntries reads the entries of all files that have one entry per line, newest first.
func (v *visit) readEntries(page *memoryPage) error {
	var all []memoryEntry
	for _, file := range page.Files {
		if isMarkdown(file.Name) || page.File != "" && file.Name != page.File {
			continue
		}
		text, whole, err := v.readTail(page, file.Name)
		if err != nil {
			return err
		}
		all = append(all, entriesOf(file.Name, text, whole)...)
	}
	for _, e := range all {
		if e.Type != "" && !slices.Contains(page.Types, e.Type) && len(page.Types) < 100 {
			page.Types = append(page.Types, e.Type)
		}
	}
	slices.Sort(page.Types)
	all = slices.DeleteFunc(all, func(e memoryEntry) bool { return !e.matches(page) })
	slices.SortStableFunc(all, func(a, b memoryEntry) int { return b.At.Compare(a.At) })
	page.Found = len(all)
	shown, pages := pageOf(v, all, entriesPerPage)
	page.Pager = pages
	for i := range shown {
		shown[i].fillFields()
	}
	page.Days = groupsOf(shown, memoryEntry.day)
	return nil
}

func (e *memoryEntry) matches(page *memoryPage) bool {
	return (page.Type == "" || e.Type == page.Type) &&
		(page.Search == "" || strings.Contains(strings.ToLower(e.raw), strings.ToLower(page.Search)))
}

// day returns the date of an entry as text.
func (e memoryEntry) day() string {
	if e.At.IsZero() {
		return "Without a date"
	}
	return e.At.UTC().Format("Monday, 2 January 2006")
}
