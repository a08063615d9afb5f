package app

import (
	"os"
	"slices"
	"strings"
	"sync"

	"remit/internal/stores/keyfolder"
	"remit/internal/stores/workspace"
)

// knownID is what is known about the id of a storage that is no database: in the key folder, where
// that can be used, and in this process. It implements storageid.Memory.
type knownID struct {
	anchor   *anchor // nil: nothing is known, and nothing is written
	location string

	mu       sync.Mutex
	seen     string // the id of the storage that this process has used
	anchored bool   // the key folder knows it
}

// The locations of storages in the anchor begin so, unlike those of databases.
const (
	dataLocation   = "data "
	booksLocation  = "books "
	memoryLocation = "memory "
)

// isDatabase reports whether a location in the anchor is that of a database.
func isDatabase(location string) bool {
	isStorage := func(prefix string) bool { return strings.HasPrefix(location, prefix) }
	return !slices.ContainsFunc([]string{dataLocation, booksLocation, memoryLocation}, isStorage)
}

// knownData returns what is known about the data folder.
func (a *anchor) knownData(folder string) *knownID {
	return &knownID{anchor: a, location: dataLocation + workspace.RealPath(folder)}
}

// knownBooks returns what is known about a library.
func (a *anchor) knownBooks(place string) *knownID {
	return &knownID{anchor: a, location: booksLocation + placeOf([]string{place})}
}

// Known implements storageid.Memory.
func (k *knownID) Known() (string, error) {
	if k.anchor == nil {
		return "", nil
	}
	id, err := k.anchor.file.DataID(k.location)
	if err != nil {
		return "", unreadable(err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if id != "" || k.anchored {
		return id, nil // a person may have decided that it is forgotten
	}
	return k.seen, nil
}

// Record implements storageid.Memory. Where no key folder can be used, the id is known only until
// this process ends.
func (k *knownID) Record(id string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.seen = id
	if k.anchor.keys.Check() != nil {
		return nil
	}
	err := k.anchor.file.Change(k.anchor.now(), func(c *keyfolder.Change) error {
		if c.State().Data[k.location] == id {
			return nil
		}
		return c.SetData(k.location, id)
	})
	if err != nil {
		k.anchor.log.Debug("the key folder cannot be written, so the storage is not anchored", "storage", k.location, "error", err)
		return nil
	}
	k.anchored = true
	return nil
}

// forgetStorages removes everything but databases from an anchor. What is at each location is
// adopted when it is used next.
func forgetStorages(c *keyfolder.Change) error {
	for location := range c.State().Data {
		if isDatabase(location) {
			continue
		}
		if err := c.SetData(location, ""); err != nil {
			return err
		}
	}
	return nil
}

// refuseStorage returns the error for a storage that is not the one that was used before.
func refuseStorage(what string) func(why string) error {
	return func(why string) error { return doubt(fixNewData, what+" "+why) }
}

// openRegular opens a file for reading, unless it is a link or a pipe, which could block.
func openRegular(name string) (*os.File, error) {
	info, err := os.Lstat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = &os.PathError{Op: "open", Path: name, Err: os.ErrInvalid}
	}
	if err != nil {
		return nil, err
	}
	return os.Open(name)
}
