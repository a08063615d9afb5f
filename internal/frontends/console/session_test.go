package console

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"remit/internal/engine/identity"
)

func TestSignIn(t *testing.T) {
	for _, secure := range []bool{false, true} {
		c := newFixture(t)
		c.Secure = secure
		c.people.links = map[string]identity.Person{"good": {Name: "grace", Role: identity.Approver}}
		w := c.send("GET", "/console/login?token=good&next=/console/approvals/abc%3Fx=1", nil)
		wants(t, w, http.StatusSeeOther)
		if got := w.Header().Get("Location"); got != "/console/approvals/abc?x=1" {
			t.Errorf("redirects to %q", got)
		}
		want := "remit_session_ad01b30d=new-session; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict"
		if secure {
			want = "__Host-remit_session_ad01b30d=new-session; Path=/; Max-Age=43200; HttpOnly; Secure; SameSite=Strict"
		}
		if got := w.Header()["Set-Cookie"]; !cmp.Equal(got, []string{want}) {
			t.Errorf("the cookie is %q", got)
		}
		cookie, _, _ := strings.Cut(want, ";")
		wants(t, c.send("GET", "/", nil, "Cookie", cookie), 200, "grace", "approver")

		failed := c.send("GET", "/console/login?token=good", nil)
		wants(t, failed, 401, "This link was used already")
		if n := strings.Count(failed.Body.String(), "remit token link"); n != 1 {
			t.Errorf("the command for a new link is shown %d times", n)
		}
		records := []string{
			`console:grace console/sign_in ok {"address":"192.0.2.1","role":"approver"}`,
			`nobody console/sign_in denied {"reason":"This link was used already","address":"192.0.2.1"}`,
		}
		if diff := cmp.Diff(records, c.recorded()); diff != "" {
			t.Error(diff)
		}
	}
}

func TestSignInByForm(t *testing.T) {
	for _, pasted := range []string{"good", "  good\n", "http://127.0.0.1:8722/console/login?token=good"} {
		c := newFixture(t)
		c.people.links = map[string]identity.Person{"good": {Name: "grace", Role: identity.Approver}}
		w := c.send("POST", "/console/login", url.Values{"token": {pasted}, "next": {"/console/tools"}})
		wants(t, w, http.StatusSeeOther)
		if got := w.Header().Get("Location"); got != "/console/tools" {
			t.Errorf("%q: redirects to %q", pasted, got)
		}
	}
}

// TestSignInEndsPreviousSession checks that a new sign-in ends the previous session, whose cookie
// it overwrites.
func TestSignInEndsPreviousSession(t *testing.T) {
	c := newFixture(t)
	c.people.links = map[string]identity.Person{"good": {Name: "grace", Role: identity.Viewer}}
	admin := c.as(identity.Admin)
	wants(t, admin("GET", "/console/login?token=guess", nil), 401)
	wants(t, admin("GET", "/", nil), 200)
	wants(t, admin("GET", "/console/login?token=good", nil), http.StatusSeeOther)
	wants(t, admin("GET", "/", nil), 401)
}

