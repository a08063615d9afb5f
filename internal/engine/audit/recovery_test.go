package audit_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"remit/internal/contract/jsontree"
	"remit/internal/engine/audit"
)

// chainOf is a Storage in memory that can fail.
type chainOf struct {
	memoryStorage
	fault error
}

// text returns the records of the only day.
func (c *chainOf) text() string { return string(c.days["2026-01-09"]) }

func (c *chainOf) Append(day string, record []byte, durable bool) (func(context.Context) error, error) {
	if c.fault != nil {
		return nil, c.fault
	}
	return c.memoryStorage.Append(day, record, durable)
}

// owned is a log that says which process has begun a call.
type owned struct{ *audit.Log }

func (o owned) Write(ctx context.Context, r *audit.Record, durable bool) error {
	if r.Outcome == audit.Begun {
		r.Owner = "me"
	}
	return o.Log.Write(ctx, r, durable)
}

// finder decides by path. Of the changes of the path last, the last one was made.
type finder map[string]audit.State

func (f finder) Find(
	_ context.Context, changes []*audit.Announced, isOpen func(*audit.Announced) bool, _ func(context.Context) error,
) error {
	for i, a := range changes {
		if !isOpen(a) {
			continue
		}
		if a.Path == "broken" {
			return errors.New("the disk is away")
		}
		if a.State = f[a.Path]; a.Path == "last" && i < len(changes)-1 {
			a.State = audit.NotMade
		}
	}
	return nil
}

// TestRecovery lets calls announce changes, end in all ways, and checks what recovery records.
func TestRecovery(t *testing.T) {
	for name, tc := range map[string]struct {
		paths  []string // announced
		report []audit.State
		end    bool // the call writes its last record
		alive  bool
		want   string // the record of recovery; "" if there is none
		left   int
	}{
		"made":                  {paths: []string{"made"}, want: `"outcome":"ok"`},
		"not made":              {paths: []string{"not"}, want: `"outcome":"undone","call":"ID","undone":[1],"recovered":true`},
		"some":                  {paths: []string{"made", "not", "made"}, want: `"outcome":"partly","call":"ID","undone":[2],"recovered":true`},
		"tried again":           {paths: []string{"last", "last"}, want: `"outcome":"ok","call":"ID","undone":[1],"recovered":true`},
		"nobody knows":          {paths: []string{"who"}, want: `"outcome":"doubt","call":"ID","unknown":[1],"recovered":true`},
		"the process lives":     {paths: []string{"made"}, alive: true},
		"the call has ended":    {paths: []string{"not"}, report: []audit.State{audit.Made}, end: true},
		"it ended not knowing":  {paths: []string{"not"}, end: true, alive: true, want: `"outcome":"undone"`},
		"it knew a part":        {paths: []string{"not", "made"}, report: []audit.State{audit.Made, audit.Unknown}, end: true, want: `"outcome":"settled"`},
		"the store is away":     {paths: []string{"made", "broken"}, left: 1},
		"too early for network": {paths: []string{"late"}, left: 1},
	} {
		t.Run(name, func(t *testing.T) {
			c := &chainOf{memoryStorage: memoryStorage{days: map[string][]byte{}}}
			log := owned{&audit.Log{Storage: c}}
			record := &audit.Record{
				Time: time.Date(2026, 1, 9, 10, 0, 0, 0, time.UTC), Principal: "ann", Tool: "set/tool", Outcome: "ok",
				Arguments: jsontree.Obj(jsontree.M("a", jsontree.Int(1))),
			}
			e := audit.NewEffect(record, log)
			for i, path := range tc.paths {
				change := audit.Change{Store: "fs", Path: path, Op: "write"}
				if path == "late" {
					change.End = time.Now()
				}
				step, err := e.Begin(t.Context(), change)
				if err != nil {
					t.Fatal(err)
				}
				if i < len(tc.report) {
					step.Report(tc.report[i])
				}
			}
			if !e.HasBegun() {
				t.Error("the call has not begun")
			}
			if tc.end {
				e.AddTo(record)
				if err := log.Write(t.Context(), record, false); err != nil {
					t.Fatal(err)
				}
			}
			r := &audit.Recovery{Records: audit.Folder{FS: c.files()}, Writer: log, Now: time.Now, Finder: func(string) audit.Finder {
				return finder{"made": audit.Made, "last": audit.Made, "not": audit.NotMade, "late": audit.Made}
			}}
			isOurs := func(c *audit.AnnouncedCall) bool { return c.Owner == "me" && (!tc.alive || c.Concluded) }
			before := len(c.text())
			_, left, err := r.Settle(t.Context(), nil, isOurs)
			if left != tc.left || (err != nil) != slices.Contains(tc.paths, "broken") {
				t.Errorf("left %d, %v; want %d", left, err, tc.left)
			}
			got := c.text()[before:]
			if tc.want == "" && got != "" || !strings.Contains(got, strings.ReplaceAll(tc.want, "ID", e.Call)) {
				t.Errorf("recovery records %q, want %q", got, tc.want)
			}
			r.Records = audit.Folder{FS: c.files()}
			before = len(c.text())
			if settled, _, _ := r.Settle(t.Context(), nil, isOurs); settled != 0 || len(c.text()) != before {
				t.Error("a second recovery records it again")
			}
			if _, err := audit.Verify(t.Context(), audit.Folder{FS: c.files()}); err != nil {
				t.Error(err)
			}
		})
	}
}

