package memlog

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"remit/internal/filelock"
)

// look brings what we know of the file up to date, and deals with a last line
// that has no newline. In a text, and if it is JSON, a person left it like that:
// the next batch closes it. Any other is what a crash left of an entry that was
// never acknowledged.
func (s *file) look() error {
	info, err := s.f.Stat()
	if err != nil {
		return fmt.Errorf("examine: %w", err)
	}
	if !s.known.stillIn(s.f, info) {
		s.known = whole{}
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

// setAside moves a torn tail to its own file. It leaves the log only when it is
// safe there, and only if nobody has gone on writing it meanwhile.
func (s *file) setAside() error {
	if err := s.keepTorn(); err != nil {
		return fmt.Errorf("set torn line aside: %w", err)
	}
	info, err := s.f.Stat()
	if err != nil {
		return fmt.Errorf("examine: %w", err)
	}
	if info.Size() != s.known.size+s.open {
		return s.look()
	}
	if err := truncate(s.f, s.known.size); err != nil {
		return fmt.Errorf("cut torn line off: %w", err)
	}
	s.open = 0
	return nil
}

// keepTorn appends the tail to NAME.torn, durably. It streams: a tail can be of
// any size.
func (s *file) keepTorn() error {
	torn, err := s.Files.OpenAppend(s.Name + ".torn")
	if err != nil {
		return err
	}
	defer torn.Close() // it is synced by then; closing unlocks it as well
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
	return syncFolder(filepath.Dir(torn.Name()))
}

// isJSON tells whether r holds exactly one JSON value. It goes token by token, so
// that a large tail is not held in memory.
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

// readFailure leaves of a decoder's errors those that are the disk's.
func readFailure(err error) error {
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return failed
	}
	return nil
}
