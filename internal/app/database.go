package app

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"

	"remit/internal/contract"
	"remit/internal/engine"
	"remit/internal/engine/approval"
	"remit/internal/engine/jobs"
	"remit/internal/stores/sqlstore"
)

const (
	// openPause is how long nobody tries to reach a server that could not be reached:
	// calls fail at once meanwhile, instead of waiting one after another.
	openPause = time.Second
	// openPatience is how long an upgrade may take that a larger version brings along.
	openPatience = time.Minute
	// keyPatience is how long it may take to read the key of what is sealed.
	keyPatience = 10 * time.Second
	// pingPatience is how long a database may take that is well.
	pingPatience = time.Second
)

// database is opened when something is first kept in it: most runs never need
// it, and a start should cost nothing.
type database struct {
	opener[*sqlstore.DB]
	url     string
	prepare func() error
	log     *slog.Logger
	file    os.FileInfo // of what was opened

	secretMu sync.Mutex
	secret   []byte
}

func newDatabase(url string, prepare func() error, log *slog.Logger) *database {
	d := &database{url: url, prepare: prepare, log: log}
	d.opener = opener[*sqlstore.DB]{what: "open the database", run: d.connect, valid: d.isStillThere}
	if d.isShared() { // a SQLite file is tried again at once: it may have been repaired
		d.pause = openPause
	}
	return d
}

func (d *database) isShared() bool { return sqlstore.IsPostgres(d.url) }

// connect opens the database, in the place of one that was taken away.
func (d *database) connect(ctx context.Context, removed *sqlstore.DB) (*sqlstore.DB, error) {
	if removed != nil { // a clean-up took the file or the tables away: what is written nobody would find
		d.log.Warn("the database was removed while it was open; a new one is made", "error", removed.Close())
	}
	if !d.isShared() {
		if err := d.prepare(); err != nil {
			return nil, err
		}
	}
	db, err := sqlstore.Open(ctx, d.url)
	d.file = d.stat()
	return db, err
}

// isStillThere tells whether what was opened is what others see: the same file, the
// same tables. A shared database that is not has a key of its own.
func (d *database) isStillThere(db *sqlstore.DB) bool {
	now := d.stat()
	if d.file == nil && !db.Emptied() || d.file != nil && now != nil && os.SameFile(d.file, now) {
		return true
	}
	if d.isShared() {
		d.secretMu.Lock()
		d.secret = nil
		d.secretMu.Unlock()
	}
	return false
}

// stat looks at the file of the database; nil if there is none.
func (d *database) stat() os.FileInfo {
	name, ok := sqlstore.File(d.url)
	if !ok {
		return nil
	}
	info, err := os.Stat(name)
	if err != nil {
		return nil
	}
	return info
}

// reach tries the database before anybody depends on it. What only an operator can
// mend is an error; a server that does not answer now may do so in a moment.
func (d *database) reach(ctx context.Context) error {
	err := d.answers(ctx)
	var newer *sqlstore.NewerError
	var refused *sqlstore.RefusedError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &newer), d.isShared() && errors.As(err, &refused):
		return err
	}
	d.log.Warn("the database cannot be used now; it is tried again when it is needed", "error", err)
	return nil
}

// ping tells whether the database answers. One that was never made is well.
func (d *database) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pingPatience)
	defer cancel()
	return d.answers(ctx)
}

func (d *database) answers(ctx context.Context) error {
	if !d.exists() {
		return nil
	}
	db, err := d.open(ctx)
	if err != nil {
		return err
	}
	return db.Ping(ctx)
}

// key is what approvals, background tasks and waiting calls are sealed with: a secret
// of the user, or one that all who share the database have from it.
func (d *database) key() ([]byte, error) {
	d.secretMu.Lock()
	secret := d.secret
	d.secretMu.Unlock()
	if secret != nil {
		return secret, nil
	}
	secret, err := d.readKey()
	if err != nil {
		return nil, err
	}
	d.secretMu.Lock()
	defer d.secretMu.Unlock()
	d.secret = secret
	return secret, nil
}

func (d *database) readKey() ([]byte, error) {
	if !d.isShared() {
		return approvalSecret(d.log)
	}
	ctx, cancel := context.WithTimeout(context.Background(), keyPatience)
	defer cancel()
	db, err := d.open(ctx)
	if err != nil {
		return nil, err
	}
	return db.Secret(ctx, "seals")
}

// sealed opens the database along with the key of what is sealed in it.
func (d *database) sealed(ctx context.Context) (*sqlstore.DB, []byte, error) {
	secret, err := d.key()
	if err != nil {
		return nil, nil, err
	}
	db, err := d.open(ctx)
	return db, secret, err
}

// background are the calls in the background.
func (d *database) background(ctx context.Context) (jobs.Store, error) {
	db, secret, err := d.sealed(ctx)
	if err != nil {
		return nil, err
	}
	return &jobs.Sealed{Store: db.Background(), Secret: secret}, nil
}

// spend takes note of a token that can be used once.
func (d *database) spend(ctx context.Context, token string, now, expires time.Time) (bool, error) {
	db, err := d.open(ctx)
	if err != nil {
		return false, err
	}
	return db.Spend(ctx, token, now, expires)
}

// stored opens a store of the database when it is needed.
func stored[T any](d *database, store func(*sqlstore.DB) T) func(context.Context) (T, error) {
	return func(ctx context.Context) (opened T, err error) {
		db, err := d.open(ctx)
		if err != nil {
			return opened, err
		}
		return store(db), nil
	}
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
	if db := d.opener.close(); db != nil {
		return db.Close()
	}
	return nil
}

// approvals are the approvals of one workspace.
type approvals struct {
	mode     approval.Mode
	place    string // an approval is for one place
	database *database
	page     func(id string) string // where a request is decided about with a browser; "" is nowhere
	told     func(approval.Request) // hears of new requests; nil if nobody wants to know
}

var _ engine.Approver = (*approvals)(nil)

// Pass lets a guarded call pass, or says why not. Only asking needs the store.
func (a *approvals) Pass(ctx context.Context, s approval.Subject, ask approval.Asker) error {
	s.Workspace = a.place
	gate := &approval.Gate{Mode: a.mode, Page: a.page, Told: a.told}
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
	db, secret, err := a.database.sealed(ctx)
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
