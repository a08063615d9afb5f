package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"

	"remit/internal/engine/identity"
	"remit/internal/frontends/cli"
	"remit/internal/stores/keyfolder"
	"remit/internal/stores/sqlstore"
)

// Recover implements cli.Workspace. A person at a terminal has decided.
func (a *App) Recover(ctx context.Context, how cli.Recovery) error {
	switch how {
	case cli.Moved:
		return a.anchor.moved(ctx)
	case cli.Copied:
		return errors.Join(a.anchor.copied(ctx), a.anchor.keys.Workspace(a.anchor.root).ForgetTip())
	case cli.NewData:
		return errors.Join(a.anchor.newData(ctx), a.anchor.keys.Workspace(a.anchor.root).ForgetTip())
	case cli.LostRecords:
		return a.anchor.keys.Workspace(a.anchor.root).ForgetTip()
	case cli.ResetTokens:
		return a.anchor.reset(ctx)
	}
	return fmt.Errorf("unknown recovery %d", how)
}

// CanRecover implements cli.Workspace.
func (a *App) CanRecover(ctx context.Context, how cli.Recovery) error {
	isThere := a.database.isShared() || a.database.stat() != nil
	if how == cli.ResetTokens || how == cli.NewData && !isThere {
		return nil
	}
	if _, err := os.Stat(a.settings.Data); how == cli.Copied && !isThere && err == nil {
		return nil // records are stored, but nothing that needs a database
	}
	if isThere {
		found, err := a.database.inspect(ctx) // opening it would create the tables
		var damaged *sqlstore.DamagedError
		switch {
		case how == cli.NewData && errors.As(err, &damaged): // it is moved aside
			return nil
		case err != nil:
			return err
		case found.Empty && how == cli.Moved:
			return errors.New("nothing was moved here: the database is empty")
		case found.Empty:
			return nil
		}
	}
	return a.anchor.withDatabase(ctx, func(db *sqlstore.DB) (err error) {
		if how == cli.Moved {
			_, _, err = a.anchor.findMoved(ctx, db)
		} else {
			_, err = db.Meta(ctx, "")
		}
		return err
	})
}

// withDatabase opens the database without checking whose it is. It creates none.
func (a *anchor) withDatabase(ctx context.Context, do func(*sqlstore.DB) error) error {
	if file, ok := sqlstore.File(a.database.url); ok {
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("there is no database at %s; put it back, or start anew with \"remit trust --new-data\"", file)
		}
	}
	db, err := a.database.openAnyway(ctx)
	if err != nil {
		return err
	}
	err = errors.Join(do(db), db.Close())
	if errors.Is(err, sqlstore.ErrNoMeta) {
		err = fmt.Errorf("%w; %s", err, fixDamaged)
	}
	return err
}

// moved copies the anchor of the workspace's old path to its new path.
func (a *anchor) moved(ctx context.Context) error {
	return a.withDatabase(ctx, func(db *sqlstore.DB) error {
		id, root, err := a.findMoved(ctx, db)
		if err != nil {
			return err
		}
		if err := a.file.Replace(a.now()); err != nil {
			return err
		}
		old := a.keys.Workspace(root)
		err = a.file.Change(a.now(), func(c *keyfolder.Change) error {
			if err := c.Import(old.Anchor()); err != nil {
				return err
			}
			return a.giveID(ctx, c, db, id)
		})
		if err != nil {
			return err
		}
		return errors.Join(
			old.Anchor().Change(a.now(), func(c *keyfolder.Change) error {
				return errors.Join(forget(c, id), forgetStorages(c))
			}),
			a.keys.Workspace(a.root).CopyDocuments(old))
	})
}

// findMoved returns the id of a database that was moved here, and the path that it was moved from.
func (a *anchor) findMoved(ctx context.Context, db *sqlstore.DB) (id, root string, err error) {
	meta, err := db.Meta(ctx, "")
	if err != nil {
		return "", "", err
	}
	if state, err := a.file.State(); err == nil && meta.DataID != "" && state.Data[a.location] == meta.DataID {
		return "", "", errors.New("there is nothing to do: the workspace is known at this path")
	}
	root, err = a.findOld(ctx, meta.DataID)
	return meta.DataID, root, err
}

// forget removes a database from all its locations: at none of them it is that of the old path.
func forget(c *keyfolder.Change, id string) error {
	for location, one := range c.State().Data {
		if one != id {
			continue
		}
		if err := c.SetData(location, ""); err != nil {
			return err
		}
	}
	return nil
}

