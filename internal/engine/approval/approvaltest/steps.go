package approvaltest

import (
	"strings"
	"sync"
	"testing"
	"time"

	"remit/internal/engine/approval"
)

func ask(t *testing.T, s approval.Store, r approval.Request) approval.Request {
	t.Helper()
	got, err := s.Ask(t.Context(), r)
	if err != nil {
		t.Fatalf("ask %s: %v", r.ID, err)
	}
	return got
}

// decide decides in the name of grace, one minute after noon, for another hour.
func decide(t *testing.T, s approval.Store, id string, approve bool) approval.Request {
	t.Helper()
	at := noon.Add(time.Minute)
	got, err := s.Decide(t.Context(), id, approval.Verdict{Approve: approve, By: "grace"}, at, at.Add(time.Hour))
	if err != nil {
		t.Fatalf("decide %s: %v", id, err)
	}
	return got
}

func take(t *testing.T, s approval.Store, key string, now time.Time) approval.Request {
	t.Helper()
	got, found, err := s.Take(t.Context(), key, "", now)
	if err != nil || !found {
		t.Fatalf("take %s: found %v, error %v", key, found, err)
	}
	return got
}

func takeNothing(t *testing.T, s approval.Store, key string, now time.Time) {
	t.Helper()
	if got, found, err := s.Take(t.Context(), key, "", now); err != nil || found {
		t.Errorf("take %s: got %q, error %v, want nothing", key, got.ID, err)
	}
}

func get(t *testing.T, s approval.Store, id string) approval.Request {
	t.Helper()
	got, err := s.Get(t.Context(), id)
	if err != nil {
		t.Fatalf("get %s: %v", id, err)
	}
	return got
}

func list(t *testing.T, s approval.Store, o approval.ListOptions) []approval.Request {
	t.Helper()
	got, err := s.List(t.Context(), o)
	if err != nil {
		t.Fatalf("list: %v", err)
	}
	return got
}

func ids(requests []approval.Request) string {
	var b strings.Builder
	for _, r := range requests {
		b.WriteString(r.ID + " ")
	}
	return strings.TrimSpace(b.String())
}

func size(m *sync.Map) int {
	n := 0
	m.Range(func(any, any) bool { n++; return true })
	return n
}

func has(m *sync.Map, key any) bool {
	_, ok := m.Load(key)
	return ok
}
