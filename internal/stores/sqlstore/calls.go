package sqlstore

import (
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"remit/internal/engine/audit/auditindex"
)

// callIndex is the index of the audit records of one source. It implements auditindex.Store.
type callIndex struct {
	db     *DB
	source string
}

// AuditIndex returns the index of the audited calls of one source. Processes that share audit
// records must name the same source.
func (db *DB) AuditIndex(source string) auditindex.Store { return callIndex{db, source} }

// The number of a call consists of the number of its source, the number of its day and the place of
// its record, in this order from the highest bits. So numbers sort in the order of the records.
const (
	placeBits = 39
	dayBits   = 16
	maxSource = 1<<(63-dayBits-placeBits) - 1

	hourSeconds = 60 * 60
	hourMicros  = hourSeconds * 1_000_000
	daySeconds  = 24 * hourSeconds
)

const (
	sourceByName = `SELECT id FROM call_sources WHERE name = $1`
	addSource    = `
INSERT INTO call_sources (id, name) SELECT coalesce(max(id), 0) + 1, $1 FROM call_sources WHERE 1 = 1
ON CONFLICT DO NOTHING`
)

// number returns the number of the source, or 0 if nothing of it was indexed.
func (s callIndex) number(ctx context.Context, on runner) (n int64, err error) {
	n, _, err = find(ctx, on, sourceByName, scanValue[int64], s.source)
	if err == nil && n > maxSource {
		err = fmt.Errorf("the database holds the calls of more than %d workspaces", maxSource)
	}
	return n, err
}

// dayNumber returns the number of a day of a source.
func dayNumber(source int64, day string) (int64, error) {
	at, err := time.Parse(time.DateOnly, day)
	return source<<dayBits | at.Unix()/daySeconds&(1<<dayBits-1), err
}

func dayName(number int64) string {
	return time.Unix(number&(1<<dayBits-1)*daySeconds, 0).UTC().Format(time.DateOnly)
}

// positionNumber returns the number of the call at a position. It limits the offset to the range of
// its day.
func positionNumber(source int64, at auditindex.Position) (int64, error) {
	day, err := dayNumber(source, at.Day)
	return day<<placeBits + min(max(at.Offset, -1), 1<<placeBits), err
}

func positionOf(number int64) auditindex.Position {
	return auditindex.Position{Day: dayName(number >> placeBits), Offset: number & (1<<placeBits - 1)}
}

const indexedDays = `
SELECT day, next, calls, broken, last IS NULL OR EXISTS (SELECT 1 FROM calls WHERE id = last) FROM call_days
WHERE day >= $1 AND day < $2`

// Days implements auditindex.Store.
func (s callIndex) Days(ctx context.Context) ([]auditindex.DayProgress, error) {
	days, err := s.days(ctx)
	if isMissingTable(err) {
		if err = s.rebuild(ctx); err == nil {
			days, err = s.days(ctx)
		}
	}
	return days, wrap("read the index of calls", err)
}

func (s callIndex) days(ctx context.Context) ([]auditindex.DayProgress, error) {
	on := s.db.reader(ctx)
	// Name each table, because any of them may be missing.
	const missing = `SELECT 1 FROM call_kinds, call_counts, call_slots WHERE 1 = 0`
	if err := each(ctx, on, missing, func(scanner) error { return nil }); err != nil {
		return nil, err
	}
	source, err := s.number(ctx, on)
	if err != nil {
		return nil, err
	}
	return collect(ctx, on, indexedDays, func(row scanner) (d auditindex.DayProgress, err error) {
		var day int64
		err = row.Scan(&day, &d.Next, &d.Calls, &d.Broken, &d.Complete)
		d.Day = dayName(day)
		return d, err
	}, source<<dayBits, (source+1)<<dayBits)
}

func isMissingTable(err error) bool {
	return err != nil && (postgresCode(err) == "42P01" || errorCode(err) != 0 && strings.Contains(err.Error(), "no such table"))
}

// rebuild creates all tables of the index again.
func (s callIndex) rebuild(ctx context.Context) error {
	folder := "migrations/sqlite/"
	if s.db.shared {
		folder = "migrations/postgres/"
	}
	var script []byte
	for _, name := range []string{"00007_calls.sql", "00023_call_slots.sql"} {
		text, err := migrationFiles.ReadFile(folder + name)
		if err != nil {
			return err
		}
		script = append(script, text...)
	}
	return s.db.change(ctx, func(ctx context.Context, tx runner) error {
		for statement := range strings.SplitSeq(string(script), ";\n") {
			if strings.TrimSpace(statement) == "" {
				continue
			}
			if err := exec(ctx, tx, statement); err != nil {
				return err
			}
		}
		return nil
	})
}

