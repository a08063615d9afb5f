package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"remit/internal/engine/audit/auditindex"
)

// cellWidths are the widths of the slots in which calls are counted, in seconds.
var cellWidths = [...]int64{int64(auditindex.Minute / time.Second), int64(auditindex.Quarter / time.Second)}

// cellKey says which calls a cell counts: a kind, and a step of durations.
type cellKey struct {
	kind int64
	step auditindex.Step
}

// slotKey is a slot of one of the widths.
type slotKey struct{ width, slot int64 }

const (
	readCells = `SELECT slot, cells FROM call_slots WHERE day = $1 AND width = $2 AND slot >= $3 AND slot <= $4`

	insertCells = `
INSERT INTO call_slots (day, width, slot, cells) `
	onConflictStore = `
ON CONFLICT (day, width, slot) DO UPDATE SET cells = excluded.cells`
	putCells    = insertCells + `VALUES ($1, $2, $3, $4)` + onConflictStore
	putAllCells = insertCells + `SELECT $1, * FROM unnest($2::bigint[], $3::bigint[], $4::bytea[])` + onConflictStore

	deleteCells = `DELETE FROM call_slots WHERE day = $1`

	cellsBetween = `
SELECT s.slot, s.cells FROM call_days d JOIN call_slots s ON s.day = d.day
WHERE d.day >= $1 AND d.day < $2 AND s.width = $3 AND s.slot >= $4 AND s.slot < $5`
)

// addCells adds calls to the cells of their slots. No other transaction changes those of the same
// day meanwhile, because claimBatch holds its row.
func (s callIndex) addCells(ctx context.Context, tx runner, day int64, calls []auditindex.Call, kinds map[auditindex.Kind]int64) error {
	slots := map[slotKey]map[cellKey]int{}
	for i := range calls {
		key := cellKey{kinds[calls[i].Kind], auditindex.StepOf(calls[i].Took)}
		for _, width := range cellWidths {
			at := slotKey{width, slotOf(calls[i].Time.UnixMicro(), width)}
			if slots[at] == nil {
				slots[at] = map[cellKey]int{}
			}
			slots[at][key]++
		}
	}
	for _, width := range cellWidths {
		if err := addKnownCells(ctx, tx, day, width, slots); err != nil {
			return err
		}
	}
	var rows [][]any
	for at, cells := range slots {
		rows = append(rows, []any{at.width, at.slot, encodeCells(cells)})
	}
	return s.db.putRows(ctx, tx, putCells, putAllCells, rows, day)
}

// addKnownCells adds what the database holds of these slots.
func addKnownCells(ctx context.Context, tx runner, day, width int64, slots map[slotKey]map[cellKey]int) error {
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	for at := range slots {
		if at.width == width {
			first, last = min(first, at.slot), max(last, at.slot)
		}
	}
	err := each(ctx, tx, readCells, func(row scanner) error {
		var slot int64
		var known []byte
		if err := row.Scan(&slot, &known); err != nil {
			return err
		}
		if cells := slots[slotKey{width, slot}]; cells != nil {
			decodeCells(known, func(key cellKey, calls int) { cells[key] += calls })
		}
		return nil
	}, day, width, first, last)
	if err != nil {
		return fmt.Errorf("read the counts of a day: %w", err)
	}
	return nil
}

// encodeCells encodes the cells of a slot, sorted by kind and step: the distance of the kind from
// the one before, the step, and the number of calls.
func encodeCells(cells map[cellKey]int) []byte {
	keys := slices.SortedFunc(maps.Keys(cells), func(a, b cellKey) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.step, b.step))
	})
	var text []byte
	kind := int64(0)
	for _, key := range keys {
		text = binary.AppendUvarint(text, uint64(key.kind-kind))
		text = binary.AppendUvarint(text, uint64(key.step))
		text = binary.AppendUvarint(text, uint64(cells[key]))
		kind = key.kind
	}
	return text
}

// decodeCells calls visit for the cells that encodeCells encoded.
func decodeCells(text []byte, visit func(key cellKey, calls int)) {
	kind := int64(0)
	for len(text) > 0 {
		var numbers [3]uint64
		for i := range numbers {
			n, size := binary.Uvarint(text)
			if size <= 0 {
				return
			}
			numbers[i], text = n, text[size:]
		}
		kind += int64(numbers[0])
		visit(cellKey{kind, auditindex.Step(numbers[1])}, int(numbers[2]))
	}
}

// Cells implements auditindex.Store.
func (s callIndex) Cells(ctx context.Context, width time.Duration, from, to time.Time, visit func(auditindex.Cell)) error {
	on := s.db.reader(ctx)
	source, err := s.number(ctx, on)
	if err != nil || source == 0 {
		return wrap("read the counts of calls", err)
	}
	// A record is never on an earlier day than its call.
	first, err := dayNumber(source, from.UTC().Format(time.DateOnly))
	if err != nil {
		return wrap("read the counts of calls", err)
	}
	seconds := int64(width / time.Second)
	var slot int64
	var cells sql.RawBytes // not copied, because there are many bytes
	err = each(ctx, on, cellsBetween, func(row scanner) error {
		if err := row.Scan(&slot, &cells); err != nil {
			return err
		}
		at := slot * seconds * 1_000_000
		decodeCells(cells, func(key cellKey, calls int) {
			visit(auditindex.Cell{At: at, Kind: key.kind, Step: key.step, Calls: calls})
		})
		return nil
	}, first, (source+1)<<dayBits, seconds, slotOf(from.UnixMicro(), seconds), slotOf(to.UnixMicro(), seconds))
	return wrap("read the counts of calls", err)
}
