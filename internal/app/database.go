package app

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"remit/internal/contract"
	"remit/internal/engine"
	"remit/internal/engine/approval"
	"remit/internal/engine/jobs"
	"remit/internal/engine/passkey"
	"remit/internal/stores/sqlstore"
	"remit/internal/stores/workspace"
)

const (
	// openPause is the interval between attempts to reach a server that could not be reached.
	// Meanwhile calls fail immediately, instead of waiting one after another.
	openPause = time.Second
	// openTimeout bounds opening a database, including the migrations of a new version.
	openTimeout = time.Minute
	// keyTimeout bounds reading the sealing key.
	keyTimeout = 10 * time.Second
	// pingTimeout bounds the answer of a healthy database.
	pingTimeout = time.Second
)

// database is opened when something is first stored in it: most runs never need it, and a start
// should not pay for it.
type database struct {
	opener[*sqlstore.DB]
	url     string
	root    *workspace.Root // what is within it belongs to others, so no link there is followed
	prepare func() error
	userKey func() ([]byte, error) // returns the key of the user; for a database that is not shared
	log     *slog.Logger
	anchor  *anchor           // nil: any database is used
	records *sqlstore.Records // of a shared database; nil: none
	outbox  *sqlstore.Outbox
	file    os.FileInfo // the file that was opened

	secretMu sync.Mutex
	secret   []byte
}

func newDatabase(url string, root *workspace.Root, prepare func() error, log *slog.Logger) *database {
	d := &database{url: url, root: root, prepare: prepare, log: log}
	d.opener = opener[*sqlstore.DB]{what: "open the database", run: d.connect, valid: d.isStillThere}
	if d.isShared() { // a SQLite file is tried again immediately, because it may have been repaired
		d.pause = openPause
	}
	return d
}

func (d *database) isShared() bool { return sqlstore.IsPostgres(d.url) }

// connect opens the database, and closes one that was removed. It creates a database only if the
// workspace has had none.
func (d *database) connect(ctx context.Context, removed *sqlstore.DB) (*sqlstore.DB, error) {
	// The file or the tables were replaced, so no one would find what is written to the old ones.
	if removed != nil {
		d.log.Warn("the database was removed or replaced while it was open", "error", removed.Close())
	}
	if !d.isShared() {
		if err := d.prepareFile(); err != nil {
			return nil, err
		}
	}
	if d.anchor != nil {
		if err := d.anchor.inspect(ctx); err != nil {
			return nil, err
		}
	}
	db, err := d.openAnyway(ctx)
	if err != nil {
		return nil, err
	}
	d.file = db.Stat()
	db.Watch(d.stays(d.file))
	if d.anchor != nil {
		if err := d.anchor.settle(ctx, db); err != nil {
			return nil, errors.Join(err, db.Close())
		}
	}
	if d.outbox != nil {
		db.UseOutbox(d.outbox)
	}
	return db, nil
}

// openAnyway opens the database without checking whose it is.
func (d *database) openAnyway(ctx context.Context) (*sqlstore.DB, error) {
	folder, err := d.folder()
	if err != nil {
		return nil, err
	}
	if folder == nil {
		return sqlstore.Open(ctx, d.url)
	}
	return sqlstore.OpenIn(ctx, d.url, folder)
}

// folder opens the folder of a SQLite file within the workspace, without following a link there. It
// returns nil for any other database, because the operator has chosen its place.
func (d *database) folder() (*os.File, error) {
	if file, ok := sqlstore.File(d.url); ok {
		if name, ok := d.root.Within(filepath.Dir(file)); ok {
			return d.root.OpenFolder(name)
		}
	}
	return nil, nil //nolint:nilnil // there is nothing to open
}

// inspect looks into an existing database without changing it.
func (d *database) inspect(ctx context.Context) (found sqlstore.Found, err error) {
	if d.isShared() {
		found.Empty, err = sqlstore.IsEmpty(ctx, d.url)
		return found, err
	}
	folder, err := d.folder()
	if err != nil {
		return found, err
	}
	found, err = sqlstore.Inspect(ctx, d.url, folder)
	if folder != nil {
		err = errors.Join(err, folder.Close())
	}
	return found, err
}

