package clients

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
)

// replace puts a new text in the place of the one that was read. Whoever else reads
// the file finds the one or the other, and whoever changed it meanwhile wins.
func (k *kept) replace(after []byte) (err error) {
	temporary, err := os.CreateTemp(filepath.Dir(k.file), "."+filepath.Base(k.file)+".*")
	if err != nil {
		return fmt.Errorf("write the file of %s: %w", k.client.Title, err)
	}
	defer func() { _ = os.Remove(temporary.Name()) }() // renamed by now, or of no use
	_, err = temporary.Write(after)
	if err = errors.Join(err, k.likeBefore(temporary), temporary.Sync(), temporary.Close()); err != nil {
		return fmt.Errorf("write the file of %s: %w", k.client.Title, err)
	}
	now, err := os.ReadFile(k.file)
	switch {
	case err == nil && k.exists && bytes.Equal(now, k.text):
	case errors.Is(err, fs.ErrNotExist) && !k.exists:
	case err == nil || errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s was changed by somebody else in this moment; try again", k.file)
	default:
		return fmt.Errorf("read the file of %s: %w", k.client.Title, err)
	}
	if err := os.Rename(temporary.Name(), k.file); err != nil {
		return fmt.Errorf("write the file of %s: %w", k.client.Title, err)
	}
	return syncFolder(filepath.Dir(k.file))
}

// likeBefore gives a new file the owner and the mode of the one that it replaces. One
// that replaces none is for its owner alone, as it was made.
func (k *kept) likeBefore(f *os.File) error {
	if !k.exists {
		return nil
	}
	if err := keepOwner(f, k.info); err != nil { // before the mode, which it might change
		return err
	}
	return f.Chmod(k.info.Mode().Perm())
}

// syncFolder makes a new name last. Windows needs no such thing, and allows none.
func syncFolder(name string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	folder, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// lock keeps others from writing a file, in the way that Claude Code and other programs
// of Node do: by a folder of that name.
func lock(file string) (unlock func(), err error) {
	name := file + ".lock"
	switch err := os.Mkdir(name, 0o700); {
	case errors.Is(err, fs.ErrExist):
		return nil, fmt.Errorf("%s is in use, and was not touched: try again in a moment; if no client runs, remove %s", file, name)
	case err != nil:
		return nil, fmt.Errorf("%s was not touched, because nothing can be written beside it: %w; give yourself the right to, or put in by hand what --print shows", file, err)
	}
	return func() { _ = os.Remove(name) }, nil // an empty folder of ours
}

// makeFolders makes a folder and those above it that are missing, and lists what it
// made from the top down.
func makeFolders(name string) ([]string, error) {
	var missing []string
	for folder := name; !isThere(folder); folder = filepath.Dir(folder) {
		missing = append(missing, folder)
	}
	slices.Reverse(missing)
	if err := os.MkdirAll(name, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder %s: %w", name, err)
	}
	return missing, nil
}

func isThere(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// forget removes a file that may be there.
func forget(name string) error {
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("tidy up: %w", err)
	}
	return nil
}
