package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"

	"remit/internal/engine/audit/auditindex"
)

const (
	beginDay = `
INSERT INTO call_days (day, next, calls, broken, last) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (day) DO NOTHING`

	continueDay = `
UPDATE call_days SET next = $2, calls = calls + $3, broken = broken + $4, last = coalesce($5, last)
WHERE day = $1 AND next = $6 RETURNING calls`

	// A known kind is updated too, so that RETURNING returns its id.
	addKind = `
INSERT INTO call_kinds AS k (source, tool, caller, face, outcome, last) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (source, tool, caller, face, outcome) DO UPDATE SET last = CASE WHEN excluded.last > k.last THEN excluded.last ELSE k.last END
RETURNING id`

	insertCalls = `
INSERT INTO calls (id, kind, began_at, took, bytes, mark, client, version) `
	addCall  = insertCalls + `VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`
	addCalls = insertCalls + `
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bytea[], $8::bytea[])`

	insertCounts = `
INSERT INTO call_counts AS n (day, part, width, slot, kind, calls, times) `
	onConflictAdd = `
ON CONFLICT (width, slot, kind, day, part) DO UPDATE SET calls = n.calls + excluded.calls, times = `
	addCount  = insertCounts + `VALUES ($1, $2, $3, $4, $5, $6, $7)` + onConflictAdd + `CAST(n.times || excluded.times AS BLOB)`
	addCounts = insertCounts + `
SELECT $1, * FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bytea[])` +
		onConflictAdd + `n.times || excluded.times`
)

// Append implements auditindex.Store.
func (s callIndex) Append(ctx context.Context, b auditindex.Batch) (bool, error) {
	return transacted(ctx, s.db, "index calls", func(ctx context.Context, tx runner) (bool, error) { return s.append(ctx, tx, &b) })
}

func (s callIndex) append(ctx context.Context, tx runner, b *auditindex.Batch) (added bool, err error) {
	source, err := s.number(ctx, tx)
	if err == nil && source == 0 {
		if _, err = tx.ExecContext(ctx, addSource, s.source); err == nil {
			source, err = s.number(ctx, tx)
		}
	}
	if err != nil || source == 0 { // another process added a source at the same moment
		return false, err
	}
	day, err := dayNumber(source, b.Day)
	if err != nil {
		return false, err
	}
	added, calls, err := claimBatch(ctx, tx, day, b)
	if !added || err != nil {
		return false, err
	}
	kinds, err := s.addKinds(ctx, tx, source, day, b.Calls)
	if err != nil {
		return false, err
	}
	if err := s.addCalls(ctx, tx, day, b.Calls, kinds); err != nil {
		return false, err
	}
	if err := s.addCounts(ctx, tx, day, countsOf(b.Calls, kinds, calls/callsPerPart)); err != nil {
		return false, err
	}
	return true, s.addCells(ctx, tx, day, b.Calls, kinds)
}

// callsPerPart is the approximate number of calls of a day per part. The times of calls are stored
// in one row per hour, kind and part. Adding a batch rewrites such rows, so parts limit the cost.
const callsPerPart = 1 << 14

// claimBatch advances the position of a day and returns how many calls the day has then. Only one
// writer can advance it from a given position.
func claimBatch(ctx context.Context, tx runner, day int64, b *auditindex.Batch) (claimed bool, calls int64, err error) {
	last := sql.NullInt64{Valid: len(b.Calls) > 0}
	if last.Valid {
		last.Int64 = day<<placeBits | b.Calls[len(b.Calls)-1].Offset
	}
	args := []any{day, b.To, len(b.Calls), b.Broken, last}
	if b.From > 0 {
		calls, claimed, err = find(ctx, tx, continueDay, scanValue[int64], append(args, b.From)...)
		return claimed, calls, err
	}
	begun, err := changesOne(tx.ExecContext(ctx, beginDay, args...))
	if err == nil && begun { // delete what was indexed before the day was removed
		err = deleteDay(ctx, tx, day)
	}
	return begun, int64(len(b.Calls)), err
}

