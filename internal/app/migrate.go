package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"remit/internal/backup"
	"remit/internal/frontends/cli"
	"remit/internal/stores/sqlstore"
	"remit/internal/toolsets/books"
)

// migration moves data from one workspace to another: to another database, to another library, or
// both.
type migration struct {
	from      *App
	to        *importTarget
	databases bool // the database changes
	libraries bool // the library changes
	report    func(cli.Progress)
	copied    map[string]copied // what was copied, by its name in an archive
}

// copied is what was copied of one item.
type copied struct {
	sum   string
	lines int64
}

// Migrate implements cli.Backups.
func (backups) Migrate(ctx context.Context, r cli.MigrateRequest, log *slog.Logger) (report cli.MigrateReport, err error) {
	m := &migration{
		databases: locationOf(r.From.Database) != locationOf(r.To.Database), libraries: !slices.Equal(r.From.Books, r.To.Books),
		report: r.Report, copied: map[string]copied{},
	}
	if !m.databases && !m.libraries {
		return report, errors.New("there is nothing to move: source and target are the same; name a target with --to or --books-to")
	}
	if err := m.checkUnused(ctx, r.From.Database); err != nil {
		return report, err
	}
	if m.from, err = Open(ctx, r.From, log); err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, m.from.Close()) }()
	a, err := Open(ctx, r.To, log)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	m.to = &importTarget{app: a}
	if err := m.run(ctx, r.Confirm); err != nil {
		return report, err
	}
	return m.result(), nil
}

// checkUnused returns an error if there is no database, or if another process uses it.
func (m *migration) checkUnused(ctx context.Context, database string) error {
	if file, ok := sqlstore.File(database); ok {
		switch _, err := os.Stat(file); {
		case errors.Is(err, fs.ErrNotExist) && m.databases:
			return fmt.Errorf("there is no database at %s, so there is nothing to move", file)
		case errors.Is(err, fs.ErrNotExist):
			return nil
		}
	}
	used, err := sqlstore.InUse(ctx, database)
	if err == nil && used {
		err = errors.New("a server or another program uses the database; stop it and run this command again, so that nothing that it " +
			"writes meanwhile is lost")
	}
	return err
}

// run copies everything, compares it, and then marks the source.
func (m *migration) run(ctx context.Context, confirm func(cli.MigrateReport) error) error {
	hold := &sqlstore.Hold{}
	if m.from.database.exists() {
		db, err := m.from.database.open(ctx)
		if err != nil {
			return err
		}
		if hold, err = db.Hold(ctx); err != nil {
			return err
		}
	}
	defer hold.Release()
	source, header, err := m.from.beginBackup(ctx)
	if err != nil {
		return err
	}
	defer source.close()
	if err := m.prepare(ctx, source); err != nil {
		return err
	}
	if err := confirm(m.result()); err != nil {
		return err
	}
	if m.databases {
		if err := m.to.open(ctx, "database "+header.DataID); err != nil {
			return err
		}
		defer func() { _ = m.to.closeDatabase() }() // after a failure, the next attempt goes on
	}
	if err := m.copy(ctx, source, header.Stores); err != nil {
		return err
	}
	if err := m.compare(ctx); err != nil {
		return err
	}
	return m.settle(ctx, source, hold, header)
}

// prepare checks the target.
func (m *migration) prepare(ctx context.Context, source *moment) (err error) {
	s := m.to.app.settings
	if file, ok := sqlstore.File(s.Database); m.databases && ok {
		m.to.addPart(m.to.memory())
		m.to.addPart(filepath.Join(s.Data, "audit"))
		m.to.addPart(file)
		for _, p := range m.to.parts[1:] {
			if there, err := os.ReadDir(p.final); err == nil && len(there) == 0 || errors.Is(err, fs.ErrNotExist) {
				continue
			}
			return fmt.Errorf("%s exists already; move it away, or name another place with --to and --data", p.final)
		}
	}
	if m.libraries {
		if m.to.books, err = newBookTarget(ctx, m.to); err != nil {
			return err
		}
		m.to.books.isRepeated = true
		return m.to.books.checkForeign(ctx, source.books)
	}
	return nil
}

