// Package sessionstest contains the test suite that every sessions.Store must pass.
package sessionstest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"remit/internal/toolsets/codebase/sessions"
)

// Stores holds several views of one storage, which is empty.
type Stores struct {
	Here           sessions.Store
	OtherProcess   sessions.Store // the same workspace, as opened by another process
	OtherWorkspace sessions.Store // another workspace
}

// Suite tests the promises of sessions.Store. open returns stores that live until the end of the
// test it is given.
func Suite(t *testing.T, open func(t *testing.T) Stores) {
	for name, check := range map[string]func(*testing.T, Stores){
		"nothing was done":                       nothing,
		"a session is stored unchanged":          stays,
		"texts are stored unchanged":             textsStay,
		"items add up":                           addUp,
		"the newest items stay":                  newestItems,
		"a client that was idle":                 idle,
		"a clock that is set back":               putBack,
		"end":                                    end,
		"clients are distinguished":              apart,
		"recent":                                 recent,
		"the newest sessions stay":               newestSessions,
		"an id that is taken":                    taken,
		"concurrent notes lose nothing":          atOnce,
		"concurrent ends and notes lose nothing": endMeanwhile,
		"a cancelled call changes nothing":       cancelled,
		"two workspaces":                         workspaces,
	} {
		t.Run(name, func(t *testing.T) { check(t, open(t)) })
	}
}

// noon is the time of the suite's events. Stores keep microseconds.
var noon = time.Date(2026, 8, 1, 12, 0, 0, 123456000, time.UTC)

// pause is how long a client may be idle.
const pause = 30 * time.Minute

// done returns a note of a client that reads files some time after noon.
func done(key, id string, after time.Duration, files ...string) sessions.Note {
	n := sessions.Note{Key: key, NewID: id, Principal: "ann", Client: "editor", At: noon.Add(after), Idle: pause}
	n.Files = items(after, files...)
	return n
}

func items(after time.Duration, whats ...string) (list []sessions.Item) {
	for _, what := range whats {
		list = append(list, sessions.Item{What: what, At: noon.Add(after), Times: 1})
	}
	return list
}

