package console

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"remit/internal/contract"
	"remit/internal/engine/identity"
)

// TestSecurityHeaders checks that every response, whatever its status, has all security headers.
func TestSecurityHeaders(t *testing.T) {
	c := newFixture(t)
	viewer := c.as(identity.Viewer)
	css, err := assetURL("console.css")
	if err != nil {
		t.Fatal(err)
	}
	for name, w := range map[string]http.Header{
		"a page":              viewer("GET", "/", nil).Header(),
		"a refusal":           viewer("GET", "/console/settings", nil).Header(),
		"not signed in":       c.send("GET", "/", nil).Header(),
		"the page to sign in": c.send("GET", "/console/login", nil).Header(),
		"no page":             viewer("GET", "/console/nowhere", nil).Header(),
		"a static file":       c.send("GET", css, nil).Header(),
		"no static file":      c.send("GET", staticPrefix+"x/console.css", nil).Header(),
	} {
		for header, want := range map[string]string{
			"Content-Security-Policy":      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; font-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
			"X-Frame-Options":              "DENY",
			"X-Content-Type-Options":       "nosniff",
			"Referrer-Policy":              "same-origin",
			"Cross-Origin-Opener-Policy":   "same-origin",
			"Cross-Origin-Resource-Policy": "same-origin",
		} {
			if got := w.Get(header); got != want {
				t.Errorf("%s: %s is %q", name, header, got)
			}
		}
		if w.Get("Permissions-Policy") == "" {
			t.Errorf("%s: no Permissions-Policy", name)
		}
		if got := w.Get("Cache-Control"); name != "a static file" && got != "no-store" {
			t.Errorf("%s: Cache-Control is %q", name, got)
		}
	}
}

func TestStaticFilesAreCached(t *testing.T) {
	c := newFixture(t)
	for _, address := range append(stylesheets(), scripts()...) {
		w := c.send("GET", address, nil)
		wants(t, w, 200)
		if got := w.Header().Get("Cache-Control"); got != "public, max-age=31536000, immutable" {
			t.Errorf("%s: Cache-Control is %q", address, got)
		}
		if kind := w.Header().Get("Content-Type"); !strings.HasPrefix(kind, "text/css") && !strings.HasPrefix(kind, "text/javascript") {
			t.Errorf("%s is %s", address, kind)
		}
	}
	for _, address := range []string{"0123456789ab/console.css", "x/../console.css", "x/nothing.css", "x/..%2f..%2fconsole.go"} {
		if w := c.send("GET", staticPrefix+address, nil); w.Code == 200 {
			t.Errorf("%s is served", address)
		}
	}
}

func TestAnonymousRequests(t *testing.T) {
	c := newFixture(t)
	c.addRequest(t, "k3v9q2xa7m", "agent:x", `{}`)
	c.as(identity.Admin) // another person is signed in
	name := c.cookieName()
	for i, r := range c.routes() {
		// A new address per route, so that no rate limit applies.
		c.Address = func(*http.Request) string { return strconv.Itoa(i) }
		method, pattern, _ := strings.Cut(r.pattern, " ")
		path := strings.NewReplacer("{$}", "", "{id}", "k3v9q2xa7m", "{name}", "look", "{part}", "calls", "{book}", "b", "{path...}", "p").Replace(pattern)
		var form url.Values
		if method == "POST" {
			form = url.Values{"verdict": {"approve"}}
		}
		for kind, headers := range map[string][]string{
			"no cookie":               nil,
			"a cookie that is over":   {"Cookie", name + "=gone"},
			"an empty cookie":         {"Cookie", name + "="},
			"two cookies":             {"Cookie", name + "=session-of-admin; " + name + "=session-of-admin"},
			"a cookie of the TLS one": {"Cookie", "__Host-" + name + "=session-of-admin"},
			"a cookie of another one": {"Cookie", "remit_session_00000000=session-of-admin"},
			"a bearer token":          {"Authorization", "Bearer session-of-admin"},
			"a token in the address":  {"X-Token", "session-of-admin"},
		} {
			target := path
			if kind == "a token in the address" {
				target += "?token=session-of-admin&access_token=session-of-admin"
			}
			w := c.send(method, target, form, headers...)
			if w.Code != 401 || !strings.Contains(w.Body.String(), "<h1>Sign in</h1>") {
				t.Errorf("%s %s with %s: status %d", method, path, kind, w.Code)
			}
			if strings.Contains(w.Body.String(), "<script") {
				t.Errorf("%s with %s: an anonymous visitor gets scripts", path, kind)
			}
		}
	}
	if got := c.approvals.all[0].State; got != "pending" {
		t.Errorf("the request is %s", got)
	}
}

