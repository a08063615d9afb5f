package app

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"remit/internal/engine/identity"
	"remit/internal/stores/keyfolder"
	"remit/internal/stores/sqlstore"
	"remit/internal/stores/workspace"
)

// anchor compares the database with what the key folder knows about the workspace, and refuses to
// work with a database that was replaced. It implements identity.Anchor.
//
// A database that replicas share stores revocations and used approvals itself, because each replica
// may have a key folder of its own, and only the operator can restore the database. Then the anchor
// only tells one database from another.
type anchor struct {
	file     *keyfolder.Anchor
	keys     *keyfolder.Folder
	root     string // the real path of the workspace
	location string // of the database
	shared   bool
	now      func() time.Time
	log      *slog.Logger
	database *database

	mu   sync.Mutex
	seen string // the id of the shared database that this process has used
}

var _ identity.Anchor = (*anchor)(nil)

func newAnchor(keys *keyfolder.Folder, root string, d *database) *anchor {
	a := &anchor{
		file: keys.Workspace(root).Anchor(), keys: keys, root: root, location: locationOf(d.url), shared: d.isShared(),
		now: time.Now, log: d.log, database: d,
	}
	d.anchor = a
	return a
}

// locationOf names a database without its password. A link to a file counts as the file.
func locationOf(address string) string {
	if file, ok := sqlstore.File(address); ok {
		return "sqlite://" + filepath.Join(workspace.RealPath(filepath.Dir(file)), filepath.Base(file))
	}
	u, err := url.Parse(address)
	if err != nil {
		return "postgres"
	}
	return "postgres://" + u.Host + u.Path
}

// mayCreate returns an error if the database must exist already.
func (a *anchor) mayCreate() error {
	known, err := a.file.DataID(a.location)
	if err != nil {
		return unreadable(err)
	}
	if known != "" {
		return doubt(fixNewData, "The database of this workspace is missing: it was deleted or moved, or its volume is not mounted")
	}
	return nil
}

// inspect returns an error if the database must not be opened: it is damaged, or another one is in
// the place of one that was in use. Opening it would create its tables again, or apply the
// write-ahead log of another database to it.
func (a *anchor) inspect(ctx context.Context) error {
	a.mu.Lock()
	used := a.seen != ""
	a.mu.Unlock()
	known, err := a.file.DataID(a.location)
	if err != nil {
		return unreadable(err)
	}
	if isNew := known == "" && !used; isNew && a.shared || !a.shared && a.database.stat() == nil {
		return nil
	}
	found, err := a.database.inspect(ctx)
	var damaged *sqlstore.DamagedError
	switch {
	case errors.As(err, &damaged):
		return doubt(fixDamaged, "The database of this workspace is damaged: "+damaged.Reason)
	case err != nil:
		return err
	case found.Empty && (known != "" || used):
		return doubt(fixNewData, "The database of this workspace is empty: it has lost its tables")
	case !a.shared && known != "" && found.DataID != known:
		return doubt(fixNewData, "The database is not the one that this workspace used before")
	}
	return nil
}

// expects reports whether the database must exist.
func (a *anchor) expects() bool {
	known, err := a.file.DataID(a.location)
	return known != "" || err != nil
}

func unreadable(err error) error {
	e := &doubtError{"What the key folder knows about this workspace cannot be used", fixKeys, err}
	return e.unavailable()
}

