package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"remit/internal/toolsets/codebase/knowledge"
)

const generationOf = `
SELECT generation, forgotten FROM knowledge_workspaces WHERE workspace = $1`

// Load implements knowledge.Store. A source that changes while Load reads moves to a newer
// generation, which this Load does not return.
func (s knowledgeStore) Load(ctx context.Context, since int64, each func(knowledge.Source) error) (newest int64, err error) {
	newest, err = s.newestSince(ctx, since)
	if err != nil || newest == since {
		return newest, err
	}
	of := []string{``}
	if since == 0 {
		of = []string{` AND discoveries`, ` AND NOT discoveries`}
	}
	for _, which := range of {
		if err := s.load(ctx, which, since, newest, each); err != nil {
			return 0, err
		}
	}
	_, err = s.newestSince(ctx, since) // tombstones may have been deleted meanwhile
	return newest, err
}

// newestSince returns the newest generation, or ErrOutdated.
func (s knowledgeStore) newestSince(ctx context.Context, since int64) (newest int64, err error) {
	var forgotten int64
	if _, _, err := lookUp(ctx, s.db, "load chunks", generationOf, into(&newest, &forgotten), s.workspace); err != nil {
		return 0, err
	}
	if since > newest || since > 0 && since < forgotten {
		return 0, knowledge.ErrOutdated
	}
	return newest, nil
}

const (
	// maxChunks is the maximum number of chunks read at once, unless a single source has more.
	maxChunks = 1024

	headsFrom = `
SELECT id, path, hash, size, modified_at, generation, gone, pieces FROM knowledge_sources
WHERE workspace = $1 AND (generation, path) >= ($2, $3) AND generation <= $4`
	headsOrdered = `
ORDER BY generation, path LIMIT 256`

	pieceColumnsOf = `p.number, p.key, p.source, p.type, p.name, p.body, p.module, p.session, p.dated_at, p.first_line, p.last_line`

	// The chunks of a source, if the source still has the given generation.
	chunksOfSource = `
SELECT p.source_id, ` + pieceColumnsOf + ` FROM knowledge_sources s JOIN knowledge_pieces p ON p.source_id = s.id
WHERE s.id = $1 AND s.generation = $2 ORDER BY p.number`

	// The limit keeps the planner from reading all chunks or all sources to find those of many
	// sources.
	chunksOfSources = `
SELECT p.source_id, ` + pieceColumnsOf + ` FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS r (id, generation, place)
CROSS JOIN LATERAL (
	SELECT p.* FROM knowledge_sources s JOIN knowledge_pieces p ON p.source_id = s.id
	WHERE s.id = r.id AND s.generation = r.generation ORDER BY p.number LIMIT 1000000000) p
ORDER BY r.place, p.number`
)

// sourceHead is a source without its chunks.
type sourceHead struct {
	id     int64
	chunks int
	source knowledge.Source
}

// load passes to each the sources after generation since, up to newest, that match the condition
// which.
func (s knowledgeStore) load(ctx context.Context, which string, since, newest int64, each func(knowledge.Source) error) error {
	generation, path := since+1, ""
	for {
		heads, err := list(ctx, s.db, "load sources", headsFrom+which+headsOrdered, scanHead,
			s.workspace, generation, s.db.bytesOrText(path), newest)
		if err != nil || len(heads) == 0 {
			return err
		}
		for len(heads) > 0 {
			n := headsAtOnce(heads)
			if err := s.deliver(ctx, heads[:n], each); err != nil {
				return err
			}
			last := &heads[n-1].source
			// No other path sorts between the two.
			generation, path, heads = last.Generation, last.Path+"\x00", heads[n:]
		}
	}
}

func scanHead(row scanner) (h sourceHead, err error) {
	var hash []byte
	err = row.Scan(&h.id, &h.source.Path, &hash, &h.source.Size, (*timeColumn)(&h.source.Modified),
		&h.source.Generation, &h.source.Gone, &h.chunks)
	copy(h.source.Hash[:], hash)
	return h, err
}

// headsAtOnce returns how many sources have their chunks read at once.
func headsAtOnce(heads []sourceHead) int {
	sum := 0
	for i := range heads {
		if sum += heads[i].chunks; sum > maxChunks {
			return max(1, i)
		}
	}
	return len(heads)
}