// slowFinder knows everything, but stops to answer after a number of places.
type slowFinder struct{ left *int }

func (f slowFinder) Find(
	ctx context.Context, changes []*audit.Announced, isOpen func(*audit.Announced) bool, _ func(context.Context) error,
) error {
	if *f.left--; *f.left < 0 {
		<-ctx.Done()
		return ctx.Err()
	}
	for _, a := range changes {
		if isOpen(a) {
			a.State = audit.Made
		}
	}
	return nil
}

// TestRecoveryGetsOn lets the time of each recovery end before it has found out everything. What it
// has found out must be recorded, or a recovery with many calls would never end.
func TestRecoveryGetsOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &chainOf{memoryStorage: memoryStorage{days: map[string][]byte{}}}
		log := owned{&audit.Log{Storage: c}}
		const calls, each = 10, 4
		for i := range calls {
			e := audit.NewEffect(&audit.Record{Time: time.Date(2026, 1, 9, 10, 0, i, 0, time.UTC), Tool: "t", Outcome: "ok"}, log)
			if _, err := e.Begin(t.Context(), audit.Change{Store: "fs", Path: strconv.Itoa(i)}); err != nil {
				t.Fatal(err)
			}
		}
		for _, want := range []int{each, each, calls - 2*each} {
			left := each
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			r := &audit.Recovery{Records: audit.Folder{FS: c.files()}, Writer: log, Now: time.Now, Finder: func(string) audit.Finder {
				return slowFinder{&left}
			}}
			settled, _, err := r.Settle(ctx, nil, func(*audit.AnnouncedCall) bool { return true })
			if settled != want || (want == each) != errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
				t.Errorf("settled %d calls, want %d: %v", settled, want, err)
			}
			cancel()
		}
	})
}

// TestBeginFails checks that a change whose record cannot be stored is known not to be made.
func TestBeginFails(t *testing.T) {
	c := &chainOf{fault: errors.New("the disk is full")}
	e := audit.NewEffect(&audit.Record{Time: time.Now(), Tool: "t", Outcome: "ok"}, &audit.Log{Storage: c})
	if _, err := e.Begin(t.Context(), audit.Change{}); !errors.Is(err, c.fault) || e.HasBegun() {
		t.Errorf("Begin: %v, has begun: %v", err, e.HasBegun())
	}
	var r audit.Record
	if e.AddTo(&r); !slices.Equal(r.Undone, []int{1}) || r.Call != e.Call {
		t.Errorf("the record is %+v", r)
	}
}

