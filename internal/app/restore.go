package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"

	"remit/internal/backup"
	"remit/internal/frontends/cli"
	"remit/internal/stores/keyfolder"
)

// Restore implements cli.Backups.
func (backups) Restore(ctx context.Context, s cli.Settings, log *slog.Logger, r cli.RestoreRequest) (cli.BackupReport, error) {
	report, err := restore(ctx, s, log, r)
	if err != nil {
		return report, err
	}
	if err := settleRestored(ctx, s, log); err != nil {
		log.Warn("all is restored, but not yet recorded what the calls have changed that ran during the backup; "+
			"the next start of the server tries again", "error", err)
	}
	return report, nil
}

func restore(ctx context.Context, s cli.Settings, log *slog.Logger, r cli.RestoreRequest) (report cli.BackupReport, err error) {
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
		return report, errors.Join(err, t.discard(context.WithoutCancel(ctx)))
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
	isMoved    bool // the data was moved, so that nothing else has been in use since
}

// settle gives the imported database an id, and makes the tokens in it invalid unless they are
// kept.
func (t *importTarget) settle(ctx context.Context, r *restored) error {
	a := t.app.anchor
	if !r.keepTokens && !r.isMoved {
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
		if err := errors.Join(forgetStorages(c), c.SetData(a.location, t.dataID)); err != nil {
			return err
		}
		return t.db.NoteSequence(ctx, a.file.Name(), c.State().Sequence)
	})
}

// epoch makes everything from before invalid, or takes over what the tokens in the archive are
// bound to.
func (r *restored) epoch(c *keyfolder.Change, root string) error {
	switch {
	case r.isMoved:
		return nil
	case !r.keepTokens:
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
