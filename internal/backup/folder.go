package backup

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"remit/internal/filelock"
)

// The parts of a folder of archives.
const (
	objectsFolder   = "objects"   // aa/SHA256.zst, by the hash of the content
	snapshotsFolder = "snapshots" // TIME.json
)

// snapshotTime is the name of a snapshot.
const snapshotTime = "20060102T150405Z"

// folderTarget is an archive in a folder: a manifest, and the contents that no earlier one has.
type folderTarget struct {
	path    string
	created time.Time
}

func newFolder(path string, created time.Time) (*folderTarget, error) {
	entries, err := os.ReadDir(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the folder of archives: %w", err)
	}
	for _, e := range entries {
		if e.Name() != objectsFolder && e.Name() != snapshotsFolder {
			return nil, fmt.Errorf("%s is not a folder of archives: it has %s; name an empty folder, or a file", path, e.Name())
		}
	}
	for _, name := range []string{objectsFolder, snapshotsFolder} {
		if err := os.MkdirAll(filepath.Join(path, name), 0o700); err != nil {
			return nil, fmt.Errorf("create the folder of archives: %w", err)
		}
	}
	return &folderTarget{path: path, created: created}, nil
}

// objectFile returns the file of a content.
func objectFile(folder, hash string) string {
	return filepath.Join(folder, objectsFolder, hash[:2], hash+".zst")
}

func (t *folderTarget) has(hash string) (int64, bool) {
	if !isHash(hash) {
		return 0, false
	}
	file, err := openObject(objectFile(t.path, hash))
	if err != nil {
		return 0, false
	}
	defer file.Close()
	size, got, err := copyObject(io.Discard, file)
	return size, err == nil && got == hash
}

func (t *folderTarget) add(e *Entry, _ int64, r io.Reader) error {
	file, err := os.CreateTemp(filepath.Join(t.path, objectsFolder), ".part-*")
	if err != nil {
		return err
	}
	// It was renamed, or is of no use.
	defer func() { _ = errors.Join(file.Close(), os.Remove(file.Name())) }()
	packed, err := newCompressor(file)
	if err != nil {
		return err
	}
	if e.Size, e.SHA256, err = copyTo(packed, r); err != nil {
		return errors.Join(err, packed.Encoder.Close())
	}
	if err := packed.Close(); err != nil {
		return err
	}
	name := objectFile(t.path, e.SHA256)
	if _, whole := t.has(e.SHA256); whole {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	if err := os.Rename(file.Name(), name); err != nil {
		return err
	}
	return filelock.SyncFolder(filepath.Dir(name))
}

// signedManifest is the content of a snapshot file: the manifest, and its hash.
func signedManifest(m []byte) []byte {
	_, hash, _ := copyTo(io.Discard, bytes.NewReader(m)) // never fails
	return fmt.Appendf(nil, "{\"manifest\":%s,\"sha256\":%q}\n", m, hash)
}

func (t *folderTarget) finish(m *Manifest) (string, error) {
	text, err := json.Marshal(m)
	if err != nil {
		return "", err
	}
	folder := filepath.Join(t.path, snapshotsFolder)
	file, err := os.CreateTemp(folder, ".part-*")
	if err != nil {
		return "", err
	}
	_, err = file.Write(signedManifest(text))
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return "", errors.Join(err, os.Remove(file.Name()))
	}
	name := filepath.Join(folder, t.created.UTC().Format(snapshotTime)+".json")
	for at := t.created; ; { // two within a second
		if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			break
		}
		at = at.Add(time.Second)
		name = filepath.Join(folder, at.UTC().Format(snapshotTime)+".json")
	}
	if err := os.Rename(file.Name(), name); err != nil {
		return "", errors.Join(err, os.Remove(file.Name()))
	}
	return name, errors.Join(filelock.SyncFolder(folder), filelock.SyncFolder(filepath.Join(t.path, objectsFolder)))
}

// discard leaves the contents that were added: the next archive, or another one that is being
// written, may use them.
func (t *folderTarget) discard() {}

// folderArchive is an archive in a folder.
type folderArchive struct {
	path     string // of the folder
	snapshot string // the file of the manifest
}

// openFolder returns the newest archive of a folder, or the one of a snapshot file.
func openFolder(name string) (*folderArchive, error) {
	if filepath.Base(filepath.Dir(name)) == snapshotsFolder && strings.HasSuffix(name, ".json") {
		return &folderArchive{filepath.Dir(filepath.Dir(name)), name}, nil
	}
	found, err := filepath.Glob(filepath.Join(name, snapshotsFolder, "2*.json"))
	if err != nil {
		return nil, fmt.Errorf("list the archives: %w", err)
	}
	if len(found) == 0 {
		if _, err := os.Stat(name); err != nil {
			return nil, fmt.Errorf("open the archive: %w", err)
		}
		return nil, fmt.Errorf("%s has no archives: it is not a folder that \"remit backup\" has written", name)
	}
	return &folderArchive{name, slices.Max(found)}, nil
}

func (f *folderArchive) manifest() (m Manifest, err error) {
	file, err := os.Open(f.snapshot)
	if err != nil {
		return m, fmt.Errorf("open the archive: %w", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxDocument))
	if err != nil {
		return m, fmt.Errorf("read the archive: %w", err)
	}
	var signed struct {
		Manifest json.RawMessage `json:"manifest"`
	}
	if err := json.Unmarshal(text, &signed); err != nil || !bytes.Equal(text, signedManifest(signed.Manifest)) {
		return m, damaged("%s does not match its hash", filepath.Base(f.snapshot))
	}
	return parseManifest(signed.Manifest)
}

func (f *folderArchive) each(m *Manifest, read func(n int64) error, visit func(name string, size int64, r io.Reader) error) error {
	done := int64(0)
	for i := range m.Entries {
		e := &m.Entries[i]
		file, err := openObject(objectFile(f.path, e.SHA256))
		if err != nil {
			return damaged("the content of %s is missing: %v", e.Path, err)
		}
		err = f.one(file, e, func(int64) error { return read(done) }, visit)
		if err = errors.Join(err, file.Close()); err != nil {
			return fmt.Errorf("%s: %w", e.Path, err)
		}
		done += e.Size
	}
	return nil
}

// one visits the content of one entry.
func (f *folderArchive) one(file *os.File, e *Entry, read func(n int64) error, visit func(string, int64, io.Reader) error) error {
	info, err := file.Stat()
	if err != nil {
		return &fileError{err}
	}
	d, err := newDecompressor(&source{Reader: file, read: read}, info.Size())
	if err != nil {
		return err
	}
	defer d.Close()
	if err := visit(e.Path, e.Size, d); err != nil {
		return err
	}
	return d.finish()
}

// openObject opens a file of the folder, but no link.
func openObject(name string) (*os.File, error) {
	if info, err := os.Lstat(name); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, errors.New("there is no such file"))
	}
	return os.Open(name)
}

// copyObject writes the content of an object, and returns its size and hash.
func copyObject(w io.Writer, file *os.File) (size int64, hash string, err error) {
	info, err := file.Stat()
	if err != nil {
		return 0, "", err
	}
	d, err := newDecompressor(file, info.Size())
	if err != nil {
		return 0, "", err
	}
	defer d.Close()
	if size, hash, err = copyTo(w, d); err == nil {
		err = d.finish()
	}
	return size, hash, err
}
