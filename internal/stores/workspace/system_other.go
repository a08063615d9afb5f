//go:build !unix

package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
)

// Systems without openat use os.Root, which cannot leave the root, and allow no links at all. So
// there is nothing to resolve, and nothing that could lead to another place.

type handle = *os.Root

func openHandle(dir string) (handle, error) { return os.OpenRoot(dir) }

func statHandle(h handle) (fs.FileInfo, error) { return h.Stat(".") }

// resolve returns an error if any element of a clean path is a link or hidden.
func (q request) resolve(clean string) (string, error) {
	_, err := q.inspect(clean)
	return clean, err
}

// inspect returns the file at the end of a clean path.
func (q request) inspect(clean string) (fs.FileInfo, error) {
	secrets := q.root.hidden.infos()
	here, err := q.lstat(".", secrets)
	for i, steps := 0, segments(clean); err == nil && i < len(steps); i++ {
		if hasAlias(steps[i]) {
			return nil, q.denied(errors.New("the name may stand for another"))
		}
		if !here.IsDir() {
			return nil, q.notFound(syscall.ENOTDIR)
		}
		here, err = q.lstat(path.Join(steps[:i+1]...), secrets)
	}
	return here, err
}

func (q request) lstat(at string, secrets []fs.FileInfo) (fs.FileInfo, error) {
	here, err := q.root.dir().Lstat(at)
	if err != nil {
		return nil, fmt.Errorf("stat %s: %w", at, err)
	}
	if isLink(here) || isSecret(here, secrets) {
		return nil, q.denied(errors.New("the path leads through a link or a hidden path"))
	}
	return here, nil
}

// hasAlias reports whether Windows may interpret a path element as another name: a stream, a short
// name, or a name whose trailing dots and spaces it drops.
func hasAlias(step string) bool {
	return strings.ContainsAny(step, ":~") || strings.TrimRight(step, ". ") != step
}

// isLink treats junctions and other redirections as links.
func isLink(info fs.FileInfo) bool {
	return info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0
}

// infos returns the hidden files and folders that exist now.
func (h *hidden) infos() []fs.FileInfo {
	var found []fs.FileInfo
	for _, host := range h.hosts {
		if info, err := os.Stat(host); err == nil {
			found = append(found, info)
		}
	}
	return found
}

func isSecret(info fs.FileInfo, secrets []fs.FileInfo) bool {
	return slices.ContainsFunc(secrets, func(secret fs.FileInfo) bool { return os.SameFile(info, secret) })
}

// open checks the path again, opens it, and verifies that it opened what it checked.
func (f *File) open() (*os.File, error) {
	seen, err := f.inspect(f.resolved)
	switch {
	case err != nil:
		return nil, err
	case seen.IsDir():
		return nil, f.isFolder()
	case !seen.Mode().IsRegular():
		return nil, f.isSpecial()
	}
	file, err := f.root.dir().Open(f.resolved)
	if err != nil {
		return nil, fmt.Errorf("open checked path: %w", err)
	}
	if info, err := file.Stat(); err != nil || !os.SameFile(seen, info) {
		return nil, f.denied(errors.Join(errors.New("the path changed after it was checked"), err, file.Close()))
	}
	return file, nil
}

// children returns the wanted files and folders in a folder, which it opens without following
// links. It omits hidden ones.
func (q request) children(folder string, wanted func(name string) bool) ([]child, error) {
	if _, err := q.inspect(folder); err != nil {
		return nil, err
	}
	opened, err := q.root.dir().Open(folder)
	if err != nil {
		return nil, fmt.Errorf("open folder: %w", err)
	}
	defer opened.Close()
	names, err := opened.Readdirnames(maxEntries)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read folder: %w", err)
	}
	var found []child
	secrets := q.root.hidden.infos()
	for _, name := range names {
		if !wanted(name) || hasAlias(name) {
			continue
		}
		here, err := q.lstat(path.Join(folder, name), secrets)
		if err == nil && (here.IsDir() || here.Mode().IsRegular()) {
			found = append(found, child{name, here.IsDir()})
		}
	}
	return found, nil
}

// OpenAppend opens one of Remit's own files within the root for reading and appending. It creates
// the file and the folders above it if they are missing. It refuses to go through a link. No policy
// applies, because the name does not come from a caller.
func (r *Root) OpenAppend(name string) (*os.File, error) { return r.openAppend(name, 0o755, 0o644) }

// OpenPrivate is OpenAppend for a file that only the user may read.
func (r *Root) OpenPrivate(name string) (*os.File, error) { return r.openAppend(name, 0o700, 0o600) }

// OpenFolder opens one of Remit's own folders within the root. It creates the folder and those
// above it if they are missing, for the user only. It refuses to go through a link.
func (r *Root) OpenFolder(name string) (*os.File, error) {
	if !isOurs(name) {
		return nil, fmt.Errorf("open %q: %w", name, fs.ErrInvalid)
	}
	if err := r.makeFolders(name, 0o700); err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	return r.dir().Open(name)
}

func (r *Root) openAppend(name string, folderMode, mode fs.FileMode) (*os.File, error) {
	if !isOurs(name) {
		return nil, fmt.Errorf("open %q to append: %w", name, fs.ErrInvalid)
	}
	if err := r.makeFolders(path.Dir(name), folderMode); err != nil {
		return nil, fmt.Errorf("open %s to append: %w", name, err)
	}
	// Opening a dangling link would create its target.
	if at, err := r.dir().Lstat(name); err == nil && isLink(at) {
		return nil, fmt.Errorf("open %s to append: it is a link", name)
	}
	file, err := r.dir().OpenFile(name, os.O_RDWR|os.O_APPEND|os.O_CREATE, mode)
	if err != nil {
		return nil, fmt.Errorf("open %s to append: %w", name, err)
	}
	if err := r.isPlain(name, file); err != nil {
		return nil, fmt.Errorf("open %s to append: %w", name, errors.Join(err, file.Close()))
	}
	return file, nil
}

// isPlain returns an error unless name is the open file itself, not a link to it.
func (r *Root) isPlain(name string, file *os.File) error {
	at, err := r.dir().Lstat(name)
	if err != nil {
		return fmt.Errorf("stat file: %w", err)
	}
	info, err := file.Stat()
	switch {
	case err != nil:
		return fmt.Errorf("stat open file: %w", err)
	case isLink(at):
		return fmt.Errorf("%s is a link", name)
	case !info.Mode().IsRegular() || !os.SameFile(at, info):
		return fmt.Errorf("%s is not a regular file", name)
	}
	return nil
}

func (r *Root) makeFolders(folder string, mode fs.FileMode) error {
	steps := segments(folder)
	for i := range steps {
		at := path.Join(steps[:i+1]...)
		if err := r.dir().Mkdir(at, mode); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("make folder: %w", err)
		}
		info, err := r.dir().Lstat(at)
		if err != nil {
			return fmt.Errorf("stat folder: %w", err)
		}
		if isLink(info) {
			return fmt.Errorf("%s is a link", at)
		}
	}
	return nil
}
