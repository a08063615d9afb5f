package keyfolder

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Tip is the newest audit record that was seen, so that records cut off at the end are noticed, and
// the newest time.
type Tip struct {
	Day  string `json:"day"`
	End  int64  `json:"end"` // where the record ends in the file of the day
	Hash string `json:"hash"`
	// Place tells the folder of the records from others that the workspace has used; "" for any.
	Place string `json:"place,omitempty"`
	// Cut says what was missing when it was first noticed; "" if nothing ever was.
	Cut string `json:"cut,omitempty"`
	// Time is the newest time that was seen, in Unix seconds, so that a clock that was set back
	// revives nothing.
	Time int64 `json:"time,omitempty"`
}

const (
	tipFile = "tip"
	// tipSize is fixed, so that a newer tip replaces the older one in one write.
	tipSize = 1024
)

// Tip returns the newest tip; the zero Tip if there is none.
func (w *Workspace) Tip() (t Tip, err error) {
	if w.folder.path == "" {
		return t, nil
	}
	text, err := os.ReadFile(filepath.Join(w.dir, tipFile))
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	var key []byte
	if err == nil {
		key, err = w.folder.existingKey()
	}
	if err != nil {
		return t, fmt.Errorf("read the newest audit record that was seen: %w", err)
	}
	var d document
	if err := json.Unmarshal(text, &d); err != nil || d.MAC != w.seal(key, tipFile, d.Content) || json.Unmarshal(d.Content, &t) != nil {
		return t, fmt.Errorf("%s was changed, or written with another key", filepath.Join(w.dir, tipFile))
	}
	return t, nil
}

// SetTip stores the newest tip. It does not wait until the tip is on disk.
func (w *Workspace) SetTip(t Tip) error {
	key, err := w.folder.existingKey()
	if err != nil {
		return err
	}
	content, err := json.Marshal(t)
	if err != nil {
		return fmt.Errorf("encode the tip: %w", err)
	}
	text, err := json.Marshal(document{V: 1, Root: "", Content: content, MAC: w.seal(key, tipFile, content)})
	if err == nil && len(text) >= tipSize {
		err = fmt.Errorf("it has %d bytes", len(text))
	}
	if err != nil {
		return fmt.Errorf("encode the tip: %w", err)
	}
	text = append(text, bytes.Repeat([]byte(" "), tipSize-1-len(text))...)
	if err := os.MkdirAll(w.dir, 0o700); err != nil {
		return fmt.Errorf("store the tip: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(w.dir, tipFile), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("store the tip: %w", err)
	}
	_, err = file.WriteAt(append(text, '\n'), 0)
	return errors.Join(err, file.Close())
}

// ForgetTip removes the tip, because a person has given up the records.
func (w *Workspace) ForgetTip() error {
	err := os.Remove(filepath.Join(w.dir, tipFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget the tip: %w", err)
	}
	return nil
}
