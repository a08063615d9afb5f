// Package keyfolder stores what protects workspaces in a folder of the user, outside of every
// workspace: the key that seals decisions and tokens, and sealed documents about each workspace. A
// cloned or restored workspace therefore brings none of it along. The package does not know what
// the documents say.
package keyfolder

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
)

const (
	keyName = "approvals.key"
	keySize = 32
)

// Folder is the folder of keys of one user.
type Folder struct {
	path string
	err  error // why there is none
}

// Find returns the folder that chosen names. If chosen is empty, it is the state directory that
// systemd gives a service, or .config/remit in the home folder of the user. The home folder is the
// one that the system knows, because the client that starts the program may change the environment;
// HOME counts only for a user that the system does not know. If there is no folder, every method
// that needs one returns an error.
func Find(chosen string, env func(string) (string, bool)) *Folder {
	if chosen != "" {
		return &Folder{path: chosen}
	}
	if state, ok := env("STATE_DIRECTORY"); ok && filepath.IsAbs(state) {
		return &Folder{path: state}
	}
	home, err := homeFolder()
	if err != nil || !filepath.IsAbs(home) {
		return &Folder{err: errors.New("there is no home folder to store keys in; name a folder with --keys or REMIT_KEYS")}
	}
	if isTemporary(home) {
		return &Folder{err: fmt.Errorf("keys are not stored in the temporary folder %s; name a folder with --keys or REMIT_KEYS", home)}
	}
	return &Folder{path: filepath.Join(home, ".config", "remit")}
}

// isTemporary reports whether a folder is one for temporary files, or within one: the system may
// empty it, and its name belongs to whoever is first.
func isTemporary(folder string) bool {
	for _, temporary := range []string{os.TempDir(), "/tmp", "/var/tmp", "/dev/shm"} {
		if inner, err := filepath.Rel(realPath(temporary), realPath(folder)); err == nil && filepath.IsLocal(inner) {
			return true
		}
	}
	return false
}

// realPath returns a path without links, or the path itself if it cannot be resolved.
func realPath(name string) string {
	if real, err := filepath.EvalSymlinks(name); err == nil {
		return real
	}
	return name
}

func homeFolder() (string, error) {
	if u, err := user.LookupId(strconv.Itoa(os.Getuid())); err == nil && u.HomeDir != "" {
		return u.HomeDir, nil
	}
	return os.UserHomeDir()
}

// Path returns the path of the folder, which need not exist, or "" if there is none.
func (f *Folder) Path() string { return f.path }

// Check returns an error if the folder or the key exists and others could read or replace it.
// Others may still read a folder without a key.
func (f *Folder) Check() error {
	if f.err != nil {
		return f.err
	}
	key, err := os.Lstat(f.KeyFile())
	if err == nil {
		err = checkOwner(f.KeyFile(), key)
	}
	if err == nil && !key.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a file", f.KeyFile())
	}
	hasKey := err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("check the key folder: %w; name another with --keys or REMIT_KEYS", err)
	}
	if err := checkAbove(f.path); err != nil {
		return err
	}
	folder, err := os.Lstat(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("check the key folder: %w; name another with --keys or REMIT_KEYS", err)
	case hasKey:
		return checkOwner(f.path, folder)
	}
	return checkOwner(f.path, private{folder})
}

// private is a folder that becomes private with its first key. One that everybody may write to is
// not ours alone, such as /tmp, so its mode stays.
type private struct{ fs.FileInfo }

func (p private) Mode() fs.FileMode { return p.FileInfo.Mode() &^ 0o075 }

// KeyFile returns the path of the key, which need not exist.
func (f *Folder) KeyFile() string { return filepath.Join(f.path, keyName) }

// Key returns the key of the user, and creates it if there is none. A key that exists but cannot be
// used is an error: a new one would invalidate everything that was sealed with it.
func (f *Folder) Key() ([]byte, error) {
	key, err := f.existingKey()
	if errors.Is(err, fs.ErrNotExist) {
		if err := f.createKey(newKey()); err != nil {
			return nil, fmt.Errorf("create a key in %s: %w; name another folder with --keys or REMIT_KEYS", f.path, err)
		}
		key, err = f.existingKey()
	}
	return key, err
}

// existingKey returns the key. The error wraps fs.ErrNotExist if there is none.
func (f *Folder) existingKey() ([]byte, error) {
	if err := f.Check(); err != nil {
		return nil, err
	}
	key, err := os.ReadFile(f.KeyFile())
	if err != nil {
		return nil, fmt.Errorf("read the key: %w", err)
	}
	if len(key) != keySize {
		return nil, fmt.Errorf("the key %s has %d bytes, not %d; restore it from a backup, or remove it: then approvals, "+
			"tokens and trust must be given again", f.KeyFile(), len(key), keySize)
	}
	return key, nil
}

// SetKey stores a key from a backup. It returns an error if the folder has another key, which
// everything that was sealed here depends on.
func (f *Folder) SetKey(key []byte) error {
	if f.err != nil {
		return f.err
	}
	if len(key) != keySize {
		return fmt.Errorf("the key has %d bytes, not %d", len(key), keySize)
	}
	if err := f.createKey(key); err != nil {
		return fmt.Errorf("store the key in %s: %w; name another folder with --keys or REMIT_KEYS", f.path, err)
	}
	stored, err := f.existingKey()
	if err == nil && !bytes.Equal(stored, key) {
		err = fmt.Errorf("the key folder %s has another key, which other workspaces may depend on; name an empty folder with --keys, or "+
			"leave out the keys of the archive", f.path)
	}
	return err
}

func newKey() []byte {
	key := make([]byte, keySize)
	_, _ = rand.Read(key) // never fails
	return key
}

// createKey creates the key atomically. If there is one, it stays.
func (f *Folder) createKey(key []byte) error {
	if err := os.MkdirAll(f.path, 0o700); err != nil {
		return err
	}
	if err := f.Check(); err != nil {
		return err
	}
	// Somebody may have prepared the folder with the usual mode.
	if err := os.Chmod(f.path, 0o700); err != nil {
		return err
	}
	temporary, err := writeTemporary(f.KeyFile(), key)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(temporary) }() // linked by now, or not needed
	if err := os.Link(temporary, f.KeyFile()); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// writeTemporary writes a synced file next to name.
func writeTemporary(name string, content []byte) (string, error) {
	temporary, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*")
	if err != nil {
		return "", err
	}
	_, err = temporary.Write(content)
	if err = errors.Join(err, temporary.Sync(), temporary.Close()); err != nil {
		return "", errors.Join(err, os.Remove(temporary.Name()))
	}
	return temporary.Name(), nil
}
