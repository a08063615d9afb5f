package sqlstore

import (
	"cmp"
	"context"
	"slices"

	"remit/internal/toolsets/codebase"
)

// accesses counts the reads of the files of one workspace. It implements codebase.Accesses.
type accesses struct {
	db        *DB
	workspace string
}

// Accesses returns the read counts of the files of a workspace.
func (db *DB) Accesses(workspace string) codebase.Accesses { return accesses{db, workspace} }

const (
	insertAccesses = `
INSERT INTO file_accesses AS f (workspace, path, reads, last_at) `
	onConflictCount = `
ON CONFLICT (workspace, path) DO UPDATE SET reads = f.reads + excluded.reads,
	last_at = CASE WHEN excluded.last_at > f.last_at THEN excluded.last_at ELSE f.last_at END`

	addAccess   = insertAccesses + `VALUES ($1, $2, $3, $4)` + onConflictCount
	addAccesses = insertAccesses + `SELECT $1, * FROM unnest($2::bytea[], $3::bigint[], $4::bigint[])` + onConflictCount
)

// Add implements codebase.Accesses.
func (a accesses) Add(ctx context.Context, reads []codebase.Access) error {
	reads = oncePerPath(reads)
	if len(reads) == 0 {
		return nil
	}
	rows := make([][]any, len(reads))
	for i, read := range reads {
		rows[i] = []any{read.Path, read.Count, read.Last.UnixMicro()}
	}
	return a.db.transact(ctx, "count reads of files", func(ctx context.Context, tx runner) error {
		return a.db.putRows(ctx, tx, addAccess, addAccesses, rows, a.workspace)
	})
}

// oncePerPath merges the reads of each path, because one statement can change a row only once. It
// sorts them by path, so that two writers of the same rows cannot deadlock.
func oncePerPath(reads []codebase.Access) []codebase.Access {
	reads = slices.DeleteFunc(slices.Clone(reads), func(read codebase.Access) bool { return len(read.Path) > codebase.MaxPath })
	slices.SortStableFunc(reads, func(a, b codebase.Access) int { return cmp.Compare(a.Path, b.Path) })
	var merged []codebase.Access
	for _, read := range reads {
		if last := len(merged) - 1; last >= 0 && merged[last].Path == read.Path {
			merged[last].Count += read.Count
			if read.Last.After(merged[last].Last) {
				merged[last].Last = read.Last
			}
			continue
		}
		merged = append(merged, read)
	}
	return merged
}

const accessOf = `
SELECT path, reads, last_at FROM file_accesses WHERE workspace = $1 AND path = $2`

const accessesOf = `
SELECT path, reads, last_at FROM file_accesses
WHERE workspace = $1 AND path = ANY($2::bytea[]) ORDER BY path`

// Of implements codebase.Accesses.
func (a accesses) Of(ctx context.Context, paths []string) (found []codebase.Access, err error) {
	var rows [][]any
	for _, path := range slices.Compact(slices.Sorted(slices.Values(paths))) {
		rows = append(rows, []any{path})
	}
	query, rows := a.db.perEngine(accessOf, accessesOf, rows)
	for _, row := range rows {
		some, err := list(ctx, a.db, "look up reads of files", query, scanAccess, a.workspace, row[0])
		if err != nil {
			return nil, err
		}
		found = append(found, some...)
	}
	return found, nil
}

func scanAccess(row scanner) (one codebase.Access, err error) {
	err = row.Scan(&one.Path, &one.Count, (*timeColumn)(&one.Last))
	return one, err
}
