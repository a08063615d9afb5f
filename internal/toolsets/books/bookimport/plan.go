// Package bookimport plans how a folder of Markdown and media files becomes a book: the path of
// each file in the book, the files to leave out, and the links to change. It writes nothing.
package bookimport

import (
	"cmp"
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
)

// Limits of a book, the same as those of the book tools.
const (
	MaxMarkdown = 1 << 20   // bytes of a Markdown file
	MaxOther    = 100 << 20 // bytes of any other file
	maxPath     = 255       // bytes of a path in a book
	maxFiles    = 20_000
)

// Plan describes how the files of a folder are imported. Making a plan writes nothing.
type Plan struct {
	Files   []File
	Skipped []RejectedFile // files that are left out and need not be in the book
	Failed  []RejectedFile // files that should be in the book but cannot be imported
	Title   string         // the title found in the folder or archive; "" if there is none

	from    fs.FS
	secrets *contract.SecretPolicy
	places  map[string]string // paths of files and folders: in the source to in the book
}

// File is a file with its path in the book.
type File struct {
	From  string `json:"from"`
	To    string `json:"to"`
	Size  int64  `json:"size"`  // as it will be stored
	Links int    `json:"links"` // how many of its links change
}

// RejectedFile is a file with the reason why it is not imported.
type RejectedFile struct {
	From   string `json:"from"`
	Reason string `json:"why"`
}

// NewPlan plans the import of a folder, without the files that secrets denies. from may be a
// *zip.Reader; NewPlan then refuses archives that look malicious or damaged.
func NewPlan(ctx context.Context, from fs.FS, keepPlaces bool, secrets *contract.SecretPolicy) (*Plan, error) {
	title := archiveTitle(from)
	from, err := unpacked(ctx, from)
	if err != nil {
		return nil, err
	}
	p := &Plan{from: from, secrets: secrets, places: map[string]string{}}
	tree, err := p.survey(ctx)
	if err != nil {
		return nil, err
	}
	p.place(tree, keepPlaces)
	if err := p.check(ctx); err != nil {
		return nil, err
	}
	if len(p.Files) == 0 && len(p.Failed) == 0 {
		return nil, contract.Errorf(contract.Invalid, "It contains no files to import")
	}
	p.Title = cmp.Or(title, p.title())
	return p, nil
}

// IsMarkdown reports whether a file is Markdown, whose links an import can change.
func IsMarkdown(name string) bool {
	return slices.Contains([]string{".md", ".markdown", ".mdx"}, strings.ToLower(path.Ext(name)))
}

// check reads every file as far as needed to know that it can be stored.
func (p *Plan) check(ctx context.Context) error {
	kept := p.Files[:0]
	for _, f := range p.Files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if rule := p.secrets.Rule(f.To, false); rule != "" {
			p.Skipped = append(p.Skipped, RejectedFile{f.From, deniedBy(rule)})
			continue
		}
		if why := p.checkFile(&f); why != "" {
			p.Failed = append(p.Failed, RejectedFile{f.From, why})
			continue
		}
		kept = append(kept, f)
	}
	p.Files = kept
	return nil
}

// checkFile returns why a file cannot be stored, or "", and sets its size and number of links.
func (p *Plan) checkFile(f *File) (why string) {
	if len(f.To) > maxPath {
		return fmt.Sprintf("its path in the book would have %d characters; the limit is %d", len(f.To), maxPath)
	}
	if !IsMarkdown(f.From) {
		if f.Size > MaxOther {
			return fmt.Sprintf("it has %d bytes; the limit is %d (100 MiB)", f.Size, MaxOther)
		}
		file, err := p.from.Open(f.From)
		if err != nil {
			return readFailure(err)
		}
		_ = file.Close() // nothing was read
		return ""
	}
	text, links, err := p.Markdown(*f)
	if err != nil {
		return readFailure(err)
	}
	f.Size, f.Links = int64(len(text)), links
	return ""
}

// Markdown returns a text as the book will contain it, and how many of its links were changed.
func (p *Plan) Markdown(f File) (text []byte, links int, err error) {
	text, err = p.read(f.From, MaxMarkdown)
	if err != nil {
		return nil, 0, err
	}
	if len(text) > MaxMarkdown {
		return nil, 0, contract.Errorf(contract.TooLarge, "it has more than %d bytes (1 MiB), the limit for Markdown", MaxMarkdown)
	}
	if !utf8.Valid(text) {
		return nil, 0, contract.Errorf(contract.Invalid, "it is not UTF-8, so it is not Markdown")
	}
	changed, links := p.relink(f, string(text))
	if links == 0 {
		return text, 0, nil
	}
	if len(changed) > MaxMarkdown {
		return nil, 0, contract.Errorf(contract.TooLarge, "with its links changed it has more than %d bytes (1 MiB), the limit for Markdown", MaxMarkdown)
	}
	return []byte(changed), links, nil
}

// Open opens a file that is not Markdown.
func (p *Plan) Open(f File) (fs.File, error) {
	file, err := p.from.Open(f.From)
	return file, readError(f.From, err)
}

// read returns the content of a file, at most limit+1 bytes of it.
func (p *Plan) read(name string, limit int64) ([]byte, error) {
	file, err := p.from.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return io.ReadAll(io.LimitReader(file, limit+1))
}

// readError converts an error of the source into a contract.Error. The original text may contain
// host paths, so it is only logged.
func readError(name string, err error) error {
	if err == nil || errors.As(err, new(*contract.Error)) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return contract.Errorf(contract.Invalid, "%s cannot be imported: %s", name, readFailure(err)).Because(err)
}

// readFailure returns why a file or folder cannot be read.
func readFailure(err error) string {
	if worded, ok := errors.AsType[*contract.Error](err); ok {
		return worded.Message
	}
	if errors.Is(err, fs.ErrPermission) {
		return "you have no permission to read it"
	}
	return "it cannot be read"
}
