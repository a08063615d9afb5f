package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"remit/internal/engine/audit"
	"remit/internal/engine/audit/auditindex"
	"remit/internal/stores/sqlstore"
)

// TestRecordsOfReplicasAreOneChain checks that the chain is valid through both days when several
// replicas write at midnight.
func TestRecordsOfReplicasAreOneChain(t *testing.T) {
	url := newDatabase(t)
	const replicas, writers, each = 3, 4, 20
	var all sync.WaitGroup
	var opened []*sqlstore.Records
	for r := range replicas {
		records := source(open(t, url)).Records(func(err error) { t.Errorf("lost: %v", err) })
		opened = append(opened, records)
		for w := range writers {
			all.Go(func() {
				for i := range each {
					day := []string{"2026-08-01", "2026-08-02"}[2*i/each]
					record := fmt.Appendf(nil, `{"time":"%sT12:00:00Z","writer":"%d-%d","n":%d}`, day, r, w, i)
					keepRecord(t, records, day, record, i%2 == 0)
				}
			})
		}
	}
	all.Wait()
	for _, records := range opened {
		if err := records.Close(); err != nil {
			t.Error(err)
		}
	}
	files := source(open(t, url)).RecordReader()
	if n, err := audit.Verify(t.Context(), files); err != nil || n != replicas*writers*each {
		t.Errorf("%d valid records, %v; want %d", n, err, replicas*writers*each)
	}
	inOrder(t, files)
}

