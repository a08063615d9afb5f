package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"remit/internal/stores/keyfolder"
)

// TestClockSetBackOverARestart checks that a token that has expired stays expired if the clock is
// set back and the server starts again. Instead of setting the clock back, the test lets the key
// folder say that a process has seen a later time.
func TestClockSetBackOverARestart(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, nil)
	keys, begun := s.ownKeys(), time.Now().Unix()
	short, long := s.token("--name", "short", "--expires", "1h"), s.token("--name", "long", "--expires", "90d")
	status := func(w *httpServer, token string) int {
		return w.post("/tools/hello", `{"name":"Ada"}`, bearer(token)).status
	}
	w := s.serve()
	if got := status(w, short); got != http.StatusOK {
		t.Fatalf("before: %d", got)
	}
	w.end()
	root, err := filepath.EvalSymlinks(s.root)
	s.check(err)
	known := keyfolder.Find(keys, os.LookupEnv).Workspace(root)
	tip, err := known.Tip()
	s.check(err)
	if tip.Time < begun || tip.Time > time.Now().Unix() {
		t.Errorf("the key folder has the time %d", tip.Time)
	}
	tip.Time = time.Now().Add(2 * time.Hour).Unix()
	s.check(known.SetTip(tip))
	for range 2 { // the second server knows it from the first one
		w := s.serve()
		if one, other := status(w, short), status(w, long); one != http.StatusUnauthorized || other != http.StatusOK {
			t.Errorf("the token of an hour: %d, the other one: %d", one, other)
		}
		w.end()
	}
	if got := s.remit("doctor"); !strings.Contains(got.out, "behind a time that it has shown before") {
		t.Errorf("doctor: %s", got.out)
	}
	again := s.token("--name", "again", "--expires", "1h")
	w = s.serve()
	if got := status(w, again); got != http.StatusOK {
		t.Errorf("a new token of an hour: %d", got)
	}
}
