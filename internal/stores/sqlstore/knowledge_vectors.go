package sqlstore

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"remit/internal/toolsets/codebase/knowledge"
)

const (
	insertVectors = `
INSERT INTO knowledge_vectors (model, created_at, key, dims, vector) `
	orRenewThem = `
ON CONFLICT (model, key) DO UPDATE SET created_at = excluded.created_at, dims = excluded.dims, vector = excluded.vector`

	putVector  = insertVectors + `VALUES ($1, $2, $3, $4, $5)` + orRenewThem
	putVectors = insertVectors + `SELECT $1, $2, * FROM unnest($3::bytea[], $4::bigint[], $5::bytea[])` + orRenewThem

	wantModel = `
INSERT INTO knowledge_models (model, workspace, wanted_at) VALUES ($1, $2, $3) ON CONFLICT (model, workspace) DO `

	orKnowIt = `NOTHING`
	orWishOn = `UPDATE SET wanted_at = excluded.wanted_at`
)

// PutVectors keeps the promise of knowledge.Store. They are written in order of their keys, so that no two who write the
// same rows wait for each other.
func (s knowledgeStore) PutVectors(ctx context.Context, model string, vectors map[knowledge.Key][]float32) error {
	if len(vectors) == 0 {
		return nil
	}
	keys := slices.SortedFunc(maps.Keys(vectors), func(a, b knowledge.Key) int { return bytes.Compare(a[:], b[:]) })
	rows := make([][]any, len(keys))
	for i := range keys {
		vector := vectors[keys[i]]
		rows[i] = []any{keys[i][:], len(vector), blobOf(vector)}
	}
	return s.db.transact(ctx, "keep vectors", func(ctx context.Context, tx runner) error {
		at := s.now().UnixMicro()
		if err := exec(ctx, tx, wantModel+orKnowIt, model, s.workspace, at); err != nil {
			return err
		}
		return s.db.putRows(ctx, tx, putVector, putVectors, rows, model, at)
	})
}

const (
	someVectorsOf = `
SELECT key, dims, vector FROM knowledge_vectors WHERE model = $1 AND key IN `

	// A limit keeps the planner from reading all vectors there are.
	vectorsOf = `
SELECT v.key, v.dims, v.vector FROM unnest($2::bytea[]) AS r (key)
CROSS JOIN LATERAL (SELECT * FROM knowledge_vectors WHERE model = $1 AND key = r.key LIMIT 1) v`

	// keysAtOnce is how many keys one statement for SQLite names.
	keysAtOnce = 64
)

// Vectors keeps the promise of knowledge.Store. SQLite is asked for many keys at once, and for the last of them again where
// there are fewer, so that there is one text to prepare.
func (s knowledgeStore) Vectors(ctx context.Context, model string, keys []knowledge.Key) (map[knowledge.Key][]float32, error) {
	found := make(map[knowledge.Key][]float32, len(keys))
	query, atOnce := someVectorsOf+`(`+places(2, keysAtOnce)+`)`, keysAtOnce
	if s.db.shared {
		query, atOnce = vectorsOf, max(1, len(keys))
	}
	for some := range slices.Chunk(keys, atOnce) {
		names := make([]any, atOnce)
		for i := range names {
			names[i] = some[min(i, len(some)-1)][:]
		}
		args := append([]any{model}, names...)
		if s.db.shared {
			args = []any{model, names}
		}
		if err := s.readVectors(ctx, found, query, args...); err != nil {
			return nil, fmt.Errorf("read vectors: %w", err)
		}
	}
	return found, nil
}

// places are n parameters, from the first on.
func places(first, n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = "$" + strconv.Itoa(first+i)
	}
	return strings.Join(list, ", ")
}

func (s knowledgeStore) readVectors(ctx context.Context, found map[knowledge.Key][]float32, query string, args ...any) error {
	var name, blob sql.RawBytes
	var dims int
	return each(ctx, s.db.reader(ctx), query, func(row scanner) error {
		err := row.Scan(&name, &dims, &blob)
		if vector, ok := vectorOf(blob, dims); err == nil && ok && len(name) == len(knowledge.Key{}) {
			found[knowledge.Key(name)] = vector
		}
		return err
	}, args...)
}

// blobOf is how a vector is kept.
func blobOf(vector []float32) []byte {
	blob := make([]byte, 0, 4*len(vector))
	for _, x := range vector {
		blob = binary.LittleEndian.AppendUint32(blob, math.Float32bits(x))
	}
	return blob
}

// vectorOf is the reverse of blobOf; false if the blob is not one of so many numbers.
func vectorOf(blob []byte, dims int) ([]float32, bool) {
	if len(blob) == 0 || len(blob) != 4*dims {
		return nil, false
	}
	vector := make([]float32, dims)
	for i := range vector {
		vector[i] = math.Float32frombits(binary.LittleEndian.Uint32(blob[4*i:]))
		if x := float64(vector[i]); math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, false
		}
	}
	return vector, true
}
