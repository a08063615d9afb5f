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

// Remove removes the server from a file. If nobody changed the rest of the file, it is then as it
// was before Install, byte for byte. Changes by others are kept.
func (c *Client) Remove(file, name string) (Change, error) {
	if err := checkName(name); err != nil {
		return Change{}, err
	}
	k, err := c.open(file, name)
	if err != nil {
		return Change{}, err
	}
	if !k.exists {
		return Change{File: k.file, Prior: Absent}, nil
	}
	was, folders, err := c.removeLocked(k.file, name)
	for i := len(folders) - 1; i >= 0 && err == nil; i-- {
		_ = os.Remove(folders[i]) // fails if others have stored files there
	}
	return Change{File: k.file, Prior: was}, err
}

// removeLocked removes the entry under the lock. It returns the folders that Install created and
// that can be removed.
func (c *Client) removeLocked(file, name string) (was PriorState, folders []string, err error) {
	unlock, err := lock(file)
	if err != nil {
		return Absent, nil, err
	}
	defer unlock()
	k, err := c.open(file, name)
	if err != nil {
		return Absent, nil, err
	}
	raw, entry, err := c.in.get(k.text, name)
	was = Absent
	if err == nil && raw != nil {
		err = k.checkIntended(entry)
	}
	if err == nil && raw != nil {
		was, folders, err = k.removeEntry(raw)
	}
	if err != nil {
		return was, nil, k.explain(err)
	}
	return was, folders, errors.Join(removeIfExists(k.backup()), removeIfExists(k.marker()))
}

// removeEntry removes the entry with the text raw.
func (k *clientFile) removeEntry(raw []byte) (PriorState, []string, error) {
	in := k.client.in
	before, err := os.ReadFile(k.backup())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Absent, nil, fmt.Errorf("%s was not changed, because its backup cannot be read: %w", k.file, err)
	}
	hasBackup := err == nil
	isMade := !hasBackup && pathExists(k.marker())
	if hasBackup || isMade {
		again, err := in.set(before, k.name, func(style) []byte { return raw })
		switch isUntouched := err == nil && bytes.Equal(again, k.text); {
		case isUntouched && isMade:
			folders, err := k.removeCreated()
			return Restored, folders, err
		case isUntouched:
			return Restored, nil, k.replace(before)
		}
	}
	after, err := k.without(before, hasBackup || isMade || k.client.inProject)
	switch left := strings.Join(strings.Fields(string(after)), ""); {
	case err != nil:
		return Removed, nil, err
	case k.client.inProject && (left == "" || left == "{}"):
		folders := []string{filepath.Dir(k.file)}[:len(k.client.project)-1] // not the project
		return Deleted, folders, os.Remove(k.file)
	}
	return Removed, nil, k.replace(after)
}

// without returns the text without the entry, or with the entry that was there before Install.
func (k *clientFile) without(before []byte, isKnown bool) ([]byte, error) {
	in := k.client.in
	if old, _, err := in.get(before, k.name); err == nil && old != nil {
		return in.set(k.text, k.name, func(style) []byte { return old })
	}
	return in.remove(k.text, k.name, !isKnown || in.holds(before))
}

// removeCreated removes a file that Install created, and returns the folders that Install created.
func (k *clientFile) removeCreated() ([]string, error) {
	list, err := os.ReadFile(k.marker())
	if err != nil {
		return nil, fmt.Errorf("read the list of created folders: %w", err)
	}
	if err := os.Remove(k.file); err != nil {
		return nil, fmt.Errorf("remove the created file: %w", err)
	}
	var folders []string
	for _, folder := range strings.Split(string(list), "\n")[1:] {
		// Accept only parents of the file.
		if beneath, err := filepath.Rel(folder, k.file); err == nil && filepath.IsLocal(beneath) {
			folders = append(folders, folder)
		}
	}
	return folders, nil
}
