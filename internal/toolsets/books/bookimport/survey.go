package bookimport

import (
	"cmp"
	"context"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"remit/internal/contract"
)

// folder is a folder of the source with its contents.
type folder struct {
	path    string // "" for the root
	folders []*folder
	files   []found
}

// found is a file of the source.
type found struct {
	path string
	size int64
}

// survey walks the source and records what is left out.
func (p *Plan) survey(ctx context.Context) (*folder, error) {
	count := 0
	var walk func(f *folder) error
	walk = func(f *folder) error {
		name := cmp.Or(f.path, ".")
		entries, err := fs.ReadDir(p.from, name)
		if err != nil && f.path != "" {
			p.Failed = append(p.Failed, RejectedFile{f.path, readFailure(err)})
			return nil
		}
		if err != nil {
			return readError(name, err)
		}
		for _, e := range entries {
			if err := ctx.Err(); err != nil {
				return err
			}
			at := path.Join(f.path, e.Name())
			if why := unwanted(at, e); why != "" {
				p.Skipped = append(p.Skipped, RejectedFile{at, why})
				continue
			}
			if !utf8.ValidString(e.Name()) { // io/fs cannot open such names
				p.Failed = append(p.Failed, RejectedFile{strings.ToValidUTF8(at, "\uFFFD"), "its name is not UTF-8"})
				continue
			}
			if e.IsDir() {
				inner := &folder{path: at}
				f.folders = append(f.folders, inner)
				if err := walk(inner); err != nil {
					return err
				}
				continue
			}
			if count++; count > maxFiles {
				return contract.Errorf(contract.TooLarge, "It contains more than %d files, the limit for a book", maxFiles)
			}
			info, err := e.Info()
			if err != nil {
				return readError(at, err)
			}
			f.files = append(f.files, found{at, info.Size()})
		}
		return nil
	}
	top := &folder{}
	return top, walk(top)
}

// unwanted returns why a file or folder is left out, or "".
func unwanted(at string, e fs.DirEntry) string {
	name := e.Name()
	switch {
	case isSummary(at) && e.Type().IsRegular():
		return ""
	case strings.HasPrefix(name, "."), name == "Thumbs.db", name == "desktop.ini", strings.HasPrefix(name, "~$"):
		return "hidden"
	case e.IsDir() && (name == "node_modules" || name == "__MACOSX" || name == "__pycache__"):
		return "made by a program"
	case e.Type()&fs.ModeSymlink != 0:
		return "a link; links are not followed"
	case !e.IsDir() && !e.Type().IsRegular():
		return "not a file"
	default:
		return ""
	}
}

// isSummary reports whether a path is that of a summary, the only file of a book whose name begins
// with a dot.
func isSummary(at string) bool {
	dir, name := path.Split(at)
	parts := strings.Split(strings.TrimSuffix(dir, "/"), "/")
	return name == ".summary.md" && len(parts) == 2 && parts[0] == "chapters"
}

// isBook reports whether the source already has the layout of a book.
func (f *folder) isBook() bool {
	inBook := func(name string) bool { return slices.Contains([]string{"lessons", "chapters", "assets"}, name) }
	others := 0
	for _, inner := range f.folders {
		if inner.path == "lessons" {
			return true
		}
		if !inBook(inner.path) {
			others++
		}
	}
	for _, file := range f.files {
		if file.path == "book.yaml" {
			return true
		}
		others++
	}
	return others == 0 && len(f.folders) > 0
}
