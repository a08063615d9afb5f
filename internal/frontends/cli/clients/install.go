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

// Change is a change to a file that was made or planned.
type Change struct {
	File   string // with symbolic links resolved
	Backup string // path of the backup that this change makes; "" for none
	Prior  PriorState
	// The text of the entry before and after the change; "" if there was or is none.
	Old, New string
}

// PriorState is the state of an entry before a change.
type PriorState string

// The states of an entry before a change.
const (
	Absent    PriorState = "absent" // there was no entry
	Different PriorState = "other"  // there was a different entry
	Same      PriorState = "same"   // the entry was up to date; nothing was changed
	// Removed; the file is as it was before Install, byte for byte.
	Restored PriorState = "restored"
	Removed  PriorState = "removed" // removed; changes that others made since Install are kept
	Deleted  PriorState = "deleted" // removed, with the file, which had nothing else
)

// Plan returns the change that Install would make.
func (c *Client) Plan(file string, s Server) (Change, error) {
	k, err := c.open(file, s.Name)
	if err != nil {
		return Change{}, err
	}
	_, change, err := k.planned(s)
	return change, err
}

// Install adds the server to a file of the client, or updates its entry. It keeps every other byte,
// and the fields that the user added to the entry. A backup is kept beside the file until Remove,
// except in a project, where it could be committed.
func (c *Client) Install(file string, s Server) (Change, error) {
	k, err := c.open(file, s.Name)
	if err != nil {
		return Change{}, err
	}
	if _, change, err := k.planned(s); err != nil || change.Prior == Same {
		return change, err
	}
	made, err := makeFolders(filepath.Dir(k.file), k.client.folderMode())
	if err != nil {
		return Change{}, err
	}
	unlock, err := lock(k.file)
	if err != nil {
		return Change{}, err
	}
	defer unlock()
	if k, err = c.open(k.file, s.Name); err != nil { // read again under the lock
		return Change{}, err
	}
	after, change, err := k.planned(s)
	if err != nil || change.Prior == Same {
		return change, err
	}
	undo, err := k.writeBackup(made, change.Prior)
	if err == nil {
		err = k.replace(after)
	}
	if err != nil {
		return change, errors.Join(fmt.Errorf("%s was not changed: %w", k.file, err), undo())
	}
	return change, nil
}

// Installed returns the entry of a server in a file of the client. It returns false and no error if
// there is no such file or entry.
func (c *Client) Installed(file, name string) (Entry, bool, error) {
	k, err := c.open(file, name)
	if err != nil {
		return Entry{}, false, err
	}
	raw, entry, err := c.in.get(k.text, name)
	if err != nil {
		err = fmt.Errorf("%s cannot be parsed at %w", k.file, err)
	}
	entry.Root = rootOf(raw)
	return entry, raw != nil, err
}

// Found is an entry of Remit in a file.
type Found struct {
	Name string
	Entry
}

// Entries returns the entries of Remit in a file of the client: those that start a program named
// remit, and the one named remit.
func (c *Client) Entries(file string) ([]Found, error) {
	k, err := c.open(file, "")
	if err != nil {
		return nil, err
	}
	names, err := c.in.names(k.text)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be parsed at %w", k.file, err)
	}
	var list []Found
	for _, name := range names {
		entry, found, err := c.Installed(file, name)
		if err == nil && found && (name == "remit" || entry.startsRemit()) {
			list = append(list, Found{name, entry})
		}
	}
	return list, nil
}

// clientFile is the configuration file of a client, as it was read.
type clientFile struct {
	client *Client
	name   string // name of the server
	file   string // with symbolic links resolved
	text   []byte
	exists bool
	info   fs.FileInfo // set if the file exists
}

// maxFile limits the size of a file; those of clients are far smaller.
const maxFile = 64 << 20

// open reads a file, which need not exist.
func (c *Client) open(file, name string) (*clientFile, error) {
	k := &clientFile{client: c, name: name, file: file}
	if err := c.checkLinks(file); err != nil {
		return nil, err
	}
	info, err := os.Lstat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return k, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the file of %s: %w", c.Title, err)
	}
	if info.Mode()&fs.ModeSymlink != 0 { // edit the target, so that the link stays
		if k.file, err = filepath.EvalSymlinks(file); err != nil {
			return nil, fmt.Errorf("%s is a broken symbolic link; repair or remove it: %w", file, err)
		}
		if info, err = os.Stat(k.file); err != nil {
			return nil, fmt.Errorf("read the file of %s: %w", c.Title, err)
		}
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, fmt.Errorf("%s was not changed, because it is not a regular file of less than %d bytes", k.file, maxFile)
	}
	if k.text, err = os.ReadFile(k.file); err != nil {
		return nil, fmt.Errorf("read the file of %s: %w", c.Title, err)
	}
	k.exists, k.info = true, info
	return k, nil
}

