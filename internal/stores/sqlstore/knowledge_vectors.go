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
	onConflictRenew = `
ON CONFLICT (model, key) DO UPDATE SET created_at = excluded.created_at, dims = excluded.dims, vector = excluded.vector`

	putVector  = insertVectors + `VALUES ($1, $2, $3, $4, $5)` + onConflictRenew
	putVectors = insertVectors + `SELECT $1, $2, * FROM unnest($3::bytea[], $4::bigint[], $5::bytea[])` + onConflictRenew

	requestModel = `
INSERT INTO knowledge_models (model, workspace, wanted_at) VALUES ($1, $2, $3) ON CONFLICT (model, workspace) DO `

	onConflictIgnore       = `NOTHING`
	onConflictRenewRequest = `UPDATE SET wanted_at = excluded.wanted_at`
)

// PutVectors implements knowledge.Store. It writes the vectors in the order of their keys, so that
// two writers of the same rows cannot deadlock.
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
	return s.db.transact(ctx, "store vectors", func(ctx context.Context, tx runner) error {
		at := s.now().UnixMicro()
		if err := exec(ctx, tx, requestModel+onConflictIgnore, model, s.workspace, at); err != nil {
			return err
		}
		return s.db.putRows(ctx, tx, putVector, putVectors, rows, model, at)
	})
}

const (
	someVectorsOf = `
SELECT key, dims, vector FROM knowledge_vectors WHERE model = $1 AND key IN `

	// The limit keeps the planner from reading all vectors.
	vectorsOf = `
SELECT v.key, v.dims, v.vector FROM unnest($2::bytea[]) AS r (key)
CROSS JOIN LATERAL (SELECT * FROM knowledge_vectors WHERE model = $1 AND key = r.key LIMIT 1) v`

	// keysAtOnce is the number of keys in one SQLite statement.
	keysAtOnce = 64
)

// Vectors implements knowledge.Store. A query for SQLite always names keysAtOnce keys and repeats
// the last one if there are fewer, so that there is only one statement to prepare.
func (s knowledgeStore) Vectors(ctx context.Context, model string, keys []knowledge.Key) (map[knowledge.Key][]float32, error) {
	found := make(map[knowledge.Key][]float32, len(keys))
	query, size := someVectorsOf+`(`+placeholders(2, keysAtOnce)+`)`, keysAtOnce
	if s.db.shared {
		query, size = vectorsOf, max(1, len(keys))
	}
	for some := range slices.Chunk(keys, size) {
		names := make([]any, size)
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

// placeholders returns n parameter placeholders, beginning with number first.
func placeholders(first, n int) string {
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

// blobOf encodes a vector for the database.
func blobOf(vector []float32) []byte {
	blob := make([]byte, 0, 4*len(vector))
	for _, x := range vector {
		blob = binary.LittleEndian.AppendUint32(blob, math.Float32bits(x))
	}
	return blob
}

// vectorOf is the reverse of blobOf. It returns false if the blob does not hold dims finite
// numbers.
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