// findOld returns the path of the workspace whose database has this id and is no longer at its
// location.
func (a *anchor) findOld(ctx context.Context, id string) (root string, err error) {
	roots, err := a.keys.Roots()
	if err != nil {
		return "", err
	}
	err = fmt.Errorf("the key folder %s knows no workspace that was moved here; if this is a copy, or the key folder was lost, "+
		"run \"remit trust --copied\"", a.keys.Path())
	for _, root := range roots {
		state, stateErr := a.keys.Workspace(root).Anchor().State()
		if stateErr != nil || root == a.root {
			continue // of another key, so not the one
		}
		for location, one := range state.Data {
			if id == "" || one != id {
				continue
			}
			if err = stillThere(ctx, location, id); err == nil {
				return root, nil
			}
		}
	}
	return "", err
}

// stillThere returns an error if the database with this id can still be at its old location.
func stillThere(ctx context.Context, location, id string) error {
	file, ok := sqlstore.File(location)
	if !ok {
		return nil
	}
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	db, err := sqlstore.Open(ctx, location)
	if err == nil {
		var meta sqlstore.Meta
		meta, err = db.Meta(ctx, "")
		err = errors.Join(err, db.Close())
		if err == nil && meta.DataID != id {
			return nil
		}
	}
	return errors.Join(fmt.Errorf("the workspace was not moved: its database is still at %s; if this is a copy, run "+
		"\"remit trust --copied\"", file), err)
}

// copied records the database as that of this workspace. Other workspaces may use it too: a host
// and a container may share it under different paths. No token, session or approval in it is valid
// here.
func (a *anchor) copied(ctx context.Context) error {
	if !a.shared && a.database.stat() == nil {
		return a.newData(ctx)
	}
	return a.withDatabase(ctx, func(db *sqlstore.DB) error {
		if err := a.file.Replace(a.now()); err != nil {
			return err
		}
		return a.accept(ctx, db)
	})
}

// accept records the database that is there, and makes everything before invalid.
func (a *anchor) accept(ctx context.Context, db *sqlstore.DB) error {
	meta, err := db.Meta(ctx, "")
	if err != nil {
		return err
	}
	if err := db.Reopen(ctx); err != nil {
		return err
	}
	if err := db.ForgetAnswers(ctx); err != nil {
		return err
	}
	return a.file.Change(a.now(), func(c *keyfolder.Change) error {
		if err := errors.Join(c.NextEpoch(), forgetStorages(c)); err != nil {
			return err
		}
		return a.giveID(ctx, c, db, meta.DataID)
	})
}

// newData accepts whatever is at the location of the database now, or that nothing is.
func (a *anchor) newData(ctx context.Context) error {
	if err := a.file.Replace(a.now()); err != nil {
		return err
	}
	defer a.database.forgetFailure()
	if a.database.exists() {
		// If it is the right one, its tokens stay valid.
		if _, err := a.database.open(ctx); err == nil {
			return a.file.Change(a.now(), forgetStorages)
		}
	}
	if file, ok := sqlstore.File(a.database.url); ok {
		if err := a.moveDamaged(ctx, file); err != nil {
			return err
		}
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) { // the next write creates it
			return a.file.Change(a.now(), func(c *keyfolder.Change) error {
				return errors.Join(c.NextEpoch(), forgetStorages(c), c.SetData(a.location, ""))
			})
		}
	}
	return a.withDatabase(ctx, func(db *sqlstore.DB) error { return a.accept(ctx, db) })
}

// moveDamaged renames a damaged database, with its log files, so that nothing of it is lost.
func (a *anchor) moveDamaged(ctx context.Context, file string) error {
	if a.database.stat() == nil {
		return nil
	}
	_, err := a.database.inspect(ctx)
	if _, damaged := errors.AsType[*sqlstore.DamagedError](err); !damaged {
		return nil
	}
	suffix := ".damaged-" + strconv.FormatInt(a.now().Unix(), 10)
	for _, name := range []string{file + "-shm", file + "-wal", file} {
		if err := os.Rename(name, name+suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("move the damaged database aside: %w", err)
		}
	}
	return nil
}

// reset makes all tokens, sessions and requests for approval invalid.
func (a *anchor) reset(ctx context.Context) error {
	if !a.database.exists() {
		return errors.New("there is nothing to reset: this workspace has no database")
	}
	_, err := a.database.open(ctx)
	if _, ok := errors.AsType[*doubtError](err); ok && !a.shared {
		if err := a.copied(ctx); err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	return a.withDatabase(ctx, func(db *sqlstore.DB) error {
		if err := db.Reset(ctx); err != nil || a.shared {
			return err
		}
		return a.file.Change(a.now(), func(c *keyfolder.Change) error {
			if err := c.NextEpoch(); err != nil {
				return err
			}
			return a.noteSequence(ctx, db, sqlstore.Meta{}, c.State())
		})
	})
}

func newDataID() string { return identity.NewID() + identity.NewID() }