// prepareFile creates the folder of a SQLite file.
func (d *database) prepareFile() error {
	if d.anchor != nil && d.stat() == nil {
		if err := d.anchor.mayCreate(); err != nil {
			return err
		}
	}
	return d.prepare()
}

// isStillThere reports whether the opened database is still the one that others see: the same file,
// the same tables. A shared database that was recreated has a new key.
func (d *database) isStillThere(db *sqlstore.DB) bool {
	if d.records.IsBehind() {
		return false
	}
	now := d.stat()
	if d.file == nil && !db.Emptied() || d.file != nil && now != nil && now.Size() > 0 && os.SameFile(d.file, now) {
		return true
	}
	if d.isShared() {
		d.secretMu.Lock()
		d.secret = nil
		d.secretMu.Unlock()
	}
	return false
}

// stays returns a function that returns an error if the path no longer leads to the opened file.
func (d *database) stays(opened os.FileInfo) func() error {
	return func() error {
		if now := d.stat(); opened != nil && (now == nil || !os.SameFile(opened, now)) {
			return errors.New("the file of the database was moved or replaced, or its volume was unmounted")
		}
		return nil
	}
}

// stat returns the file of the database, or nil if there is none.
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

// reach tries the database before any call depends on it. It returns an error if only an operator
// can fix the problem; a server that does not answer now may answer later.
func (d *database) reach(ctx context.Context) error {
	err := d.answers(ctx)
	var newer *sqlstore.SchemaTooNewError
	var refused *sqlstore.RefusedError
	var inDoubt *doubtError
	switch {
	case err == nil, errors.As(err, &inDoubt): // every call that needs it says so
		return nil
	case errors.As(err, &newer), d.isShared() && errors.As(err, &refused):
		return err
	}
	d.log.Warn("the database is unavailable; Remit tries again when it is needed", "error", err)
	return nil
}

// ping reports whether the database answers. A database that does not exist yet is not an error.
func (d *database) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
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

// key returns the key that seals approvals, background tasks and waiting calls: a secret of the
// user, or one from the database if that is shared.
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
		return d.userKey()
	}
	ctx, cancel := context.WithTimeout(context.Background(), keyTimeout)
	defer cancel()
	db, err := d.open(ctx)
	if err != nil {
		return nil, err
	}
	return db.Secret(ctx, "seals")
}

// sealed opens the database and returns it with the sealing key.
func (d *database) sealed(ctx context.Context) (*sqlstore.DB, []byte, error) {
	secret, err := d.key()
	if err != nil {
		return nil, nil, err
	}
	db, err := d.open(ctx)
	return db, secret, err
}

// background returns the store of background calls.
func (d *database) background(ctx context.Context) (jobs.Store, error) {
	db, secret, err := d.sealed(ctx)
	if err != nil {
		return nil, err
	}
	return &jobs.Sealed{Store: db.Jobs(), Secret: secret}, nil
}

// spend marks a single-use token as used.
func (d *database) spend(ctx context.Context, token string, now, expires time.Time) (bool, error) {
	db, err := d.open(ctx)
	if err != nil {
		return false, err
	}
	if fresh, err := db.UseOnce(ctx, token, now, expires); err != nil || !fresh || d.anchor == nil {
		return fresh, err
	}
	return d.anchor.use("once "+token, now, expires)
}

// stored returns a function that opens a store of the database on demand.
func stored[T any](d *database, store func(*sqlstore.DB) T) func(context.Context) (T, error) {
	return func(ctx context.Context) (opened T, err error) {
		db, err := d.open(ctx)
		if err != nil {
			return opened, err
		}
		return store(db), nil
	}
}

// exists reports whether the database exists, or should. A shared one always does.
func (d *database) exists() bool {
	file, ok := sqlstore.File(d.url)
	if !ok {
		return true
	}
	_, err := os.Stat(file)
	return !errors.Is(err, fs.ErrNotExist) || d.anchor != nil && d.anchor.expects()
}

