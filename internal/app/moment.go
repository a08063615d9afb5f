package app

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"remit/internal/backup"
	"remit/internal/contract"
	"remit/internal/engine/audit"
	"remit/internal/filelock"
	"remit/internal/stores/sqlstore"
	"remit/internal/toolsets/books"
)

// moment is what all stores of a workspace hold at one time. Its contents are read later, while
// others go on writing: files only grow, the database keeps a snapshot, and the history of the
// books has what was replaced.
type moment struct {
	app      *App
	books    []*books.Snapshot
	memory   []memoryFile
	database *sqlstore.Snapshot // nil if there is no database
	days     []audit.Day        // of records in files
	meta     sqlstore.Meta
	tip      string // the hash of the newest record that was read
}

// memoryFile is a memory file with its size at the moment.
type memoryFile struct {
	name string
	size int64
}

// takeMoment says what belongs to a backup: everything that the stores hold at one moment, at which
// no process can add an audit record. Records of changes of the database are in it with them, in
// the chain or in the outbox. A change of a memory file or a book has a record before it is made.
// So each change of a backup has a record there, and each record that says that a change was made
// has the change. Only of calls that run at that moment it is open whether they have made theirs;
// see importTarget.announce.
func (a *App) takeMoment(ctx context.Context, db *sqlstore.DB) (*moment, error) {
	stores, err := a.stores.open(ctx)
	if err != nil {
		return nil, err
	}
	for {
		m := &moment{app: a}
		newest, release, err := a.holdRecords(ctx, db)
		if err == nil {
			err = errors.Join(m.take(ctx, db, stores), release())
		}
		if err != nil {
			m.close()
			return nil, err
		}
		if a.database.isShared() {
			return m, nil
		}
		days, err := a.storage.audit.Days(ctx)
		if err == nil && newestOf(days) == newest {
			return m, nil
		}
		m.close() // records were added to the file of another day
		if err != nil {
			return nil, err
		}
	}
}

// take looks at all stores, while the records are held.
func (m *moment) take(ctx context.Context, db *sqlstore.DB, stores books.Stores) (err error) {
	if !m.app.database.isShared() { // otherwise they are in the snapshot
		if m.days, err = m.app.storage.audit.Days(ctx); err != nil {
			return err
		}
	}
	if db != nil {
		if m.database, err = db.Snapshot(ctx, m.app.storage.place); err != nil {
			return err
		}
		if m.meta, err = db.Meta(ctx, ""); err != nil {
			return err
		}
	}
	if m.memory, err = m.app.memoryFiles(); err != nil {
		return err
	}
	for _, store := range []books.Store{stores.Main, stores.Other} {
		if store == nil {
			continue
		}
		s, err := books.TakeSnapshot(ctx, store)
		if err != nil {
			return err
		}
		m.books = append(m.books, s)
	}
	return nil
}

func (m *moment) close() {
	if m.database != nil {
		m.database.Close()
	}
}