// TestRecordSaysWhatAFailedCallMade checks that the record of a failed call names the changes that
// it made: a reader of that record alone must not think that nothing was changed.
func TestRecordSaysWhatAFailedCallMade(t *testing.T) {
	for outcome, want := range map[string]string{"ok": "", "unavailable": "[2]"} {
		c := &chainOf{memoryStorage: memoryStorage{days: map[string][]byte{}}}
		log := &audit.Log{Storage: c}
		record := audit.Record{Time: time.Date(2026, 1, 9, 10, 0, 0, 0, time.UTC), Tool: "t", Outcome: "ok"}
		e := audit.NewEffect(&record, log)
		for _, state := range []audit.State{audit.NotMade, audit.Made, audit.Unknown} {
			step, err := e.Begin(t.Context(), audit.Change{})
			if err != nil {
				t.Fatal(err)
			}
			step.Report(state)
		}
		record.Outcome = outcome
		e.AddTo(&record)
		before := len(c.text())
		if err := log.Write(t.Context(), &record, false); err != nil {
			t.Fatal(err)
		}
		last, err := jsontree.ParseTrusted([]byte(c.text()[before:]))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if made, ok := last.Get("made"); ok {
			got = string(made.Append(nil))
		}
		if got != want {
			t.Errorf("%s: the record says that it made %q, want %q: %s", outcome, got, want, c.text()[before:])
		}
	}
}

// TestOutcomeHasArguments checks that the record of the outcome has the same arguments as the one
// that was stored before, without credentials, and that later ones replace them.
func TestOutcomeHasArguments(t *testing.T) {
	c := &chainOf{memoryStorage: memoryStorage{days: map[string][]byte{}}}
	log := &audit.Log{Storage: c}
	args := jsontree.Obj(jsontree.M("note", jsontree.Str("token=ghp_"+random[:36])), jsontree.M("n", jsontree.Int(1)))
	first := audit.Record{Time: time.Date(2026, 1, 9, 10, 0, 0, 0, time.UTC), Tool: "t", Outcome: "ok", Arguments: args}
	e := audit.NewEffect(&first, log)
	if _, err := e.Begin(t.Context(), audit.Change{}); err != nil {
		t.Fatal(err)
	}
	write := func(args jsontree.Value) {
		r := first
		r.Arguments = args
		e.AddTo(&r)
		if err := log.Write(t.Context(), &r, false); err != nil {
			t.Fatal(err)
		}
	}
	write(args)
	e.Describe(jsontree.M("id", jsontree.Str("new")))
	write(jsontree.Obj(jsontree.M("id", jsontree.Str("new"))))
	var found []string
	for line := range strings.Lines(c.text()) {
		record, err := jsontree.ParseTrusted([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		arguments := record.Field("arguments")
		found = append(found, string(arguments.Append(nil)))
	}
	if len(found) != 3 || found[0] != found[1] || strings.Contains(found[0], random) || !strings.Contains(found[0], `"n":1`) || found[2] != `{"id":"new"}` {
		t.Errorf("the arguments are %q", found)
	}
}

// FuzzLedger checks that no record makes the ledger panic.
func FuzzLedger(f *testing.F) {
	f.Add(`{"outcome":"begun","call":"a","effect":{"step":99999999999}}`+"\n", `{"outcome":"ok","call":"a","undone":[0,-1,9]}`)
	f.Add(`{"outcome":"begun","call":"a","effect":[]}`, `{"x":1,"call":"a","outcome":[]}`)
	f.Add(string(taskRecord(0, "0a")), string(taskRecord(1, "bx")))
	f.Fuzz(func(_ *testing.T, one, two string) {
		var l audit.Ledger
		for _, line := range []string{one, two, one} {
			l.Add([]byte(line))
		}
		l.AddPending([]byte(two))
		l.Tasks.Rest(func(_ int64, task *audit.RecordedTask) { task.State() })
		l.Open()
	})
}