func TestProgramsGetPlainText(t *testing.T) {
	c := newFixture(t)
	w := c.send("GET", "/", nil, "Accept", "*/*")
	wants(t, w, 401, "This page is for people: open it in a browser, and sign in with the link that you got")
	if got := w.Header().Get("Content-Type"); got != "text/plain; charset=utf-8" {
		t.Errorf("a program gets %s", got)
	}
	wants(t, c.as(identity.Viewer)("GET", "/console/settings", nil, "Accept", "*/*"), 403, "Not allowed: This needs the role admin")
}

func TestRoles(t *testing.T) {
	for _, test := range []struct {
		role         identity.Role
		method, path string
		form         url.Values
		status       int
	}{
		{identity.Viewer, "GET", "/", nil, 200},
		{identity.Viewer, "GET", "/console/approvals", nil, 200},
		{identity.Viewer, "GET", "/console/approvals/k3v9q2xa7m", nil, 200},
		{identity.Viewer, "GET", "/console/connect", nil, 200},
		{identity.Viewer, "POST", "/console/approvals/k3v9q2xa7m/decide", url.Values{"verdict": {"approve"}}, 403},
		{identity.Viewer, "GET", "/console/settings", nil, 403},
		{identity.Approver, "POST", "/console/approvals/k3v9q2xa7m/decide", url.Values{"verdict": {"deny"}}, 303},
		{identity.Approver, "GET", "/console/settings", nil, 403},
		{identity.Approver, "POST", "/console/access/tokens", url.Values{"name": {"x"}, "scope": {"*:read"}, "days": {"7"}}, 403},
		{identity.Approver, "POST", "/console/access/links", url.Values{"name": {"x"}, "role": {"admin"}, "minutes": {"10"}}, 403},
		{identity.Admin, "GET", "/console/settings", nil, 200},
	} {
		c := newFixture(t)
		c.addRequest(t, "k3v9q2xa7m", "agent:x", `{}`)
		w := c.as(test.role)(test.method, test.path, test.form)
		if w.Code != test.status {
			t.Errorf("%s: %s %s: status %d, want %d", test.role, test.method, test.path, w.Code, test.status)
		}
		if test.status == 403 && !strings.Contains(w.Body.String(), "This needs the role ") {
			t.Errorf("%s: %s %s does not say which role is needed:\n%s", test.role, test.method, test.path, w.Body)
		}
	}
}

func TestOtherSitesCannotPost(t *testing.T) {
	form := url.Values{"verdict": {"approve"}}
	for name, headers := range map[string][]string{
		"another site":            {"Sec-Fetch-Site", "cross-site"},
		"another name of ours":    {"Sec-Fetch-Site", "same-site"},
		"another origin":          {"Sec-Fetch-Site", "", "Origin", "https://evil.example"},
		"an origin without name":  {"Sec-Fetch-Site", "", "Origin", "null"},
		"another port of machine": {"Sec-Fetch-Site", "", "Origin", "http://example.com:9999"},
	} {
		c := newFixture(t)
		c.addRequest(t, "k3v9q2xa7m", "agent:x", `{}`)
		for _, path := range []string{"/console/approvals/k3v9q2xa7m/decide", "/console/logout", "/console/access/tokens", "/console/login"} {
			w := c.as(identity.Admin)("POST", path, form, headers...)
			wants(t, w, 403, "came from another web site")
			if w.Header().Get("Set-Cookie") != "" {
				t.Errorf("%s: %s sets a cookie", name, path)
			}
		}
		if got := c.approvals.all[0].State; got != "pending" {
			t.Errorf("%s: the request is %s", name, got)
		}
		if len(c.people.cookies) != 1 || len(c.tokens.list) != 0 {
			t.Errorf("%s: signed out, or a token was made", name)
		}
	}
}

// TestRefusalsAreRecorded checks that rejected requests are recorded, but only a limited number of
// them.
func TestRefusalsAreRecorded(t *testing.T) {
	c := newFixture(t)
	viewer := c.as(identity.Viewer)
	wants(t, viewer("POST", "/console/approvals/k3v9q2xa7m/decide", url.Values{"verdict": {"approve"}}), 403)
	wants(t, viewer("POST", "/console/logout", url.Values{}, "Sec-Fetch-Site", "cross-site"), 403)
	wants(t, c.send("GET", "/console/"+strings.Repeat("x", 200), nil, "Cookie", c.cookieName()+"=guess"), 401)
	wants(t, c.send("GET", "/", nil), 401) // a request without a cookie is not a violation
	want := []string{
		`console:ada console/refused denied {"path":"/console/approvals/k3v9q2xa7m/decide","reason":"role","address":"192.0.2.1"}`,
		`nobody console/refused denied {"path":"/console/logout","reason":"origin","address":"192.0.2.1"}`,
		`nobody console/session denied {"path":"/console/` + strings.Repeat("x", 91) + `","address":"192.0.2.1"}`,
	}
	if diff := cmp.Diff(want, c.recorded()); diff != "" {
		t.Error(diff)
	}
	for range 100 {
		wants(t, viewer("POST", "/console/approvals/k3v9q2xa7m/decide", url.Values{"verdict": {"approve"}}), 403)
		wants(t, viewer("POST", "/console/logout", url.Values{}, "Sec-Fetch-Site", "cross-site"), 403)
	}
	if n := len(c.recorded()); n != 61 {
		t.Errorf("%d records, want 30 of each refusal and one of a cookie", n)
	}
}

