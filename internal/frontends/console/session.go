package console

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine/audit"
	"remit/internal/engine/identity"
)

// loginPath is the page to sign in.
const loginPath = "/console/login"

// registerPublic adds what is there for people who are not signed in.
func (c *Console) registerPublic(mux *http.ServeMux) {
	for pattern, serve := range map[string]http.HandlerFunc{
		"GET " + staticPrefix + "{hash}/{name...}": func(w http.ResponseWriter, r *http.Request) {
			c.protect(w.Header())
			c.static(w, r)
		},
		"GET " + loginPath: c.protected(func(v *visit) error {
			token := v.r.URL.Query().Get("token")
			if token == "" || !v.opensPage() {
				v.askToSignIn(http.StatusOK, "")
				return nil
			}
			return v.signIn(token, v.r.URL.Query().Get("next"))
		}),
		"POST " + loginPath: c.protected(func(v *visit) error {
			return v.signIn(tokenIn(v.r.PostForm.Get("token")), v.r.PostForm.Get("next"))
		}),
	} {
		mux.HandleFunc(pattern, serve)
		c.known.HandleFunc(pattern, http.NotFound)
	}
	for _, public := range []string{loginPath, staticPrefix} {
		mux.HandleFunc(public, c.protected((*visit).otherMethod))
	}
}

// opensPage tells whether a browser shows the answer to a person. One that fetches ahead,
// or a program that looks whether a link is there, must not use it up; and a page of
// another site must not sign anybody in by what it shows, such as an image.
func (v *visit) opensPage() bool {
	shown := v.r.Header.Get("Sec-Fetch-Dest")
	return v.r.Method != http.MethodHead && v.r.Header.Get("Sec-Purpose") == "" && (shown == "" || shown == "document")
}

// recordPatience is how long a record may take to reach the disk.
const recordPatience = 10 * time.Second

// signIn exchanges a one-time token for a session, and goes on to the page that was
// asked for.
func (v *visit) signIn(token, next string) error {
	secret, who, expires, err := v.People.Redeem(v.r.Context(), token)
	if e := contract.AsError(err); err != nil && e.Kind == contract.Denied {
		// Only failures count. Links are signed, so nobody guesses one, and whoever has a
		// good one need not wait for those who try.
		if err := v.count(badLinks, v.Address(v.r)); err != nil {
			return err
		}
		v.record("console/sign_in", identity.Person{}, err)
		v.askToSignIn(http.StatusUnauthorized, e.Message)
		return nil
	}
	if err != nil {
		return err
	}
	v.record("console/sign_in", who, nil)
	if old, ok := v.cookie(v.r); ok && v.People.End(v.r.Context(), old) != nil {
		v.Log.Warn("the session before could not be ended; it ends by itself")
	}
	v.setCookie(secret, max(1, int(expires.Sub(v.Now()).Seconds())))
	v.goTo(localPath(next))
	return nil
}

// record keeps what somebody did about the console itself; a failure to is logged.
func (v *visit) record(what string, who identity.Person, failed error, about ...jsontree.Member) {
	v.recordAs(faceConsole, what, who, failed, about...)
}

// ready keeps a deed that gives rights from being done while it could not be recorded.
// What takes rights away never waits for that.
func (v *visit) ready(done string) error {
	if err := v.Audit.Ready(v.Now()); err != nil {
		return contract.Errorf(contract.Unavailable, "The audit record cannot be kept, so nothing was %s; try again later", done).Because(err)
	}
	return nil
}

// recordAs keeps what came by a face. Only the record of a deed is waited for.
func (v *visit) recordAs(face, what string, who identity.Person, failed error, about ...jsontree.Member) {
	r := audit.Record{
		Time: v.Now(), Face: face, Tool: what, Outcome: "ok",
		Arguments: jsontree.Obj(append(about, jsontree.M("address", jsontree.Str(v.Address(v.r))))...),
	}
	if who.Role > identity.Nobody {
		r.Principal = who.Principal()
	}
	if failed != nil {
		r.Outcome = string(contract.AsError(failed).Kind)
	}
	// What was done is recorded even if the browser has gone meanwhile.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(v.r.Context()), recordPatience)
	defer cancel()
	if err := v.Audit.Write(ctx, &r, failed == nil && face == faceConsole); err != nil {
		v.Log.Error("the audit record could not be kept", "tool", what, "error", err)
	}
}

// signOut ends the session, here and in every page that is still open.
func (v *visit) signOut() error {
	secret, _ := v.cookie(v.r)
	if err := v.People.End(v.r.Context(), secret); err != nil {
		return contract.Errorf(contract.Unavailable, "The session could not be ended; try again").Because(err)
	}
	v.record("console/sign_out", v.person, nil)
	v.live.change(func() bool { v.live.signOuts++; return true })
	v.setCookie("", -1)
	v.goTo(loginPath)
	return nil
}

// setCookie gives the browser a secret for so many seconds; fewer than none take it
// away. No page and no other site can read or send it.
func (v *visit) setCookie(secret string, seconds int) {
	http.SetCookie(v.w, &http.Cookie{ //nolint:gosec // it is Secure wherever there is TLS: on loopback there may be none
		Name: v.cookieName(), Value: secret, Path: "/", MaxAge: seconds,
		HttpOnly: true, Secure: v.Secure, SameSite: http.SameSiteStrictMode,
	})
}

// goTo sends the browser to one of our own pages.
func (v *visit) goTo(path string) {
	v.w.Header().Set("Location", path)
	v.w.WriteHeader(http.StatusSeeOther)
}

// signInPage is what the page to sign in shows.
type signInPage struct {
	Next    string // where to go on
	Failed  string // why the last attempt failed
	Foreign bool   // the request came from another site, so that browsers held the cookie back
}

// askToSignIn answers with the page to sign in, and with words to programs.
func (v *visit) askToSignIn(status int, failed string) {
	const how = `Sign in with the link that "remit serve" printed; "remit token link" gives a new one.`
	if !v.readsPages() {
		if failed != "" {
			failed += ". "
		}
		v.say(status, failed+how)
		return
	}
	page := signInPage{Next: "/", Failed: failed}
	switch {
	case v.r.URL.Path == loginPath:
		page.Next = localPath(v.r.FormValue("next"))
	case v.r.Method == http.MethodGet:
		page.Next = localPath(v.r.URL.RequestURI())
		page.Foreign = v.r.Header.Get("Sec-Fetch-Site") == "cross-site"
	}
	if err := v.pageWith(status, "signin", "", "Sign in", page); err != nil {
		v.fail(errors.Join(errors.New("show the page to sign in"), err))
	}
}

// localPath lets a path of ours through and turns everything else into the overview,
// so that no link leads from here to another site.
func localPath(path string) string {
	strange := func(r rune) bool { return r == '\\' || unicode.IsControl(r) || unicode.IsSpace(r) }
	if !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.ContainsFunc(path, strange) {
		return "/"
	}
	u, err := url.Parse(path)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil {
		return "/"
	}
	if !strings.HasPrefix(u.Path, "/console/") || strings.HasPrefix(u.Path, loginPath) || strings.Contains(u.Path, "//") || strings.Contains(u.Path, "\\") {
		return "/"
	}
	return u.String()
}

// tokenIn finds the token in what somebody pasted: the token alone, or the whole link.
func tokenIn(pasted string) string {
	pasted = strings.TrimSpace(pasted)
	if u, err := url.Parse(pasted); err == nil && u.Query().Get("token") != "" {
		return u.Query().Get("token")
	}
	return pasted
}
