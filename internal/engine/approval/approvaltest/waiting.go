package approvaltest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"remit/internal/engine/approval"
)

// waiting checks that Waiting returns more than one page of requests, and none that is decided or
// expired.
func waiting(t *testing.T, s approval.Store) {
	check := func(now time.Time, want ...string) {
		t.Helper()
		got, err := s.WaitingIDs(t.Context(), now)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Fatalf("error %v, differs (-want +got):\n%s", err, diff)
		}
	}
	check(noon)
	var all []string
	for i := range 250 {
		r := request(fmt.Sprintf("a%03d", i), fmt.Sprint("k", i))
		r.Principal = fmt.Sprint("agent", i%5)
		ask(t, s, r)
		all = append(all, r.ID)
	}
	check(noon, all...)
	decide(t, s, "a000", true)
	decide(t, s, "a249", false)
	all = all[1 : len(all)-1]
	check(noon, all...)
	late := request("b1", "late")
	late.ExpiresAt = noon.Add(2 * time.Hour)
	ask(t, s, late)
	check(noon.Add(time.Hour-time.Microsecond), append(all, "b1")...)
	check(noon.Add(time.Hour), "b1")
	check(noon.Add(2 * time.Hour))
}
