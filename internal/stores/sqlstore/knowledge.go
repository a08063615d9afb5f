package sqlstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"remit/internal/search/pieces"
	"remit/internal/toolsets/codebase/knowledge"
)

// knowledgeStore keeps what one workspace knows.
type knowledgeStore struct {
	db        *DB
	workspace string
	now       func() time.Time
}

var _ knowledge.Store = knowledgeStore{}

// Knowledge returns what a workspace knows, in pieces.
func (db *DB) Knowledge(workspace string) knowledge.Store {
	return knowledgeStore{db, workspace, time.Now}
}

// Who raises the generation holds its row until the commit, so that changes are committed in their order.
const raiseGeneration = `
INSERT INTO knowledge_workspaces AS w (workspace, generation, forgotten) VALUES ($1, 1, 0)
ON CONFLICT (workspace) DO UPDATE SET generation = w.generation + 1
RETURNING generation`

// Replace keeps the promise of knowledge.Store.
func (s knowledgeStore) Replace(ctx context.Context, sources []knowledge.Source) (generation int64, err error) {
	sources = lastOfEachPath(sources)
	put := putSources
	if s.db.shared {
		put = putSourcesShared
	}
	err = s.db.change(ctx, func(ctx context.Context, tx runner) error {
		if err := tx.QueryRowContext(ctx, raiseGeneration, s.workspace).Scan(&generation); err != nil {
			return err
		}
		return put(ctx, tx, sourceBatch{s.workspace, generation, s.now().UnixMicro(), sources})
	})
	if err != nil {
		return 0, fmt.Errorf("replace pieces: %w", err)
	}
	return generation, nil
}

// lastOfEachPath are the sources that count, in order of their paths.
func lastOfEachPath(sources []knowledge.Source) []knowledge.Source {
	sources = slices.Clone(sources)
	slices.Reverse(sources)
	slices.SortStableFunc(sources, func(a, b knowledge.Source) int { return cmp.Compare(a.Path, b.Path) })
	sources = slices.CompactFunc(sources, func(a, b knowledge.Source) bool { return a.Path == b.Path })
	sources = slices.DeleteFunc(sources, func(s knowledge.Source) bool { return len(s.Path) > knowledge.LongestPath })
	for i := range sources {
		if sources[i].Gone {
			sources[i].Pieces = nil
		}
	}
	return sources
}

// sourceBatch is what one change puts in place. No path is there twice.
type sourceBatch struct {
	workspace  string
	generation int64
	changed    int64
	sources    []knowledge.Source
}

const (
	insertSources = `
INSERT INTO knowledge_sources (workspace, generation, changed_at, path, hash, size, modified_at, gone, discoveries, pieces) `
	orReplaceThem = `
ON CONFLICT (workspace, path) DO UPDATE SET generation = excluded.generation, changed_at = excluded.changed_at, hash = excluded.hash, size = excluded.size,
	modified_at = excluded.modified_at, gone = excluded.gone, discoveries = excluded.discoveries, pieces = excluded.pieces
RETURNING id`

	putSource    = insertSources + `VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)` + orReplaceThem
	deletePieces = `
DELETE FROM knowledge_pieces WHERE source_id = $1`

	insertPieces = `
INSERT INTO knowledge_pieces (source_id, number, key, source, type, name, body, module, session, dated_at, first_line, last_line) `
	putPiece = insertPieces + `VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`
)

