package audit_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"remit/internal/engine/audit"
)

// days is a chain of records in files, one per day.
type days struct {
	files fstest.MapFS
	hash  string
}

func (d *days) add(day, record string) {
	line := audit.Seal(d.hash, []byte(fmt.Sprintf(`{"time":"%sT10:00:00.000000Z",%s}`, day, record)))
	d.hash = audit.HashOf(line)
	name := audit.FileOf(day)
	if d.files[name] == nil {
		d.files[name] = &fstest.MapFile{}
	}
	d.files[name].Data = append(append(d.files[name].Data, line...), '\n')
}

// newDays returns five days with three records each.
func newDays() *days {
	d := &days{files: fstest.MapFS{}, hash: audit.InitialHash}
	for day := 1; day <= 5; day++ {
		for i := range 3 {
			d.add(fmt.Sprintf("2026-01-%02d", day), fmt.Sprintf(`"tool":"demo/look","outcome":"ok","bytes":%d`, i))
		}
	}
	return d
}

func (d *days) retained() *audit.Retained {
	return &audit.Retained{Reader: audit.Folder{FS: d.files}, Valid: func(c audit.Cut) bool { return c.Seal == "ours" }}
}

// cut records a cut and removes some of its days.
func (d *days) cut(t *testing.T, day, seal string, remove int) audit.Cut {
	t.Helper()
	c, drop, err := d.retained().PlanCut(t.Context(), day)
	if err != nil {
		t.Fatal(err)
	}
	c.Seal = seal
	about, err := c.Value()
	if err != nil {
		t.Fatal(err)
	}
	d.add("2026-01-05", `"tool":"audit/retention","arguments":`+string(about.Append(nil))+`,"outcome":"ok"`)
	for _, day := range drop[:min(remove, len(drop))] {
		delete(d.files, audit.FileOf(day))
	}
	return c
}

func verify(t *testing.T, d *days) (int, error) {
	t.Helper()
	return audit.Verify(t.Context(), d.retained())
}

// TestDroppedDaysStayProvable checks that the chain verifies after old days were dropped, once and
// twice, completely and in part, and that what is missing beyond that is found.
func TestDroppedDaysStayProvable(t *testing.T) {
	d := newDays()
	if c := d.cut(t, "2026-01-03", "ours", 9); c.Through != "2026-01-02" || c.Records != 6 {
		t.Errorf("first cut: %+v", c)
	}
	if n, err := verify(t, d); n != 10 || err != nil {
		t.Errorf("after the first cut: %d, %v", n, err)
	}
	if c := d.cut(t, "2026-01-05", "ours", 1); c.Through != "2026-01-04" || c.Records != 12 {
		t.Errorf("second cut: %+v", c)
	}
	if n, err := verify(t, d); n != 5 || err != nil { // the third day is gone, the fourth is left
		t.Errorf("after the second cut was interrupted: %d, %v", n, err)
	}
	delete(d.files, "2026-01-04.jsonl")
	if n, err := verify(t, d); n != 5 || err != nil {
		t.Errorf("after the second cut: %d, %v", n, err)
	}
	if c, err := d.retained().Cut(t.Context()); c.Records != 12 || err != nil {
		t.Errorf("the newest cut: %+v, %v", c, err)
	}
}

// TestOtherRemovalsAreFound removes days that no cut of ours explains.
func TestOtherRemovalsAreFound(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, d *days){
		"a day without a cut":       func(_ *testing.T, d *days) { delete(d.files, "2026-01-01.jsonl") },
		"a cut with a foreign seal": func(t *testing.T, d *days) { t.Helper(); d.cut(t, "2026-01-03", "theirs", 9) },
		"one day more than was cut": func(t *testing.T, d *days) {
			t.Helper()
			d.cut(t, "2026-01-03", "ours", 9)
			delete(d.files, "2026-01-03.jsonl")
		},
		"a day in between": func(t *testing.T, d *days) {
			t.Helper()
			d.cut(t, "2026-01-03", "ours", 9)
			delete(d.files, "2026-01-04.jsonl")
		},
		"the first records of a day": func(_ *testing.T, d *days) { cutLines(d, "2026-01-01.jsonl", 1) },
		"and those after a valid cut": func(t *testing.T, d *days) {
			t.Helper()
			d.cut(t, "2026-01-02", "ours", 9)
			cutLines(d, "2026-01-02.jsonl", 1)
		},
	} {
		d := newDays()
		change(t, d)
		var broken *audit.BrokenError
		if n, err := verify(t, d); !errors.As(err, &broken) {
			t.Errorf("%s: %d records, %v", name, n, err)
		}
	}
}

// cutLines removes the first lines of a file.
func cutLines(d *days, name string, n int) {
	lines := strings.SplitAfter(string(d.files[name].Data), "\n")
	d.files[name].Data = []byte(strings.Join(lines[n:], ""))
}

// TestPlanCut checks what is never dropped: the newest day, days with a change that is not settled,
// and those where the chain is broken or a check fails.
func TestPlanCut(t *testing.T) {
	plan := func(d *days, day string, checks ...func([]byte) error) (string, error) {
		c, drop, err := d.retained().PlanCut(context.Background(), day, checks...)
		if len(drop) > 0 && drop[len(drop)-1] != c.Through {
			t.Errorf("%v are dropped, through %s", drop, c.Through)
		}
		return c.Through, err
	}
	d := newDays()
	if got, err := plan(d, "2027-01-01"); got != "2026-01-04" || err != nil {
		t.Errorf("all: %q, %v", got, err)
	}
	if got, err := plan(d, "2026-01-01"); got != "" || err != nil {
		t.Errorf("none: %q, %v", got, err)
	}
	if got, err := plan(d, "2026-01-04", func([]byte) error { return errors.New("no") }); got != "" || err == nil {
		t.Errorf("with a check that fails: %q, %v", got, err)
	}
	d.files["2026-01-02.jsonl"].Data[30] ^= 1
	if got, err := plan(d, "2026-01-04"); got != "" || err == nil {
		t.Errorf("broken: %q, %v", got, err)
	}
	d = &days{files: fstest.MapFS{}, hash: audit.InitialHash}
	for day, record := range []string{
		`"outcome":"begun","call":"A"`, `"outcome":"ok","call":"A"`, `"outcome":"begun","call":"B"`, `"outcome":"begun","call":"C"`,
		`"outcome":"ok","call":"B"`,
	} {
		d.add(time.Date(2026, 1, day+1, 0, 0, 0, 0, time.UTC).Format(time.DateOnly), `"tool":"x",`+record)
	}
	if got, err := plan(d, "2026-01-05"); got != "2026-01-03" || err != nil {
		t.Errorf("with an open change: %q, %v", got, err)
	}
}
