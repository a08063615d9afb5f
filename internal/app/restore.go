package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"remit/internal/backup"
	"remit/internal/frontends/cli"
	"remit/internal/stores/keyfolder"
	"remit/internal/stores/sqlstore"
)

// Restore implements cli.Backups.
func (backups) Restore(ctx context.Context, s cli.Settings, log *slog.Logger, r cli.RestoreRequest) (report cli.BackupReport, err error) {
	archive, err := backup.Open(ctx, r.Archive, func(done, total int64) { r.Report(cli.Progress{Done: done, Total: total, Name: "verifying"}) })
	if err != nil {
		return report, fmt.Errorf("%s: %w; nothing was restored", r.Archive, err)
	}
	report = reportOf(r.Archive, &archive.Header, &archive.Manifest)
	report.Into = s.Root
	t, err := newImportTarget(ctx, s, log)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, t.app.Close()) }()
	if err := t.checkEmpty(ctx); err != nil {
		return report, fmt.Errorf("%w; nothing was restored", err)
	}
	if err := r.Confirm(report); err != nil {
		return report, err
	}
	keys, err := keysOf(ctx, archive, r.Passphrase)
	if err != nil {
		return report, err
	}
	if err := t.useKeys(&archive.Header, keys, r.KeepTokens); err != nil {
		return report, err
	}
	if err := t.begin(ctx, "archive "+archive.Header.DataID+" "+archive.Header.Created.String(), archive.Header.Stores); err != nil {
		return report, errors.Join(err, t.discard(ctx))
	}
	err = archive.Each(ctx, func(done, total int64) { r.Report(cli.Progress{Done: done, Total: total}) }, func(e backup.Entry, in io.Reader) error {
		if e.Path == backup.Keys {
			return nil
		}
		return t.add(ctx, item{e.Path, e.Size, e.SHA256, e.Modified, in})
	})
	if err == nil {
		err = t.finish(ctx, &restored{Header: archive.Header, keepTokens: r.KeepTokens, keys: keys})
	}
	if err != nil {
		return report, errors.Join(err, t.discard(context.WithoutCancel(ctx)))
	}
	return report, nil
}

// keysOf returns the keys of an archive, nil if they are not wanted.
func keysOf(ctx context.Context, archive *backup.Archive, passphrase func() (string, error)) (keys backup.KeySet, err error) {
	if passphrase == nil {
		return nil, nil
	}
	if !slices.ContainsFunc(archive.Manifest.Entries, func(e backup.Entry) bool { return e.Path == backup.Keys }) {
		return nil, errors.New("the archive has no keys; leave out --with-keys")
	}
	word, err := passphrase()
	if err != nil {
		return nil, err
	}
	err = archive.Each(ctx, func(int64, int64) {}, func(e backup.Entry, r io.Reader) (err error) {
		if e.Path == backup.Keys {
			keys, err = backup.DecryptKeys(r, word)
		}
		return err
	})
	return keys, err
}

// useKeys stores the user's key from an archive, and checks whether tokens can be kept.
func (t *importTarget) useKeys(h *backup.Header, keys backup.KeySet, keepTokens bool) error {
	shared := t.app.database.isShared()
	if key := keys[userKey]; key != nil && !shared {
		if err := t.app.keys.SetKey(key); err != nil {
			return err
		}
	}
	if !keepTokens {
		return nil
	}
	if shared != (h.Engine == "postgres") {
		return errors.New("tokens cannot be kept: they are bound to the kind of database, and the archive is of the other kind; " +
			"leave out --keep-tokens and create new ones")
	}
	id, err := idOfKey(keys["seals"]), error(nil)
	if !shared {
		id, err = t.app.keyID()
	}
	if err != nil {
		return err
	}
	if id != h.KeyID {
		return errors.New("tokens cannot be kept: the key folder has another key than the one that made them; add --with-keys if " +
			"the archive has its key, or leave out --keep-tokens and create new ones")
	}
	return nil
}

// restored says what becomes of the tokens in an import.
type restored struct {
	backup.Header
	keepTokens bool
	keys       backup.KeySet
}