// TestBadCookiesAreCounted checks that invalid cookies are rate limited and valid ones never are.
func TestBadCookiesAreCounted(t *testing.T) {
	c := newFixture(t)
	viewer := c.as(identity.Viewer)
	guess := func() *httptest.ResponseRecorder { return c.send("GET", "/", nil, "Cookie", c.cookieName()+"=guess") }
	for range 30 {
		wants(t, guess(), 401)
	}
	w := guess()
	wants(t, w, 429, "Too many requests without a valid session from your address; try again in 60 s")
	if w.Header().Get("Retry-After") != "60" || len(c.recorded()) != 30 {
		t.Errorf("Retry-After %q, %d records", w.Header().Get("Retry-After"), len(c.recorded()))
	}
	wants(t, viewer("GET", "/", nil), 200)
	wants(t, c.send("GET", "/", nil), 401)
	c.now = c.now.Add(time.Minute)
	wants(t, guess(), 401)
}

// TestCookieNameDependsOnServer checks that two servers on one machine use different cookie names.
func TestCookieNameDependsOnServer(t *testing.T) {
	one, two := newFixture(t), newFixture(t)
	two.Base = func() string { return "http://127.0.0.1:9999" }
	if one.cookieName() == two.cookieName() || !strings.HasPrefix(one.cookieName(), "remit_session_") {
		t.Errorf("%s and %s", one.cookieName(), two.cookieName())
	}
	two.as(identity.Admin)
	wants(t, two.send("GET", "/", nil, "Cookie", one.cookieName()+"=session-of-admin"), 401)
	wants(t, two.send("GET", "/", nil, "Cookie", one.cookieName()+"=x; "+two.cookieName()+"=session-of-admin"), 200)
}

// TestRefreshesAreNotActivity checks that a page that refreshes itself does not keep a session
// alive.
func TestRefreshesAreNotActivity(t *testing.T) {
	for name, test := range map[string]struct {
		headers []string
		clicks  int
	}{
		"a link":                 {[]string{"Sec-Fetch-Mode", "navigate"}, 1},
		"an older browser":       {nil, 1},
		"a part of a page":       {[]string{"HX-Request", "true"}, 0},
		"a part of a page today": {[]string{"HX-Request", "true", "Sec-Fetch-Mode", "cors"}, 0},
		"a script of a page":     {[]string{"Sec-Fetch-Mode", "cors"}, 0},
	} {
		c := newFixture(t)
		wants(t, c.as(identity.Viewer)("GET", "/console/approvals", nil, test.headers...), 200)
		if c.people.touches != test.clicks {
			t.Errorf("%s: %d clicks, want %d", name, c.people.touches, test.clicks)
		}
	}
}

func TestWrongMethods(t *testing.T) {
	c := newFixture(t)
	admin := c.as(identity.Admin)
	for _, test := range []struct {
		method, path string
		status       int
		allow        string
		anonymous    int // status without a session
	}{
		{"POST", "/", 405, "GET, HEAD", 401},
		{"PUT", "/console/settings", 405, "GET, HEAD", 401},
		{"DELETE", "/console/access/tokens", 405, "POST", 401},
		{"GET", "/console/logout", 405, "POST", 401},
		{"POST", "/console/nowhere", 404, "", 401},
		{"GET", "/console/nowhere", 404, "", 401},
		{"DELETE", "/console/login", 405, "GET, HEAD, POST", 405},
		{"PUT", staticPrefix + "x/console.css", 405, "GET, HEAD", 405},
	} {
		var form url.Values
		if test.method == "POST" {
			form = url.Values{}
		}
		w := admin(test.method, test.path, form)
		wants(t, w, test.status)
		if got := w.Header().Get("Allow"); got != test.allow || w.Header().Get("X-Frame-Options") != "DENY" {
			t.Errorf("%s %s: Allow is %q, X-Frame-Options %q", test.method, test.path, got, w.Header().Get("X-Frame-Options"))
		}
		wants(t, c.send(test.method, test.path, form), test.anonymous)
	}
}

