package backup

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"remit/internal/filelock"
)

// Writer writes an archive. Nothing appears under its name before Finish. A Writer that is not
// finished must be discarded.
type Writer struct {
	target   target
	manifest Manifest
}

// target is a file or a folder.
type target interface {
	// add stores the content of an entry and sets its size and hash. size is -1 if it is not known.
	add(e *Entry, size int64, r io.Reader) error
	// has reports whether the content with this hash is stored already.
	has(hash string) (size int64, ok bool)
	// finish stores the manifest, and makes the archive appear. It returns its path.
	finish(m *Manifest) (path string, err error)
	discard()
}

// Create begins an archive. The name of an existing folder, or one that ends in a slash, is that of
// a folder of archives. An existing file is an error.
func Create(name string, h Header) (*Writer, error) {
	h.Format = Format
	w := &Writer{manifest: Manifest{Format: Format, Entries: []Entry{}}}
	var err error
	if IsFolder(name) {
		w.target, err = newFolder(name, h.Created)
	} else {
		w.target, err = newFile(name, h.Created)
	}
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(h)
	if err == nil {
		_, err = w.Add(headerName, int64(len(text)), "", bytes.NewReader(text))
	}
	if err != nil {
		w.Discard()
		return nil, err
	}
	return w, nil
}

// IsFolder reports whether a name is that of a folder of archives.
func IsFolder(name string) bool {
	info, err := os.Stat(name)
	return strings.HasSuffix(name, "/") || strings.HasSuffix(name, string(filepath.Separator)) || err == nil && info.IsDir()
}

// Add adds an entry, and returns it so that its count and time can be set. size is -1 if it is not
// known before all of r is read. If hash is not "", r need not be read if the archive has a content
// with this hash already.
func (w *Writer) Add(path string, size int64, hash string, r io.Reader) (*Entry, error) {
	if err := checkName(path); err != nil {
		return nil, err
	}
	e := Entry{Path: path, SHA256: hash}
	if known, ok := w.target.has(hash); ok {
		e.Size = known
	} else if err := w.target.add(&e, size, r); err != nil {
		return nil, fmt.Errorf("write %s: %w", path, err)
	}
	w.manifest.Entries = append(w.manifest.Entries, e)
	return &w.manifest.Entries[len(w.manifest.Entries)-1], nil
}

// Finish completes the archive, which is on disk when it returns. tip is the hash of the newest
// audit record.
func (w *Writer) Finish(tip string) (path string, m Manifest, err error) {
	w.manifest.Tip = tip
	path, err = w.target.finish(&w.manifest)
	if err != nil {
		return "", Manifest{}, fmt.Errorf("finish the archive: %w", err)
	}
	return path, w.manifest, nil
}

// Discard removes what was written. It does nothing after Finish.
func (w *Writer) Discard() { w.target.discard() }

// copyTo copies r to w and returns the size and the hash.
func copyTo(w io.Writer, r io.Reader) (size int64, hash string, err error) {
	sum := sha256.New()
	size, err = io.Copy(io.MultiWriter(w, sum), r)
	return size, hex.EncodeToString(sum.Sum(nil)), err
}

// fileTarget is an archive in one file.
type fileTarget struct {
	name    string
	created time.Time
	file    *os.File // under a temporary name; nil after finish
	packed  *compressor
	tar     *tar.Writer
}

func newFile(name string, created time.Time) (*fileTarget, error) {
	if _, err := os.Lstat(name); err == nil {
		return nil, fmt.Errorf("%s exists already; name another file, or remove it first", name)
	}
	file, err := os.OpenFile(name+".part", os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600)
	if err == nil {
		err = file.Chmod(0o600)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the folder %s does not exist; create it, or name another file", filepath.Dir(name))
	}
	if err != nil {
		return nil, fmt.Errorf("create the archive: %w", err)
	}
	packed, err := newCompressor(file)
	if err != nil {
		return nil, err
	}
	return &fileTarget{name: name, created: created, file: file, packed: packed, tar: tar.NewWriter(packed)}, nil
}

func (t *fileTarget) has(string) (int64, bool) { return 0, false }

func (t *fileTarget) add(e *Entry, size int64, r io.Reader) (err error) {
	if size < 0 {
		spool, err := os.CreateTemp(filepath.Dir(t.name), ".remit-backup-*")
		if err != nil {
			return err
		}
		defer func() { _ = errors.Join(spool.Close(), os.Remove(spool.Name())) }()
		if size, err = io.Copy(spool, r); err != nil {
			return err
		}
		if _, err := spool.Seek(0, io.SeekStart); err != nil {
			return err
		}
		r = spool
	}
	h := tar.Header{Typeflag: tar.TypeReg, Name: e.Path, Size: size, Mode: 0o600, ModTime: t.created.Truncate(time.Second), Format: tar.FormatPAX}
	if err := t.tar.WriteHeader(&h); err != nil {
		return err
	}
	if e.Size, e.SHA256, err = copyTo(t.tar, r); err == nil && e.Size != size {
		err = fmt.Errorf("it has %d bytes, not %d", e.Size, size)
	}
	return err
}

func (t *fileTarget) finish(m *Manifest) (string, error) {
	text, err := json.Marshal(m)
	if err != nil {
		return "", err
	}
	if err := t.add(&Entry{Path: manifestName}, int64(len(text)), bytes.NewReader(text)); err != nil {
		return "", err
	}
	if err := errors.Join(t.tar.Close(), t.packed.Close()); err != nil {
		return "", err
	}
	if err := errors.Join(t.file.Sync(), t.file.Close()); err != nil {
		return "", err
	}
	if _, err := os.Lstat(t.name); err == nil {
		return "", fmt.Errorf("%s exists already", t.name)
	}
	if err := os.Rename(t.file.Name(), t.name); err != nil {
		return "", err
	}
	t.file = nil
	return t.name, filelock.SyncFolder(filepath.Dir(t.name))
}

func (t *fileTarget) discard() {
	if t.file != nil {
		// It is of no use, so nothing depends on these errors.
		_ = errors.Join(t.packed.Encoder.Close(), t.file.Close(), os.Remove(t.file.Name()))
	}
}