// putSources writes row by row, which takes SQLite some microseconds each.
func putSources(ctx context.Context, tx runner, b sourceBatch) error {
	for i := range b.sources {
		one := &b.sources[i]
		var id int64
		row := tx.QueryRowContext(ctx, putSource, b.workspace, b.generation, b.changed,
			one.Path, one.Hash[:], one.Size, micros(one.Modified), one.Gone, hasDiscoveries(one), len(one.Pieces))
		if err := row.Scan(&id); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, deletePieces, id); err != nil {
			return err
		}
		for number := range one.Pieces {
			p := &one.Pieces[number]
			_, err := tx.ExecContext(ctx, putPiece, id, number, p.Key[:], p.Source, p.Type, p.Name, p.Text, p.Module, p.Session, micros(p.Date), p.Line, p.End)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func hasDiscoveries(s *knowledge.Source) bool {
	return slices.ContainsFunc(s.Pieces, func(p knowledge.Piece) bool { return p.Source == pieces.Discovery })
}

const (
	putSourcesAtOnce = insertSources + `
SELECT $1, $2, $3, * FROM unnest($4::bytea[], $5::bytea[], $6::bigint[], $7::bigint[], $8::boolean[], $9::boolean[], $10::bigint[])` + orReplaceThem + `, path`

	deletePiecesAtOnce = `
DELETE FROM knowledge_pieces WHERE source_id = ANY($1::bigint[])`

	putPiecesAtOnce = insertPieces + `
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bytea[], $4::bytea[], $5::bytea[], $6::bytea[], $7::bytea[], $8::bytea[], $9::bytea[], $10::bigint[], $11::bigint[], $12::bigint[])`
)

// putSourcesShared tells a server of all at once.
func putSourcesShared(ctx context.Context, tx runner, b sourceBatch) error {
	ids, err := putHeadsShared(ctx, tx, b)
	if err != nil {
		return err
	}
	var all []int64
	for _, id := range ids {
		all = append(all, id)
	}
	if _, err := tx.ExecContext(ctx, deletePiecesAtOnce, all); err != nil {
		return err
	}
	var c pieceColumns
	for i := range b.sources {
		for number := range b.sources[i].Pieces {
			c.add(ids[b.sources[i].Path], int64(number), &b.sources[i].Pieces[number])
		}
	}
	_, err = tx.ExecContext(ctx, putPiecesAtOnce, c.sources, c.numbers, c.keys, c.kinds, c.types, c.names, c.bodies, c.modules, c.sessions, c.dates, c.lines, c.ends)
	return err
}

// putHeadsShared gives the ids of the sources, by path.
func putHeadsShared(ctx context.Context, tx runner, b sourceBatch) (map[string]int64, error) {
	var paths, hashes [][]byte
	var sizes, counts []int64
	var modified []*int64
	var gone, discoveries []bool
	for i := range b.sources {
		one := &b.sources[i]
		paths, hashes = append(paths, []byte(one.Path)), append(hashes, one.Hash[:])
		sizes, counts = append(sizes, one.Size), append(counts, int64(len(one.Pieces)))
		modified = append(modified, microsOrNil(one.Modified))
		gone, discoveries = append(gone, one.Gone), append(discoveries, hasDiscoveries(one))
	}
	rows, err := tx.QueryContext(ctx, putSourcesAtOnce, b.workspace, b.generation, b.changed, paths, hashes, sizes, modified, gone, discoveries, counts)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	ids := make(map[string]int64, len(paths))
	for rows.Next() {
		var id int64
		var path string
		if err := rows.Scan(&id, &path); err != nil {
			return nil, err
		}
		ids[path] = id
	}
	return ids, rows.Err()
}

// pieceColumns are pieces as a server takes them.
type pieceColumns struct {
	sources, numbers, lines, ends                        []int64
	keys, kinds, types, names, bodies, modules, sessions [][]byte
	dates                                                []*int64
}

func (c *pieceColumns) add(source, number int64, p *knowledge.Piece) {
	c.sources, c.numbers, c.keys = append(c.sources, source), append(c.numbers, number), append(c.keys, p.Key[:])
	c.kinds, c.types = append(c.kinds, []byte(p.Source)), append(c.types, []byte(p.Type))
	c.names, c.bodies = append(c.names, []byte(p.Name)), append(c.bodies, []byte(p.Text))
	c.modules, c.sessions = append(c.modules, []byte(p.Module)), append(c.sessions, []byte(p.Session))
	c.dates, c.lines, c.ends = append(c.dates, microsOrNil(p.Date)), append(c.lines, int64(p.Line)), append(c.ends, int64(p.End))
}

// microsOrNil is micros for a list of times.
func microsOrNil(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	n := t.UnixMicro()
	return &n
}

const takeLease = `
INSERT INTO knowledge_leases AS l (workspace, holder, lease_until) VALUES ($1, $2, $3)
ON CONFLICT (workspace) DO UPDATE SET holder = excluded.holder, lease_until = excluded.lease_until
WHERE l.holder = excluded.holder OR l.lease_until <= $4`

const giveLeaseBack = `
DELETE FROM knowledge_leases WHERE workspace = $1 AND holder = $2`

// Lease keeps the promise of knowledge.Store.
func (s knowledgeStore) Lease(ctx context.Context, holder string, until, now time.Time) (has bool, err error) {
	if holder == "" {
		return false, nil
	}
	err = s.db.change(ctx, func(ctx context.Context, tx runner) (err error) {
		if !until.After(now) {
			_, err = tx.ExecContext(ctx, giveLeaseBack, s.workspace, s.db.words(holder))
			return err
		}
		has, err = changesOne(tx.ExecContext(ctx, takeLease, s.workspace, s.db.words(holder), until.UnixMicro(), now.UnixMicro()))
		return err
	})
	if err != nil {
		return false, fmt.Errorf("lease the work on pieces: %w", err)
	}
	return has, nil
}
