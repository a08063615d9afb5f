package sessionstest

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"remit/internal/toolsets/codebase/sessions"
)

// expectPruned checks which sessions are known to be removed.
func expectPruned(t *testing.T, s sessions.Store, limit int, want string) {
	t.Helper()
	got, err := s.Pruned(t.Context(), limit)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, strings.Join(got, " "), want)
}

func forget(t *testing.T, s sessions.Store, ids ...string) {
	t.Helper()
	if err := s.Forget(t.Context(), ids); err != nil {
		t.Error(err)
	}
}

func newestSessions(t *testing.T, s Stores) {
	note(t, s.OtherWorkspace, done("k", "there", 0))
	active := done("active", "first", 0)
	active.Idle = time.Hour
	note(t, s.Here, active)
	start := func(i int) {
		note(t, s.Here, done(strconv.Itoa(i), fmt.Sprintf("%03d", i), time.Duration(i)*time.Second))
	}
	var wg sync.WaitGroup
	const some = sessions.MaxSessions / 10
	for w := range 9 { // concurrent writes are faster
		wg.Go(func() {
			for i := range some {
				start(w*some + i)
			}
		})
	}
	wg.Wait()
	active.NewID, active.At = "again", noon.Add(400*time.Second)
	note(t, s.Here, active)
	for i := 9 * some; i < sessions.MaxSessions+2; i++ {
		start(i)
	}
	list := strings.Fields(ids(t, s.Here, math.MaxInt32))
	if len(list) != sessions.MaxSessions || list[0] != "501" || list[len(list)-1] != "003" || !strings.Contains(strings.Join(list, " "), "first") {
		t.Errorf("%d are left, from %s to %s", len(list), list[0], list[len(list)-1])
	}
	// Its clock is behind; it is stored nevertheless.
	note(t, s.Here, done("late", "late", -time.Hour))
	if list := ids(t, s.Here, math.MaxInt32); !strings.HasSuffix(list, " late") {
		t.Error("the last to come is not there")
	}
	equal(t, ids(t, s.OtherWorkspace, 10), "there")
	expectPruned(t, s.OtherWorkspace, 10, "")
	expectPruned(t, s.OtherProcess, math.MaxInt32, "000 001 002")
	expectPruned(t, s.Here, 2, "000 001")
	expectPruned(t, s.Here, -1, "")
	forget(t, s.OtherWorkspace, "000")
	forget(t, s.OtherProcess, "001", "000", "unknown")
	expectPruned(t, s.Here, 10, "002")
}