// settle checks that an opened database is the one of this workspace. It gives a new one an id.
func (a *anchor) settle(ctx context.Context, db *sqlstore.DB) error {
	meta, err := db.Meta(ctx, a.file.Name())
	if errors.Is(err, sqlstore.ErrNoMeta) { // of PostgreSQL
		return doubt(fixDamaged, "The database is damaged, or not one of Remit's: its table meta is missing")
	}
	if err != nil {
		return err
	}
	state, err := a.file.State()
	if err != nil {
		return unreadable(err)
	}
	known := state.Data[a.location]
	if known != "" && meta.DataID == "" {
		// Another process may have given the database its id since meta was read.
		again, err := db.Meta(ctx, "")
		if err != nil {
			return err
		}
		meta.DataID = again.DataID
	}
	behind, err := a.database.records.Behind(ctx, db)
	if err != nil {
		return err
	}
	switch {
	case meta.Importing != "":
		return doubt("run the command that was interrupted again, or use another database",
			"The database is not complete: a restore or a migration into it has not finished")
	case meta.Moved != "":
		return doubt("start Remit with that database, or a person runs \"remit trust --new-data\" at a terminal to go on with this one",
			"The data of this workspace was moved to "+meta.Moved)
	case behind:
		return doubt(`put the newer one back, or a person runs "remit token reset" and restarts the servers`,
			"The database was put back to an earlier time while this server ran")
	case known != "" && meta.DataID != known:
		return doubt(fixNewData, "The database is not the one that this workspace used before")
	case a.shared && known == "" && !a.remembers(meta.DataID):
		return doubt("put the right one back, or restart the server to go on with this one", "The database was replaced while this server ran")
	case !a.shared && meta.Sequence > state.Sequence:
		return doubt(fixKeys, "The key folder is older than the database: it was put back, or a part of it is missing")
	case !a.shared && known == "" && meta.DataID != "" && !a.knows(state, meta.DataID):
		return doubt(fixMoved, "The database was used by a workspace at another path, or with another key folder")
	case known == "":
		return a.adopt(ctx, db, meta)
	}
	if a.shared {
		a.remember(known)
	}
	return a.noteSequence(ctx, db, meta, state)
}

// knows reports whether a database with this id is the one of this workspace, which the operator
// has moved to another location.
func (a *anchor) knows(state keyfolder.State, id string) bool {
	for _, one := range state.Data {
		if one == id {
			return true
		}
	}
	return state.Planned[a.location] == id
}

// remembers reports whether a shared database is the one that this process has used before.
func (a *anchor) remembers(id string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.seen == "" || a.seen == id
}

func (a *anchor) remember(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seen = id
}

// adopt records the id of a database that is used for the first time. Where no key folder can be
// used, nothing is recorded: then there are no tokens and no approvals that could be brought back.
func (a *anchor) adopt(ctx context.Context, db *sqlstore.DB, meta sqlstore.Meta) error {
	if a.shared {
		id, err := db.SetDataID(ctx, newDataID())
		if err != nil {
			return err
		}
		a.remember(id)
		meta.DataID = id
	}
	if err := a.keys.Check(); err != nil {
		return nil //nolint:nilerr // what needs the key says so
	}
	err := a.file.Change(a.now(), func(c *keyfolder.Change) error { return a.giveID(ctx, c, db, meta.DataID) })
	if err != nil && (a.shared || meta.DataID == "") {
		a.log.Debug("the key folder cannot be written, so the database is not anchored", "error", err)
		return nil
	}
	return err
}

// giveID records the id of the database, and gives it one if it has none. The plan tells a database
// that was interrupted in between from one that lost its id.
func (a *anchor) giveID(ctx context.Context, c *keyfolder.Change, db *sqlstore.DB, id string) error {
	if id == "" {
		if id = c.State().Planned[a.location]; id == "" {
			id = newDataID()
			if err := c.PlanData(a.location, id); err != nil {
				return err
			}
		}
		given, err := db.SetDataID(ctx, id)
		if err != nil {
			return err
		}
		id = given
	}
	if c.State().Data[a.location] != id {
		if err := c.SetData(a.location, id); err != nil {
			return err
		}
	}
	return a.noteSequence(ctx, db, sqlstore.Meta{}, c.State())
}

// noteSequence stores in the database how much of the anchor it has seen, so that an older anchor
// is noticed.
func (a *anchor) noteSequence(ctx context.Context, db *sqlstore.DB, meta sqlstore.Meta, state keyfolder.State) error {
	if a.shared || meta.Sequence >= state.Sequence {
		return nil
	}
	return db.NoteSequence(ctx, a.file.Name(), state.Sequence)
}