// settle gives the imported database an id, and makes the tokens in it invalid unless they are
// kept.
func (t *importTarget) settle(ctx context.Context, r *restored) error {
	a := t.app.anchor
	if !r.keepTokens {
		if err := t.db.Invalidate(ctx, time.Now()); err != nil {
			return err
		}
	}
	if a.shared {
		return t.settleShared(ctx, r)
	}
	if err := a.keys.Check(); err != nil {
		return err
	}
	if err := a.file.Replace(a.now()); err != nil {
		return err
	}
	return a.file.Change(a.now(), func(c *keyfolder.Change) error {
		if err := r.epoch(c, a.root); err != nil {
			return err
		}
		if r.Identity {
			if err := c.RequireIdentity(); err != nil {
				return err
			}
		}
		if err := c.SetData(a.location, t.dataID); err != nil {
			return err
		}
		return t.db.NoteSequence(ctx, a.file.Name(), c.State().Sequence)
	})
}

// epoch makes everything from before invalid, or takes over what the tokens in the archive are
// bound to.
func (r *restored) epoch(c *keyfolder.Change, root string) error {
	if !r.keepTokens {
		return c.NextEpoch()
	}
	if state := c.State(); sealPlace(state, root) == sealPlace(keyfolder.State{Place: r.Place, Epoch: r.Epoch}, root) {
		return nil
	} else if state.Epoch > r.Epoch {
		return errors.New("tokens cannot be kept: all tokens of this workspace were made invalid after the archive was made; " +
			"leave out --keep-tokens and create new ones")
	}
	if err := c.SetPlace(r.Place); err != nil {
		return err
	}
	for c.State().Epoch < r.Epoch {
		if err := c.NextEpoch(); err != nil {
			return err
		}
	}
	return nil
}

func (t *importTarget) settleShared(ctx context.Context, r *restored) error {
	if r.keepTokens {
		for name, value := range r.keys {
			if err := t.into.SetSecret(ctx, name, value); err != nil {
				return err
			}
		}
	}
	if r.Identity {
		return t.db.RequireIdentity(ctx)
	}
	return nil
}

// importTarget is an empty workspace that is filled by a restore or a migration. Nothing appears in
// its place before all of it is written, except in a PostgreSQL database and an S3 bucket, which
// are marked or emptied if that fails.
type importTarget struct {
	app    *App
	db     *sqlstore.DB
	dataID string // of db
	into   *sqlstore.Import
	books  *bookTarget
	parts  []part // in the order in which they appear
}

// part is a file or folder that is written under another name first.
type part struct{ name, final string }

// partOf returns the name under which something is written.
func partOf(final string) string { return final + ".part" }

func newImportTarget(ctx context.Context, s cli.Settings, log *slog.Logger) (*importTarget, error) {
	a, err := Open(ctx, s, log)
	if err != nil {
		return nil, err
	}
	t := &importTarget{app: a}
	if !a.database.isShared() {
		t.parts = append(t.parts, t.part(filepath.Join(s.Root, filepath.FromSlash(memoryFolder))))
	}
	for _, place := range s.Books {
		if folder, ok := strings.CutPrefix(place, folderScheme); ok && !isWithin(s.Data, folder) {
			t.parts = append(t.parts, t.part(folder))
		}
	}
	if file, ok := sqlstore.File(s.Database); ok && !isWithin(s.Data, file) {
		t.parts = append(t.parts, t.part(file))
	}
	t.parts = append(t.parts, t.part(s.Data)) // last: with it, the workspace is there
	return t, nil
}

func (t *importTarget) part(final string) part { return part{partOf(final), final} }

// place returns where a file or folder is written that shall be at final.
func (t *importTarget) place(final string) string {
	for _, p := range t.parts {
		if inner, err := filepath.Rel(p.final, final); err == nil && filepath.IsLocal(inner) {
			return filepath.Join(p.name, inner)
		}
	}
	return final
}

// checkEmpty returns an error if anything is where something would be restored.
func (t *importTarget) checkEmpty(ctx context.Context) error {
	for _, p := range t.parts {
		entries, err := os.ReadDir(p.final)
		switch {
		case errors.Is(err, fs.ErrNotExist), err == nil && len(entries) == 0:
		case err == nil:
			return fmt.Errorf("%s is not empty (it has %s); restore to another folder with --into, or move it away and stop the server "+
				"that uses it", p.final, entries[0].Name())
		default:
			return fmt.Errorf("%s is in use: %w", p.final, err)
		}
	}
	var err error
	t.books, err = newBookTarget(ctx, t)
	return err
}

