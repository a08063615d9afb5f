package app

import (
	"encoding/json"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/engine/identity"
	"remit/internal/frontends/cli"
)

// archiveLink returns the archive URL that a caller gets, and how long it lives.
func archiveLink(t *testing.T, a *App, call engine.Call) (link *url.URL, seconds int) {
	t.Helper()
	args, err := jsontree.Parse([]byte(`{"book_id":"go-course"}`))
	if err != nil {
		t.Fatal(err)
	}
	call.Tool, call.Args = "get_book_archive", args
	got, err := a.engine.Call(t.Context(), call)
	if err != nil || got.Err != nil {
		t.Fatal(err, got.Err)
	}
	var answer struct {
		URL     string `json:"archive_url"`
		Seconds int    `json:"valid_for_seconds"`
	}
	if err := json.Unmarshal(got.Structured, &answer); err != nil {
		t.Fatal(err)
	}
	if link, err = url.Parse(answer.URL); err != nil {
		t.Fatal(err)
	}
	return link, answer.Seconds
}

// withBook opens a workspace that has a book.
func withBook(t *testing.T, change func(*cli.Settings)) *App {
	t.Helper()
	a := openBooks(t, change)
	stores, err := a.stores.open(t.Context())
	if err == nil {
		err = put(t.Context(), stores.Main, "books/go-course/lessons/a.md", "# A\n")
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestLinksAreBound checks what the links of each kind of caller are bound to, and that a link does
// not outlive a token.
func TestLinksAreBound(t *testing.T) {
	a := withBook(t, func(s *cli.Settings) { s.PublicURL = "https://books.example" })
	grant := func(expires time.Time) *identity.Grant {
		token := identity.Token{ID: "T1", Scopes: identity.Scopes{{Set: identity.AnySet}: true}, Expires: expires}
		return token.Grant()
	}
	expect := func(call engine.Call, want string, least, most int) {
		t.Helper()
		call.Principal = "who"
		if call.Frontend == "console" {
			call.Principal = "console:grace"
		}
		link, seconds := archiveLink(t, a, call)
		if got := link.Query(); got.Get("for") != want || got.Get("by") != call.Principal || seconds < least || seconds > most {
			t.Errorf("the link of %+v is %v for %d s", call, got, seconds)
		}
	}
	expect(engine.Call{Frontend: "http", Grant: grant(time.Time{})}, "token:T1", 3600, 3600)
	expect(engine.Call{Frontend: "http", Grant: grant(time.Now().Add(10 * time.Minute))}, "token:T1", 1, 600)
	expect(engine.Call{Frontend: "http"}, "local:", 3600, 3600)
	expect(engine.Call{Frontend: "stdio"}, "local:", 3600, 3600)
	expect(engine.Call{Frontend: "cli"}, "local:", 3600, 3600)
	expect(engine.Call{Frontend: "console"}, "person:grace", 3600, 3600)
	expect(engine.Call{Frontend: "another"}, "local:", 3600, 3600)
	if _, _, err := a.identities.tokens.Create(t.Context(), identity.NewToken{Name: "ci", Scopes: identity.Scopes{{Set: "books"}: true}}); err != nil {
		t.Fatal(err)
	}
	expect(engine.Call{Frontend: "stdio"}, "process:", 3600, 3600)
	expect(engine.Call{Frontend: "cli"}, "process:", 3600, 3600)
	expect(engine.Call{Frontend: "http"}, "local:", 3600, 3600)
}

// TestLinkOfAnotherWorkspace checks that a link is refused in another workspace, even if it has the
// same key and the same library.
func TestLinkOfAnotherWorkspace(t *testing.T) {
	shared, keys := folderScheme+filepath.Join(t.TempDir(), "library"), t.TempDir()
	use := func(s *cli.Settings) { s.Books, s.Keys = []string{shared}, keys }
	one, other := withBook(t, use), openBooks(t, use)
	here, endHere := serving(t, one)
	there, endThere := serving(t, other)
	link, _ := archiveLink(t, one, engine.Call{Frontend: "http", Principal: "local"})
	path := strings.TrimPrefix(link.String(), here)
	for base, want := range map[string]int{here: http.StatusOK, there: http.StatusForbidden} {
		if got := followed(t, http.MethodGet, base+path, "", nil); got != want {
			t.Errorf("%s: status %d, want %d", base, got, want)
		}
	}
	endHere()
	endThere()
}

// TestLinksOfPeople checks that links that a person got at the console end when they sign out.
func TestLinksOfPeople(t *testing.T) {
	a := withBook(t, func(*cli.Settings) {})
	base, end := serving(t, a)
	token, err := a.identities.signIn.Link(identity.Person{Name: "grace", Role: identity.Viewer}, time.Minute)
	if err == nil {
		_, _, _, err = a.identities.signIn.Redeem(t.Context(), token)
	}
	if err != nil {
		t.Fatal(err)
	}
	link, _ := archiveLink(t, a, engine.Call{Frontend: "console", Principal: "console:grace"})
	if got := followed(t, http.MethodGet, link.String(), "", nil); got != http.StatusOK || !strings.HasPrefix(link.String(), base) {
		t.Errorf("%s: status %d", link, got)
	}
	if _, err := a.identities.signIn.SignOut(t.Context(), "grace"); err != nil {
		t.Fatal(err)
	}
	if got := followed(t, http.MethodGet, link.String(), "", nil); got != http.StatusForbidden {
		t.Errorf("after signing out: status %d", got)
	}
	end()
}
