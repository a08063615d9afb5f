package auditindextest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"remit/internal/engine/audit"
	"remit/internal/engine/audit/auditindex"
)

// following checks the index while other processes change the records.
func following(t *testing.T, s auditindex.Store) {
	b := NewFolder()
	b.Add("t", "ann", "ok", 0)
	x := settled(t, b, indexOf(b, s))
	before := x.Version()
	b.Raw(`{"time":"2026-01-09T10:00:00.000000Z","tool":"t","princ`)
	if settled(t, b, x); x.Version() != before {
		t.Error("half a line counts as something new")
	}
	b.Raw(`ipal":"bob","outcome":"ok"}` + "\n")
	if got := callers(t, settled(t, b, x)); !slices.Equal(got, []string{"bob", "ann"}) {
		t.Errorf("after a line that came in two parts: %v", got)
	}
	if x.Version() == before {
		t.Error("the version did not grow")
	}
	b.Add("t", "cid", "ok", 0)
	if err := x.Refresh(t.Context()); err != nil || total(t, x, auditindex.Filter{}) != 2 {
		t.Error("the records are looked at again within the pause")
	}
	old := audit.FileOf(b.Clock.Format(time.DateOnly))
	b.Pass(24 * time.Hour)
	b.Add("t", "dan", "ok", 0)
	settled(t, b, x)
	b.Files[old] = append(b.Files[old], `{"time":"2026-01-09T23:59:59.000000Z","tool":"t","principal":"late","outcome":"ok"}`+"\n"...)
	if got := callers(t, settled(t, b, x)); !slices.Equal(got, []string{"dan", "late", "cid", "bob", "ann"}) {
		t.Errorf("after midnight: %v", got)
	}
	delete(b.Files, old)
	if got := callers(t, settled(t, b, x)); !slices.Equal(got, []string{"dan"}) {
		t.Errorf("after a file vanished: %v", got)
	}
	name := audit.FileOf(b.Clock.Format(time.DateOnly))
	b.Files[name] = []byte(`{"time":"2026-01-10T10:00:00Z","tool":"t","principal":"eve","outcome":"ok"}` + "\n")
	if got := callers(t, settled(t, b, x)); !slices.Equal(got, []string{"eve"}) {
		t.Errorf("after a file was replaced: %v", got)
	}
	b.Fault = errors.New("the disk is away")
	b.Pass(time.Second)
	if err := x.Refresh(t.Context()); !errors.Is(err, b.Fault) || !errors.Is(x.Status().Err, b.Fault) ||
		total(t, x, auditindex.Filter{}) != 1 {
		t.Errorf("Refresh = %v", err)
	}
	b.Fault = nil
	b.Add("t", "fay", "ok", 0)
	if settled(t, b, x); total(t, x, auditindex.Filter{}) != 2 || x.Status().Err != nil {
		t.Errorf("after the trouble: %+v", x.Status())
	}
}

// newestCalls checks that Newest follows the successful calls of each tool, whoever makes them,
// also if another process indexes them.
func newestCalls(t *testing.T, s auditindex.Store) {
	b := NewFolder()
	x, other := indexOf(b, s), indexOf(b, s)
	newest := func() map[string]auditindex.Position {
		t.Helper()
		settled(t, b, x)
		got, err := x.Newest(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := newest(); len(got) != 0 {
		t.Errorf("without calls: %v", got)
	}
	b.Add("tasks/add_task", "ann", "ok", time.Second)
	b.Add("tasks/list_tasks", "ann", "ok", time.Second)
	first := newest()
	if len(first) != 2 {
		t.Fatalf("got %v, want two tools", first)
	}
	b.Add("tasks/add_task", "ann", "conflict", time.Second)
	b.Add("books/new", "ann", "denied", time.Second)
	if diff := cmp.Diff(first, newest()); diff != "" {
		t.Errorf("after failures (-want +got):\n%s", diff)
	}
	b.Add("tasks/add_task", "bob", "ok", time.Second)
	settled(t, b, other)
	second := newest()
	if second["tasks/add_task"] == first["tasks/add_task"] || second["tasks/list_tasks"] != first["tasks/list_tasks"] {
		t.Errorf("got %v after %v", second, first)
	}
}

// concurrent checks that several processes can index the same growing records.
func concurrent(t *testing.T, s auditindex.Store) {
	b := NewFolder()
	var all sync.WaitGroup
	for range 4 {
		x := indexOf(b, s)
		t.Cleanup(x.Close)
		all.Go(func() {
			for range 30 {
				b.Pass(time.Second)
				if err := x.Refresh(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	const many = 3000
	for i := range many {
		b.mu.Lock()
		name := audit.FileOf("2026-01-09")
		b.Files[name] = fmt.Appendf(b.Files[name], `{"time":"2026-01-09T10:00:00Z","tool":"t","principal":"%d","outcome":"ok"}`+"\n", i)
		b.mu.Unlock()
	}
	all.Wait()
	x := settled(t, b, indexOf(b, s))
	page, err := x.Page(t.Context(), auditindex.Filter{}, "", many+1)
	if err != nil || len(page.Calls) != many || total(t, x, auditindex.Filter{}) != many {
		t.Fatalf("%d calls, %v; want %d", len(page.Calls), err, many)
	}
	for i, c := range page.Calls {
		if c.Caller != strconv.Itoa(many-1-i) {
			t.Fatalf("call %d is %s", i, c.Caller)
		}
	}
}

// backlog checks that Refresh does not wait for many unindexed calls, and that the newest day comes
// first.
func backlog(t *testing.T, s auditindex.Store) {
	b := NewFolder()
	for range 3 {
		for range 5000 {
			b.Add("t", "ann", "ok", 0)
		}
		b.Pass(24 * time.Hour)
	}
	b.Add("t", "bob", "ok", 0)
	x := indexOf(b, s)
	if err := x.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := callers(t, x); len(got) == 0 || got[0] != "bob" {
		t.Errorf("the newest is not there at once: %v", got)
	}
	x.Close()
	partly := total(t, x, auditindex.Filter{})
	if partly < 1000 || partly > 15_001 {
		t.Errorf("%d calls after Close", partly)
	}
	b.Pass(time.Second)
	if err := x.Refresh(t.Context()); err != nil || total(t, x, auditindex.Filter{}) != partly {
		t.Errorf("it goes on after Close: %v", err)
	}
	again := indexOf(b, s)
	if err := again.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if status := again.Status(); partly < 5000 && (!status.Loading || status.Percent == 0 || status.Percent > 99) {
		t.Errorf("status %+v", status)
	}
	if n := total(t, settled(t, b, again), auditindex.Filter{}); n != 15_001 {
		t.Errorf("%d calls in the end", n)
	}
}

// meanwhile is a store that is filled after its kinds were read.
type meanwhile struct {
	auditindex.Store
	fill func()
}

func (m meanwhile) Kinds(ctx context.Context) (map[int64]auditindex.KnownKind, error) {
	kinds, err := m.Store.Kinds(ctx)
	m.fill()
	return kinds, err
}
