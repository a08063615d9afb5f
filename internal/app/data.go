package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/lmittmann/tint"
	"golang.org/x/term"

	"remit/internal/contract"
	"remit/internal/engine"
	"remit/internal/engine/approval"
	"remit/internal/stores/memlog"
	"remit/internal/stores/sqlstore"
)

// dataFolder is Remit's own folder. It is made when something is first kept
// there, and keeps itself out of git.
type dataFolder struct {
	path string
	once sync.Once
	err  error
}

func (d *dataFolder) prepare() error {
	d.once.Do(func() { d.err = d.create() })
	return d.err
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

// approvals opens the database when the first approval is needed: most runs
// never need one, and a start should cost nothing.
type approvals struct {
	mode      approval.Mode
	workspace string // an approval is for one workspace
	url       string
	prepare   func() error
	log       *slog.Logger

	mu     sync.Mutex
	db     *sqlstore.DB
	sealed *approval.Sealed
}

var _ engine.Approver = (*approvals)(nil)

// Pass lets a guarded call pass, or says why not. Only asking needs the store.
func (a *approvals) Pass(ctx context.Context, s approval.Subject, ask approval.Asker) error {
	s.Workspace = a.workspace
	gate := &approval.Gate{Mode: a.mode}
	if a.mode == approval.Ask {
		store, err := a.open(ctx)
		if err != nil {
			return approval.Unreachable(s, err)
		}
		gate.Store = store
	}
	return gate.Pass(ctx, s, ask)
}

func (a *approvals) open(ctx context.Context) (approval.Store, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.sealed != nil {
		return a.sealed, nil
	}
	if err := a.prepare(); err != nil {
		return nil, err
	}
	secret, err := approvalSecret(a.log)
	if err != nil {
		return nil, err
	}
	if a.db, err = sqlstore.Open(ctx, a.url); err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	a.sealed = &approval.Sealed{Store: a.db.Approvals(), Secret: secret}
	return a.sealed, nil
}

// exists tells whether anything was ever asked.
func (a *approvals) exists() bool {
	file, ok := sqlstore.File(a.url)
	if !ok {
		return true
	}
	_, err := os.Stat(file)
	return !errors.Is(err, fs.ErrNotExist)
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

func (a *approvals) close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.db == nil {
		return nil
	}
	return a.db.Close()
}

// newLogger writes to a person's terminal in colour, to anything else plainly.
func newLogger(w io.Writer, level slog.Level) *slog.Logger {
	file, ok := w.(*os.File)
	colour := ok && term.IsTerminal(int(file.Fd()))
	return slog.New(tint.NewTextHandler(w, &tint.Options{Level: level, TimeFormat: time.RFC3339, NoColor: !colour}))
}
