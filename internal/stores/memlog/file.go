package memlog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"remit/internal/filelock"
)

// keepBuffer is the maximum size of the buffer that a log keeps between batches.
const keepBuffer = 1 << 20

// file is the file of a log. It belongs to the log's goroutine. A batch calls begin, store and end;
// the file is locked from begin to end.
type file struct {
	Options
	sync func(*os.File) error // replaced by tests, to simulate a failing disk

	f       *os.File    // nil until opened, and after any failure
	info    os.FileInfo // identifies f
	named   bool        // the directory entry of f is durable too
	claimed bool        // the place of f knows that something durable is stored there

	known wholeLines // the complete lines in f
	open  int64      // bytes after them, of a last line that only lacks its newline
	buf   []byte
}

// begin locks the file that the name refers to, and examines its content.
func (s *file) begin() error {
	now, err := s.lock()
	if err != nil {
		return err
	}
	return s.examine(now)
}

// end unlocks the file. After a failure, nothing known about the file can be trusted: it is closed,
// and the next batch examines it again.
func (s *file) end(err error) error {
	if cap(s.buf) > keepBuffer {
		s.buf = nil
	}
	if err == nil {
		if filelock.Unlock(s.f) != nil {
			_ = s.close() // unlocks as well; the batch is stored in any case
		}
		return nil
	}
	_ = s.close() // report the first failure, not this one
	return fmt.Errorf("append to %s: %w", s.Name, err)
}

func (s *file) close() error {
	if s.f == nil {
		return nil
	}
	err := s.f.Close()
	s.f, s.info, s.known, s.open = nil, nil, wholeLines{}, 0
	return err
}

// lock locks the file, and returns its state. If the file was renamed, deleted or replaced
// meanwhile, it locks the file that now has the name.
func (s *file) lock() (os.FileInfo, error) {
	if s.f == nil {
		f, err := s.openFile()
		if err != nil {
			return nil, fmt.Errorf("open: %w", err)
		}
		if err := s.adopt(f); err != nil {
			return nil, err
		}
	}
	for {
		if err := filelock.Lock(s.f); err != nil {
			return nil, fmt.Errorf("lock: %w", err)
		}
		if now := s.atPath(); now != nil {
			return now, nil
		}
		next, err := s.successor()
		if err != nil {
			return nil, err
		}
		if next == nil {
			return s.f.Stat()
		}
		_ = s.close() // everything acknowledged in it is synced
		if err := s.adopt(next); err != nil {
			return nil, err
		}
	}
}

// atPath returns the state of our file if it is found under the path that was opened, and nil
// otherwise. Then the path also leads to the folder of the file, so the place need not be checked.
func (s *file) atPath() os.FileInfo {
	if at, err := os.Lstat(s.f.Name()); err == nil && os.SameFile(at, s.info) {
		return at
	}
	return nil
}

// openFile opens the file, and creates it if it is missing from the right folder.
func (s *file) openFile() (*os.File, error) {
	if s.Place != nil {
		if err := s.Place.Before(false); err != nil {
			return nil, err
		}
	}
	return s.Files.OpenAppend(s.Name)
}

func (s *file) adopt(f *os.File) error {
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	if err != nil {
		_ = f.Close() // nothing was written to it
		return fmt.Errorf("check file type: %w", err)
	}
	s.f, s.info, s.named, s.claimed = f, info, false, s.Place == nil
	return nil
}

// successor returns the file that Files finds under the name now, or nil if that is still our file.
func (s *file) successor() (*os.File, error) {
	next, err := s.openFile()
	if err != nil {
		return nil, fmt.Errorf("reopen: %w", err)
	}
	info, err := next.Stat()
	if err == nil && !os.SameFile(info, s.info) {
		return next, nil
	}
	_ = next.Close() // nothing was written to it
	return nil, err
}