// copy copies every item that moves.
func (m *migration) copy(ctx context.Context, source *moment, stores []string) error {
	for _, p := range m.to.parts {
		if name, ok := sqlstore.File(m.to.app.settings.Database); ok && name == p.final {
			continue // it goes on where it stopped
		}
		if err := os.RemoveAll(p.name); err != nil {
			return fmt.Errorf("remove what an earlier attempt left: %w", err)
		}
	}
	if m.libraries {
		m.to.books.sources = stores
	}
	done := int64(0)
	add := func(one item) error {
		if isBook := strings.HasPrefix(one.name, backup.Books); isBook && !m.libraries || !isBook && !m.databases {
			_, err := io.Copy(io.Discard, one.r)
			return err
		}
		sum := sha256.New()
		in := &counting{ctx: ctx, r: io.TeeReader(one.r, sum), read: func(n int) {
			done += int64(n)
			m.report(cli.Progress{Done: done, Name: one.name})
		}}
		one.r = in
		if err := m.to.add(ctx, one); err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, in); err != nil {
			return err
		}
		m.copied[one.name] = copied{hex.EncodeToString(sum.Sum(nil)), in.lines}
		return nil
	}
	return source.each(ctx, func(one item) error {
		err := add(one)
		if errors.Is(err, sqlstore.ErrSourceChanged) {
			name := strings.TrimSuffix(path.Base(one.name), ".jsonl")
			err = streamed(one.name, -1, add, func(w io.Writer) error {
				_, err := source.database.WriteTable(ctx, name, w)
				return err
			})
		}
		return err
	})
}

// compare reads everything from the target and compares it with what was copied.
func (m *migration) compare(ctx context.Context) error {
	var snapshot *sqlstore.Snapshot
	if m.databases {
		var err error
		if snapshot, err = m.to.db.Snapshot(ctx, m.to.app.storage.place); err != nil {
			return err
		}
		defer snapshot.Close()
	}
	for name, was := range m.copied {
		if path.Base(name) == books.RegistryKey {
			continue // it names the stores, and these are others now
		}
		m.report(cli.Progress{Name: "comparing " + name})
		is := sha256.New()
		if err := m.read(ctx, snapshot, name, is); err != nil {
			return err
		}
		if got := hex.EncodeToString(is.Sum(nil)); got != was.sum {
			return fmt.Errorf("%s is not the same in the target (hash %s, not %s); run the command again, and report this if it stays so",
				name, got, was.sum)
		}
	}
	return nil
}

// read hashes an item of the target.
func (m *migration) read(ctx context.Context, snapshot *sqlstore.Snapshot, name string, sum hash.Hash) error {
	folder, file := path.Split(name)
	inFiles := !m.to.app.database.isShared()
	switch {
	case folder == backup.Tables:
		_, err := snapshot.WriteTable(ctx, strings.TrimSuffix(file, ".jsonl"), sum)
		return err
	case folder == backup.Memory && inFiles:
		return hashFile(filepath.Join(m.to.place(m.to.memory()), file), sum)
	case folder == backup.Memory:
		return snapshot.WriteMemory(ctx, file, sum)
	case folder == backup.Audit && inFiles:
		return hashFile(filepath.Join(m.to.place(filepath.Join(m.to.app.settings.Data, "audit")), file), sum)
	case folder == backup.Audit:
		return snapshot.WriteAudit(ctx, strings.TrimSuffix(file, ".jsonl"), sum)
	}
	return m.to.books.hash(ctx, name, sum)
}

func hashFile(name string, sum hash.Hash) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	_, err = io.Copy(sum, file)
	return errors.Join(err, file.Close())
}

// settle makes the target the one to use, and marks the source.
func (m *migration) settle(ctx context.Context, source *moment, hold *sqlstore.Hold, header backup.Header) error {
	if err := m.checkSame(ctx, source); err != nil || !m.databases {
		return err
	}
	how := &restored{Header: header, isMoved: true}
	if header.Engine == "postgres" && m.to.app.database.isShared() {
		secrets, err := source.database.Secrets(ctx)
		if err != nil {
			return err
		}
		how.keepTokens, how.keys = true, secrets
	}
	if err := m.to.finish(ctx, how); err != nil {
		return err
	}
	return hold.Move(ctx, locationOf(m.to.app.settings.Database))
}

// checkSame returns an error if files of the source have changed since: the database is held, but
// not the files.
func (m *migration) checkSame(ctx context.Context, source *moment) error {
	memory, err := m.from.memoryFiles()
	if err != nil {
		return err
	}
	days := source.days
	if !m.from.database.isShared() {
		if days, err = m.from.storage.audit.Days(ctx); err != nil {
			return err
		}
	}
	if !slices.Equal(memory, source.memory) || !slices.Equal(days, source.days) {
		return errors.New("a server has written meanwhile; stop it and run this command again")
	}
	return nil
}

// result says what is moved.
func (m *migration) result() cli.MigrateReport {
	r := cli.MigrateReport{Tables: map[string]int64{}}
	if m.databases {
		r.From, r.To = locationOf(m.from.settings.Database), locationOf(m.to.app.settings.Database)
	}
	if m.libraries {
		r.BooksFrom, r.BooksTo = m.from.settings.Books, m.to.app.settings.Books
	}
	for name, c := range m.copied {
		switch folder, file := path.Split(name); folder {
		case backup.Tables:
			r.Tables[strings.TrimSuffix(file, ".jsonl")] = c.lines
		case backup.Memory:
			r.Memory += c.lines
		case backup.Audit:
			r.Records += c.lines
		default:
			r.Books++
		}
	}
	return r
}