// check returns an error if the database is in doubt. It costs little while the database is open.
func (a *anchor) check(ctx context.Context) error {
	if a.database.isValid() || !a.database.exists() {
		return nil
	}
	_, err := a.database.open(ctx)
	if e, ok := errors.AsType[*doubtError](err); ok {
		return e.unavailable()
	}
	return nil // a database that is away is the concern of those who need it
}

// Place implements identity.Anchor.
func (a *anchor) Place() (string, error) {
	if a.shared {
		return sharedPlace, nil
	}
	state, err := a.file.State()
	if err != nil {
		return "", unreadable(err)
	}
	return sealPlace(state, a.root), nil
}

// sealPlace returns what the seals of a workspace name.
func sealPlace(state keyfolder.State, root string) string {
	place := root
	if state.Place != "" {
		place = state.Place
	}
	if state.Epoch > 0 {
		place += "\nepoch " + strconv.Itoa(state.Epoch)
	}
	return place
}

// NeedsIdentity implements identity.Anchor.
func (a *anchor) NeedsIdentity(ctx context.Context) (needed, certain bool, err error) {
	state, err := a.file.State()
	switch {
	case err != nil:
		return false, false, unreadable(err)
	case state.Identity:
		return true, true, nil
	}
	if !a.database.exists() {
		return false, true, nil
	}
	db, err := a.database.open(ctx)
	if _, ok := errors.AsType[*doubtError](err); ok && state.Data[a.location] != "" {
		return false, true, nil // the database is gone, but callers never needed tokens
	}
	if err != nil || !a.shared {
		return false, false, err
	}
	meta, err := db.Meta(ctx, "")
	return meta.Identity, meta.Identity, err
}

// RequireIdentity implements identity.Anchor.
func (a *anchor) RequireIdentity(ctx context.Context) error {
	if a.shared {
		db, err := a.database.open(ctx)
		if err != nil {
			return err
		}
		if err := db.RequireIdentity(ctx); err != nil {
			return err
		}
	}
	err := a.file.Change(a.now(), func(c *keyfolder.Change) error { return c.RequireIdentity() })
	if a.shared {
		return nil // the database has it
	}
	if err != nil {
		return err
	}
	return a.noted(ctx)
}

// noted stores in the database that it has seen the newest line of the anchor.
func (a *anchor) noted(ctx context.Context) error {
	db, err := a.database.open(ctx)
	if err != nil {
		return err
	}
	state, err := a.file.State()
	if err != nil {
		return err
	}
	return a.noteSequence(ctx, db, sqlstore.Meta{}, state)
}

// End implements identity.Anchor.
func (a *anchor) End(ctx context.Context, key string, now, expires time.Time) (fresh bool, err error) {
	if fresh, err = a.use(key, now, expires); err != nil || a.shared {
		return fresh, err
	}
	return fresh, a.noted(ctx)
}

// use is End for what happens often. The database need not be told, because it knows itself that
// something was used.
func (a *anchor) use(key string, now, expires time.Time) (fresh bool, err error) {
	if a.shared {
		return true, nil
	}
	return a.file.End(key, now, expires)
}

// Ended implements identity.Anchor.
func (a *anchor) Ended(key string) (at time.Time, ended bool, err error) {
	if a.shared {
		return at, false, nil
	}
	return a.file.Ended(key)
}

// Void implements identity.Anchor.
func (a *anchor) Void(ctx context.Context, key string, now, until time.Time) error {
	if a.shared {
		return nil
	}
	if err := a.file.Void(key, now, until); err != nil {
		return err
	}
	return a.noted(ctx)
}

// VoidUntil implements identity.Anchor.
func (a *anchor) VoidUntil(keys ...string) (time.Time, error) {
	if a.shared {
		return time.Time{}, nil
	}
	return a.file.VoidUntil(keys...)
}
