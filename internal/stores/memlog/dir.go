package memlog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Dir keeps files beneath one folder of Remit's own, readable by its user alone.
type Dir string

var _ Files = Dir("")

// OpenAppend keeps the promise of Files; folders above the file may be symlinks,
// the file itself may not.
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
