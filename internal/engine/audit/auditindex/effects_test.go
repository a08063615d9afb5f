package auditindex_test

import (
	"testing"
	"time"

	"remit/internal/contract/jsontree"
	"remit/internal/engine/audit/auditindex/auditindextest"
)

func TestEffects(t *testing.T) {
	b := auditindextest.NewFolder()
	addRaw(b,
		`{"time":"2026-01-09T00:00:00.000000Z","principal":"a","tool":"tasks/add_task","arguments":{"title":"\"id\":7,"},"outcome":"ok","call":"c1","effect":{"table":"tasks","id":6,"new":"x"}}`,
		`{"time":"2026-01-09T00:00:01.000000Z","principal":"a","tool":"tasks/update_task","arguments":{},"outcome":"ok","call":"c2","effect":{"table":"tasks","id":7,"old":"x","new":"y"}}`,
		`{"time":"2026-01-09T00:00:02.000000Z","principal":"a","tool":"tasks/update_task","arguments":{"effect":{"table":"tasks","id":7,"old":"x"}},"outcome":"invalid"}`,
	)
	x := indexOf(b)
	isSeven := func(effect *jsontree.Value) bool { return text(*effect, "id") == "7" }
	for name, tc := range map[string]struct {
		since time.Time
		want  int
	}{
		"all": {want: 1}, "that day": {since: time.Date(2026, 1, 9, 23, 0, 0, 0, time.UTC), want: 1}, "the next day": {since: time.Date(2026, 1, 10, 0, 0, 0, 0, time.UTC)},
	} {
		found, err := x.Effects(t.Context(), tc.since, `"id":7,`, isSeven)
		if err != nil || len(found) != tc.want {
			t.Errorf("%s: %d records, want %d; %v", name, len(found), tc.want, err)
		}
		for _, r := range found {
			if text(r, "call") != "c2" || text(r, "id") == "" {
				t.Errorf("%s: found %s", name, r.Append(nil))
			}
		}
	}
}
