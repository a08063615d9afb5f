package fetch

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path"
	"slices"
	"strings"

	"remit/tools/trainembed/internal/licence"
)

// Archive is an open package. It keeps a file open until it is closed. It is safe for concurrent
// use.
type Archive struct {
	pkg   Package
	files []File            // sorted by name, without duplicates
	links map[string]string // symbolic links in Debian packages: name to target as written
	gate  *licence.Gate
	close func() error
}

// File is a regular file of an archive.
type File struct {
	// Name is the path relative to the root of the package, with slashes:
	// usr/share/doc/curl/README, dist/index.d.ts, go/ast/ast.go.
	Name string
	Size int64
	open func() (io.ReadCloser, error)
}

// Read returns the whole content, or nothing if the file states that its licence is not permissive.
// Files may be read in any order until the archive is closed.
func (f File) Read() ([]byte, error) {
	text, err := f.content()
	if err != nil || licence.Forbids(text) {
		return nil, err
	}
	return text, nil
}

func (f File) content() ([]byte, error) {
	in, err := f.open()
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", f.Name, err)
	}
	text, err := io.ReadAll(io.LimitReader(in, f.Size))
	if err = errors.Join(err, in.Close()); err != nil {
		return nil, fmt.Errorf("read %s: %w", f.Name, err)
	}
	return text, nil
}

// Open opens the archive of a package that All has downloaded to the cache. It unpacks a compressed
// tar to a temporary file first, so that files can be read by path in any order.
func Open(cache string, p Package) (*Archive, error) {
	a := &Archive{pkg: p, links: map[string]string{}}
	var err error
	switch p.Kind {
	case Deb:
		err = a.openTar(p.Path(cache), unpackDeb)
	case Npm:
		err = a.openTar(p.Path(cache), unpackGzip)
	default:
		err = a.openZip(p.Path(cache))
	}
	if err != nil {
		return nil, fmt.Errorf("open %s %s: %w", p.ID(), p.Version, err)
	}
	a.sort()
	if err := a.readGate(cache); err != nil {
		return nil, errors.Join(fmt.Errorf("licence of %s %s: %w", p.ID(), p.Version, err), a.Close())
	}
	return a, nil
}

// sort sorts the files by name. Of several files with the same name it keeps the last one, as tar
// does.
func (a *Archive) sort() {
	slices.Reverse(a.files)
	slices.SortStableFunc(a.files, func(x, y File) int { return strings.Compare(x.Name, y.Name) })
	a.files = slices.CompactFunc(a.files, func(x, y File) bool { return x.Name == y.Name })
}

// Close releases the resources of the archive.
func (a *Archive) Close() error {
	if a.close == nil {
		return nil
	}
	return a.close()
}

// Files yields the files that the licences allow, sorted by name in byte order.
func (a *Archive) Files() iter.Seq[File] {
	return func(yield func(File) bool) {
		for _, file := range a.files {
			if a.gate.Allowed(file.Name) && !yield(file) {
				return
			}
		}
	}
}

// lookup returns the file with this exact name.
func (a *Archive) lookup(name string) (File, bool) {
	i, ok := slices.BinarySearchFunc(a.files, name, func(f File, name string) int { return strings.Compare(f.Name, name) })
	if !ok {
		return File{}, false
	}
	return a.files[i], true
}

// cleanName makes a name in an archive relative to its root. It rejects names that leave the root:
// no file is unpacked by its name, but names appear in messages and in the pairs.
func cleanName(name string) (string, bool) {
	name = path.Clean(strings.TrimLeft(name, "/"))
	if name == "." || name == ".." || strings.HasPrefix(name, "../") {
		return "", false
	}
	return name, true
}

// spool creates a file that is deleted when it is closed and, if the system supports it, also when
// the program is killed.
func spool() (*os.File, func() error, error) {
	file, err := os.CreateTemp("", "trainembed-*.tar")
	if err != nil {
		return nil, nil, fmt.Errorf("create temporary file: %w", err)
	}
	if os.Remove(file.Name()) == nil {
		return file, file.Close, nil
	}
	return file, func() error { return errors.Join(file.Close(), os.Remove(file.Name())) }, nil
}