// deliver reads the chunks of sources and passes the sources on. It skips a source whose chunks
// were removed meanwhile: that source has a later generation by now.
func (s knowledgeStore) deliver(ctx context.Context, heads []sourceHead, each func(knowledge.Source) error) error {
	if err := s.readChunks(ctx, heads); err != nil {
		return fmt.Errorf("load chunks: %w", err)
	}
	for i := range heads {
		one := &heads[i]
		if len(one.source.Chunks) != one.chunks {
			continue
		}
		if err := each(one.source); err != nil {
			return err
		}
		one.source.Chunks = nil
	}
	return nil
}

// readChunks reads the chunks of sources. The rows come in the order of the sources.
func (s knowledgeStore) readChunks(ctx context.Context, heads []sourceHead) error {
	var rows [][]any
	for i := range heads {
		if heads[i].chunks > 0 {
			rows = append(rows, []any{heads[i].id, heads[i].source.Generation})
		}
	}
	return s.eachChunk(ctx, chunksOfSource, chunksOfSources, rows, func(_ int, row *chunkRow) {
		for heads[0].id != row.source {
			heads = heads[1:]
		}
		one := &heads[0].source
		row.chunk.Path = one.Path
		one.Chunks = append(slices.Grow(one.Chunks, max(0, heads[0].chunks-len(one.Chunks))), row.chunk)
	})
}

// eachChunk visits the chunks that a query finds for each row, with the number of the row. SQLite
// runs the query one once for each row; PostgreSQL runs the query all once, with all rows.
func (s knowledgeStore) eachChunk(ctx context.Context, one, all string, rows [][]any, visit func(n int, row *chunkRow), same ...any) error {
	query, rows := s.db.perEngine(one, all, rows)
	chunk := newChunkRow()
	for n, row := range rows {
		err := each(ctx, s.db.reader(ctx), query, func(row scanner) error {
			err := chunk.scan(row)
			if err == nil {
				visit(n, chunk)
			}
			return err
		}, slices.Concat(same, row)...)
		if err != nil {
			return err
		}
	}
	return nil
}

// chunkRow reads chunks one after the other. It reuses its buffers, and allocates only the content
// of each chunk.
type chunkRow struct {
	source  int64
	chunk   knowledge.Chunk
	key     sql.RawBytes
	columns []any
}

func newChunkRow() *chunkRow {
	r := &chunkRow{}
	p := &r.chunk
	r.columns = []any{
		&r.source, &p.Number, &r.key, &p.Source, &p.Type, &p.Name, &p.Text, &p.Module, &p.Session, (*timeColumn)(&p.Date), &p.Line, &p.End,
	}
	return r
}

func (r *chunkRow) scan(row scanner) error {
	if err := row.Scan(r.columns...); err != nil {
		return err
	}
	r.chunk.Key = knowledge.Key{}
	copy(r.chunk.Key[:], r.key)
	return nil
}

const (
	pieceAt = `
SELECT p.source_id, ` + pieceColumnsOf + ` FROM knowledge_sources s JOIN knowledge_pieces p ON p.source_id = s.id
WHERE s.workspace = $1 AND s.path = $2 AND p.number = $3`

	piecesAt = `
SELECT r.place, ` + pieceColumnsOf + ` FROM unnest($2::bytea[], $3::bigint[]) WITH ORDINALITY AS r (path, number, place)
CROSS JOIN LATERAL (
	SELECT p.* FROM knowledge_sources s JOIN knowledge_pieces p ON p.source_id = s.id
	WHERE s.workspace = $1 AND s.path = r.path AND p.number = r.number LIMIT 1) p
ORDER BY r.place`
)

// Chunks implements knowledge.Store.
func (s knowledgeStore) Chunks(ctx context.Context, refs []knowledge.Ref) (list []knowledge.Chunk, err error) {
	rows := make([][]any, len(refs))
	for i, ref := range refs {
		rows[i] = []any{ref.Path, ref.Number}
	}
	err = s.eachChunk(ctx, pieceAt, piecesAt, rows, func(n int, row *chunkRow) {
		if s.db.shared {
			n = int(row.source) - 1 // PostgreSQL counts from 1
		}
		row.chunk.Path = refs[n].Path
		list = append(list, row.chunk)
	}, s.workspace)
	return list, wrap("read chunks", err)
}