// checkLinks rejects a link in the place of a file of a project, or of its folder: a clone could
// lead to any file of the user with it.
func (c *Client) checkLinks(file string) error {
	if !c.inProject {
		return nil
	}
	for _, name := range []string{filepath.Dir(file), file}[2-min(len(c.project), 2):] {
		if info, err := os.Lstat(name); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return fmt.Errorf("%s is a link, which could lead out of the project; remove it and try again", name)
		}
	}
	return nil
}

// explain adds the file and the next step to a SyntaxError.
func (k *clientFile) explain(err error) error {
	if wrong, ok := errors.AsType[*SyntaxError](err); ok {
		return fmt.Errorf("%s was not changed, because it cannot be parsed at %w; correct it there, or add by hand what --print shows",
			k.file, wrong)
	}
	return err
}

// planned returns the new text of the file and the change to it.
func (k *clientFile) planned(s Server) ([]byte, Change, error) {
	change := Change{File: k.file, Prior: Absent}
	raw, entry, err := k.client.in.get(k.text, s.Name)
	if err != nil {
		return nil, change, k.explain(err)
	}
	after, err := k.client.put(k.text, s)
	if err != nil {
		return nil, change, k.explain(err)
	}
	switch {
	case raw != nil && bytes.Equal(after, k.text):
		change.Prior = Same
		return after, change, nil
	case raw != nil:
		change.Prior = Different
	}
	now, _, err := k.client.in.get(after, s.Name)
	if err != nil {
		return nil, change, k.explain(err)
	}
	change.Old, change.New = string(raw), string(now)
	if err := k.checkIntended(entry); err != nil {
		return nil, change, err
	}
	if k.exists && !k.client.inProject && !k.hasBackup(change.Prior) {
		change.Backup = k.backup()
	} else if len(entry.others) > 0 && !entry.sameKind(s) {
		return nil, change, fmt.Errorf("%s was not changed: the present entry %s has the fields %s, which would be "+
			"lost; remove them by hand, or the whole entry with --remove, and try again",
			k.file, k.name, strings.Join(entry.others, ", "))
	}
	return after, change, nil
}

// hasBackup reports whether a backup from before the first Install exists. A later Install must not
// replace it.
func (k *clientFile) hasBackup(was PriorState) bool {
	return was == Different && (pathExists(k.backup()) || pathExists(k.marker()))
}

// checkIntended rejects changes that are possible but not intended: to a file that its owner made
// read-only, and to an entry of that name that does not start Remit.
func (k *clientFile) checkIntended(entry Entry) error {
	switch {
	case k.exists && k.info.Mode()&0o200 == 0:
		return fmt.Errorf("%s is read-only and was not changed; make it writable, or add by hand what --print shows", k.file)
	case !k.isOurs(entry):
		return fmt.Errorf("%s was not changed: its server %s is not Remit (it starts %s); choose another name with "+
			"--name, or remove that server by hand",
			k.file, k.name, entry.Command)
	}
	return nil
}

// isOurs reports whether an entry may be Remit's: it starts a program named remit, or there is a
// backup or marker of Install. An entry with a URL may always be Remit's.
func (k *clientFile) isOurs(entry Entry) bool {
	return entry.Command == "" || entry.startsRemit() || pathExists(k.backup()) || pathExists(k.marker())
}

// startsRemit reports whether an entry starts a program named remit.
func (e *Entry) startsRemit() bool {
	return strings.TrimSuffix(filepath.Base(e.Command), ".exe") == "remit"
}

// backup and marker return the paths of the backup of a file and of the note that Install created
// the file. Each server has its own, so that it can be removed independently of others.
func (k *clientFile) backup() string { return k.file + "." + k.name + "-backup" }
func (k *clientFile) marker() string { return k.file + "." + k.name + "-made" }

// writeBackup writes the backup or the marker. undo, which is valid even after an error, removes it
// again. An older backup is not replaced if the entry exists: it is from before the first Install.
func (k *clientFile) writeBackup(made []string, was PriorState) (undo func() error, err error) {
	if k.client.inProject {
		return func() error { return nil }, nil
	}
	if !k.exists {
		text := "Remit made the file beside this one, and these folders for it.\n" + strings.Join(made, "\n")
		undo = func() error { return removeIfExists(k.marker()) }
		return undo, errors.Join(removeIfExists(k.backup()), k.writeNew(k.marker(), []byte(text)))
	}
	if k.hasBackup(was) {
		return func() error { return nil }, nil
	}
	undo = func() error { return removeIfExists(k.backup()) }
	return undo, errors.Join(removeIfExists(k.marker()), k.writeNew(k.backup(), k.text))
}

// writeNew writes a file that only the owner of the client's file can read. It replaces an existing
// one.
func (k *clientFile) writeNew(name string, text []byte) error {
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("write the backup: %w", err)
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("write the backup: %w", err)
	}
	_, err = f.Write(text)
	if k.exists {
		err = errors.Join(err, keepOwner(f, k.info))
	}
	return errors.Join(err, f.Sync(), f.Close())
}