// TestStrictTransport checks that the header is set only with TLS and with a host name that no
// other server shares.
func TestStrictTransport(t *testing.T) {
	for _, test := range []struct {
		base   string
		secure bool
		want   string
	}{
		{"http://127.0.0.1:8722", false, ""},
		{"https://remit.example.com", true, "max-age=31536000"},
		{"https://localhost:8722", true, ""},
	} {
		c := newFixture(t)
		c.Base, c.Secure = func() string { return test.base }, test.secure
		if got := c.send("GET", "/console/login", nil).Header().Get("Strict-Transport-Security"); got != test.want {
			t.Errorf("%s: %q", test.base, got)
		}
	}
}

func TestSlowForm(t *testing.T) {
	c := newFixture(t)
	r := httptest.NewRequest(http.MethodPost, "/console/login", iotest.ErrReader(os.ErrDeadlineExceeded))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	c.mux.ServeHTTP(w, r)
	wants(t, w, 408, "did not arrive in time")
}

func TestForms(t *testing.T) {
	c := newFixture(t)
	c.addRequest(t, "k3v9q2xa7m", "agent:x", `{}`)
	approver := c.as(identity.Approver)
	path := "/console/approvals/k3v9q2xa7m/decide"
	wants(t, approver("POST", path, url.Values{"verdict": {"approve"}, "reason": {strings.Repeat("x", 1<<20)}}), 413, "larger than 1 MiB")
	wants(t, approver("POST", path, url.Values{"verdict": {"approve"}}, "Content-Type", "application/json"), 400, "accepts only forms")
	wants(t, approver("POST", path, url.Values{"verdict": {"approve"}}, "Content-Type", "multipart/form-data; boundary=x"), 400,
		"accepts only forms")
	wants(t, approver("POST", path, url.Values{"verdict": {"perhaps"}}), 400, "verdict must be approve or deny")
	wants(t, approver("POST", path, url.Values{"verdict": {"approve"}, "reason": {strings.Repeat("x", 1001)}}), 400,
		"at most 1000 characters")
	wants(t, approver("POST", path, url.Values{"verdict": {"approve"}, "reason": {"\xff"}}), 400, "reason must be text")
	if got := c.approvals.all[0].State; got != "pending" {
		t.Errorf("the request is %s", got)
	}
}

func TestInternalErrorsAreNotShown(t *testing.T) {
	c := newFixture(t)
	viewer := c.as(identity.Viewer)
	c.approvals.fail = errors.New("sql: secret of the database")
	w := viewer("GET", "/console/approvals", nil)
	wants(t, w, 500, "Something went wrong")
	if strings.Contains(w.Body.String(), "secret") || !strings.Contains(c.log.String(), "secret of the database") {
		t.Errorf("shown: %s\nlogged: %s", w.Body, &c.log)
	}
	c.people.fail = errors.New("the database is away")
	wants(t, viewer("GET", "/", nil), 503, "cannot be looked up right now")
}

func TestPanicsAreContained(t *testing.T) {
	c := newFixture(t)
	c.mux.HandleFunc("GET /console/broken", c.guarded(route{needs: identity.Viewer, serve: func(*visit) error { panic("of the page") }}))
	wants(t, c.as(identity.Viewer)("GET", "/console/broken", nil), 500, "Something went wrong")
	if !strings.Contains(c.log.String(), "of the page") {
		t.Errorf("logged: %s", &c.log)
	}
}

// TestConcurrentPanicsAreContained checks panics in functions that a page runs concurrently; the
// stack is logged.
func TestConcurrentPanicsAreContained(t *testing.T) {
	c := newFixture(t)
	done := false
	c.mux.HandleFunc("GET /console/broken", c.guarded(route{needs: identity.Viewer, serve: func(*visit) error {
		runAll(func() { panicInPart() }, func() { done = true })
		return nil
	}}))
	wants(t, c.as(identity.Viewer)("GET", "/console/broken", nil), 500, "Something went wrong")
	if !done || !strings.Contains(c.log.String(), "panicInPart") {
		t.Errorf("done %v, logged: %s", done, &c.log)
	}
}

func panicInPart() { panic("of a part") }

func TestErrorPages(t *testing.T) {
	c := newFixture(t)
	var fault error
	c.mux.HandleFunc("GET /console/broken", c.guarded(route{needs: identity.Viewer, serve: func(*visit) error { return fault }}))
	viewer := c.as(identity.Viewer)
	for _, kind := range contract.Kinds() {
		fault = contract.Errorf(kind, "What <b>happened</b>").With("retry_after", 7)
		w := viewer("GET", "/console/broken", nil)
		wants(t, w, statusOf(kind), "<h1>"+titleOf(kind)+"</h1>")
		if got := strings.Contains(w.Body.String(), "What &lt;b&gt;happened&lt;/b&gt;"); got == (kind == contract.Internal) {
			t.Errorf("%s: shows the message: %v", kind, got)
		}
		if w.Header().Get("Retry-After") != "7" {
			t.Errorf("%s: no Retry-After", kind)
		}
	}
}
