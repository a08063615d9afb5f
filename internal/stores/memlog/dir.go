package memlog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Dir is a folder of Remit's own files, which only its user can read. It implements Files.
type Dir string

var _ Files = Dir("")

// OpenAppend implements Files. Folders above the file may be symlinks, but the file itself may not.
func (d Dir) OpenAppend(name string) (*os.File, error) {
	if !filepath.IsLocal(name) {
		return nil, fmt.Errorf("open %q: not beneath the folder", name)
	}
	path := filepath.Join(string(d), name)
	f, err := openAppend(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	return openAppend(path)
}

func openAppend(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE|noFollow, 0o600)
}
