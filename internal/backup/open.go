package backup

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// Archive is an archive whose every byte was checked.
type Archive struct {
	Header   Header
	Manifest Manifest
	content  content
}

// content is what holds the entries: a file or a folder.
type content interface {
	// each calls visit with each entry in order. It calls read with the number of bytes that were
	// read, and ends with the error of read. visit need not read all of an entry.
	each(m *Manifest, read func(n int64) error, visit func(name string, size int64, r io.Reader) error) error
}

// Open opens an archive and checks all of it: a file, a folder (its newest archive), or a file in
// the folder snapshots. It calls report with how much was read, of how much. The error matches
// ErrDamaged if the archive is not what was written, and ErrNoArchive if it was never one.
func Open(ctx context.Context, name string, report func(done, total int64)) (*Archive, error) {
	a := &Archive{}
	read := func(total int64) func(int64) error {
		return func(n int64) error {
			report(n, total)
			return ctx.Err()
		}
	}
	if info, err := os.Stat(name); err == nil && !info.IsDir() && !isSnapshot(name) {
		a.content = &fileArchive{name}
		err := a.checkFile(read(info.Size()))
		if errors.Is(err, ErrDamaged) && !looksCompressed(name, info.Size()) {
			err = ErrNoArchive
		}
		return a, err
	}
	folder, err := openFolder(name)
	if err != nil {
		return nil, err
	}
	a.content = folder
	if a.Manifest, err = folder.manifest(); err != nil {
		return nil, err
	}
	return a, a.check(read(a.Manifest.Size()))
}

// check reads all entries and compares them with the manifest.
func (a *Archive) check(read func(int64) error) error {
	return a.visit(read, func(e Entry, r io.Reader) error {
		if e.Path != headerName {
			return nil
		}
		text, err := io.ReadAll(r)
		if err != nil {
			return unpacked(err)
		}
		return a.parseHeader(text)
	})
}

func (a *Archive) parseHeader(text []byte) error {
	if err := strictJSON(text, &a.Header); err != nil {
		return damaged("%s: %v", headerName, err)
	}
	return checkFormat(a.Header.Format)
}

func checkFormat(format int) error {
	if format == Format {
		return nil
	}
	return fmt.Errorf("the archive has format %d, but this program reads format %d; use the version of Remit that wrote it", format, Format)
}

// checkFile is check for an archive in one file, whose manifest comes last. It reads the file once.
func (a *Archive) checkFile(read func(int64) error) error {
	var found []Entry
	documents := map[string][]byte{}
	err := a.content.each(nil, read, func(name string, size int64, r io.Reader) error {
		var text bytes.Buffer
		out := io.Discard
		if isDocument(name) {
			out = &text
		}
		_, hash, err := copyTo(out, r)
		if err != nil {
			return unpacked(err)
		}
		if documents[name] = text.Bytes(); len(found) == maxEntries {
			return damaged("it has more than %d entries", maxEntries)
		}
		found = append(found, Entry{Path: name, Size: size, SHA256: hash})
		return nil
	})
	if err != nil {
		return err
	}
	last := len(found) - 1
	if last < 0 || found[last].Path != manifestName {
		return damaged("%s is not its last entry", manifestName)
	}
	if a.Manifest, err = parseManifest(documents[manifestName]); err != nil {
		return err
	}
	isListed := func(found, listed Entry) bool {
		return found.Path == listed.Path && found.Size == listed.Size && found.SHA256 == listed.SHA256
	}
	if !slices.EqualFunc(found[:last], a.Manifest.Entries, isListed) {
		return damaged("its entries are not those of %s", manifestName)
	}
	return a.parseHeader(documents[headerName])
}

// Each calls visit with each entry. What visit reads is only certain to be what was written when
// Each has returned without an error.
func (a *Archive) Each(ctx context.Context, report func(done, total int64), visit func(e Entry, r io.Reader) error) error {
	total := a.Manifest.Size()
	done := int64(0)
	stop := func(int64) error { return ctx.Err() }
	return a.visit(stop, func(e Entry, r io.Reader) error {
		defer func() { done += e.Size }()
		report(done, total)
		if isDocument(e.Path) {
			return nil
		}
		return visit(e, r)
	})
}

