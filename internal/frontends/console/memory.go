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
)

// memoryPage is what the page of memory shows: entries, or a document.
type memoryPage struct {
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

// memoryEntry is an entry as people read it.
type memoryEntry struct {
	File, Type, Text string
	Line             int // of the file; 0 if that is not known
	At               time.Time
	Fields           []frontField

	tree    jsontree.Value
	raw     string
	typeKey string // the field that Type is from
}

const (
	memoryAddress = "memory://"
	// memoryShown is how many bytes of a memory file a page is made from: its end.
	memoryShown = 512 << 10
	// entriesInPage is how many entries a page shows.
	entriesInPage = 50
)

func (v *visit) showMemory() error {
	q := v.r.URL.Query()
	page := &memoryPage{File: q.Get("file"), Type: q.Get("type"), Search: q.Get("search"), Unserved: v.lacks("memory files", "learning-os", "read_repo_file")}
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
		return noMemory(err)
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

// noMemory words a failure of what keeps memory files, which may be a database.
func noMemory(err error) error {
	if contract.AsError(err).Kind != contract.Internal {
		return err
	}
	return contract.Errorf(contract.Unavailable, "Memory cannot be read right now; try again").Because(err)
}

// readTail reads the end of a memory file, from the start of a line, and notes on the
// page if that is not all of it.
func (v *visit) readTail(page *memoryPage, file string) (text string, whole bool, err error) {
	who := engine.Visitor{Principal: v.person.Principal(), Face: facePage}
	contents, err := v.Pages.Read(v.r.Context(), who, memoryAddress+file)
	if err != nil {
		return "", false, noMemory(err)
	}
	text = contents[0].Text
	if contents[0].Blob != nil {
		text = strings.ToValidUTF8(string(contents[0].Blob), "\ufffd")
	}
	whole = len(contents) == 1
	if len(text) > memoryShown {
		text, whole = text[len(text)-memoryShown:], false
		if _, rest, _ := strings.Cut(text, "\n"); rest != "" {
			text = rest
		} else { // one line that is longer than that
			text = strings.ToValidUTF8(text, "")
		}
	}
	if !whole {
		page.Notes = append(page.Notes, fmt.Sprintf("%s is long: only its newest %d KiB are shown.", file, len(text)>>10))
	}
	return text, whole, nil
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

// readEntries reads the entries of the files that hold one a line, the newest first.
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
	all = slices.DeleteFunc(all, func(e memoryEntry) bool { return !e.fits(page) })
	slices.SortStableFunc(all, func(a, b memoryEntry) int { return b.At.Compare(a.At) })
	page.Found = len(all)
	shown, pages := pageOf(v, all, entriesInPage)
	page.Pager = pages
	for i := range shown {
		shown[i].lay()
	}
	page.Days = groupsOf(shown, memoryEntry.day)
	return nil
}

func (e *memoryEntry) fits(page *memoryPage) bool {
	return (page.Type == "" || e.Type == page.Type) &&
		(page.Search == "" || strings.Contains(strings.ToLower(e.raw), strings.ToLower(page.Search)))
}

// day is the day on which an entry was written, in words.
func (e memoryEntry) day() string {
	if e.At.IsZero() {
		return "Without a date"
	}
	return e.At.UTC().Format("Monday, 2 January 2006")
}
