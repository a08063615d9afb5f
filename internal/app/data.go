package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"remit/internal/contract"
	"remit/internal/engine"
	"remit/internal/engine/approval"
	"remit/internal/engine/background"
	"remit/internal/stores/memlog"
	"remit/internal/stores/sqlstore"
)

// dataFolder is Remit's own folder. It is made when something is first kept
// there, and keeps itself out of git.
type dataFolder struct {
	path string
	mu   sync.Mutex
	made bool
}

// prepare makes the folder, again if somebody has taken it away.
func (d *dataFolder) prepare() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.made {
		if _, err := os.Lstat(d.path); err == nil {
			return nil
		}
	}
	err := d.create()
	d.made = err == nil
	return err
}

func (d *dataFolder) create() error {
	if err := os.MkdirAll(d.path, 0o700); err != nil {
		return fmt.Errorf("make the data folder: %w", err)
	}
	// A repository may bring links along that would lead our data elsewhere.
	for _, folder := range []string{d.path, filepath.Join(d.path, "audit"), filepath.Join(d.path, "remit.db")} {
		if info, err := os.Lstat(folder); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return fmt.Errorf("%s is a link; remove it, or name another folder with --data", folder)
		}
	}
	ignore, err := os.OpenFile(filepath.Join(d.path, ".gitignore"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("keep the data folder out of git: %w", err)
	}
	_, err = ignore.WriteString("*\n")
	return errors.Join(err, ignore.Close())
}

// files opens the files of a folder in it.
func (d *dataFolder) files(folder string) memlog.Files {
	return preparedFiles{d, memlog.Dir(filepath.Join(d.path, folder))}
}

// preparedFiles are files of the data folder; the folder is made with the first.
type preparedFiles struct {
	data *dataFolder
	dir  memlog.Dir
}

// OpenAppend keeps the promise of memlog.Files.
func (p preparedFiles) OpenAppend(name string) (*os.File, error) {
	if err := p.data.prepare(); err != nil {
		return nil, err
	}
	return p.dir.OpenAppend(name)
}

// database is opened when something is first kept in it: most runs never need
// it, and a start should cost nothing.
type database struct {
	url     string
	prepare func() error
	log     *slog.Logger

	mu     sync.Mutex
	db     *sqlstore.DB
	file   os.FileInfo // of what was opened
	secret []byte
}

func (d *database) open(ctx context.Context) (*sqlstore.DB, []byte, error) {
	secret, err := d.key()
	if err != nil {
		return nil, nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.db != nil && d.isStillThere() {
		return d.db, secret, nil
	}
	if d.db != nil { // a clean-up took the file away: what is written to it nobody would find
		d.log.Warn("the database was removed while it was open; a new one is made", "error", d.db.Close())
		d.db = nil
	}
	if err := d.prepare(); err != nil {
		return nil, nil, err
	}
	if d.db, err = sqlstore.Open(ctx, d.url); err != nil {
		return nil, nil, fmt.Errorf("open the database: %w", err)
	}
	d.file = d.stat()
	return d.db, secret, nil
}

// isStillThere tells whether the file that was opened is the one that others see.
func (d *database) isStillThere() bool {
	now := d.stat()
	return d.file == nil || now != nil && os.SameFile(d.file, now)
}

func (d *database) stat() os.FileInfo {
	name, _ := sqlstore.File(d.url)
	info, err := os.Stat(name)
	if err != nil {
		return nil
	}
	return info
}

// key is what the user's approvals, tasks and waiting calls are sealed with.
func (d *database) key() ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.secret != nil {
		return d.secret, nil
	}
	var err error
	d.secret, err = approvalSecret(d.log)
	return d.secret, err
}

// tasks are the calls in the background.
func (d *database) tasks(ctx context.Context) (background.Store, error) {
	db, secret, err := d.open(ctx)
	if err != nil {
		return nil, err
	}
	return &background.Sealed{Store: db.Background(), Secret: secret}, nil
}

// spend takes note of a token that can be used once.
func (d *database) spend(ctx context.Context, token string, now, expires time.Time) (bool, error) {
	db, _, err := d.open(ctx)
	if err != nil {
		return false, err
	}
	return db.Spend(ctx, token, now, expires)
}

// exists tells whether anything was ever kept.
func (d *database) exists() bool {
	file, ok := sqlstore.File(d.url)
	if !ok {
		return true
	}
	_, err := os.Stat(file)
	return !errors.Is(err, fs.ErrNotExist)
}

func (d *database) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.db == nil {
		return nil
	}
	return d.db.Close()
}

// approvals are the approvals of one workspace.
type approvals struct {
	mode      approval.Mode
	workspace string // an approval is for one workspace
	database  *database
}

var _ engine.Approver = (*approvals)(nil)

// Pass lets a guarded call pass, or says why not. Only asking needs the store.
func (a *approvals) Pass(ctx context.Context, s approval.Subject, ask approval.Asker) error {
	s.Workspace = a.workspace
	gate := &approval.Gate{Mode: a.mode}
	if a.mode != approval.Auto && a.mode != approval.Deny { // also without a setting
		store, err := a.open(ctx)
		if err != nil {
			return approval.Unreachable(s, err)
		}
		gate.Store = store
	}
	return gate.Pass(ctx, s, ask)
}

func (a *approvals) open(ctx context.Context) (approval.Store, error) {
	db, secret, err := a.database.open(ctx)
	if err != nil {
		return nil, err
	}
	return &approval.Sealed{Store: db.Approvals(), Secret: secret}, nil
}

// nothingAsked is a store without requests, for those who only look or decide.
type nothingAsked struct{ approval.Store }

// Get finds nothing.
func (nothingAsked) Get(_ context.Context, id string) (approval.Request, error) {
	return approval.Request{}, contract.Errorf(contract.NotFound, "There is no request %s", id)
}

// List lists nothing.
func (nothingAsked) List(context.Context, approval.ListOptions) ([]approval.Request, error) {
	return nil, nil
}