// store writes a batch and sets the place of each ticket. It calls written before the batch is
// durable.
func (s *file) store(batch []*Ticket, written func()) error {
	durable := slices.ContainsFunc(batch, func(t *Ticket) bool { return t.durable })
	if durable && !s.claimed {
		if err := s.Place.Before(true); err != nil {
			return err
		}
		s.claimed = true
	}
	next, err := s.encode(batch)
	if err != nil {
		return err
	}
	start, err := s.write()
	if err != nil {
		return fmt.Errorf("write: %w", err)
	}
	if err := s.place(batch, start, next); err != nil {
		return fmt.Errorf("%w: read back: %w", ErrUnknown, err)
	}
	written()
	if durable {
		if err := s.flush(); err != nil {
			return fmt.Errorf("%w: sync: %w", ErrUnknown, err)
		}
	}
	if err := s.verify(durable); err != nil {
		return fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	return nil
}

// verify checks that a durable batch is found at its place, and notes the state of the file.
func (s *file) verify(durable bool) (err error) {
	now := s.atPath()
	if now == nil && durable && s.Place != nil {
		if err := s.Place.After(); err != nil {
			return err
		}
	}
	if now == nil {
		if now, err = s.f.Stat(); err != nil {
			return err
		}
	}
	s.known.changed = now.ModTime()
	return nil
}

// encode fills the buffer with a batch, and returns the line number after it.
func (s *file) encode(batch []*Ticket) (next int64, err error) {
	s.buf = s.buf[:0]
	next = s.known.lines + 1
	prev, err := s.lastLine()
	if err != nil {
		return 0, fmt.Errorf("read last line: %w", err)
	}
	if s.open > 0 {
		s.buf = append(s.buf, '\n')
		next++
	}
	start := 0
	for _, t := range batch {
		begin := len(s.buf)
		if s.Seal == nil {
			s.buf = append(s.buf, t.body...)
		} else {
			s.buf = s.Seal(s.buf, prev, next, t.body)
		}
		line := s.buf[begin:]
		prev = line[bytes.LastIndexByte(line, '\n')+1:]
		s.buf = append(s.buf, '\n')
		t.place = Position{Line: next, Bytes: len(s.buf) - start}
		next += 1 + int64(bytes.Count(line, []byte{'\n'}))
		start = len(s.buf)
	}
	return next, nil
}

// lastLine returns the last line of the file, or nil if the file is empty. The next seal covers it.
// It may come from memory only if it was compared with the file under this lock.
func (s *file) lastLine() ([]byte, error) {
	from, to := s.known.last, s.known.size-1
	if s.open > 0 {
		from, to = s.known.size, s.known.size+s.open
	}
	if s.Seal == nil || to < from {
		return nil, nil
	}
	if first := s.known.size - int64(len(s.known.mark)); from >= first && to <= s.known.size {
		return s.known.mark[from-first : to-first], nil // examine has compared it with the file
	}
	line := make([]byte, to-from)
	return line, readFull(s.f, line, from)
}

// write appends the buffer in one call and returns its offset. The kernel chooses the offset, so it
// is known only after the write. If the write fails, the part that was written is cut off again, so
// that no partial line stays.
func (s *file) write() (start int64, err error) {
	n, err := s.f.Write(s.buf)
	if n == 0 {
		return 0, err
	}
	end, seekErr := s.f.Seek(0, io.SeekCurrent)
	if seekErr != nil {
		return 0, fmt.Errorf("%w: %w", ErrUnknown, errors.Join(err, seekErr))
	}
	start = end - int64(n)
	if err == nil {
		return start, nil
	}
	if cutErr := truncate(s.f, start); cutErr != nil {
		err = fmt.Errorf("%w: %w", ErrUnknown, errors.Join(err, cutErr))
	}
	return start, err
}

// place adds the batch to the known lines. A process that takes no lock may have written or
// truncated the file between our check and our write. In that case the lines are not where encode
// expected them, and place corrects the tickets.
func (s *file) place(batch []*Ticket, start, next int64) error {
	if start < s.known.size {
		s.known = wholeLines{}
	}
	if start == s.known.size {
		s.known.append(s.buf)
	} else if err := s.known.extend(s.f, start+int64(len(s.buf))); err != nil {
		return err
	}
	if late := s.known.lines + 1 - next; late != 0 {
		for _, t := range batch {
			t.place.Line += late
		}
	}
	return nil
}

// flush makes the file durable and, if it may be new, its directory entry.
func (s *file) flush() error {
	if err := s.sync(s.f); err != nil {
		return err
	}
	if s.named {
		return nil
	}
	s.named = true
	return filelock.SyncFolder(filepath.Dir(s.f.Name()))
}