// addKinds returns the ids of the kinds of calls. Every writer adds kinds in the same order, so
// that no two of them deadlock.
func (s callIndex) addKinds(ctx context.Context, tx runner, source, day int64, calls []auditindex.Call) (map[auditindex.Kind]int64, error) {
	last := map[auditindex.Kind]int64{}
	var kinds []auditindex.Kind
	for i := range calls {
		if _, known := last[calls[i].Kind]; !known {
			kinds = append(kinds, calls[i].Kind)
		}
		last[calls[i].Kind] = day<<placeBits | calls[i].Offset
	}
	slices.SortFunc(kinds, func(a, b auditindex.Kind) int {
		return cmp.Or(cmp.Compare(a.Tool, b.Tool), cmp.Compare(a.Caller, b.Caller),
			cmp.Compare(a.Frontend, b.Frontend), cmp.Compare(a.Outcome, b.Outcome))
	})
	ids := make(map[auditindex.Kind]int64, len(kinds))
	for _, k := range kinds {
		w := s.db.bytesOrText
		id, err := findOne(ctx, tx, addKind, scanValue[int64], source, w(k.Tool), w(k.Caller), w(k.Frontend), w(k.Outcome), last[k])
		if err != nil {
			return nil, fmt.Errorf("add a kind of calls: %w", err)
		}
		ids[k] = id
	}
	return ids, nil
}

func (s callIndex) addCalls(ctx context.Context, tx runner, day int64, calls []auditindex.Call, kinds map[auditindex.Kind]int64) error {
	rows := make([][]any, len(calls))
	for i := range calls {
		c := &calls[i]
		rows[i] = []any{day<<placeBits | c.Offset, kinds[c.Kind], c.Time.UnixMicro(), c.Took.Microseconds(), c.Bytes, c.Mark, c.Client, c.Version}
	}
	return s.db.putRows(ctx, tx, addCall, addCalls, rows)
}

// callSlot is an hour or a day of one kind of call.
type callSlot struct{ part, width, slot, kind int64 }

// slotCount is the number of calls in a slot. For an hour it also holds their times.
type slotCount struct {
	calls int64
	times []byte
}

func countsOf(calls []auditindex.Call, kinds map[auditindex.Kind]int64, part int64) map[callSlot]slotCount {
	counts := map[callSlot]slotCount{}
	for i := range calls {
		began, kind := calls[i].Time.UnixMicro(), kinds[calls[i].Kind]
		day, hour := callSlot{0, daySeconds, slotOf(began, daySeconds), kind}, callSlot{part, hourSeconds, slotOf(began, hourSeconds), kind}
		counts[day] = slotCount{counts[day].calls + 1, []byte{}}
		counts[hour] = slotCount{counts[hour].calls + 1, appendTime(counts[hour].times, began, calls[i].Took.Microseconds())}
	}
	return counts
}

func (s callIndex) addCounts(ctx context.Context, tx runner, day int64, counts map[callSlot]slotCount) error {
	var rows [][]any
	for at, n := range counts {
		rows = append(rows, []any{at.part, at.width, at.slot, at.kind, n.calls, n.times})
	}
	return s.db.putRows(ctx, tx, addCount, addCounts, rows, day)
}

const (
	deleteSomeCalls = `
DELETE FROM calls WHERE id IN (SELECT id FROM calls WHERE id >= $1 AND id < $2 LIMIT 2000)`
	deleteCalls       = `DELETE FROM calls WHERE id >= $1 AND id < $2`
	deleteCounts      = `DELETE FROM call_counts WHERE day = $1`
	deleteDayPosition = `DELETE FROM call_days WHERE day = $1`
)

// Remove implements auditindex.Store. It deletes calls in several transactions, because other
// writers wait for each, and deletes the position of the day together with the last calls.
func (s callIndex) Remove(ctx context.Context, name string) error {
	source, err := s.number(ctx, s.db.reader(ctx))
	if err != nil {
		return fmt.Errorf("remove the calls of a day: %w", err)
	}
	day, err := dayNumber(source, name)
	for more := true; more && err == nil; {
		err = s.db.change(ctx, func(ctx context.Context, tx runner) error {
			n, err := changed(tx.ExecContext(ctx, deleteSomeCalls, day<<placeBits, (day+1)<<placeBits))
			if more = n > 0; more || err != nil {
				return err
			}
			if err := exec(ctx, tx, deleteDayPosition, day); err != nil {
				return err
			}
			return deleteDay(ctx, tx, day)
		})
	}
	return wrap("remove the calls of a day", err)
}

// deleteDay deletes the calls of a day and their counts.
func deleteDay(ctx context.Context, tx runner, day int64) error {
	if err := exec(ctx, tx, deleteCalls, day<<placeBits, (day+1)<<placeBits); err != nil {
		return err
	}
	if err := exec(ctx, tx, deleteCounts, day); err != nil {
		return err
	}
	return exec(ctx, tx, deleteCells, day)
}
