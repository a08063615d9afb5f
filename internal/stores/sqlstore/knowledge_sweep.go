package sqlstore

import (
	"context"
	"fmt"
	"slices"
	"time"

	"remit/internal/toolsets/codebase/knowledge"
)

const (
	vectorRetention    = time.Hour      // counted from when they were stored
	tombstoneRetention = 24 * time.Hour // counted from when the source disappeared
)

// Sweep implements knowledge.Store.
func (s knowledgeStore) Sweep(ctx context.Context, models []string, interval time.Duration) (gone int64, err error) {
	// Sorted, so that two processes that want the same models cannot deadlock.
	models = slices.Sorted(slices.Values(models))
	due, err := s.isDue(ctx, models, interval)
	if err != nil {
		return 0, fmt.Errorf("read the time of the last sweep: %w", err)
	}
	if !due {
		return 0, nil
	}
	if err := s.requestModels(ctx, models); err != nil {
		return 0, fmt.Errorf("renew the requested models: %w", err)
	}
	if err := s.deleteOldTombstones(ctx); err != nil {
		return 0, fmt.Errorf("delete tombstones: %w", err)
	}
	gone, err = s.sweepVectors(ctx)
	return gone, wrap("sweep vectors", err)
}

const requestedSince = `
SELECT EXISTS (SELECT 1 FROM knowledge_models WHERE model = $1 AND workspace = $2 AND wanted_at > $3)`

// isDue reports whether any of the models was last requested more than interval ago. Without models
// it returns true.
func (s knowledgeStore) isDue(ctx context.Context, models []string, interval time.Duration) (bool, error) {
	since := s.now().Add(-interval).UnixMicro()
	for _, model := range models {
		lately, err := findOne(ctx, s.db.reader(ctx), requestedSince, scanValue[bool], model, s.workspace, since)
		if err != nil || !lately {
			return true, err
		}
	}
	return len(models) == 0, nil
}

const deleteOldRequests = `
DELETE FROM knowledge_models WHERE wanted_at < $1`

// requestModels renews the request for models, and deletes requests of all workspaces that were not
// renewed.
func (s knowledgeStore) requestModels(ctx context.Context, models []string) error {
	now := s.now()
	err := s.db.change(ctx, func(ctx context.Context, tx runner) error {
		for _, model := range models {
			if err := exec(ctx, tx, requestModel+onConflictRenewRequest, model, s.workspace, now.UnixMicro()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.db.execAlone(ctx, "delete old model requests", deleteOldRequests, now.Add(-knowledge.ModelRetention).UnixMicro())
}

const (
	anyTombstones = `
SELECT EXISTS (SELECT 1 FROM knowledge_sources WHERE workspace = $1 AND gone AND changed_at < $2)`

	// No process can change sources while this row is locked.
	holdGeneration = `
UPDATE knowledge_workspaces SET generation = generation WHERE workspace = $1`

	deleteTombstones = `
DELETE FROM knowledge_sources WHERE workspace = $1 AND gone AND changed_at <= (SELECT max(changed_at) FROM (
	SELECT changed_at FROM knowledge_sources WHERE workspace = $1 AND gone AND changed_at < $2 ORDER BY changed_at LIMIT 256) oldest)
RETURNING generation`

	noteForgotten = `
UPDATE knowledge_workspaces SET forgotten = $2 WHERE workspace = $1 AND forgotten < $2`
)

// deleteOldTombstones deletes in steps, and writes nothing if there is nothing to delete.
func (s knowledgeStore) deleteOldTombstones(ctx context.Context) error {
	before := s.now().Add(-tombstoneRetention).UnixMicro()
	for {
		some, err := findOne(ctx, s.db.reader(ctx), anyTombstones, scanValue[bool], s.workspace, before)
		if err != nil || !some {
			return err
		}
		err = s.db.change(ctx, func(ctx context.Context, tx runner) error { return s.deleteSomeTombstones(ctx, tx, before) })
		if err != nil {
			return err
		}
	}
}

func (s knowledgeStore) deleteSomeTombstones(ctx context.Context, tx runner, before int64) error {
	if err := exec(ctx, tx, holdGeneration, s.workspace); err != nil {
		return err
	}
	generations, err := collect(ctx, tx, deleteTombstones, scanValue[int64], s.workspace, before)
	if err != nil {
		return err
	}
	return exec(ctx, tx, noteForgotten, s.workspace, slices.Max(append(generations, 0)))
}

// nextModel finds each model with one index lookup.
const nextModel = `
SELECT model FROM knowledge_vectors WHERE model > $1 ORDER BY model LIMIT 1`

// sweepVectors sweeps the vectors of all models.
func (s knowledgeStore) sweepVectors(ctx context.Context) (gone int64, err error) {
	before := s.now().Add(-vectorRetention).UnixMicro()
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
	isUsed = `(EXISTS (SELECT 1 FROM knowledge_models m WHERE m.model = $1) AND EXISTS (SELECT 1 FROM knowledge_pieces p WHERE p.key = v.key))`

	someVectors = `
SELECT v.key, ` + isUsed + ` FROM (SELECT key FROM knowledge_vectors WHERE model = $1 AND key >= $2 ORDER BY key LIMIT 1024) v ORDER BY v.key`

	deleteVectors = `
DELETE FROM knowledge_vectors AS v WHERE model = $1 AND key >= $2 AND key <= $3 AND created_at < $4 AND NOT ` + isUsed
)

// sweepModel checks vectors in batches, and writes only if there is one to remove.
func (s knowledgeStore) sweepModel(ctx context.Context, model string, before int64) (gone int64, err error) {
	from := []byte{0}
	for {
		first, last, unused, err := s.checkVectors(ctx, model, from)
		if err != nil || last == nil {
			return gone, err
		}
		from = slices.Concat(last, []byte{0})
		if !unused {
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

// checkVectors returns the first and the last key of a batch of vectors, nil if there are none, and
// whether any of them is unused.
func (s knowledgeStore) checkVectors(ctx context.Context, model string, from []byte) (first, last []byte, unused bool, err error) {
	err = each(ctx, s.db.reader(ctx), someVectors, func(row scanner) error {
		var used bool
		err := row.Scan(&last, &used)
		if first == nil {
			first = last
		}
		unused = unused || !used
		return err
	}, model, from)
	return first, last, unused, err
}
