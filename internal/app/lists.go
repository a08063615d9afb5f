package app

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"remit/internal/engine/approval"
	"remit/internal/engine/identity"
	"remit/internal/frontends/cli"
	"remit/internal/stores/sqlstore"
	"remit/internal/stores/workspace"
	"remit/internal/toolsets/books"
	"remit/internal/toolsets/tasks"
)

// Lists returns a reader of the stored data of a workspace, for shell completion and the overview.
// It opens only the store that a list needs. It creates no folder, database or key.
func Lists(s cli.Settings) cli.Lists {
	s.ReadOnly = true
	return lists{s}
}

type lists struct{ settings cli.Settings }

// Tasks implements cli.Lists.
func (l lists) Tasks(ctx context.Context, user string, f tasks.Filter, limit int) ([]tasks.Task, error) {
	page, err := fromDatabase(ctx, l.settings, func(db *sqlstore.DB) (tasks.Page, error) {
		return db.Tasks().List(ctx, user, f, tasks.Part{Limit: limit})
	})
	return page.Tasks, err
}

// Approvals implements cli.Lists. Reading requests needs no key: only decisions are sealed.
func (l lists) Approvals(ctx context.Context, o approval.ListOptions) ([]approval.Request, error) {
	return fromDatabase(ctx, l.settings, func(db *sqlstore.DB) ([]approval.Request, error) {
		return db.Approvals().List(ctx, o)
	})
}

// Tokens implements cli.Lists. The key could show which tokens are foreign, but it is not read,
// because reading it creates it.
func (l lists) Tokens(ctx context.Context) ([]identity.Token, error) {
	return fromDatabase(ctx, l.settings, func(db *sqlstore.DB) ([]identity.Token, error) {
		return db.AgentTokens().List(ctx)
	})
}

// Books implements cli.Lists.
func (l lists) Books(ctx context.Context) ([]books.Book, error) {
	silent := slog.New(slog.DiscardHandler)
	root, err := workspace.Open(l.settings.Root)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // nothing was written through it
	stores := &bookStores{settings: l.settings, root: root, data: &dataFolder{path: l.settings.Data, root: root}, log: silent}
	defer stores.close()
	return (&books.Library{Stores: stores.open, Now: time.Now, Log: silent}).Books(ctx)
}

// Processes implements cli.Lists.
func (l lists) Processes(context.Context) ([]cli.Process, error) {
	root, err := workspace.Open(l.settings.Root)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // nothing was written through it
	return newProcess(&dataFolder{path: l.settings.Data, root: root}).running()
}

// fromDatabase reads a list from the database, or returns an empty list if there is no database.
func fromDatabase[T any](ctx context.Context, s cli.Settings, list func(*sqlstore.DB) (T, error)) (found T, err error) {
	root, err := workspace.Open(s.Root)
	if err != nil {
		return found, err
	}
	defer func() { _ = root.Close() }() // nothing was written through it
	data := &dataFolder{path: s.Data, root: root}
	d := newDatabase(s.Database, root, data.checkLinks, slog.New(slog.DiscardHandler))
	if !d.exists() {
		return found, nil
	}
	db, err := d.open(ctx)
	if err == nil {
		found, err = list(db)
	}
	return found, errors.Join(err, d.close())
}