// visit calls visit with each entry of the manifest, and checks that there are no others, and that
// each has its size and hash.
func (a *Archive) visit(read func(int64) error, visit func(e Entry, r io.Reader) error) error {
	next := 0
	err := a.content.each(&a.Manifest, read, func(name string, size int64, r io.Reader) error {
		if name == manifestName {
			return nil
		}
		if next == len(a.Manifest.Entries) || a.Manifest.Entries[next].Path != name || a.Manifest.Entries[next].Size != size {
			return damaged("%s is not where the manifest has it", name)
		}
		e := a.Manifest.Entries[next]
		next++
		sum := sha256.New()
		in := io.TeeReader(r, sum)
		if err := visit(e, in); err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, in); err != nil {
			return unpacked(err)
		}
		if hex.EncodeToString(sum.Sum(nil)) != e.SHA256 {
			return damaged("%s does not match its hash", name)
		}
		return nil
	})
	if err == nil && next != len(a.Manifest.Entries) {
		err = damaged("%d of %d entries are missing", len(a.Manifest.Entries)-next, len(a.Manifest.Entries))
	}
	return err
}

// parseManifest parses and checks a manifest.
func parseManifest(text []byte) (m Manifest, err error) {
	if err := strictJSON(text, &m); err != nil {
		return m, damaged("%s: %v", manifestName, err)
	}
	if err := checkFormat(m.Format); err != nil {
		return m, err
	}
	seen := map[string]bool{}
	for i, e := range m.Entries {
		if err := checkName(e.Path); err != nil {
			return m, err
		}
		switch {
		case seen[e.Path]:
			return m, damaged("%s is there twice", e.Path)
		case e.Size < 0 || e.Size > maxEntry || isDocument(e.Path) && e.Size > maxDocument:
			return m, damaged("%s has the size %d", e.Path, e.Size)
		case !isHash(e.SHA256):
			return m, damaged("%s has no hash", e.Path)
		case (i == 0) != (e.Path == headerName) || e.Path == manifestName:
			return m, damaged("%s is not where it belongs", e.Path)
		}
		seen[e.Path] = true
	}
	if len(m.Entries) == 0 {
		return m, damaged("it has no entries")
	}
	return m, nil
}

func strictJSON(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more after its end")
	}
	return nil
}

func isHash(s string) bool {
	raw, err := hex.DecodeString(s)
	return err == nil && len(raw) == sha256.Size && hex.EncodeToString(raw) == s
}

// fileArchive is an archive in one file.
type fileArchive struct{ name string }

// each calls visit with each entry of the tar, and checks the whole file.
func (f *fileArchive) each(_ *Manifest, read func(int64) error, visit func(name string, size int64, r io.Reader) error) error {
	file, err := os.Open(f.name)
	if err != nil {
		return fmt.Errorf("open the archive: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("open the archive: %w", err)
	}
	d, err := newDecompressor(&source{Reader: file, read: read}, info.Size())
	if err != nil {
		return err
	}
	defer d.Close()
	in := tar.NewReader(d)
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return d.finish()
		}
		if err != nil {
			return unpacked(err)
		}
		if err := checkHeader(h); err != nil {
			return err
		}
		if err := visit(h.Name, h.Size, in); err != nil {
			return err
		}
	}
}

// checkHeader refuses everything but a plain file with an allowed name and size.
func checkHeader(h *tar.Header) error {
	if err := checkName(h.Name); err != nil {
		return err
	}
	switch {
	case h.Typeflag != tar.TypeReg || h.Linkname != "":
		return damaged("%s is not a plain file", h.Name)
	case h.Size < 0 || h.Size > maxEntry || isDocument(h.Name) && h.Size > maxDocument:
		return damaged("%s has the size %d", h.Name, h.Size)
	}
	return nil
}

func isSnapshot(name string) bool {
	folder, err := openFolder(name)
	return err == nil && folder.snapshot == name
}