// TestPrefetchDoesNotSignIn checks that prefetches, HEAD requests and embeds do not use up a link.
func TestPrefetchDoesNotSignIn(t *testing.T) {
	c := newFixture(t)
	c.people.links = map[string]identity.Person{"good": {Name: "grace", Role: identity.Approver}}
	for _, w := range []http.Header{
		c.send("HEAD", "/console/login?token=good", nil).Header(),
		c.send("GET", "/console/login?token=good", nil, "Sec-Purpose", "prefetch;prerender").Header(),
		c.send("GET", "/console/login?token=good", nil, "Purpose", "prefetch").Header(),
		c.send("GET", "/console/login?token=good", nil, "X-Purpose", "preview").Header(),
		c.send("GET", "/console/login?token=good", nil, "X-Moz", "prefetch").Header(),
		c.send("GET", "/console/login?token=good", nil, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Dest", "image").Header(),
		c.send("GET", "/console/login?token=good", nil, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Dest", "iframe").Header(),
		c.send("GET", "/console/login?token=good", nil, "Sec-Fetch-Site", "same-origin", "Sec-Fetch-Dest", "empty").Header(),
	} {
		if w.Get("Set-Cookie") != "" || len(c.people.links) != 1 {
			t.Error("the link is used up")
		}
	}
	wants(t, c.send("GET", "/console/login?token=good", nil, "Sec-Fetch-Site", "none", "Sec-Fetch-Dest", "document"),
		http.StatusSeeOther)
}

// TestSignInFromOtherSite checks that a link that another site opened asks first, is not used up by
// the question, and signs in with the form of the page.
func TestSignInFromOtherSite(t *testing.T) {
	c := newFixture(t)
	c.people.links = map[string]identity.Person{"good": {Name: "grace", Role: identity.Approver}}
	for name, headers := range map[string][]string{
		"another site":                   {"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"},
		"another port":                   {"Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"},
		"an old browser":                 {"Referer", "http://evil.example/page"},
		"an old browser at another port": {"Referer", "http://example.com:3000/"},
		"no valid referrer":              {"Referer", "http://[/"},
	} {
		w := c.send("GET", "/console/login?token=good&next=%2Fconsole%2Fapprovals", nil, append(headers, "Accept", "text/html")...)
		wants(t, w, 200, "Sign in as grace?", `name="token" value="good"`, `value="/console/approvals"`, "approver")
		if w.Header().Get("Set-Cookie") != "" || len(c.people.links) != 1 {
			t.Errorf("%s: the link is used up", name)
		}
	}
	wants(t, c.send("GET", "/console/login?token=bad", nil, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Dest", "document"), 401)
	form := url.Values{"token": {"good"}, "next": {"/console/approvals"}}
	wants(t, c.send("POST", "/console/login", form, "Sec-Fetch-Site", "cross-site"), 403)
	w := c.send("POST", "/console/login", form, "Sec-Fetch-Site", "same-origin")
	wants(t, w, http.StatusSeeOther)
	if w.Header().Get("Set-Cookie") == "" || w.Header().Get("Location") != "/console/approvals" {
		t.Errorf("headers %v", w.Header())
	}
}

// TestSignInDirectly checks that a link that a person opened signs in without a question.
func TestSignInDirectly(t *testing.T) {
	for _, headers := range [][]string{
		{"Sec-Fetch-Site", "none", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"},
		{"Sec-Fetch-Site", "same-origin", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"},
		{"Referer", "http://example.com/console/login"},
		nil,
	} {
		c := newFixture(t)
		c.people.links = map[string]identity.Person{"good": {Name: "grace", Role: identity.Viewer}}
		if w := c.send("GET", "/console/login?token=good", nil, headers...); w.Code != http.StatusSeeOther || w.Header().Get("Set-Cookie") == "" {
			t.Errorf("%q: %d", headers, w.Code)
		}
	}
}

func TestNextStaysOnServer(t *testing.T) {
	for next, want := range map[string]string{
		"":                               "/",
		"/":                              "/",
		"/console/approvals?show=x#y":    "/console/approvals?show=x#y",
		"/console/a b":                   "/",
		"https://evil.example/":          "/",
		"//evil.example":                 "/",
		"///evil.example":                "/",
		"///console/approvals":           "/",
		"/\\evil.example":                "/",
		"\\\\evil.example":               "/",
		"/\t/evil.example":               "/",
		"/console/\r\nSet-Cookie: a=b":   "/",
		"/console/%0d%0aSet-Cookie:a=b":  "/console/%0d%0aSet-Cookie:a=b",
		"/console//evil.example":         "/",
		"/console/%2f/evil.example":      "/",
		"javascript:alert(1)":            "/",
		"/console/login?token=x":         "/",
		"/mcp":                           "/",
		"evil.example":                   "/",
		"/console/..//evil.example":      "/",
		"http:///console/":               "/",
		"/console/\u0085":                "/",
		"/console/approvals/\x00":        "/",
		"/console/approvals/%5cevil.com": "/",
	} {
		if got := safeNext(next); got != want {
			t.Errorf("%q leads to %q, want %q", next, got, want)
		}
		c := newFixture(t)
		c.people.links = map[string]identity.Person{"good": {Name: "grace", Role: identity.Viewer}}
		w := c.send("GET", "/console/login?token=good&next="+url.QueryEscape(next), nil)
		if got := w.Header()["Location"]; !cmp.Equal(got, []string{want}) || len(w.Header()["Set-Cookie"]) != 1 {
			t.Errorf("%q: Location %q, Set-Cookie %q", next, got, w.Header()["Set-Cookie"])
		}
	}
}

func FuzzNextStaysOnServer(f *testing.F) {
	f.Add("/console/approvals")
	f.Add("//evil.example")
	f.Add("/console/\\evil")
	base, _ := url.Parse("http://127.0.0.1:8722/console/login")
	f.Fuzz(func(t *testing.T, next string) {
		path := safeNext(next)
		u, err := base.Parse(path)
		if err != nil || u.Host != base.Host || u.Scheme != "http" || strings.ContainsAny(path, "\r\n\t\\") || strings.HasPrefix(path, "//") {
			t.Errorf("%q leads to %q", next, path)
		}
	})
}

// TestBruteForce checks that failed sign-ins are rate limited, and that a valid link still works.
func TestBruteForce(t *testing.T) {
	c := newFixture(t)
	c.people.links = map[string]identity.Person{}
	for i := range 20 { // successful sign-ins do not count
		link := "good" + strconv.Itoa(i)
		c.people.links[link] = identity.Person{Name: "grace", Role: identity.Admin}
		wants(t, c.send("GET", "/console/login?token="+link, nil), http.StatusSeeOther)
	}
	c.records = nil
	for range 10 {
		wants(t, c.send("GET", "/console/login?token=guess", nil), 401)
	}
	w := c.send("POST", "/console/login", url.Values{"token": {"guess"}})
	wants(t, w, 429, "Too many attempts to sign in from your address; try again in 60 s")
	if w.Header().Get("Retry-After") != "60" || w.Header().Get("Set-Cookie") != "" {
		t.Errorf("headers: %v", w.Header())
	}
	if got := len(c.recorded()); got != 10 {
		t.Errorf("%d attempts are recorded, want those before the limit", got)
	}
	c.people.links["good"] = identity.Person{Name: "grace", Role: identity.Admin}
	wants(t, c.send("POST", "/console/login", url.Values{"token": {"good"}}), http.StatusSeeOther)

	here := c.Address
	c.Address = func(*http.Request) string { return "198.51.100.7" }
	wants(t, c.send("GET", "/console/login?token=guess", nil), 401)
	c.Address = here
	c.now = c.now.Add(time.Minute)
	wants(t, c.send("GET", "/console/login?token=guess", nil), 401)
}

func TestSignOut(t *testing.T) {
	c := newFixture(t)
	viewer := c.as(identity.Viewer)
	if w := viewer("GET", "/console/logout", nil); w.Code != 404 && w.Code != 405 {
		t.Errorf("a link signs out: %d", w.Code)
	}
	w := viewer("POST", "/console/logout", url.Values{})
	wants(t, w, http.StatusSeeOther)
	if got := w.Header().Get("Set-Cookie"); got != c.cookieName()+"=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict" {
		t.Errorf("the cookie is %q", got)
	}
	if diff := cmp.Diff([]string{`console:ada console/sign_out ok {"address":"192.0.2.1"}`}, c.recorded()); diff != "" {
		t.Error(diff)
	}
	wants(t, viewer("GET", "/", nil), 401)
}

func TestSignInWhenTheStoreFails(t *testing.T) {
	c := newFixture(t)
	c.people.fail = errors.New("disk full")
	w := c.send("GET", "/console/login?token=good", nil)
	wants(t, w, 500)
	if strings.Contains(w.Body.String(), "disk full") {
		t.Error("the cause is shown")
	}
}

// TestComingFromAnotherSite checks the sign-in page after a link from another site, for which
// browsers do not send the cookie.
func TestComingFromAnotherSite(t *testing.T) {
	c := newFixture(t)
	wants(t, c.send("GET", "/console/approvals/abc?x=1", nil, "Sec-Fetch-Site", "cross-site"), 401,
		`<a href="/console/approvals/abc?x=1">continue to the page</a>`, `name="next" value="/console/approvals/abc?x=1"`)
	if w := c.send("GET", "/", nil, "Sec-Fetch-Site", "none"); strings.Contains(w.Body.String(), "continue to the page") {
		t.Error("a direct visit shows the notice for visits from another site")
	}
}
