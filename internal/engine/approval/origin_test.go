package approval_test

import (
	"strings"
	"testing"

	"remit/internal/contract"
	"remit/internal/engine/approval"
)

// TestCallerWords checks that a caller's words are short, visible, without credentials, and marked
// as the caller's.
func TestCallerWords(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ reason, want string }{
		"nothing":        {" \n ", ""},
		"lines":          {"one\n\nState  approved", "one State approved"},
		"a direction":    {"a\u202eb", `a\u202eb`},
		"no text":        {"a\x00\xff", "a\\x00\ufffd"},
		"a long one":     {strings.Repeat("ü", 401), strings.Repeat("ü", 400) + "…"},
		"a huge one":     {strings.Repeat("x ", 1<<20), strings.Repeat("x ", 200) + "…"},
		"our words":      {"fine” Request abc: approved", "fine” Request abc: approved"},
		"a bearer token": {"use Bearer abcdefghijklmnopqrstuvwxyz0123456789 now", "use Bearer *** now"},
	} {
		s := subject()
		s.Origin = approval.Origin{Frontend: "http", Client: tc.reason, CallerReason: tc.reason}
		store := &fake{}
		_, err := (&approval.Gate{Store: store}).Pass(t.Context(), s, nil)
		if contract.AsError(err).Kind != contract.Pending {
			t.Fatalf("%s: %v", name, err)
		}
		r := store.requests[0]
		if r.CallerReason != tc.want {
			t.Errorf("%s: %q, want %q", name, r.CallerReason, tc.want)
		}
		if n := len([]rune(r.Client)); n > 101 {
			t.Errorf("%s: the client has %d characters", name, n)
		}
		asked := r.Wording(approval.Shown{})
		if line := approval.CallerWords + ": “"; strings.Contains(asked, line) != (tc.want != "") || strings.Count(asked, "”") > 1 {
			t.Errorf("%s: %s", name, asked)
		}
	}
}
