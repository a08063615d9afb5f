package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"remit/internal/backup"
	"remit/internal/engine/identity"
	"remit/internal/frontends/cli"
	"remit/internal/stores/sqlstore"
)

// backups implements cli.Backups.
type backups struct{}

// Create implements cli.Backups.
func (backups) Create(ctx context.Context, s cli.Settings, log *slog.Logger, r cli.BackupRequest) (report cli.BackupReport, err error) {
	if err := checkOutside(&s, r.Archive); err != nil {
		return report, err
	}
	passphrase := ""
	if r.Passphrase != nil {
		if passphrase, err = r.Passphrase(); err != nil {
			return report, err
		}
	}
	a, err := Open(ctx, s, log)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	m, header, err := a.beginBackup(ctx)
	if err != nil {
		return report, err
	}
	defer m.close()
	w, err := backup.Create(r.Archive, header)
	if err != nil {
		return report, err
	}
	defer w.Discard()
	if passphrase != "" {
		if err := a.addKeys(ctx, m, w, passphrase); err != nil {
			return report, err
		}
	}
	if err := m.each(ctx, archiving(ctx, w, r.Report)); err != nil {
		return report, err
	}
	name, manifest, err := w.Finish(m.tip)
	if err != nil {
		return report, err
	}
	if err := a.NoteBackup(header.Created); err != nil {
		log.Warn("the time of this backup is not noted for remit status", "error", err)
	}
	return reportOf(name, &header, &manifest), nil
}

// checkOutside refuses an archive within what it would hold.
func checkOutside(s *cli.Settings, archive string) error {
	full, err := filepath.Abs(archive)
	if err != nil {
		return fmt.Errorf("find the archive: %w", err)
	}
	inner := []string{s.Data}
	for _, place := range s.Books {
		if folder, ok := strings.CutPrefix(place, folderScheme); ok {
			inner = append(inner, folder)
		}
	}
	for _, folder := range inner {
		if isWithin(folder, full) {
			return fmt.Errorf("%s is within %s, which the archive would hold; name a place outside of it", archive, folder)
		}
	}
	return nil
}

// beginBackup takes the moment of a backup, and describes it.
func (a *App) beginBackup(ctx context.Context) (*moment, backup.Header, error) {
	h := backup.Header{Created: time.Now().UTC(), Program: Version, Engine: "sqlite", Root: a.anchor.root, Place: a.anchor.root}
	if a.database.isShared() {
		h.Engine, h.Place = "postgres", sharedPlace
	}
	var db *sqlstore.DB
	if a.database.exists() {
		var err error
		if db, err = a.database.open(ctx); err != nil {
			return nil, h, err
		}
	}
	needed, _, err := a.anchor.NeedsIdentity(ctx)
	if err != nil {
		return nil, h, err
	}
	h.Identity = needed
	if state, err := a.anchor.file.State(); err == nil && !a.anchor.shared {
		h.Epoch = state.Epoch
		if state.Place != "" {
			h.Place = state.Place
		}
	}
	if h.KeyID, err = a.keyID(); err != nil {
		return nil, h, err
	}
	m, err := a.takeMoment(ctx, db)
	if err != nil {
		return nil, h, err
	}
	h.DataID = m.meta.DataID
	for _, s := range m.books {
		h.Stores = append(h.Stores, s.Store.Name())
	}
	if m.database != nil {
		h.Schema, err = m.database.Schema(ctx)
	}
	if err != nil {
		m.close()
	}
	return m, h, err
}

// keyID tells the key that seals tokens and approvals from others, without revealing it; "" if
// there is no key.
func (a *App) keyID() (string, error) {
	if _, err := os.Lstat(a.keys.KeyFile()); !a.database.isShared() && errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	key, err := a.database.key()
	if err != nil {
		return "", err
	}
	return idOfKey(key), nil
}

func idOfKey(key []byte) string { return identity.Seal(key, "id of a key 1")[:32] }

// userKey is the name of the user's key in an archive.
const userKey = "approvals.key"

// addKeys adds the keys, encrypted with the passphrase.
func (a *App) addKeys(ctx context.Context, m *moment, w *backup.Writer, passphrase string) error {
	keys := backup.KeySet{}
	if a.database.isShared() {
		secrets, err := m.database.Secrets(ctx)
		if err != nil {
			return err
		}
		keys = secrets
	} else if id, err := a.keyID(); err != nil || id == "" {
		return errors.Join(err, errors.New("there are no keys to back up: nothing was sealed yet; leave out --with-keys"))
	} else if keys[userKey], err = a.database.key(); err != nil {
		return err
	}
	text, err := keys.Encrypt(passphrase)
	if err != nil {
		return err
	}
	_, err = w.Add(backup.Keys, int64(len(text)), "", bytes.NewReader(text))
	return err
}

// archiving returns a function that adds entries to an archive, with their counts.
func archiving(ctx context.Context, w *backup.Writer, report func(cli.Progress)) addFunc {
	done := int64(0)
	return func(one item) error {
		in := &counting{ctx: ctx, r: one.r, read: func(n int) {
			done += int64(n)
			report(cli.Progress{Done: done, Name: one.name})
		}}
		e, err := w.Add(one.name, one.size, one.hash, in)
		if err != nil {
			return err
		}
		e.Modified = one.modified
		if !strings.HasPrefix(one.name, backup.Books) {
			e.Count = in.lines
		}
		return nil
	}
}

// counting counts the lines that are read, and ends with its context.
type counting struct {
	ctx   context.Context //nolint:containedctx // of the operation that reads
	r     io.Reader
	read  func(n int)
	lines int64
}

func (c *counting) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := c.r.Read(p)
	c.lines += int64(bytes.Count(p[:n], []byte{'\n'}))
	c.read(n)
	return n, err
}

// Verify implements cli.Backups.
func (backups) Verify(ctx context.Context, archive string, report func(cli.Progress)) (cli.BackupReport, error) {
	opened, err := backup.Open(ctx, archive, func(done, total int64) { report(cli.Progress{Done: done, Total: total}) })
	if err != nil {
		return cli.BackupReport{}, fmt.Errorf("%s: %w", archive, err)
	}
	return reportOf(archive, &opened.Header, &opened.Manifest), nil
}

// reportOf describes an archive.
func reportOf(name string, h *backup.Header, m *backup.Manifest) cli.BackupReport {
	r := cli.BackupReport{
		Archive: name, Created: h.Created, Program: h.Program, Engine: h.Engine, Workspace: h.Root,
		Tables: map[string]int64{}, Bytes: m.Size(), Tip: m.Tip,
	}
	for _, e := range m.Entries {
		switch folder, file := path.Split(e.Path); {
		case folder == backup.Tables:
			r.Tables[strings.TrimSuffix(file, ".jsonl")] = e.Count
		case folder == backup.Memory:
			r.Memory += e.Count
		case folder == backup.Audit:
			r.Records += e.Count
		case strings.HasPrefix(e.Path, backup.Books):
			r.Books++
		case e.Path == backup.Keys:
			r.Keys = true
		}
	}
	return r
}
