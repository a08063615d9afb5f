package e2e

import (
	"net/http"
	"net/http/cookiejar"
	"strings"
	"testing"
)

// TestSignout checks that the operator can list who is signed in and sign them out.
func TestSignout(t *testing.T) {
	s := newWorkspace(t, nil)
	w := s.serve()
	link := w.signInLink()
	jar, err := cookiejar.New(nil)
	s.check(err)
	person := &http.Client{Jar: jar}
	open := func(address string) int {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
		s.check(err)
		got, err := send(person, r)
		s.check(err)
		return got.status
	}
	if status := open(link); status != 200 {
		t.Fatalf("the link returns %d", status)
	}
	listed := s.remit("token", "sessions", "--root", s.root)
	if listed.code != 0 || !strings.Contains(listed.out, "admin") {
		t.Errorf("signed in: %+v", listed)
	}
	if got := s.remit("token", "signout", "nobody", "--root", s.root); got.code != 0 || open(w.url+"/") != 200 {
		t.Errorf("sign out an unknown person: %+v", got)
	}
	unused := strings.TrimSpace(s.person("token", "link", "--root", s.root).out)
	if got := s.remit("token", "signout", "--all", "--root", s.root); got.code != 0 || !strings.Contains(got.out, "sessions: 1.") {
		t.Errorf("sign out everybody: %+v", got)
	}
	if status := open(w.url + "/"); status != 401 {
		t.Errorf("a page after the sign-out returns %d", status)
	}
	if status := open(unused); status != 401 {
		t.Errorf("a link created before the sign-out returns %d", status)
	}
	if status := open(strings.TrimSpace(s.person("token", "link", "--root", s.root).out)); status != 200 {
		t.Errorf("a new link returns %d", status)
	}
	if got := s.remit("audit", "list", "--json", "--root", s.root); !strings.Contains(got.out, "token/signout") {
		t.Errorf("there is no audit record: %s", got.out)
	}
	w.end()
}
