package corpus

import (
	"errors"
	"io"
	"io/fs"
	"slices"

	"remit/internal/search/tree"
)

// deliverUnreadable delivers the files that cannot be read: those that the search found, and those
// that the view knows already.
func (s *search) deliverUnreadable(v *view) {
	paths, only := s.unreadable, s.query.Only
	for _, p := range v.parts {
		p.each(func(_ int, d *doc) {
			if d.kind == unreadable && (only == nil || only.Match(d.file.Path)) {
				paths = append(paths, d.file.Path)
			}
		})
	}
	slices.Sort(paths)
	for _, path := range slices.Compact(paths) {
		if s.ended {
			return
		}
		if err := s.corpus.tryRead(path); err != nil {
			s.ended = !s.each(FileMatches{Path: path, Error: reason(err)})
		}
	}
}

// tryRead returns why a file cannot be read. It returns nil if the file can be read meanwhile, is
// gone or is no regular file.
func (c *Corpus) tryRead(path string) error {
	f, err := c.tree.Open(&tree.File{Path: path})
	if err == nil {
		_, err = f.Read(make([]byte, 1))
		f.Close()
	}
	if errors.Is(err, io.EOF) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, tree.ErrIrregular) {
		return nil
	}
	return err
}

// reason returns the text of an error without the path in it.
func reason(err error) string {
	if cause, ok := errors.AsType[*fs.PathError](err); ok {
		err = cause.Err
	}
	return err.Error()
}

// Unlisted returns the folders that cannot be listed, as of the last search, in the order of paths.
func (c *Corpus) Unlisted() (folders []FileMatches) {
	c.tree.Unlisted(func(path string, err error) {
		folders = append(folders, FileMatches{Path: path, Error: reason(err)})
	})
	return folders
}
