package clients

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"remit/internal/filelock"
)

// replace replaces the file with a new text, atomically. It fails if the file was changed since it
// was read.
func (k *clientFile) replace(after []byte) (err error) {
	temporary, err := os.CreateTemp(filepath.Dir(k.file), "."+filepath.Base(k.file)+".*")
	if err != nil {
		return fmt.Errorf("write the file of %s: %w", k.client.Title, err)
	}
	defer func() { _ = os.Remove(temporary.Name()) }() // after a rename there is nothing to remove
	_, err = temporary.Write(after)
	if err = errors.Join(err, k.copyOwnerAndMode(temporary), temporary.Sync(), temporary.Close()); err != nil {
		return fmt.Errorf("write the file of %s: %w", k.client.Title, err)
	}
	now, err := os.ReadFile(k.file)
	switch {
	case err == nil && k.exists && bytes.Equal(now, k.text):
	case errors.Is(err, fs.ErrNotExist) && !k.exists:
	case err == nil || errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s was changed by another program at the same time; try again", k.file)
	default:
		return fmt.Errorf("read the file of %s: %w", k.client.Title, err)
	}
	if err := os.Rename(temporary.Name(), k.file); err != nil {
		return fmt.Errorf("write the file of %s: %w", k.client.Title, err)
	}
	return filelock.SyncFolder(filepath.Dir(k.file))
}

// copyOwnerAndMode gives a new file the owner and the mode of the file that it replaces. If there
// was none, only the owner can read the new file, as CreateTemp made it, unless it is in a project.
func (k *clientFile) copyOwnerAndMode(f *os.File) error {
	if !k.exists && k.client.inProject {
		return f.Chmod(0o644)
	}
	if !k.exists {
		return nil
	}
	// Before the mode, because chown may change the mode.
	if err := keepOwner(f, k.info); err != nil {
		return err
	}
	return f.Chmod(k.info.Mode().Perm())
}

// lock locks a file with a folder named FILE.lock, the way that Claude Code and other Node programs
// do.
func lock(file string) (unlock func(), err error) {
	name := file + ".lock"
	switch err := os.Mkdir(name, 0o700); {
	case errors.Is(err, fs.ErrExist):
		return nil, fmt.Errorf("%s is locked and was not changed; try again in a moment, or remove %s if no client is running", file, name)
	case err != nil:
		return nil, fmt.Errorf("%s was not changed, because its folder is not writable: %w; make it writable, or add "+
			"by hand what --print shows",
			file, err)
	}
	return func() { _ = os.Remove(name) }, nil // our own empty folder
}

// makeFolders creates a folder and its missing parents. It returns the created folders, parents
// first.
func makeFolders(name string, mode fs.FileMode) ([]string, error) {
	var missing []string
	for folder := name; !pathExists(folder); folder = filepath.Dir(folder) {
		missing = append(missing, folder)
	}
	slices.Reverse(missing)
	if err := os.MkdirAll(name, mode); err != nil {
		return nil, fmt.Errorf("create the folder %s: %w", name, err)
	}
	return missing, nil
}

// folderMode returns the mode of a new folder for the file of the client.
func (c *Client) folderMode() fs.FileMode {
	if c.inProject {
		return 0o755
	}
	return 0o700
}

func pathExists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// removeIfExists removes a file if it exists.
func removeIfExists(name string) error {
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove %s: %w", name, err)
	}
	return nil
}