func note(t *testing.T, s sessions.Store, n sessions.Note) sessions.Session {
	t.Helper()
	one, err := s.Note(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	return one
}

// expectCurrent checks the session of a client; nil if there should be none.
func expectCurrent(t *testing.T, s sessions.Store, key string, after time.Duration, want *sessions.Session) {
	t.Helper()
	got, found, err := s.Current(t.Context(), key, noon.Add(after), pause)
	if err != nil || found != (want != nil) {
		t.Fatalf("current of %q: found %v, error %v", key, found, err)
	}
	if want != nil {
		equal(t, got, *want)
	}
}

func ids(t *testing.T, s sessions.Store, limit int) string {
	t.Helper()
	list, err := s.Recent(t.Context(), limit)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, one := range list {
		name := one.ID
		if one.Ended {
			name += "."
		}
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

func equal(t *testing.T, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func nothing(t *testing.T, s Stores) {
	expectCurrent(t, s.Here, "k", 0, nil)
	equal(t, ids(t, s.Here, 10), "")
	expectPruned(t, s.Here, 10, "")
	forget(t, s.Here)
	forget(t, s.Here, "unknown")
	if err := s.Here.End(t.Context(), "k", noon); err != nil {
		t.Error(err)
	}
	one := note(t, s.Here, done("k", "1", 0))
	equal(t, one, sessions.Session{ID: "1", Key: "k", Principal: "ann", Client: "editor", Started: noon, Last: noon})
}

func stays(t *testing.T, s Stores) {
	n := done("k", "1", time.Minute, "a.go", "b.go")
	n.Started, n.Searches, n.Tasks = noon, items(time.Second, "how"), items(0, "7")
	want := sessions.Session{
		ID: "1", Key: "k", Principal: "ann", Client: "editor", Started: noon, Last: noon.Add(time.Minute),
		Files: items(time.Minute, "a.go", "b.go"), Searches: items(time.Second, "how"), Tasks: items(0, "7"),
	}
	equal(t, note(t, s.Here, n), want)
	expectCurrent(t, s.Here, "k", time.Minute, &want)
	expectCurrent(t, s.OtherProcess, "k", time.Minute, &want)
	list, err := s.OtherProcess.Recent(t.Context(), 10)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, list, []sessions.Session{want})
}

func textsStay(t *testing.T, s Stores) {
	for i, text := range []string{"", " ", "é", "e\u0301", "\xff\xfe", "\x00", "a\x00b", `'"\;--%_$1`, "two\nlines", "<&>\u2028", strings.Repeat("long ", 2000)} {
		n := done(text, strconv.Itoa(i), time.Duration(i)*time.Second, text)
		n.Principal, n.Client, n.Tasks = text, text, items(0, text)
		one := note(t, s.Here, n)
		if one.Key != text || one.Principal != text || one.Client != text || one.Files[0].What != text || one.Tasks[0].What != text {
			t.Errorf("%q became %+v", text, one)
		}
		expectCurrent(t, s.Here, text, 0, &one)
	}
}

func addUp(t *testing.T, s Stores) {
	note(t, s.Here, done("k", "1", 0, "a", "b"))
	n := done("k", "2", time.Minute, "c", "a", "a")
	n.Files[1].Times, n.Files[2].Times = 5, 0
	n.Principal, n.Client, n.Started = "bob", "other", noon.Add(time.Hour)
	one := note(t, s.OtherProcess, n)
	equal(t, one, sessions.Session{
		ID: "1", Key: "k", Principal: "ann", Client: "editor", Started: noon, Last: noon.Add(time.Minute),
		Files: []sessions.Item{
			{What: "b", At: noon, Times: 1}, {What: "a", At: noon.Add(time.Minute), Times: 7}, {What: "c", At: noon.Add(time.Minute), Times: 1},
		},
	})
	expectCurrent(t, s.Here, "k", time.Minute, &one)
}

func newestItems(t *testing.T, s Stores) {
	n := done("k", "1", 0)
	for i := range sessions.MaxItems + 50 {
		n.Searches = append(n.Searches, items(time.Duration(i)*time.Second, strconv.Itoa(i))...)
	}
	one := note(t, s.Here, n)
	equal(t, one.Searches, n.Searches[50:])
	more := done("k", "1", time.Hour/4)
	more.Searches = append(items(time.Hour/4, "60"), items(0, "too old")...)
	one = note(t, s.Here, more)
	again := sessions.Item{What: "60", At: noon.Add(time.Hour / 4), Times: 2}
	want := append(append(append([]sessions.Item{}, n.Searches[50:60]...), n.Searches[61:]...), again)
	equal(t, one.Searches, want)
}

func idle(t *testing.T, s Stores) {
	first := note(t, s.Here, done("k", "1", 0, "a"))
	expectCurrent(t, s.Here, "k", pause, &first)
	expectCurrent(t, s.Here, "k", pause+time.Microsecond, nil)
	one := note(t, s.Here, done("k", "2", pause, "b"))
	equal(t, one.ID, "1")
	two := note(t, s.Here, done("k", "3", 2*pause+time.Microsecond, "c"))
	equal(t, two.ID, "3")
	equal(t, two.Files, items(2*pause+time.Microsecond, "c"))
	equal(t, ids(t, s.Here, 10), "3 1.")
}

func putBack(t *testing.T, s Stores) {
	note(t, s.Here, done("k", "1", time.Hour, "a"))
	one := note(t, s.Here, done("k", "2", -time.Hour, "b", "a"))
	equal(t, one, sessions.Session{
		ID: "1", Key: "k", Principal: "ann", Client: "editor", Started: noon.Add(time.Hour), Last: noon.Add(time.Hour),
		Files: []sessions.Item{{What: "b", At: noon.Add(-time.Hour), Times: 1}, {What: "a", At: noon.Add(time.Hour), Times: 2}},
	})
}

func end(t *testing.T, s Stores) {
	one := note(t, s.Here, done("k", "1", 0, "a"))
	// A late attempt to end the previous session.
	if err := s.Here.End(t.Context(), "k", noon.Add(-time.Second)); err != nil {
		t.Error(err)
	}
	expectCurrent(t, s.Here, "k", 0, &one)
	for range 2 {
		if err := s.OtherProcess.End(t.Context(), "k", noon.Add(time.Second)); err != nil {
			t.Error(err)
		}
		expectCurrent(t, s.Here, "k", 0, nil)
	}
	list, err := s.Here.Recent(t.Context(), 10)
	if err != nil {
		t.Fatal(err)
	}
	one.Ended = true
	equal(t, list, []sessions.Session{one})
	two := note(t, s.Here, done("k", "2", time.Second, "b"))
	expectCurrent(t, s.Here, "k", 0, &two)
}

func apart(t *testing.T, s Stores) {
	for i, key := range []string{"k", "K", "k ", "é", "e\u0301", ""} {
		one := note(t, s.Here, done(key, strconv.Itoa(i), 0, key))
		equal(t, one.ID, strconv.Itoa(i))
	}
	if err := s.Here.End(t.Context(), "k", noon); err != nil {
		t.Error(err)
	}
	expectCurrent(t, s.Here, "k", 0, nil)
	equal(t, len(strings.Fields(ids(t, s.Here, 10))), 6)
}

func recent(t *testing.T, s Stores) {
	note(t, s.Here, done("a", "1", 0))
	note(t, s.Here, done("b", "2", time.Second))
	note(t, s.Here, done("c", "3", time.Second/2))
	note(t, s.Here, done("a", "4", 2*time.Second))
	equal(t, ids(t, s.Here, 10), "1 2 3")
	equal(t, ids(t, s.Here, 2), "1 2")
	equal(t, ids(t, s.Here, 0), "")
	equal(t, ids(t, s.Here, -1), "")
	equal(t, ids(t, s.Here, math.MaxInt32), "1 2 3")
}

func taken(t *testing.T, s Stores) {
	one := note(t, s.Here, done("k", "1", 0, "a"))
	if _, err := s.Here.Note(t.Context(), done("other", "1", 0, "b")); err == nil {
		t.Error("two sessions have one id")
	}
	expectCurrent(t, s.Here, "k", 0, &one)
	expectCurrent(t, s.Here, "other", 0, nil)
}

func atOnce(t *testing.T, s Stores) {
	const writers, notes = 6, 10
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range notes {
				n := done("k", fmt.Sprint(w, "-", i), time.Duration(i)*time.Second, "shared", fmt.Sprint("of ", w))
				if _, err := []sessions.Store{s.Here, s.OtherProcess}[w%2].Note(t.Context(), n); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	list, err := s.Here.Recent(t.Context(), 10)
	if err != nil || len(list) != 1 {
		t.Fatalf("%d sessions, error %v", len(list), err)
	}
	for _, item := range list[0].Files {
		want := notes
		if item.What == "shared" {
			want = writers * notes
		}
		if item.Times != want || !item.At.Equal(noon.Add((notes-1)*time.Second)) {
			t.Errorf("%+v, want %d times", item, want)
		}
	}
	equal(t, len(list[0].Files), writers+1)
}

func endMeanwhile(t *testing.T, s Stores) {
	const writers, notes = 4, 10
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range notes {
				_, err := []sessions.Store{s.Here, s.OtherProcess}[w%2].Note(t.Context(), done("k", fmt.Sprint(w, "-", i), 0, "x"))
				err = errors.Join(err, s.Here.End(t.Context(), "k", noon))
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	list, err := s.Here.Recent(t.Context(), 1000)
	if err != nil {
		t.Fatal(err)
	}
	times := 0
	for _, one := range list {
		if !one.Ended {
			t.Errorf("%s is still open", one.ID)
		}
		for _, item := range one.Files {
			times += item.Times
		}
	}
	equal(t, times, writers*notes)
}

func cancelled(t *testing.T, s Stores) {
	one := note(t, s.Here, done("k", "1", 0, "a"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, noteErr := s.Here.Note(ctx, done("k", "2", 0, "b"))
	_, _, currentErr := s.Here.Current(ctx, "k", noon, pause)
	_, recentErr := s.Here.Recent(ctx, 10)
	_, prunedErr := s.Here.Pruned(ctx, 10)
	for _, err := range []error{noteErr, currentErr, recentErr, prunedErr, s.Here.End(ctx, "k", noon), s.Here.Forget(ctx, []string{"1"})} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want context.Canceled", err)
		}
	}
	expectCurrent(t, s.Here, "k", 0, &one)
}

func workspaces(t *testing.T, s Stores) {
	here := note(t, s.Here, done("k", "1", 0, "a"))
	there := note(t, s.OtherWorkspace, done("k", "1", 0, "b"))
	expectCurrent(t, s.Here, "k", 0, &here)
	expectCurrent(t, s.OtherWorkspace, "k", 0, &there)
	if err := s.Here.End(t.Context(), "k", noon); err != nil {
		t.Error(err)
	}
	expectCurrent(t, s.OtherWorkspace, "k", 0, &there)
	equal(t, ids(t, s.Here, 10)+" "+ids(t, s.OtherWorkspace, 10), "1. 1")
}
