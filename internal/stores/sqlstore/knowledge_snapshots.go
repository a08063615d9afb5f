package sqlstore

import (
	"context"

	"remit/internal/toolsets/codebase/knowledge"
)

const countSources = `
SELECT count(*) FROM knowledge_sources WHERE workspace = $1 AND NOT gone`

// Count implements knowledge.Store.
func (s knowledgeStore) Count(ctx context.Context) (int, error) {
	n, err := findOne(ctx, s.db.reader(ctx), countSources, scanValue[int], s.workspace)
	return n, wrap("count sources", err)
}

const (
	putSnapshot = `
INSERT INTO knowledge_snapshots (workspace, id, generation, made_at) VALUES ($1, $2, $3, $4)`

	deleteOldSnapshots = `
DELETE FROM knowledge_snapshots WHERE workspace = $1 AND id NOT IN (
	SELECT id FROM knowledge_snapshots WHERE workspace = $1 ORDER BY made_at DESC, id LIMIT $2)`

	snapshotOf = `
SELECT generation FROM knowledge_snapshots WHERE workspace = $1 AND id = $2`
)

// PutSnapshot implements knowledge.Store.
func (s knowledgeStore) PutSnapshot(ctx context.Context, id knowledge.SnapshotID, generation int64) error {
	return s.db.transact(ctx, "record a snapshot of the index", func(ctx context.Context, tx runner) error {
		if err := exec(ctx, tx, putSnapshot, s.workspace, id[:], generation, s.now().UnixMicro()); err != nil {
			return err
		}
		return exec(ctx, tx, deleteOldSnapshots, s.workspace, knowledge.MaxSnapshots)
	})
}

// Snapshot implements knowledge.Store.
func (s knowledgeStore) Snapshot(ctx context.Context, id knowledge.SnapshotID) (generation int64, known bool, err error) {
	return lookUp(ctx, s.db, "look up a snapshot of the index", snapshotOf, scanValue[int64], s.workspace, id[:])
}