func (d *database) close() error {
	if db := d.opener.close(); db != nil {
		return db.Close()
	}
	return nil
}

// approvals handles the approvals of one workspace. It implements engine.Approver.
type approvals struct {
	mode     approval.Mode
	anchor   *anchor
	database *database
	// Returns the URL of the page for deciding on a request, or "".
	page   func(id string) string
	notify func(approval.Request, approval.Shown) // called for new requests, if not nil
	audit  engine.Auditor                         // records decisions
	now    func() time.Time

	passkeys *passkey.Keys // must sign approvals, once one is registered
}

var _ engine.Approver = (*approvals)(nil)

// Pass lets a guarded call pass, with what the person saw who approved it, or returns why not. The
// mode "ask" needs the store, and "auto" needs it for standing denials, if there can be any.
func (a *approvals) Pass(ctx context.Context, s approval.Subject, ask approval.Asker) (passed approval.Passed, err error) {
	gate := &approval.Gate{Mode: a.mode, Page: a.page, OnRequest: a.notify, Now: a.now}
	if a.asks() || a.mode == approval.Auto && a.database.exists() {
		if s.Workspace, err = a.anchor.Place(); err != nil {
			return passed, approval.StoreUnavailable(s, err)
		}
		if s.Owner != s.Principal {
			s.Workspace += approval.OwnerMark + s.Owner
		}
		if gate.Rules, err = a.rules(ctx); err != nil {
			return passed, approval.StoreUnavailable(s, err)
		}
	}
	if a.asks() {
		store, err := a.open(ctx)
		if err != nil {
			return passed, approval.StoreUnavailable(s, err)
		}
		gate.Store, gate.Signed = store, a.needsPasskey(ctx)
	}
	return gate.Pass(ctx, s, ask)
}

// rules opens the standing rules.
func (a *approvals) rules(ctx context.Context) (*approval.Rules, error) {
	db, secret, err := a.database.sealed(ctx)
	if err != nil {
		return nil, err
	}
	rules := &approval.Rules{Store: db.ApprovalRules(), Secret: secret, Passkeys: a.passkeys, Audit: a.audit}
	if !a.database.isShared() {
		rules.Anchor = a.anchor
	}
	return rules, nil
}

// asks reports whether people decide, also if no mode is set.
func (a *approvals) asks() bool { return a.mode != approval.Auto && a.mode != approval.Deny }

func (a *approvals) open(ctx context.Context) (approval.Store, error) {
	db, secret, err := a.database.sealed(ctx)
	if err != nil {
		return nil, err
	}
	sealed := &approval.Sealed{Store: db.Approvals(), Secret: secret}
	signed := &approval.Signed{Store: sealed, Passkeys: a.passkeys}
	return &approval.Recorded{Store: &anchoredApprovals{signed, a.anchor}, Audit: a.audit}, nil
}

// needsPasskey reports whether approvals must be signed. If that is not known, they cannot be given
// without a signature either.
func (a *approvals) needsPasskey(ctx context.Context) bool {
	if !a.asks() {
		return false
	}
	required, err := a.passkeys.Required(ctx)
	return required || err != nil
}

// emptyApprovals is an empty store, for listing and deciding while there is no database.
type emptyApprovals struct{ approval.Store }

// Get always returns NotFound.
func (emptyApprovals) Get(_ context.Context, id string) (approval.Request, error) {
	return approval.Request{}, contract.Errorf(contract.NotFound, "There is no request %s", id)
}

// List always returns an empty list.
func (emptyApprovals) List(context.Context, approval.ListOptions) ([]approval.Request, error) {
	return nil, nil
}

// WaitingIDs always returns an empty list.
func (emptyApprovals) WaitingIDs(context.Context, time.Time) ([]string, error) { return nil, nil }

// Waiting always returns an empty list.
func (emptyApprovals) Waiting(context.Context, time.Time) ([]approval.Group, error) { return nil, nil }

// Similar always returns an empty list.
func (emptyApprovals) Similar(context.Context, approval.SimilarOptions) ([]approval.Request, error) {
	return nil, nil
}
