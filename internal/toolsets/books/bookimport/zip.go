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

// Limits against zip bombs. No real archive of a book comes near them.
const (
	maxUnpacked = 4 << 30
	maxRatio    = 200 // maximum ratio of unpacked to packed bytes over the whole archive
)

// unpacked returns the folder that an archive contains, or any other source unchanged.
func unpacked(ctx context.Context, from fs.FS) (fs.FS, error) {
	archive, ok := from.(*zip.Reader)
	if !ok {
		return from, nil
	}
	if err := checkEntries(archive); err != nil {
		return nil, err
	}
	if err := readThrough(ctx, archive); err != nil {
		return nil, err
	}
	return inner(archive)
}

// checkEntries refuses an archive by its table of contents.
func checkEntries(archive *zip.Reader) error {
	if len(archive.File) > maxFiles {
		return refuse("it has %d entries; the limit is %d", len(archive.File), maxFiles)
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
			return refuse("its entry %q uses an unsupported compression method", f.Name)
		}
		names[name] = true
		unpacked += min(f.UncompressedSize64, maxUnpacked+1)
		packed += min(f.CompressedSize64, maxUnpacked+1)
	}
	switch {
	case unpacked > maxUnpacked:
		return refuse("it would unpack to more than %d bytes (4 GiB)", uint64(maxUnpacked))
	case unpacked > maxRatio*max(packed, 1):
		return refuse("it would unpack to more than %d times its size", maxRatio)
	}
	return nil
}

// readThrough unpacks every entry once, to find damaged entries and wrong sizes before anything is
// written.
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
			return refuse("its entry %q is damaged or does not have its declared size", f.Name).Because(err)
		}
	}
	return nil
}

func refuse(format string, args ...any) *contract.Error {
	return contract.Errorf(contract.Invalid, "The archive is refused: %s", fmt.Sprintf(format, args...))
}

// inner returns the single top-level folder of an archive, or the archive itself if there is no
// such folder.
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
