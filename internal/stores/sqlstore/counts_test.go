package sqlstore_test

import "testing"

// TestCounts checks how much a database says that it holds.
func TestCounts(t *testing.T) {
	engines(t, func(t *testing.T, url func(t *testing.T) string) {
		t.Helper()
		address := url(t)
		db := open(t, address)
		empty, err := db.Counts(t.Context())
		if err != nil || empty.Bytes == 0 || empty.Tasks+empty.MemoryFiles+empty.MemoryBytes+empty.Records != 0 {
			t.Errorf("empty: %+v, %v", empty, err)
		}
		behind(t, address, `INSERT INTO tasks (user_id, id, title, completed, priority, created_at, updated_at)
			VALUES ('ada', 1, 'x', false, 1, 0, 0)`)
		want := int64(0)
		if address[:8] == "postgres" {
			want = 3
			behind(t, address, `INSERT INTO logs (log, lines, bytes, changed_at)
				VALUES ('memory/a', 1, 70, 0), ('memory/b', 1, 7, 0), ('audit', 9, 9, 0), ('audit/2026-01-08', 1, 5, 0), ('audit/2026-01-09', 2, 5, 0)`)
		}
		got, err := db.Counts(t.Context())
		if err != nil || got.Tasks != 1 || got.Records != want || want > 0 && (got.MemoryFiles != 2 || got.MemoryBytes != 77) {
			t.Errorf("%+v, %v", got, err)
		}
	})
}
