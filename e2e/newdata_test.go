package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestGoOnWithNewData lets a person give up a storage: a library, whose loss leaves the tokens
// valid, and a damaged database, which is moved aside.
func TestGoOnWithNewData(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		plant func(s *storages)
		kind  int
	}{
		"library": {func(s *storages) { s.remove("library") }, bookWrite},
		"database": {func(s *storages) {
			s.editFile("data/remit.db", func(data []byte) []byte { return data[:len(data)/2] })
		}, taskWrite},
		"data folder":  {func(s *storages) { s.remove("data") }, memoryWrite},
		"memory files": {func(s *storages) { s.remove("root/.claude") }, memoryWrite},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStorages(t)
			s.start()
			for kind := range s.acks {
				if got := s.call(kind, "one"); got.status != http.StatusOK {
					t.Fatalf("write: %d %s", got.status, got.body)
				}
			}
			s.server.end()
			tc.plant(s)
			s.start()
			if got := s.call(tc.kind, "two"); got.status < 500 || !strings.Contains(string(got.body), "remit trust --new-data") {
				t.Errorf("a write: %d %s", got.status, got.body)
			}
			s.mustRun(append([]string{"trust", "--new-data"}, s.flags()...)...)
			if got := s.call(tc.kind, "three"); got.status != http.StatusOK {
				t.Errorf("after the decision: %d %s", got.status, got.body)
			}
			if failed := s.health(); len(failed) > 0 {
				t.Errorf("health: %v", failed)
			}
			s.server.kill()
			moved, err := filepath.Glob(filepath.Join(s.base, "data/remit.db.damaged-*"))
			if err != nil || (len(moved) == 1) != (name == "database") {
				t.Errorf("%v, %v", moved, err)
			}
			for _, file := range moved {
				if info, err := os.Stat(file); err != nil || info.Size() == 0 {
					t.Errorf("the damaged database: %v, %v", info, err)
				}
			}
		})
	}
}
