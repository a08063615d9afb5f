package clients

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Change is what was done to a file, or would be.
type Change struct {
	File   string // the real one, where a link led to it
	Backup string // where this change keeps what was there before; "" if it keeps nothing
	Was    Was
}

// Was is how an entry stood before.
type Was string

// How an entry may have stood before.
const (
	Absent   Was = "absent"   // there was none
	Other    Was = "other"    // there was another
	Same     Was = "same"     // it was just as it should be: nothing was done
	Restored Was = "restored" // removed: the file is as it was before, byte for byte
	Removed  Was = "removed"  // removed, and what others changed meanwhile stays
)

// Plan tells what Install would do.
func (c *Client) Plan(file string, s Server) (Change, error) {
	k, err := c.open(file, s.Name)
	if err != nil {
		return Change{}, err
	}
	_, change, err := k.planned(s)
	return change, err
}

// Install puts the server into a file of the client's. Every other byte stays as it
// is, and so does what people put into an entry of it; what was there before is kept
// beside it until Remove.
func (c *Client) Install(file string, s Server) (Change, error) {
	k, err := c.open(file, s.Name)
	if err != nil {
		return Change{}, err
	}
	if _, change, err := k.planned(s); err != nil || change.Was == Same {
		return change, err
	}
	made, err := makeFolders(filepath.Dir(k.file))
	if err != nil {
		return Change{}, err
	}
	unlock, err := lock(k.file)
	if err != nil {
		return Change{}, err
	}
	defer unlock()
	if k, err = c.open(k.file, s.Name); err != nil { // again, now that nobody else may write
		return Change{}, err
	}
	after, change, err := k.planned(s)
	if err != nil || change.Was == Same {
		return change, err
	}
	undo, err := k.keep(made, change.Was)
	if err == nil {
		err = k.replace(after)
	}
	if err != nil {
		return change, errors.Join(fmt.Errorf("%s was not touched: %w", k.file, err), undo())
	}
	return change, nil
}

// Installed gives what the file of a client says of a server; no error and false if
// there is no such file, or nothing of it there.
func (c *Client) Installed(file, name string) (Entry, bool, error) {
	k, err := c.open(file, name)
	if err != nil {
		return Entry{}, false, err
	}
	raw, said, err := c.in.get(k.text, name)
	if err != nil {
		err = fmt.Errorf("%s cannot be read at %w", k.file, err)
	}
	return said, raw != nil, err
}

// kept is a file of a client that was read.
type kept struct {
	client *Client
	name   string // of the server
	file   string // the real one
	text   []byte
	exists bool
	info   fs.FileInfo // of a file that exists
}

// maxFile is far more than any client keeps in its file.
const maxFile = 64 << 20

// open reads a file, which need not be there.
func (c *Client) open(file, name string) (*kept, error) {
	k := &kept{client: c, name: name, file: file}
	info, err := os.Lstat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return k, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look at the file of %s: %w", c.Title, err)
	}
	if info.Mode()&fs.ModeSymlink != 0 { // it should stay a link
		if k.file, err = filepath.EvalSymlinks(file); err != nil {
			return nil, fmt.Errorf("%s is a link that leads nowhere; mend or remove it: %w", file, err)
		}
		if info, err = os.Stat(k.file); err != nil {
			return nil, fmt.Errorf("look at the file of %s: %w", c.Title, err)
		}
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, fmt.Errorf("%s is no regular file of less than %d bytes; it is left alone", k.file, maxFile)
	}
	if k.text, err = os.ReadFile(k.file); err != nil {
		return nil, fmt.Errorf("read the file of %s: %w", c.Title, err)
	}
	k.exists, k.info = true, info
	return k, nil
}

// explain says of which file a place is that cannot be read, and what to do.
func (k *kept) explain(err error) error {
	if wrong, ok := errors.AsType[*SyntaxError](err); ok {
		return fmt.Errorf("%s was not touched, because it cannot be read at %w; mend it there, or put in by hand what --print shows", k.file, wrong)
	}
	return err
}

// planned works out the new text.
func (k *kept) planned(s Server) ([]byte, Change, error) {
	change := Change{File: k.file, Was: Absent}
	raw, said, err := k.client.in.get(k.text, s.Name)
	if err != nil {
		return nil, change, k.explain(err)
	}
	after, err := k.client.put(k.text, s)
	if err != nil {
		return nil, change, k.explain(err)
	}
	switch {
	case raw != nil && bytes.Equal(after, k.text):
		change.Was = Same
		return after, change, nil
	case raw != nil:
		change.Was = Other
	}
	if err := k.guard(said); err != nil {
		return nil, change, err
	}
	if k.exists && !k.isKept(change.Was) {
		change.Backup = k.backup()
	} else if len(said.others) > 0 && !said.reaches(s) {
		return nil, change, fmt.Errorf("%s was not touched: %s has %s there, which goes with how it is connected now and would be lost; take it out by hand, or the server with --remove, and try again",
			k.file, k.name, strings.Join(said.others, ", "))
	}
	return after, change, nil
}

// isKept tells whether what was there before the first entry is kept already: it must
// not be replaced by what was there before the second.
func (k *kept) isKept(was Was) bool {
	return was == Other && (isThere(k.backup()) || isThere(k.marker()))
}

