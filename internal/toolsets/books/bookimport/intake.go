// Package bookimport plans how a folder of Markdown and media becomes a book: what goes
// where, what stays out, and which links have to change.
package bookimport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"remit/internal/contract"
	"remit/internal/search/markdown"
)

// What a book takes, as its tools do.
const (
	MostMarkdown = 1 << 20   // bytes of a file of Markdown
	MostOther    = 100 << 20 // bytes of any other
	mostPath     = 255       // bytes of a path in a book
	mostFiles    = 20_000
)

// Plan says what becomes of each file of a folder. Nothing is written by making one.
type Plan struct {
	Files []File
	Left  []Remark // what stays out, and need not be there
	Bad   []Remark // what should be in the book, and cannot be
	Title string   // what the folder calls itself; "" if it does not say

	from   fs.FS
	places map[string]string // where files and folders of the source go
}

// File is a file with its place in the book.
type File struct {
	From  string `json:"from"`
	To    string `json:"to"`
	Size  int64  `json:"size"`  // as it will be stored
	Links int    `json:"links"` // how many of its links change
}

// Remark says something of a file.
type Remark struct {
	From string `json:"from"`
	Why  string `json:"why"`
}

// Make plans the intake of a folder. A *zip.Reader is one too, and is looked through
// for what no honest archive has.
func Make(ctx context.Context, from fs.FS, keepPlaces bool) (*Plan, error) {
	from, err := unpacked(ctx, from)
	if err != nil {
		return nil, err
	}
	p := &Plan{from: from, places: map[string]string{}}
	tree, err := p.survey(ctx)
	if err != nil {
		return nil, err
	}
	p.place(tree, keepPlaces)
	if err := p.check(ctx); err != nil {
		return nil, err
	}
	if len(p.Files) == 0 && len(p.Bad) == 0 {
		return nil, contract.Errorf(contract.Invalid, "There is nothing in it to import")
	}
	p.Title = p.title()
	return p, nil
}

// IsMarkdown tells files whose links are known from all others.
func IsMarkdown(name string) bool {
	return slices.Contains([]string{".md", ".markdown", ".mdx"}, strings.ToLower(path.Ext(name)))
}

// check looks into every file as far as it takes to know that it can be stored.
func (p *Plan) check(ctx context.Context) error {
	kept := p.Files[:0]
	for _, f := range p.Files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if why := p.judge(&f); why != "" {
			p.Bad = append(p.Bad, Remark{f.From, why})
			continue
		}
		kept = append(kept, f)
	}
	p.Files = kept
	return nil
}

// judge says why a file cannot be stored, and completes what is known of it.
func (p *Plan) judge(f *File) (why string) {
	if len(f.To) > mostPath {
		return fmt.Sprintf("its path in the book would have %d characters; %d is the most", len(f.To), mostPath)
	}
	if !IsMarkdown(f.From) {
		if f.Size > MostOther {
			return fmt.Sprintf("it has %d bytes; %d (100 MiB) is the most", f.Size, MostOther)
		}
		file, err := p.from.Open(f.From)
		if err != nil {
			return whyUnread(err)
		}
		_ = file.Close() // nothing was read
		return ""
	}
	text, links, err := p.Markdown(*f)
	if err != nil {
		return whyUnread(err)
	}
	f.Size, f.Links = int64(len(text)), links
	return ""
}

// Markdown is a text as it goes into the book, and how many of its links were changed.
func (p *Plan) Markdown(f File) (text []byte, links int, err error) {
	text, err = p.read(f.From, MostMarkdown)
	if err != nil {
		return nil, 0, err
	}
	if len(text) > MostMarkdown {
		return nil, 0, contract.Errorf(contract.TooLarge, "it has more than %d bytes (1 MiB), which is the most for Markdown", MostMarkdown)
	}
	if !utf8.Valid(text) {
		return nil, 0, contract.Errorf(contract.Invalid, "it is not UTF-8, so it is no Markdown")
	}
	changed, links := p.relink(f, string(text))
	if links == 0 {
		return text, 0, nil
	}
	if len(changed) > MostMarkdown {
		return nil, 0, contract.Errorf(contract.TooLarge, "with its links changed it has more than %d bytes (1 MiB), which is the most for Markdown", MostMarkdown)
	}
	return []byte(changed), links, nil
}

// Open gives the bytes of a file that is no Markdown.
func (p *Plan) Open(f File) (fs.File, error) {
	file, err := p.from.Open(f.From)
	return file, unreadable(f.From, err)
}

// read gives the bytes of a file, one more than there may be at the most.
func (p *Plan) read(name string, most int64) ([]byte, error) {
	file, err := p.from.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return io.ReadAll(io.LimitReader(file, most+1))
}

// unreadable words a fault of the folder that is read. Its own words may name places
// of the machine, so they are for the log.
func unreadable(name string, err error) error {
	if err == nil || errors.As(err, new(*contract.Error)) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return contract.Errorf(contract.Invalid, "%s cannot be imported: %s", name, whyUnread(err)).Because(err)
}

// whyUnread says why a file or folder is of no use.
func whyUnread(err error) string {
	if worded, ok := errors.AsType[*contract.Error](err); ok {
		return worded.Message
	}
	if errors.Is(err, fs.ErrPermission) {
		return "you may not read it"
	}
	return "it cannot be read"
}

// title finds what the folder calls itself.
func (p *Plan) title() string {
	for _, name := range []string{"book.yaml", "README.md", "readme.md", "index.md", "lessons/README.md", "lessons/index.md"} {
		if _, ok := p.places[name]; !ok {
			continue
		}
		text, err := p.read(name, MostMarkdown)
		if err != nil || !utf8.Valid(text) {
			continue
		}
		if title := titleIn(name, string(text)); title != "" {
			return title
		}
	}
	return ""
}

// titleIn finds the title of a text: in its front matter, or else its first heading.
func titleIn(name, text string) string {
	if path.Ext(name) == ".yaml" {
		text = "---\n" + text + "\n---\n"
	}
	d := markdown.Parse(text)
	if fields, err := d.Front.Fields(); err == nil {
		if title, ok := fields["title"].(string); ok && strings.TrimSpace(title) != "" {
			return strings.TrimSpace(title)
		}
	}
	if len(d.Headings) > 0 {
		return d.Headings[0].Text
	}
	return ""
}
