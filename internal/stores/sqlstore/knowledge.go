package sqlstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"remit/internal/search/chunk"
	"remit/internal/toolsets/codebase/knowledge"
)

// knowledgeStore stores the indexed chunks of one workspace. It implements knowledge.Store.
type knowledgeStore struct {
	db        *DB
	workspace string
	now       func() time.Time
}

// Knowledge returns the store of the indexed chunks of a workspace.
func (db *DB) Knowledge(workspace string) knowledge.Store {
	return knowledgeStore{db, workspace, time.Now}
}

// The transaction that raises the generation locks this row until it commits, so that changes are
// committed in the order of their generations.
const raiseGeneration = `
INSERT INTO knowledge_workspaces AS w (workspace, generation, forgotten) VALUES ($1, 1, 0)
ON CONFLICT (workspace) DO UPDATE SET generation = w.generation + 1
RETURNING generation`

// Replace implements knowledge.Store.
func (s knowledgeStore) Replace(ctx context.Context, sources []knowledge.Source) (generation int64, err error) {
	sources = lastOfEachPath(sources)
	err = s.db.transact(ctx, "replace chunks", func(ctx context.Context, tx runner) (err error) {
		if generation, err = findOne(ctx, tx, raiseGeneration, scanValue[int64], s.workspace); err != nil || len(sources) == 0 {
			return err
		}
		ids, err := s.putSources(ctx, tx, sources, s.workspace, generation, s.now().UnixMicro())
		if err != nil {
			return err
		}
		return s.putChunks(ctx, tx, sources, ids)
	})
	return generation, err
}

// lastOfEachPath returns the last source of each path, sorted by path.
func lastOfEachPath(sources []knowledge.Source) []knowledge.Source {
	sources = slices.Clone(sources)
	slices.Reverse(sources)
	slices.SortStableFunc(sources, func(a, b knowledge.Source) int { return cmp.Compare(a.Path, b.Path) })
	sources = slices.CompactFunc(sources, func(a, b knowledge.Source) bool { return a.Path == b.Path })
	sources = slices.DeleteFunc(sources, func(s knowledge.Source) bool { return len(s.Path) > knowledge.MaxPath })
	for i := range sources {
		if sources[i].Gone {
			sources[i].Chunks = nil
		}
	}
	return sources
}

const (
	insertSources = `
INSERT INTO knowledge_sources (workspace, generation, changed_at, path, hash, size, modified_at, gone, discoveries, pieces) `
	onConflictReplace = `
ON CONFLICT (workspace, path) DO UPDATE SET generation = excluded.generation, changed_at = excluded.changed_at, hash = excluded.hash, size = excluded.size,
	modified_at = excluded.modified_at, gone = excluded.gone, discoveries = excluded.discoveries, pieces = excluded.pieces
RETURNING path, id`

	putSource        = insertSources + `VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)` + onConflictReplace
	putSourcesAtOnce = insertSources + `
SELECT $1, $2, $3, * FROM unnest($4::bytea[], $5::bytea[], $6::bigint[], $7::bigint[], $8::boolean[], $9::boolean[], $10::bigint[])` +
		onConflictReplace

	deleteChunks       = `DELETE FROM knowledge_pieces WHERE source_id = $1`
	deleteChunksAtOnce = `DELETE FROM knowledge_pieces WHERE source_id = ANY($1::bigint[])`

	insertChunks = `
INSERT INTO knowledge_pieces (source_id, number, key, source, type, name, body, module, session, dated_at, first_line, last_line) `
	putChunk        = insertChunks + `VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`
	putChunksAtOnce = insertChunks + `
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bytea[], $4::bytea[], $5::bytea[], $6::bytea[], $7::bytea[], $8::bytea[], $9::bytea[], $10::bigint[], $11::bigint[], $12::bigint[])`
)

// putSources writes sources without their chunks, and returns their ids by path.
func (s knowledgeStore) putSources(ctx context.Context, tx runner, sources []knowledge.Source, same ...any) (map[string]int64, error) {
	rows := make([][]any, len(sources))
	for i := range sources {
		one := &sources[i]
		rows[i] = []any{one.Path, one.Hash[:], one.Size, micros(one.Modified), one.Gone, hasDiscoveries(one), len(one.Chunks)}
	}
	put, rows := s.db.perEngine(putSource, putSourcesAtOnce, rows)
	ids := make(map[string]int64, len(sources))
	for _, row := range rows {
		err := each(ctx, tx, put, func(row scanner) error {
			var path string
			var id int64
			err := row.Scan(&path, &id)
			ids[path] = id
			return err
		}, slices.Concat(same, row)...)
		if err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// putChunks replaces the chunks of sources.
func (s knowledgeStore) putChunks(ctx context.Context, tx runner, sources []knowledge.Source, ids map[string]int64) error {
	var old, rows [][]any
	for i := range sources {
		id := ids[sources[i].Path]
		old = append(old, []any{id})
		for number := range sources[i].Chunks {
			p := &sources[i].Chunks[number]
			rows = append(rows, []any{id, number, p.Key[:], p.Source, p.Type, p.Name, p.Text, p.Module, p.Session, micros(p.Date), p.Line, p.End})
		}
	}
	if err := s.db.putRows(ctx, tx, deleteChunks, deleteChunksAtOnce, old); err != nil {
		return err
	}
	return s.db.putRows(ctx, tx, putChunk, putChunksAtOnce, rows)
}

func hasDiscoveries(s *knowledge.Source) bool {
	return slices.ContainsFunc(s.Chunks, func(p knowledge.Chunk) bool { return p.Source == chunk.Discovery })
}

const takeLease = `
INSERT INTO knowledge_leases AS l (workspace, holder, lease_until) VALUES ($1, $2, $3)
ON CONFLICT (workspace) DO UPDATE SET holder = excluded.holder, lease_until = excluded.lease_until
WHERE l.holder = excluded.holder OR l.lease_until <= $4`

const releaseLease = `
DELETE FROM knowledge_leases WHERE workspace = $1 AND holder = $2`

// Lease implements knowledge.Store.
func (s knowledgeStore) Lease(ctx context.Context, holder string, until, now time.Time) (bool, error) {
	if holder == "" {
		return false, nil
	}
	return transacted(ctx, s.db, "lease the indexing of a workspace", func(ctx context.Context, tx runner) (bool, error) {
		if !until.After(now) {
			return false, exec(ctx, tx, releaseLease, s.workspace, s.db.bytesOrText(holder))
		}
		return changesOne(tx.ExecContext(ctx, takeLease, s.workspace, s.db.bytesOrText(holder), until.UnixMicro(), now.UnixMicro()))
	})
}