const kindsOf = `SELECT id, tool, caller, face, outcome, last FROM call_kinds WHERE source = (` + sourceByName + `)`

// Kinds implements auditindex.Store.
func (s callIndex) Kinds(ctx context.Context) (map[int64]auditindex.KnownKind, error) {
	kinds := map[int64]auditindex.KnownKind{}
	err := each(ctx, s.db.reader(ctx), kindsOf, func(row scanner) error {
		var k auditindex.KnownKind
		var id, last int64
		err := row.Scan(&id, &k.Tool, &k.Caller, &k.Frontend, &k.Outcome, &last)
		k.Last = positionOf(last)
		kinds[id] = k
		return err
	}, s.source)
	return kinds, wrap("read the kinds of calls", err)
}

const newestOfTools = `
SELECT tool, max(last) FROM call_kinds WHERE source = (` + sourceByName + `) AND outcome = 'ok' GROUP BY tool`

// Newest implements auditindex.Store.
func (s callIndex) Newest(ctx context.Context) (map[string]auditindex.Position, error) {
	newest := map[string]auditindex.Position{}
	err := each(ctx, s.db.reader(ctx), newestOfTools, func(row scanner) error {
		var tool string
		var last int64
		err := row.Scan(&tool, &last)
		newest[tool] = positionOf(last)
		return err
	}, s.source)
	return newest, wrap("find the newest calls", err)
}

// The counts of whole days, and of the hours before the first whole day.
const countsSince = `
SELECT kind, calls FROM call_counts WHERE width = 86400 AND slot >= $1
UNION ALL SELECT kind, calls FROM call_counts WHERE width = 3600 AND slot >= $2 AND slot < $3`

// Counts implements auditindex.Store.
func (s callIndex) Counts(ctx context.Context, from time.Time) (map[int64]int, error) {
	counts := map[int64]int{}
	args := []any{int64(math.MinInt64), 0, 0}
	if !from.IsZero() {
		hour := slotOf(from.UnixMicro()-1, hourSeconds) + 1
		day := slotOf(hour*hourMicros-1, daySeconds) + 1
		args = []any{day, hour, day * 24}
		begun := auditindex.Query{From: from, To: time.UnixMicro(hour * hourMicros)}
		if err := s.Times(ctx, begun, func(t auditindex.CallDuration) { counts[t.Kind]++ }); err != nil {
			return nil, err
		}
	}
	err := each(ctx, s.db.reader(ctx), countsSince, func(row scanner) error {
		var kind int64
		var calls int
		err := row.Scan(&kind, &calls)
		counts[kind] += calls
		return err
	}, args...)
	return counts, wrap("count calls", err)
}

// slotOf returns the slot of a time in microseconds, where each slot is width seconds long.
func slotOf(micros, width int64) int64 {
	width *= 1e6
	if micros < 0 {
		return (micros+1)/width - 1
	}
	return micros / width
}

const firstSlot = `SELECT slot FROM call_counts WHERE width = $1 AND slot >= $2 AND `

// First implements auditindex.Store. It finds the day, then the hour, then the call.
func (s callIndex) First(ctx context.Context, kinds []int64) (first time.Time, err error) {
	query := firstSlot + s.ofKinds(false, "$3") + ` ORDER BY slot LIMIT 1`
	slot := func(width, from int64) (slot int64, found bool, err error) {
		return lookUp(ctx, s.db, "find the first call", query, scanValue[int64], width, from, s.kindList(kinds))
	}
	day, found, err := slot(daySeconds, math.MinInt64)
	if err != nil || !found {
		return first, err
	}
	hour, found, err := slot(hourSeconds, day*24)
	if err != nil || !found {
		return first, err
	}
	q := auditindex.Query{Kinds: kinds, From: time.UnixMicro(hour * hourMicros), To: time.UnixMicro((hour + 1) * hourMicros)}
	err = s.Times(ctx, q, func(t auditindex.CallDuration) {
		if first.IsZero() || t.At < first.UnixMicro() {
			first = time.UnixMicro(t.At).UTC()
		}
	})
	return first, err
}

// A + before a column keeps the planner from using its index. So a query for few calls finds them
// by kind and sorts them, and a query for some of many calls reads the newest calls of all kinds.
const callColumns = `SELECT id, kind, began_at, took, bytes, mark, client, version FROM calls
WHERE id > $1 AND id < $2 AND began_at >= $3 AND began_at < $4 AND `

