package console

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"remit/internal/contract"
	"remit/internal/engine/identity"
)

// Every answer, whatever it is, keeps browsers from doing what a page does not ask for.
func TestEveryAnswerIsProtected(t *testing.T) {
	c := newCore(t)
	viewer := c.as(identity.Viewer)
	css, err := assetURL("console.css")
	if err != nil {
		t.Fatal(err)
	}
	for name, w := range map[string]http.Header{
		"a page":              viewer("GET", "/", nil).Header(),
		"a refusal":           viewer("GET", "/console/settings", nil).Header(),
		"nobody":              c.send("GET", "/", nil).Header(),
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

func TestStaticFilesAreKeptForGood(t *testing.T) {
	c := newCore(t)
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

func TestNobodySeesAnything(t *testing.T) {
	c := newCore(t)
	c.ask(t, "k3v9q2xa7m", "agent:x", `{}`)
	c.as(identity.Admin) // somebody is signed in, elsewhere
	for _, r := range c.routes() {
		method, pattern, _ := strings.Cut(r.pattern, " ")
		path := strings.NewReplacer("{$}", "", "{id}", "k3v9q2xa7m", "{name}", "look", "{part}", "calls", "{book}", "b", "{path...}", "p").Replace(pattern)
		var form url.Values
		if method == "POST" {
			form = url.Values{"verdict": {"approve"}}
		}
		for name, headers := range map[string][]string{
			"no cookie":               nil,
			"a cookie that is over":   {"Cookie", "remit_session=gone"},
			"an empty cookie":         {"Cookie", "remit_session="},
			"two cookies":             {"Cookie", "remit_session=session-of-admin; remit_session=session-of-admin"},
			"a cookie of the TLS one": {"Cookie", "__Host-remit_session=session-of-admin"},
			"a bearer token":          {"Authorization", "Bearer session-of-admin"},
			"a token in the address":  {"X-Token", "session-of-admin"},
		} {
			target := path
			if name == "a token in the address" {
				target += "?token=session-of-admin&access_token=session-of-admin"
			}
			w := c.send(method, target, form, headers...)
			if w.Code != 401 || !strings.Contains(w.Body.String(), "<h1>Sign in</h1>") {
				t.Errorf("%s %s with %s: status %d", method, path, name, w.Code)
			}
			if strings.Contains(w.Body.String(), "<script") {
				t.Errorf("%s with %s: somebody who is not signed in runs scripts", path, name)
			}
		}
	}
	if got := c.approvals.all[0].State; got != "pending" {
		t.Errorf("the request is %s", got)
	}
}

func TestProgramsGetWords(t *testing.T) {
	c := newCore(t)
	w := c.send("GET", "/", nil, "Accept", "*/*")
	wants(t, w, 401, `Sign in with the link that "remit serve" printed; "remit token link" gives a new one.`)
	if got := w.Header().Get("Content-Type"); got != "text/plain; charset=utf-8" {
		t.Errorf("a program gets %s", got)
	}
	wants(t, c.as(identity.Viewer)("GET", "/console/settings", nil, "Accept", "*/*"), 403, "You may not do this: This needs the role admin")
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
		{identity.Approver, "POST", "/console/approvals/k3v9q2xa7m/decide", url.Values{"verdict": {"approve"}}, 303},
		{identity.Approver, "GET", "/console/settings", nil, 403},
		{identity.Approver, "POST", "/console/settings/tokens", url.Values{"name": {"x"}, "scope": {"*:read"}, "days": {"7"}}, 403},
		{identity.Approver, "POST", "/console/settings/links", url.Values{"name": {"x"}, "role": {"admin"}, "minutes": {"10"}}, 403},
		{identity.Admin, "GET", "/console/settings", nil, 200},
	} {
		c := newCore(t)
		c.ask(t, "k3v9q2xa7m", "agent:x", `{}`)
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
		c := newCore(t)
		c.ask(t, "k3v9q2xa7m", "agent:x", `{}`)
		for _, path := range []string{"/console/approvals/k3v9q2xa7m/decide", "/console/logout", "/console/settings/tokens", "/console/login"} {
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

func TestForms(t *testing.T) {
	c := newCore(t)
	c.ask(t, "k3v9q2xa7m", "agent:x", `{}`)
	approver := c.as(identity.Approver)
	path := "/console/approvals/k3v9q2xa7m/decide"
	wants(t, approver("POST", path, url.Values{"verdict": {"approve"}, "reason": {strings.Repeat("x", 1<<20)}}), 413, "larger than 1 MiB")
	wants(t, approver("POST", path, url.Values{"verdict": {"approve"}}, "Content-Type", "application/json"), 400, "takes forms alone")
	wants(t, approver("POST", path, url.Values{"verdict": {"approve"}}, "Content-Type", "multipart/form-data; boundary=x"), 400, "takes forms alone")
	wants(t, approver("POST", path, url.Values{"verdict": {"perhaps"}}), 400, "verdict must be approve or deny")
	wants(t, approver("POST", path, url.Values{"verdict": {"approve"}, "reason": {strings.Repeat("x", 1001)}}), 400, "at most 1000 characters")
	wants(t, approver("POST", path, url.Values{"verdict": {"approve"}, "reason": {"\xff"}}), 400, "reason must be a text")
	if got := c.approvals.all[0].State; got != "pending" {
		t.Errorf("the request is %s", got)
	}
}

func TestFailuresTellNothingOfOurs(t *testing.T) {
	c := newCore(t)
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
	c := newCore(t)
	c.mux.HandleFunc("GET /console/broken", c.guarded(route{needs: identity.Viewer, serve: func(*visit) error { panic("of the page") }}))
	wants(t, c.as(identity.Viewer)("GET", "/console/broken", nil), 500, "Something went wrong")
	if !strings.Contains(c.log.String(), "of the page") {
		t.Errorf("logged: %s", &c.log)
	}
}

func TestErrorsBecomePages(t *testing.T) {
	c := newCore(t)
	var fault error
	c.mux.HandleFunc("GET /console/broken", c.guarded(route{needs: identity.Viewer, serve: func(*visit) error { return fault }}))
	viewer := c.as(identity.Viewer)
	for _, kind := range contract.Kinds() {
		fault = contract.Errorf(kind, "What <b>happened</b>").With("retry_after", 7)
		w := viewer("GET", "/console/broken", nil)
		wants(t, w, kind.Status(), "<h1>"+titleOf(kind)+"</h1>")
		if got := strings.Contains(w.Body.String(), "What &lt;b&gt;happened&lt;/b&gt;"); got == (kind == contract.Internal) {
			t.Errorf("%s: shows the message: %v", kind, got)
		}
		if w.Header().Get("Retry-After") != "7" {
			t.Errorf("%s: no Retry-After", kind)
		}
	}
}