// TestACallIsSettledOnce lets two replicas settle the same calls, which each of them has found
// open.
func TestACallIsSettledOnce(t *testing.T) {
	url := newDatabase(t)
	first := source(open(t, url)).Records(func(err error) { t.Errorf("lost: %v", err) })
	second := source(open(t, url)).Records(func(err error) { t.Errorf("lost: %v", err) })
	const day = "2026-08-01"
	record := func(call, rest string) []byte {
		return fmt.Appendf(nil, `{"time":"%sT12:00:00Z","outcome":%s,"call":"%s"}`, day, rest, call)
	}
	for _, call := range []string{"A", "B", "C"} {
		keepRecord(t, first, day, record(call, `"begun"`), true)
	}
	read, err := audit.Ends(t.Context(), source(open(t, url)).RecordReader())
	if err != nil {
		t.Fatal(err)
	}
	keepRecord(t, second, day, fmt.Appendf(nil, `{"time":"%sT12:00:00Z","outcome":"unavailable","call":"B","unknown":[1]}`, day), true)
	for _, records := range []*sqlstore.Records{first, second} {
		for _, call := range []string{"A", "B"} {
			if err := records.AppendSince(t.Context(), day, record(call, `"ok"`), read); err != nil {
				t.Error(err)
			}
		}
	}
	keepRecord(t, second, "2026-08-02", record("C", `"ok"`), true) // its process was taken for dead
	if err := first.AppendSince(t.Context(), day, record("C", `"undone"`), read); err != nil {
		t.Error(err)
	}
	for _, records := range []*sqlstore.Records{first, second} {
		if err := records.Close(); err != nil {
			t.Error(err)
		}
	}
	found := map[string]int{}
	reader := source(open(t, url)).RecordReader()
	for _, day := range []string{day, "2026-08-02"} {
		lines, err := reader.From(t.Context(), day, 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range lines {
			if audit.Settles(line.Text) {
				found[audit.CallOf(line.Text)]++
			}
		}
	}
	if n, err := audit.Verify(t.Context(), reader); err != nil || n != 7 || found["A"] != 1 || found["B"] != 1 || found["C"] != 1 {
		t.Errorf("%d records, settled %v: %v", n, found, err)
	}
}

func keepRecord(t *testing.T, records *sqlstore.Records, day string, record []byte, durable bool) {
	t.Helper()
	if err := records.Ready(day); err != nil {
		t.Error(err)
	}
	wait, err := records.Append(day, record, durable)
	if err == nil && durable {
		err = wait(t.Context())
	}
	if err != nil {
		t.Error(err)
	}
}

// inOrder checks that all records of each writer exist, in order.
func inOrder(t *testing.T, records audit.Reader) {
	t.Helper()
	days, err := records.Days(t.Context())
	if err != nil || len(days) != 2 {
		t.Fatalf("days %v, %v", days, err)
	}
	next := map[string]int{}
	for _, day := range days {
		lines, err := records.From(t.Context(), day.Name, 0, 1000)
		if err != nil {
			t.Fatal(err)
		}
		size := 0
		for _, line := range lines {
			size += len(line.Text) + 1
			_, rest, _ := strings.Cut(string(line.Text), `"writer":"`)
			writer, rest, _ := strings.Cut(rest, `"`)
			n := 0
			if _, err := fmt.Sscanf(rest, `,"n":%d`, &n); err != nil || n != next[writer] {
				t.Fatalf("writer %s: record %d comes where %d should: %v", writer, n, next[writer], err)
			}
			next[writer]++
		}
		if day.Size != int64(size) || day.End != lines[len(lines)-1].Next {
			t.Errorf("%s has %d bytes and says %d, and ends at %d, not %d", day.Name, size, day.Size, lines[len(lines)-1].Next, day.End)
		}
	}
}

// TestRecordsThatWereAltered checks that changes of the table are detected.
func TestRecordsThatWereAltered(t *testing.T) {
	for name, query := range map[string]string{
		"altered": `UPDATE log_lines SET body = replace(encode(body, 'escape'), '"n":5', '"n":6')::bytea WHERE line = 6`,
		"removed": `DELETE FROM log_lines WHERE line = 6`,
	} {
		t.Run(name, func(t *testing.T) {
			url := newDatabase(t)
			records := source(open(t, url)).Records(nil)
			for i := range 10 {
				keepRecord(t, records, "2026-08-01", fmt.Appendf(nil, `{"n":%d}`, i), true)
			}
			if err := records.Close(); err != nil {
				t.Error(err)
			}
			files := source(open(t, url)).RecordReader()
			if n, err := audit.Verify(t.Context(), files); n != 10 || err != nil {
				t.Fatalf("before: %d records, %v", n, err)
			}
			behind(t, url, query)
			var broken *audit.BrokenError
			if n, err := audit.Verify(t.Context(), files); n != 5 || !errors.As(err, &broken) || broken.Line != 6 {
				t.Errorf("%d valid records, %v", n, err)
			}
		})
	}
}

// TestManyRecords checks that a day with more records than one read returns is read completely.
func TestManyRecords(t *testing.T) {
	db := open(t, newDatabase(t))
	records := source(db).Records(nil)
	const many = 2500
	for i := range many {
		keepRecord(t, records, "2026-08-01", fmt.Appendf(nil, `{"n":%d}`, i), false)
	}
	if err := records.Close(); err != nil {
		t.Fatal(err)
	}
	if n, err := audit.Verify(t.Context(), source(db).RecordReader()); n != many || err != nil {
		t.Errorf("%d records, %v", n, err)
	}
}

// TestRecordsWithoutDatabase checks that callers that wait get the error, and the operator gets
// that of the other records.
func TestRecordsWithoutDatabase(t *testing.T) {
	lost := errors.New("no database")
	reported := make(chan error, 10)
	records := sqlstore.Source(func(context.Context) (*sqlstore.DB, error) { return nil, lost }).
		Records(func(err error) { reported <- err })
	if err := records.Ready("2026-08-01"); !errors.Is(err, lost) {
		t.Errorf("ready: %v", err)
	}
	wait, err := records.Append("2026-08-01", []byte(`{}`), true)
	if err != nil || !errors.Is(wait(t.Context()), lost) {
		t.Errorf("keep: %v", err)
	}
	if len(reported) != 0 {
		t.Error("the operator got the error of a record that a caller waited for")
	}
	if _, err := records.Append("2026-08-01", []byte(`{}`), false); err != nil {
		t.Error(err)
	}
	if err := <-reported; !errors.Is(err, lost) {
		t.Errorf("reported error: %v", err)
	}
	if err := records.Close(); !errors.Is(err, lost) {
		t.Errorf("close: %v", err)
	}
	if _, err := records.Append("2026-08-01", []byte(`{}`), true); !errors.Is(err, sqlstore.ErrClosed) {
		t.Errorf("keep after close: %v", err)
	}
}

// TestRecordsFromAPlace checks that a day can be read from any of its lines, in both directions,
// and that an index finds records in it.
func TestRecordsFromAPlace(t *testing.T) {
	db := open(t, newDatabase(t))
	records := source(db).Records(nil)
	const many = 2300 // more than one read returns
	now := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	add := func(day string, from, to int) {
		t.Helper()
		for i := from; i < to; i++ {
			record := fmt.Appendf(nil, `{"time":"%sT11:00:00Z","principal":"%d","tool":"a/b","outcome":"ok","micros":%d}`, day, i, i)
			keepRecord(t, records, day, record, i == to-1)
		}
	}
	add("2026-07-31", 0, 3)
	add("2026-08-01", 3, many)
	reader := source(db).RecordReader()
	read := func(read func(context.Context, string, int64, int) ([]audit.Line, error)) func(int64) ([]audit.Line, error) {
		return func(place int64) ([]audit.Line, error) { return read(t.Context(), "2026-08-01", place, 1000) }
	}
	for _, tc := range []struct {
		name        string
		read        func(int64) ([]audit.Line, error)
		place       int64
		count       int
		first, last int64
	}{
		// The first three lines belong to the day before.
		{"from the start", read(reader.From), 0, 1000, 4, 1003},
		{"from a line", read(reader.From), 2000, 301, 2000, 2300},
		{"from the end", read(reader.From), 2301, 0, 0, 0},
		{"before the end", read(reader.Before), math.MaxInt64, 1000, 2300, 1301},
		{"before a line", read(reader.Before), 6, 2, 5, 4},
		{"before the start", read(reader.Before), 4, 0, 0, 0},
	} {
		got, err := tc.read(tc.place)
		if err != nil || len(got) != tc.count {
			t.Errorf("%s: %d lines, %v; want %d", tc.name, len(got), err, tc.count)
			continue
		}
		if tc.count > 0 && (got[0].Offset != tc.first || got[tc.count-1].Offset != tc.last || got[0].Next != tc.first+1) {
			t.Errorf("%s: lines %d to %d, want %d to %d", tc.name, got[0].Offset, got[tc.count-1].Offset, tc.first, tc.last)
		}
	}
	x := &auditindex.Index{
		Records: reader, Now: func() time.Time { return now },
		Open: func(context.Context) (auditindex.Store, error) { return db.AuditIndex("shared"), nil },
	}
	defer x.Close()
	newest := func() auditindex.Call {
		t.Helper()
		for ok := true; ok; ok = x.Status().Loading {
			if err := x.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		page, err := x.Page(t.Context(), auditindex.Filter{}, "", 1)
		if err != nil || len(page.Calls) != 1 {
			t.Fatal(page, err)
		}
		return page.Calls[0]
	}
	if c := newest(); c.Caller != "2299" {
		t.Errorf("the newest call is %s", c.Caller)
	}
	add("2026-08-01", many, many+1) // another replica continues
	if err := records.Close(); err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Second)
	c := newest()
	if c.Caller != "2300" {
		t.Errorf("after one more the newest call is %s", c.Caller)
	}
	if r, err := x.Record(t.Context(), c.ID()); err != nil || !r.Intact() || r.Before != auditindex.Linked || r.After != auditindex.End {
		t.Errorf("One = %+v, %v", r, err)
	}
}

// TestDropRecords checks that the chain stays provable when the records of old days are dropped,
// and goes on.
func TestDropRecords(t *testing.T) {
	db := open(t, newDatabase(t))
	records := source(db).Records(nil)
	keep := func(day string, n int) {
		for i := range n {
			keepRecord(t, records, day, fmt.Appendf(nil, `{"time":"%sT12:00:00Z","n":%d}`, day, i), true)
		}
	}
	keep("2026-08-01", 3)
	keep("2026-08-02", 2)
	keep("2026-08-03", 1)
	retained := func() *audit.Retained {
		return &audit.Retained{Reader: source(db).RecordReader(), Valid: func(audit.Cut) bool { return true }}
	}
	cut, drop, err := retained().PlanCut(t.Context(), "2026-08-03")
	if err != nil || cut.Records != 5 || len(drop) != 2 {
		t.Fatalf("%+v, %v, %v", cut, drop, err)
	}
	about, err := cut.Value()
	if err != nil {
		t.Fatal(err)
	}
	keepRecord(t, records, "2026-08-03", fmt.Appendf(nil, `{"time":"2026-08-03T12:00:00Z","tool":%q,"arguments":%s,"outcome":"ok"}`,
		audit.RetentionTool, about.Append(nil)), true)
	if err := records.Drop(t.Context(), drop); err != nil {
		t.Fatal(err)
	}
	keep("2026-08-04", 1)
	if n, err := audit.Verify(t.Context(), retained()); n != 3 || err != nil {
		t.Errorf("%d records, %v", n, err)
	}
	if counts, err := db.Counts(t.Context()); counts.Records != 3 || err != nil {
		t.Errorf("%+v, %v", counts, err)
	}
	if err := records.Close(); err != nil {
		t.Error(err)
	}
}