// Page implements auditindex.Store.
func (s callIndex) Page(ctx context.Context, q auditindex.Query) ([]auditindex.Call, error) {
	on := s.db.reader(ctx)
	source, err := s.number(ctx, on)
	if err != nil {
		return nil, fmt.Errorf("list calls: %w", err)
	}
	after, before := source<<(dayBits+placeBits), (source+1)<<(dayBits+placeBits)
	if q.After.Day != "" {
		after, err = positionNumber(source, q.After)
	}
	if err == nil && q.Before.Day != "" {
		before, err = positionNumber(source, q.Before)
	}
	if err != nil {
		return nil, fmt.Errorf("list calls: %w", err)
	}
	query := callColumns + s.ofKinds(q.FewMatches, "$5") + ` ORDER BY id`
	if q.FewMatches {
		query += ` + 0`
	}
	if !q.OldestFirst {
		query += ` DESC`
	}
	query += ` LIMIT $6`
	from, to := span(&q)
	return list(ctx, s.db, "list calls", query, scanCall, after, before, from, to, s.kindList(q.Kinds), q.Limit)
}

func scanCall(row scanner) (c auditindex.Call, err error) {
	var id, began, took int64
	err = row.Scan(&id, &c.KindID, &began, &took, &c.Bytes, &c.Mark, &c.Client, &c.Version)
	c.Position, c.Time, c.Took = positionOf(id), time.UnixMicro(began).UTC(), time.Duration(took)*time.Microsecond
	return c, err
}

// span returns the time range of a query in microseconds.
func span(q *auditindex.Query) (from, to int64) {
	from, to = math.MinInt64, math.MaxInt64
	if !q.From.IsZero() {
		from = q.From.UnixMicro()
	}
	if !q.To.IsZero() {
		to = q.To.UnixMicro()
	}
	return from, to
}

// ofKinds returns the condition that selects the kinds listed in a parameter.
func (s callIndex) ofKinds(indexed bool, parameter string) string {
	column := "+kind"
	if indexed {
		column = "kind"
	}
	if s.db.shared {
		return column + " = ANY(" + parameter + "::bigint[])"
	}
	return column + " IN (SELECT value FROM json_each(" + parameter + "))"
}

// kindList returns the value of the parameter that lists kinds.
func (s callIndex) kindList(kinds []int64) any {
	if s.db.shared {
		return kinds
	}
	list, _ := json.Marshal(kinds) // marshaling numbers cannot fail
	return string(list)
}

const timesBetween = `
SELECT slot, kind, times FROM call_counts WHERE width = 3600 AND slot >= $1 AND slot <= $2`

// Times implements auditindex.Store. A query without kinds matches all kinds.
func (s callIndex) Times(ctx context.Context, q auditindex.Query, visit func(auditindex.CallDuration)) error {
	from, to := span(&q)
	query, args := timesBetween, []any{slotOf(from, hourSeconds), slotOf(to-1, hourSeconds)}
	if q.Kinds != nil {
		query, args = query+" AND "+s.ofKinds(false, "$3"), append(args, s.kindList(q.Kinds))
	}
	var hour, kind int64
	var times sql.RawBytes // not copied, because there are many bytes
	err := each(ctx, s.db.reader(ctx), query, func(row scanner) error {
		if err := row.Scan(&hour, &kind, &times); err != nil {
			return err
		}
		for rest := []byte(times); len(rest) > 0; {
			var t auditindex.CallDuration
			t, rest = nextTime(rest)
			t.At, t.Kind = t.At+hour*hourMicros, kind
			if t.At >= from && t.At < to {
				visit(t)
			}
		}
		return nil
	}, args...)
	return wrap("read the times of calls", err)
}

// appendTime encodes the offset of a call within its hour, and its duration.
func appendTime(to []byte, began, took int64) []byte {
	// Less than 3,600,000,000.
	to = binary.LittleEndian.AppendUint32(to, uint32(began-slotOf(began, hourSeconds)*hourMicros))
	return binary.AppendUvarint(to, uint64(took))
}

// nextTime decodes what appendTime encoded.
func nextTime(from []byte) (t auditindex.CallDuration, rest []byte) {
	if len(from) < 5 {
		return t, nil
	}
	took, n := binary.Uvarint(from[4:])
	if n <= 0 {
		return t, nil
	}
	return auditindex.CallDuration{At: int64(binary.LittleEndian.Uint32(from)), Took: int64(took)}, from[4+n:]
}
