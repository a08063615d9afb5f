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
	"strings"

	"remit/internal/backup"
	"remit/internal/frontends/cli"
	"remit/internal/stores/sqlstore"
)

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

// appear gives the part its name. Files are added to a folder that exists.
func (p *part) appear() error {
	if err := os.MkdirAll(filepath.Dir(p.final), 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(p.name)
	there, missing := os.ReadDir(p.final)
	if err != nil || missing != nil || len(there) == 0 {
		_ = os.Remove(p.name + ".lock") // of a database, which creates its own
		return os.Rename(p.name, p.final)
	}
	for _, e := range entries {
		if err := os.Rename(filepath.Join(p.name, e.Name()), filepath.Join(p.final, e.Name())); err != nil {
			return err
		}
	}
	return os.Remove(p.name)
}

func newImportTarget(ctx context.Context, s cli.Settings, log *slog.Logger) (*importTarget, error) {
	a, err := Open(ctx, s, log)
	if err != nil {
		return nil, err
	}
	t := &importTarget{app: a}
	if !a.database.isShared() {
		t.addPart(t.memory())
	}
	for _, place := range s.Books {
		if folder, ok := strings.CutPrefix(place, folderScheme); ok && !isWithin(s.Data, folder) {
			t.addPart(folder)
		}
	}
	if file, ok := sqlstore.File(s.Database); ok && !isWithin(s.Data, file) {
		t.addPart(file)
	}
	t.addPart(s.Data) // last: with it, the workspace is there
	return t, nil
}

func (t *importTarget) addPart(final string) {
	t.parts = append(t.parts, part{final + ".part", final})
}

// memory returns the folder of memory files.
func (t *importTarget) memory() string {
	return filepath.Join(t.app.settings.Root, filepath.FromSlash(memoryFolder))
}

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
	if t.books, err = newBookTarget(ctx, t); err != nil {
		return err
	}
	return t.books.checkForeign(ctx, nil)
}

// begin prepares everything.
func (t *importTarget) begin(ctx context.Context, source string, stores []string) (err error) {
	for _, p := range t.parts {
		if err := os.RemoveAll(p.name); err != nil {
			return fmt.Errorf("remove what an earlier attempt left: %w", err)
		}
	}
	t.books.sources = stores
	return t.open(ctx, source)
}

// address returns the URL of the database while it is written.
func (t *importTarget) address() string {
	address := t.app.settings.Database
	if file, ok := sqlstore.File(address); ok {
		address = "sqlite://" + t.place(file)
	}
	return address
}

// open opens the database and begins the import. source names what is imported.
func (t *importTarget) open(ctx context.Context, source string) (err error) {
	if !t.app.database.isShared() {
		folder := t.place(t.app.settings.Data)
		if err := errors.Join(os.MkdirAll(folder, 0o700), os.WriteFile(filepath.Join(folder, ".gitignore"), []byte("*\n"), 0o600)); err != nil {
			return fmt.Errorf("create the data folder: %w", err)
		}
	}
	if t.db, err = sqlstore.Open(ctx, t.address()); err != nil {
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
		return writeFile(filepath.Join(t.place(t.memory()), file), 0o644, one.r)
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
	if err := t.announce(ctx); err != nil {
		return err
	}
	if err := t.into.Finish(ctx, t.app.storage.outbox.Owner); err != nil {
		return err
	}
	if err := errors.Join(t.closeDatabase(), sqlstore.Checkpoint(ctx, t.address())); err != nil {
		return err
	}
	for _, p := range t.parts {
		if _, err := os.Lstat(p.name); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := p.appear(); err != nil {
			return fmt.Errorf("put %s in its place: %w", p.final, err)
		}
	}
	if t.app.anchor.shared {
		return nil
	}
	return t.app.keys.Workspace(t.app.anchor.root).ForgetTip()
}

// closeDatabase closes the database, if it is open.
func (t *importTarget) closeDatabase() error {
	if t.db == nil {
		return nil
	}
	err := t.db.Close()
	t.db = nil
	return err
}

// discard removes what was written, after a failure.
func (t *importTarget) discard(ctx context.Context) (err error) {
	if t.books != nil {
		err = t.books.discard(ctx)
	}
	if t.db != nil && t.into != nil && t.app.database.isShared() {
		err = errors.Join(err, t.into.Abort(ctx))
	}
	err = errors.Join(err, t.closeDatabase())
	for _, p := range t.parts {
		err = errors.Join(err, os.RemoveAll(p.name))
	}
	return err
}
