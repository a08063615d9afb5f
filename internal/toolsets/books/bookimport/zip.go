package bookimport

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"unicode/utf8"

	"remit/internal/contract"
)

// What no honest archive of a book has.
const (
	mostUnpacked = 4 << 30
	mostRatio    = 200 // bytes that one byte becomes, over all
)

// unpacked gives an archive as the folder that was packed; any other source as it is.
func unpacked(ctx context.Context, from fs.FS) (fs.FS, error) {
	archive, ok := from.(*zip.Reader)
	if !ok {
		return from, nil
	}
	if err := judgeEntries(archive); err != nil {
		return nil, err
	}
	if err := readThrough(ctx, archive); err != nil {
		return nil, err
	}
	return inner(archive)
}

// judgeEntries refuses an archive by its table of contents.
func judgeEntries(archive *zip.Reader) error {
	if len(archive.File) > mostFiles {
		return refuse("it has %d entries; %d is the most", len(archive.File), mostFiles)
	}
	var unpacked, packed uint64
	names := map[string]bool{}
	for _, f := range archive.File {
		name := strings.TrimSuffix(f.Name, "/")
		switch {
		case !utf8.ValidString(name):
			return refuse("the name of its entry %q is not UTF-8", f.Name)
		case !fs.ValidPath(name) || name == "." || strings.ContainsAny(name, "\\\x00"):
			return refuse("its entry %q is not a path within it", f.Name)
		case names[name]:
			return refuse("it has two entries %q", f.Name)
		case f.Flags&1 != 0:
			return refuse("its entry %q is encrypted", f.Name)
		case f.Method != zip.Store && f.Method != zip.Deflate:
			return refuse("its entry %q is packed in a way that is not known here", f.Name)
		}
		names[name] = true
		unpacked += min(f.UncompressedSize64, mostUnpacked+1)
		packed += min(f.CompressedSize64, mostUnpacked+1)
	}
	switch {
	case unpacked > mostUnpacked:
		return refuse("it would unpack to more than %d bytes (4 GiB)", uint64(mostUnpacked))
	case unpacked > mostRatio*max(packed, 1):
		return refuse("it would unpack to more than %d times its size", mostRatio)
	}
	return nil
}

// readThrough unpacks every entry once, so that what is broken or lies about its size
// is known before anything is written.
func readThrough(ctx context.Context, archive *zip.Reader) error {
	for _, f := range archive.File {
		if err := ctx.Err(); err != nil {
			return err
		}
		if strings.HasSuffix(f.Name, "/") {
			continue
		}
		reader, err := f.Open()
		if err != nil {
			return refuse("its entry %q cannot be read", f.Name).Because(err)
		}
		n, err := io.Copy(io.Discard, io.LimitReader(reader, int64(f.UncompressedSize64)+1))
		err = errors.Join(err, reader.Close())
		if err != nil || uint64(n) != f.UncompressedSize64 {
			return refuse("its entry %q is broken, or not of the size that it says", f.Name).Because(err)
		}
	}
	return nil
}

func refuse(format string, args ...any) *contract.Error {
	return contract.Errorf(contract.Invalid, "The archive is refused: %s", fmt.Sprintf(format, args...))
}

// inner steps into the one folder that archives of a whole folder have at their top.
func inner(archive fs.FS) (fs.FS, error) {
	entries, err := fs.ReadDir(archive, ".")
	if err != nil {
		return nil, refuse("it cannot be read").Because(err)
	}
	only := ""
	for _, e := range entries {
		if unwanted(e.Name(), e) != "" {
			continue
		}
		if only != "" || !e.IsDir() {
			return archive, nil
		}
		only = e.Name()
	}
	if only == "" || (&folder{folders: []*folder{{path: only}}}).isBook() {
		return archive, nil
	}
	return fs.Sub(archive, path.Clean(only))
}