// begin prepares everything. source names what is imported.
func (t *importTarget) begin(ctx context.Context, source string, stores []string) (err error) {
	for _, p := range t.parts {
		if err := os.RemoveAll(p.name); err != nil {
			return fmt.Errorf("remove what an earlier attempt left: %w", err)
		}
	}
	t.books.sources = stores
	return t.open(ctx, source)
}

func (t *importTarget) open(ctx context.Context, source string) (err error) {
	address := t.app.settings.Database
	if file, ok := sqlstore.File(address); ok {
		address = "sqlite://" + t.place(file)
		folder := t.place(t.app.settings.Data)
		if err := errors.Join(os.MkdirAll(folder, 0o700), os.WriteFile(filepath.Join(folder, ".gitignore"), []byte("*\n"), 0o600)); err != nil {
			return fmt.Errorf("create the data folder: %w", err)
		}
	}
	if t.db, err = sqlstore.Open(ctx, address); err != nil {
		return err
	}
	if t.into, err = t.db.BeginImport(ctx, source, t.app.storage.place); err != nil {
		return err
	}
	// Before the import, because it removes answers from elsewhere.
	t.dataID, err = t.db.SetDataID(ctx, newDataID())
	return err
}

// add writes one entry. It never trusts its name.
func (t *importTarget) add(ctx context.Context, one item) error {
	folder, file := path.Split(one.name)
	switch {
	case folder == backup.Tables && strings.HasSuffix(file, ".jsonl"):
		_, err := t.into.Table(ctx, strings.TrimSuffix(file, ".jsonl"), one.r)
		return err
	case folder == backup.Memory && t.app.database.isShared():
		return t.into.Memory(ctx, file, one.r)
	case folder == backup.Memory:
		return writeFile(filepath.Join(t.place(filepath.Join(t.app.settings.Root, filepath.FromSlash(memoryFolder))), file), 0o644, one.r)
	case folder == backup.Audit && t.app.database.isShared():
		return t.into.Audit(ctx, strings.TrimSuffix(file, ".jsonl"), one.r)
	case folder == backup.Audit:
		return writeFile(filepath.Join(t.place(filepath.Join(t.app.settings.Data, "audit")), file), 0o600, one.r)
	case strings.HasPrefix(one.name, backup.Books):
		return t.books.add(ctx, one)
	}
	return fmt.Errorf("the archive has %s, which this version of Remit does not know; use the version that wrote it", one.name)
}

// writeFile writes a new file and syncs it.
func writeFile(name string, mode fs.FileMode, r io.Reader) error {
	// Who may read a file may enter its folder.
	if err := os.MkdirAll(filepath.Dir(name), mode|mode&0o444>>2); err != nil {
		return err
	}
	file, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, r)
	return errors.Join(err, file.Sync(), file.Close())
}

// finish makes the workspace appear.
func (t *importTarget) finish(ctx context.Context, r *restored) error {
	if err := t.settle(ctx, r); err != nil {
		return err
	}
	if err := t.into.Finish(ctx); err != nil {
		return err
	}
	err := t.db.Close()
	t.db = nil
	if err != nil {
		return err
	}
	for _, p := range t.parts {
		if _, err := os.Lstat(p.name); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(p.final), 0o755), os.Rename(p.name, p.final)); err != nil {
			return fmt.Errorf("put %s in its place: %w", p.final, err)
		}
	}
	if t.app.anchor.shared {
		return nil
	}
	return t.app.keys.Workspace(t.app.anchor.root).ForgetTip()
}

// discard removes what was written, after a failure.
func (t *importTarget) discard(ctx context.Context) (err error) {
	if t.books != nil {
		err = t.books.discard(ctx)
	}
	if t.db != nil {
		if t.app.database.isShared() && t.into != nil {
			err = errors.Join(err, t.into.Abort(ctx))
		}
		err = errors.Join(err, t.db.Close())
	}
	for _, p := range t.parts {
		err = errors.Join(err, os.RemoveAll(p.name))
	}
	return err
}
