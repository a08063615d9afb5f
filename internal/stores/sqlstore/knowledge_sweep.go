package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"remit/internal/toolsets/codebase/knowledge"
)

const (
	vectorsStay    = time.Hour      // from when they were put on
	tombstonesStay = 24 * time.Hour // from when the source was gone on
)

// Sweep keeps the promise of knowledge.Store.
func (s knowledgeStore) Sweep(ctx context.Context, models []string, every time.Duration) (gone int64, err error) {
	models = slices.Sorted(slices.Values(models)) // in order, so that no two who want the same wait for each other
	due, err := s.isDue(ctx, models, every)
	if err != nil {
		return 0, fmt.Errorf("ask when the last sweep was: %w", err)
	}
	if !due {
		return 0, nil
	}
	if err := s.want(ctx, models); err != nil {
		return 0, fmt.Errorf("say which models are wanted: %w", err)
	}
	if err := s.forgetTombstones(ctx); err != nil {
		return 0, fmt.Errorf("forget what is gone: %w", err)
	}
	gone, err = s.sweepVectors(ctx)
	if err != nil {
		return gone, fmt.Errorf("sweep vectors: %w", err)
	}
	return gone, nil
}

const wantedSince = `
SELECT EXISTS (SELECT 1 FROM knowledge_models WHERE model = $1 AND workspace = $2 AND wanted_at > $3)`

// isDue tells whether any of the models was wanted last so long ago.
func (s knowledgeStore) isDue(ctx context.Context, models []string, every time.Duration) (bool, error) {
	since := s.now().Add(-every).UnixMicro()
	for _, model := range models {
		var lately bool
		err := s.db.reader(ctx).QueryRowContext(ctx, wantedSince, model, s.workspace, since).Scan(&lately)
		if err != nil || !lately {
			return true, err
		}
	}
	return len(models) == 0, nil
}

const wantNoMore = `
DELETE FROM knowledge_models WHERE wanted_at < $1`

// want renews the wish for models, and ends those that nobody has renewed, of all workspaces.
func (s knowledgeStore) want(ctx context.Context, models []string) error {
	now := s.now()
	err := s.db.change(ctx, func(ctx context.Context, tx runner) error {
		for _, model := range models {
			if _, err := tx.ExecContext(ctx, wantModel+orWishOn, model, s.workspace, now.UnixMicro()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.db.change(ctx, func(ctx context.Context, tx runner) error {
		_, err := tx.ExecContext(ctx, wantNoMore, now.Add(-knowledge.WishLasts).UnixMicro())
		return err
	})
}

const (
	anyTombstones = `
SELECT EXISTS (SELECT 1 FROM knowledge_sources WHERE workspace = $1 AND gone AND changed_at < $2)`

	// Nobody changes sources while this row is held.
	holdGeneration = `
UPDATE knowledge_workspaces SET generation = generation WHERE workspace = $1`

	deleteTombstones = `
DELETE FROM knowledge_sources WHERE workspace = $1 AND gone AND changed_at <= (SELECT max(changed_at) FROM (
	SELECT changed_at FROM knowledge_sources WHERE workspace = $1 AND gone AND changed_at < $2 ORDER BY changed_at LIMIT 256) oldest)
RETURNING generation`

	noteForgotten = `
UPDATE knowledge_workspaces SET forgotten = $2 WHERE workspace = $1 AND forgotten < $2`
)

// forgetTombstones goes in steps, and writes nothing if there is nothing to forget.
func (s knowledgeStore) forgetTombstones(ctx context.Context) error {
	before := s.now().Add(-tombstonesStay).UnixMicro()
	for {
		var some bool
		if err := s.db.reader(ctx).QueryRowContext(ctx, anyTombstones, s.workspace, before).Scan(&some); err != nil || !some {
			return err
		}
		err := s.db.change(ctx, func(ctx context.Context, tx runner) error { return s.forgetSome(ctx, tx, before) })
		if err != nil {
			return err
		}
	}
}

func (s knowledgeStore) forgetSome(ctx context.Context, tx runner, before int64) error {
	if _, err := tx.ExecContext(ctx, holdGeneration, s.workspace); err != nil {
		return err
	}
	generations, err := collect(ctx, tx, deleteTombstones, func(row scanner) (n int64, err error) { return n, row.Scan(&n) }, s.workspace, before)
	if err != nil {
		return err
	}
	newest := int64(0)
	for _, n := range generations {
		newest = max(newest, n)
	}
	_, err = tx.ExecContext(ctx, noteForgotten, s.workspace, newest)
	return err
}

// nextModel finds each model by one step in the index.
const nextModel = `
SELECT model FROM knowledge_vectors WHERE model > $1 ORDER BY model LIMIT 1`

// sweepVectors goes through the vectors of all models.
func (s knowledgeStore) sweepVectors(ctx context.Context) (gone int64, err error) {
	before := s.now().Add(-vectorsStay).UnixMicro()
	model := ""
	for {
		err := s.db.reader(ctx).QueryRowContext(ctx, nextModel, model).Scan(&model)
		if errors.Is(err, sql.ErrNoRows) {
			return gone, nil
		}
		if err != nil {
			return gone, err
		}
		n, err := s.sweepModel(ctx, model, before)
		gone += n
		if err != nil {
			return gone, err
		}
	}
}

const (
	isOfUse = `(EXISTS (SELECT 1 FROM knowledge_models m WHERE m.model = $1) AND EXISTS (SELECT 1 FROM knowledge_pieces p WHERE p.key = v.key))`

	someVectors = `
SELECT v.key, ` + isOfUse + ` FROM (SELECT key FROM knowledge_vectors WHERE model = $1 AND key >= $2 ORDER BY key LIMIT 1024) v ORDER BY v.key`

	deleteVectors = `
DELETE FROM knowledge_vectors AS v WHERE model = $1 AND key >= $2 AND key <= $3 AND created_at < $4 AND NOT ` + isOfUse
)

// sweepModel looks at some vectors at a time, and writes only if there is one to remove.
func (s knowledgeStore) sweepModel(ctx context.Context, model string, before int64) (gone int64, err error) {
	from := []byte{0}
	for {
		first, last, useless, err := s.look(ctx, model, from)
		if err != nil || last == nil {
			return gone, err
		}
		from = slices.Concat(last, []byte{0})
		if !useless {
			continue
		}
		var n int64
		err = s.db.change(ctx, func(ctx context.Context, tx runner) error {
			result, err := tx.ExecContext(ctx, deleteVectors, model, first, last, before)
			if err == nil {
				n, err = result.RowsAffected()
			}
			return err
		})
		if err != nil {
			return gone, err
		}
		gone += n
	}
}

// look gives the first and the last key of some vectors, nil if there are none, and whether any of them is of no use.
func (s knowledgeStore) look(ctx context.Context, model string, from []byte) (first, last []byte, useless bool, err error) {
	rows, err := s.db.reader(ctx).QueryContext(ctx, someVectors, model, from)
	if err != nil {
		return nil, nil, false, err
	}
	defer rows.Close()
	for rows.Next() {
		var used bool
		if err := rows.Scan(&last, &used); err != nil {
			return nil, nil, false, err
		}
		if first == nil {
			first = last
		}
		useless = useless || !used
	}
	return first, last, useless, rows.Err()
}