// memoryFiles lists the memory files of the workspace. It waits until no entry is being written to
// a file before it takes its size.
func (a *App) memoryFiles() ([]memoryFile, error) {
	if err := a.storage.checkMemory(); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(filepath.Join(a.settings.Root, filepath.FromSlash(memoryFolder)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the memory files: %w", err)
	}
	var found []memoryFile
	for _, e := range entries {
		if !e.Type().IsRegular() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		size, err := a.memorySize(e.Name())
		if err != nil {
			return nil, fmt.Errorf("read memory file %s: %w", e.Name(), err)
		}
		found = append(found, memoryFile{e.Name(), size})
	}
	return found, nil
}

func (a *App) openMemory(name string) (*os.File, error) {
	return a.root.OpenRead(path.Join(memoryFolder, name), &contract.PathPolicy{})
}

// memorySize returns the size of a memory file, without a last line that a crash has cut off.
func (a *App) memorySize(name string) (size int64, err error) {
	file, err := a.openMemory(name)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := filelock.Lock(file); err != nil {
		return 0, err
	}
	info, err := file.Stat()
	if err = errors.Join(err, filelock.Unlock(file)); err != nil {
		return 0, err
	}
	if !strings.HasSuffix(name, ".jsonl") {
		return info.Size(), nil
	}
	end, err := lastNewline(file, info.Size())
	if err != nil || end == info.Size() {
		return end, err
	}
	tail := make([]byte, info.Size()-end)
	if _, err := file.ReadAt(tail, end); err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	if json.Valid(tail) { // it only lacks its newline
		return info.Size(), nil
	}
	return end, nil
}

// lastNewline returns the offset after the last newline before size.
func lastNewline(file io.ReaderAt, size int64) (int64, error) {
	const step = 64 << 10
	for end := size; end > 0; end -= step {
		from := max(end-step, 0)
		part := make([]byte, end-from)
		if _, err := file.ReadAt(part, from); err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		if at := bytes.LastIndexByte(part, '\n'); at >= 0 {
			return from + int64(at) + 1, nil
		}
	}
	return 0, nil
}

// item is one entry of a backup.
type item struct {
	name     string
	size     int64     // -1 if it is not known
	hash     string    // "" if it is not known
	modified time.Time // zero if it does not matter
	r        io.Reader
}

// addFunc takes one item. Its error ends everything.
type addFunc func(item) error

// each calls add with every entry: tables, memory files, audit records, and then books.
func (m *moment) each(ctx context.Context, add addFunc) error {
	if m.database != nil {
		if err := m.tables(ctx, add); err != nil {
			return err
		}
	}
	if err := m.memories(ctx, add); err != nil {
		return err
	}
	if err := m.records(ctx, add); err != nil {
		return err
	}
	return m.objects(ctx, add)
}

func (m *moment) tables(ctx context.Context, add addFunc) error {
	names, err := m.database.Tables(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		err := streamed(backup.Tables+name+".jsonl", -1, add, func(w io.Writer) error {
			_, err := m.database.WriteTable(ctx, name, w)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// memories adds the memory files of the database, and those of the workspace that it does not have.
func (m *moment) memories(ctx context.Context, add addFunc) error {
	var stored []string
	if m.database != nil {
		logs, err := m.database.MemoryLogs(ctx)
		if err != nil {
			return err
		}
		for _, log := range logs {
			stored = append(stored, log.Name)
			err := streamed(backup.Memory+log.Name, log.Bytes, add, func(w io.Writer) error { return m.database.WriteMemory(ctx, log.Name, w) })
			if err != nil {
				return err
			}
		}
	}
	for _, f := range m.memory {
		if slices.Contains(stored, f.name) {
			continue
		}
		file, err := m.app.openMemory(f.name)
		if err != nil {
			return err
		}
		if err := errors.Join(add(item{name: backup.Memory + f.name, size: f.size, r: io.LimitReader(file, f.size)}), file.Close()); err != nil {
			return err
		}
	}
	return nil
}

func (m *moment) records(ctx context.Context, add addFunc) error {
	if m.app.database.isShared() && m.database != nil {
		logs, err := m.database.AuditLogs(ctx)
		for i := 0; i < len(logs) && err == nil; i++ {
			err = streamed(backup.Audit+audit.FileOf(logs[i].Name), logs[i].Bytes, add, func(w io.Writer) error {
				return m.database.WriteAudit(ctx, logs[i].Name, &lastLine{Writer: w, moment: m})
			})
		}
		return err
	}
	for _, day := range m.days {
		err := streamed(backup.Audit+audit.FileOf(day.Name), -1, add, func(w io.Writer) error { return m.day(ctx, day, w) })
		if err != nil {
			return err
		}
	}
	return nil
}

// lastLine notes the hash of the record that is written last.
type lastLine struct {
	io.Writer
	moment *moment
}

func (l *lastLine) Write(line []byte) (int, error) {
	l.moment.tip = audit.HashOf(bytes.TrimSuffix(line, []byte{'\n'}))
	return l.Writer.Write(line)
}

// day writes the records of a day that were there at the moment.
func (m *moment) day(ctx context.Context, day audit.Day, w io.Writer) error {
	out := &lastLine{w, m}
	for place := int64(0); ; {
		lines, err := m.app.storage.audit.From(ctx, day.Name, place, 1000)
		if err != nil {
			return err
		}
		for _, line := range lines {
			if line.Next > day.End+1 { // the last one may lack its newline
				return nil
			}
			if _, err := out.Write(append(slices.Clip(line.Text), '\n')); err != nil {
				return err
			}
			place = line.Next
		}
		if len(lines) == 0 {
			return nil
		}
	}
}

func (m *moment) objects(ctx context.Context, add addFunc) error {
	for _, s := range m.books {
		for _, o := range s.Objects {
			if err := m.object(ctx, s, o, add); err != nil {
				return fmt.Errorf("%s: %w", o.Key, err)
			}
		}
	}
	return nil
}

func (m *moment) object(ctx context.Context, s *books.Snapshot, o books.Object, add addFunc) error {
	body, err := s.Open(ctx, o)
	if errors.Is(err, books.ErrNotFound) {
		return nil // deleted by hand
	}
	if err != nil {
		return err
	}
	one := item{backup.Books + s.Store.Name() + "/" + o.Key, body.Size, body.Hash, body.Modified, body}
	return errors.Join(add(one), body.Close())
}

// streamed adds an entry with what write writes.
func streamed(name string, size int64, add addFunc, write func(io.Writer) error) error {
	r, w := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		out := bufio.NewWriterSize(w, 64<<10)
		err := write(out)
		if err == nil {
			err = out.Flush()
		}
		_ = w.CloseWithError(err) // never fails
	}()
	err := add(item{name: name, size: size, r: r})
	// So that write ends, whatever was read.
	_ = r.CloseWithError(errors.Join(err, io.ErrClosedPipe))
	<-done
	return err
}
