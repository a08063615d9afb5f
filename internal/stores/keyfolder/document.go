package keyfolder

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"remit/internal/engine/identity"
	"remit/internal/filelock"
)

// Workspace holds the documents about one workspace.
type Workspace struct {
	folder *Folder
	root   string // the real path
	dir    string // the folder of the documents
}

// Workspace returns the documents about the workspace with this real path.
func (f *Folder) Workspace(root string) *Workspace {
	sum := sha256.Sum256([]byte(identity.Seal(nil, "workspace 1", root)))
	return &Workspace{f, root, filepath.Join(f.path, "workspaces", hex.EncodeToString(sum[:16]))}
}

// PrivateDir returns the folder of the workspace if it belongs to this user alone. create makes a
// folder that does not exist.
func (w *Workspace) PrivateDir(create bool) (string, error) {
	if err := w.folder.Check(); err != nil {
		return "", err
	}
	if create {
		err := os.MkdirAll(w.dir, 0o700)
		if err == nil {
			err = os.Chmod(w.folder.path, 0o700) // it may have been prepared with the usual mode
		}
		if err != nil {
			return "", fmt.Errorf("store in the key folder: %w", err)
		}
	}
	for _, folder := range []string{w.folder.path, filepath.Dir(w.dir), w.dir} {
		info, err := os.Lstat(folder)
		if err == nil {
			err = checkOwner(folder, info)
		}
		if err == nil && !info.IsDir() {
			err = fmt.Errorf("%s is not a folder", folder)
		}
		if err != nil {
			return "", fmt.Errorf("check the key folder: %w", err)
		}
	}
	return w.dir, nil
}

// LockName is the name of the file in PrivateDir that everybody who changes documents locks.
const LockName = "lock"

// Name returns the path of a document within the key folder, for messages.
func (w *Workspace) Name(document string) string {
	return "workspaces/" + filepath.Base(w.dir) + "/" + document
}

// maxDocument bounds the size of a document.
const maxDocument = 1 << 20

// document is a file: content that was sealed for one workspace.
type document struct {
	V       int             `json:"v"`
	Root    string          `json:"root"`
	Content json.RawMessage `json:"content"`
	MAC     string          `json:"mac"`
}

// Read returns the content of a document, or nil if there is none. It returns an error for a
// document that was not written with the key of this folder for this workspace.
func (w *Workspace) Read(name string) ([]byte, error) {
	if w.folder.path == "" {
		return nil, nil // nothing could be stored
	}
	file := filepath.Join(w.dir, name)
	info, err := os.Lstat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxDocument) {
		err = errors.New("it is not a file of ours")
	}
	var data, key []byte
	if err == nil {
		data, err = os.ReadFile(file)
	}
	if err == nil {
		key, err = w.folder.existingKey()
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	var d document
	if err := json.Unmarshal(data, &d); err != nil || d.MAC != w.seal(key, name, d.Content) {
		return nil, fmt.Errorf("%s was changed, or written with another key or for another workspace", file)
	}
	return d.Content, nil
}

// Write stores a document.
func (w *Workspace) Write(name string, content []byte) (err error) {
	key, err := w.folder.Key()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(w.dir, 0o700); err != nil {
		return fmt.Errorf("store in the key folder: %w", err)
	}
	data, err := json.Marshal(document{1, w.root, content, w.seal(key, name, content)})
	if err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	file := filepath.Join(w.dir, name)
	temporary, err := writeTemporary(file, append(data, '\n'))
	if err == nil {
		err = os.Rename(temporary, file)
	}
	if err != nil {
		return fmt.Errorf("store in the key folder: %w", err)
	}
	return nil
}

// Remove removes a document, whether it can be read or not.
func (w *Workspace) Remove(name string) error {
	if w.folder.path == "" {
		return nil // nothing could be stored
	}
	if unlock, err := w.Lock(); err == nil { // otherwise nobody else can write either
		defer unlock()
	}
	if err := os.Remove(filepath.Join(w.dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove from the key folder: %w", err)
	}
	return nil
}

func (w *Workspace) seal(key []byte, name string, content []byte) string {
	return identity.Seal(key, "document 1", w.root, name, string(content))
}

// Lock waits until no other process changes documents of the workspace. It creates the folder of
// the workspace.
func (w *Workspace) Lock() (unlock func(), err error) {
	if err := w.folder.Check(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(w.dir, 0o700); err != nil {
		return nil, fmt.Errorf("store in the key folder: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(w.dir, LockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the key folder: %w", err)
	}
	if err := filelock.Lock(f); err != nil {
		return nil, fmt.Errorf("lock the key folder: %w", errors.Join(err, f.Close()))
	}
	// The lock ends with the process at the latest.
	return func() { _ = errors.Join(filelock.Unlock(f), f.Close()) }, nil
}

// CopyDocuments takes over the documents of another path of the workspace.
func (w *Workspace) CopyDocuments(from *Workspace) error {
	files, err := filepath.Glob(filepath.Join(from.dir, "*.json"))
	if err != nil {
		return fmt.Errorf("list documents: %w", err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		content, err := from.Read(name)
		if err == nil {
			err = w.Write(name, content)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