// guard refuses what could be changed, but was not meant to be: a file that its owner
// made read-only, and an entry of that name that is somebody else's.
func (k *kept) guard(said Entry) error {
	switch {
	case k.exists && k.info.Mode()&0o200 == 0:
		return fmt.Errorf("%s is read-only, and was not touched; make it writable, or put in by hand what --print shows", k.file)
	case !k.isOurs(said):
		return fmt.Errorf("%s has a server %s that is not Remit (it starts %s), and was not touched; take another name with --name, or take that server out by hand", k.file, k.name, said.Command)
	}
	return nil
}

// isOurs tells whether an entry may be Remit's: it starts a program of that name, or
// something beside the file says that it was put there. An address tells nothing.
func (k *kept) isOurs(said Entry) bool {
	program := strings.TrimSuffix(filepath.Base(said.Command), ".exe")
	return said.Command == "" || program == "remit" || isThere(k.backup()) || isThere(k.marker())
}

// Beside the file lies what it was before, or who made it. Each server has its own, so
// that one can go and others stay.
func (k *kept) backup() string { return k.file + "." + k.name + "-backup" }
func (k *kept) marker() string { return k.file + "." + k.name + "-made" }

// keep keeps what is there, and gives what forgets it again, also after an error. An
// older backup stays if the entry does: it is from before there was one.
func (k *kept) keep(made []string, was Was) (undo func() error, err error) {
	if !k.exists {
		text := "Remit made the file beside this one, and these folders for it.\n" + strings.Join(made, "\n")
		undo = func() error { return forget(k.marker()) }
		return undo, errors.Join(forget(k.backup()), k.writeNew(k.marker(), []byte(text)))
	}
	if k.isKept(was) {
		return func() error { return nil }, nil
	}
	undo = func() error { return forget(k.backup()) }
	return undo, errors.Join(forget(k.marker()), k.writeNew(k.backup(), k.text))
}

// writeNew writes a file that only the owner of that beside it may read, in the place
// of what is there.
func (k *kept) writeNew(name string, text []byte) error {
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("keep what was there: %w", err)
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("keep what was there: %w", err)
	}
	_, err = f.Write(text)
	if k.exists {
		err = errors.Join(err, keepOwner(f, k.info))
	}
	return errors.Join(err, f.Sync(), f.Close())
}

// Remove takes the server out again. If nobody has changed the rest of the file, it is
// then as it was before Install, byte for byte; what others changed stays.
func (c *Client) Remove(file, name string) (Change, error) {
	if err := checkName(name); err != nil {
		return Change{}, err
	}
	k, err := c.open(file, name)
	if err != nil {
		return Change{}, err
	}
	if !k.exists {
		return Change{File: k.file, Was: Absent}, nil
	}
	was, folders, err := c.removeLocked(k.file, name)
	for i := len(folders) - 1; i >= 0 && err == nil; i-- {
		_ = os.Remove(folders[i]) // others may keep things there by now
	}
	return Change{File: k.file, Was: was}, err
}

// removeLocked gives the folders that nobody needs any more.
func (c *Client) removeLocked(file, name string) (was Was, folders []string, err error) {
	unlock, err := lock(file)
	if err != nil {
		return Absent, nil, err
	}
	defer unlock()
	k, err := c.open(file, name)
	if err != nil {
		return Absent, nil, err
	}
	raw, said, err := c.in.get(k.text, name)
	was = Absent
	if err == nil && raw != nil {
		err = k.guard(said)
	}
	if err == nil && raw != nil {
		was, folders, err = k.takeOut(raw)
	}
	if err != nil {
		return was, nil, k.explain(err)
	}
	return was, folders, errors.Join(forget(k.backup()), forget(k.marker()))
}

// takeOut removes an entry as it now stands.
func (k *kept) takeOut(raw []byte) (Was, []string, error) {
	in := k.client.in
	before, err := os.ReadFile(k.backup())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Absent, nil, fmt.Errorf("%s was not touched, because what was there before cannot be read: %w", k.file, err)
	}
	hasBackup := err == nil
	isMade := !hasBackup && isThere(k.marker())
	if hasBackup || isMade {
		again, err := in.set(before, k.name, func(style) []byte { return raw })
		switch isUntouched := err == nil && bytes.Equal(again, k.text); {
		case isUntouched && isMade:
			folders, err := k.unmake()
			return Restored, folders, err
		case isUntouched:
			return Restored, nil, k.replace(before)
		}
	}
	after, err := k.without(before, hasBackup || isMade)
	if err != nil {
		return Removed, nil, err
	}
	return Removed, nil, k.replace(after)
}

// without gives the text without the entry, or with that which was there before ours.
func (k *kept) without(before []byte, isKnown bool) ([]byte, error) {
	in := k.client.in
	if old, _, err := in.get(before, k.name); err == nil && old != nil {
		return in.set(k.text, k.name, func(style) []byte { return old })
	}
	return in.remove(k.text, k.name, !isKnown || in.holds(before))
}

// unmake removes a file that was made for us, and lists the folders that were.
func (k *kept) unmake() ([]string, error) {
	said, err := os.ReadFile(k.marker())
	if err != nil {
		return nil, fmt.Errorf("find out what was made: %w", err)
	}
	if err := os.Remove(k.file); err != nil {
		return nil, fmt.Errorf("remove the file that was made: %w", err)
	}
	var folders []string
	for _, folder := range strings.Split(string(said), "\n")[1:] {
		if beneath, err := filepath.Rel(folder, k.file); err == nil && filepath.IsLocal(beneath) { // it can be no other
			folders = append(folders, folder)
		}
	}
	return folders, nil
}
