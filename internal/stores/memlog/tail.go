package memlog

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"remit/internal/filelock"
)

// examine updates what is known of the file, and handles a last line that has no newline. If the
// format is Text, or if the line is valid JSON, a person left it like that, and the next batch adds
// the newline. Any other line is the rest of an entry that a crash interrupted before it was
// acknowledged.
func (s *file) examine(info os.FileInfo) error {
	if !s.known.stillIn(s.f, info) {
		s.known = wholeLines{}
	}
	if err := s.known.extend(s.f, info.Size()); err != nil {
		return fmt.Errorf("count lines: %w", err)
	}
	s.open = info.Size() - s.known.size
	if s.open == 0 || s.Format == Text {
		return nil
	}
	sound, err := isJSON(s.tail())
	if err != nil {
		return fmt.Errorf("read last line: %w", err)
	}
	if sound {
		return nil
	}
	return s.setAside()
}

func (s *file) tail() io.Reader { return io.NewSectionReader(s.f, s.known.size, s.open) }

// setAside moves a torn last line to a file of its own. It removes the line from the log only when
// the copy is durable, and only if no process has continued the line meanwhile.
func (s *file) setAside() error {
	if err := s.keepTorn(); err != nil {
		return fmt.Errorf("set torn line aside: %w", err)
	}
	info, err := s.f.Stat()
	if err != nil {
		return fmt.Errorf("stat: %w", err)
	}
	if info.Size() != s.known.size+s.open {
		return s.examine(info)
	}
	if err := truncate(s.f, s.known.size); err != nil {
		return fmt.Errorf("cut torn line off: %w", err)
	}
	s.open = 0
	return nil
}

// keepTorn appends the torn line to NAME.torn and syncs it. It copies in chunks, because the line
// can have any size.
func (s *file) keepTorn() error {
	torn, err := s.Files.OpenAppend(s.Name + ".torn")
	if err != nil {
		return err
	}
	defer torn.Close() // it is synced by then; closing also unlocks it
	if err := filelock.Lock(torn); err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	before, err := torn.Stat()
	if err != nil {
		return err
	}
	if _, err := io.Copy(torn, io.MultiReader(s.tail(), strings.NewReader("\n"))); err != nil {
		return errors.Join(err, truncate(torn, before.Size()))
	}
	if err := s.sync(torn); err != nil {
		return err
	}
	return filelock.SyncFolder(filepath.Dir(torn.Name()))
}

// isJSON reports whether r holds exactly one JSON value. It decodes token by token, so that a large
// line is not held in memory.
func isJSON(r io.Reader) (bool, error) {
	d := json.NewDecoder(r)
	d.UseNumber() // a number too large for a float is still JSON
	for depth, values := 0, 0; ; {
		token, err := d.Token()
		if err == io.EOF {
			return depth == 0 && values == 1, nil
		}
		if err != nil {
			return false, readFailure(err)
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			values++
		}
	}
}

// readFailure returns the errors of a decoder that come from the disk, and nil for all others.
func readFailure(err error) error {
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return failed
	}
	return nil
}
