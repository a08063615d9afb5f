//go:build unix

package workspace

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// children returns the wanted files and folders in a folder, which it opens without following
// links. It omits hidden ones.
func (q request) children(folder string, wanted func(name string) bool) (found []child, err error) {
	err = q.root.dir().lend(func(root int) error {
		secrets := q.root.hidden.identities()
		dir, err := descend(root, segments(folder), func(dir int, name string) (int, error) {
			return q.pass(dir, name, secrets)
		})
		if err != nil {
			return err
		}
		defer release(dir, root)
		names, err := namesIn(dir)
		if err != nil {
			return err
		}
		found = childrenAmong(slices.DeleteFunc(names, func(name string) bool { return !wanted(name) }), dir, secrets)
		return nil
	})
	return found, err
}

// childrenAmong returns the files and folders with these names, without hidden ones and those that
// no longer exist.
func childrenAmong(names []string, dir int, secrets []identity) (found []child) {
	for _, name := range names {
		here, err := statAt(dir, name)
		if err != nil || slices.Contains(secrets, here.identity) {
			continue
		}
		if here.isFolder() || here.isRegular() {
			found = append(found, child{name, here.isFolder()})
		}
	}
	return found
}

// namesIn reads the names in an open folder, whose descriptor may allow only traversal.
func namesIn(dir int) ([]string, error) {
	fd, err := openIn(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), ".")
	defer file.Close()
	names, err := file.Readdirnames(maxEntries)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read folder: %w", err)
	}
	return names, nil
}
