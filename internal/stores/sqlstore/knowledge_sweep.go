package sqlstore

import (
	"context"
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
	return gone, doing("sweep vectors", err)
}

const wantedSince = `
SELECT EXISTS (SELECT 1 FROM knowledge_models WHERE model = $1 AND workspace = $2 AND wanted_at > $3)`

// isDue tells whether any of the models was wanted last so long ago.
func (s knowledgeStore) isDue(ctx context.Context, models []string, every time.Duration) (bool, error) {
	since := s.now().Add(-every).UnixMicro()
	for _, model := range models {
		lately, err := findOne(ctx, s.db.reader(ctx), wantedSince, scanValue[bool], model, s.workspace, since)
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
			if err := exec(ctx, tx, wantModel+orWishOn, model, s.workspace, now.UnixMicro()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.db.execAlone(ctx, "end old wishes", wantNoMore, now.Add(-knowledge.WishLasts).UnixMicro())
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
		some, err := findOne(ctx, s.db.reader(ctx), anyTombstones, scanValue[bool], s.workspace, before)
		if err != nil || !some {
			return err
		}
		err = s.db.change(ctx, func(ctx context.Context, tx runner) error { return s.forgetSome(ctx, tx, before) })
		if err != nil {
			return err
		}
	}
}

func (s knowledgeStore) forgetSome(ctx context.Context, tx runner, before int64) error {
	if err := exec(ctx, tx, holdGeneration, s.workspace); err != nil {
		return err
	}
	generations, err := collect(ctx, tx, deleteTombstones, scanValue[int64], s.workspace, before)
	if err != nil {
		return err
	}
	return exec(ctx, tx, noteForgotten, s.workspace, slices.Max(append(generations, 0)))
}

// nextModel finds each model by one step in the index.
const nextModel = `
SELECT model FROM knowledge_vectors WHERE model > $1 ORDER BY model LIMIT 1`

// sweepVectors goes through the vectors of all models.
func (s knowledgeStore) sweepVectors(ctx context.Context) (gone int64, err error) {
	before := s.now().Add(-vectorsStay).UnixMicro()
	model := ""
	for {
		next, found, err := find(ctx, s.db.reader(ctx), nextModel, scanValue[string], model)
		if err != nil || !found {
			return gone, err
		}
		model = next
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
		err = s.db.change(ctx, func(ctx context.Context, tx runner) (err error) {
			n, err = changed(tx.ExecContext(ctx, deleteVectors, model, first, last, before))
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
	err = each(ctx, s.db.reader(ctx), someVectors, func(row scanner) error {
		var used bool
		err := row.Scan(&last, &used)
		if first == nil {
			first = last
		}
		useless = useless || !used
		return err
	}, model, from)
	return first, last, useless, err
}
