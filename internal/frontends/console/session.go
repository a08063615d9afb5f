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

// loginPath is the path of the sign-in page.
const loginPath = "/console/login"

// registerPublic adds the routes that do not require a session.
func (c *Console) registerPublic(mux *http.ServeMux) {
	for pattern, serve := range map[string]http.HandlerFunc{
		"GET " + staticPrefix + "{hash}/{name...}": func(w http.ResponseWriter, r *http.Request) {
			c.protect(w.Header())
			c.static(w, r)
		},
		"GET " + loginPath: c.protected(func(v *visit) error {
			token := v.r.URL.Query().Get("token")
			switch {
			case token == "" || !v.isPageLoad():
				v.showSignIn(http.StatusOK, "")
				return nil
			case v.isFromOtherSite():
				return v.confirmSignIn(token)
			}
			return v.signIn(token, v.r.URL.Query().Get("next"))
		}),
		"POST " + loginPath: c.protected(func(v *visit) error {
			return v.signIn(extractToken(v.r.PostForm.Get("token")), v.r.PostForm.Get("next"))
		}),
	} {
		mux.HandleFunc(pattern, serve)
		c.routeMux.HandleFunc(pattern, http.NotFound)
	}
	for _, public := range []string{loginPath, staticPrefix} {
		mux.HandleFunc(public, c.protected((*visit).methodNotAllowed))
	}
}

// isPageLoad reports whether a browser shows the response to a person. A prefetch, or a program
// that only checks that a link exists, must not use up a one-time link, and a page of another site
// must not sign anybody in by embedding the link, for example as an image.
func (v *visit) isPageLoad() bool {
	for _, name := range []string{"Sec-Purpose", "Purpose", "X-Purpose", "X-Moz"} {
		if v.r.Header.Get(name) != "" {
			return false
		}
	}
	dest := v.r.Header.Get("Sec-Fetch-Dest")
	return v.r.Method != http.MethodHead && (dest == "" || dest == "document")
}

// isFromOtherSite reports whether a page of another site or port may have opened the link: it could
// sign a person in under a name that somebody else chose. Old browsers send only Referer.
func (v *visit) isFromOtherSite() bool {
	if site := v.r.Header["Sec-Fetch-Site"]; len(site) > 0 {
		return len(site) > 1 || site[0] != "none" && site[0] != "same-origin"
	}
	from, err := url.Parse(v.r.Referer())
	return err != nil || from.Host != "" && from.Host != v.r.Host
}

// confirmSignIn asks the person whether to sign in with a link that another site opened. The link
// is not used up: the form of the page does that.
func (v *visit) confirmSignIn(token string) error {
	who, err := v.People.Peek(token)
	if err != nil {
		return v.signInFailed(err)
	}
	return v.pageWith(http.StatusOK, "signin", "", "Sign in", signInPage{
		Next: safeNext(v.r.URL.Query().Get("next")), Token: token, Person: who,
	})
}

// signInFailed answers a request with a link that is not valid.
func (v *visit) signInFailed(err error) error {
	e := contract.AsError(err)
	if e.Kind != contract.Denied {
		return err
	}
	// Only failures count. Links are signed, so nobody can guess one, and a person with a valid
	// link must not have to wait because of somebody else's attempts.
	if err := v.countViolation(badLinks, v.Address(v.r)); err != nil {
		return err
	}
	v.record("console/sign_in", identity.Person{}, err, jsontree.M("reason", jsontree.Str(e.Message)))
	v.showSignIn(http.StatusUnauthorized, e.Message)
	return nil
}

// recordTimeout bounds the write of an audit record.
const recordTimeout = 10 * time.Second

// signIn exchanges a one-time token for a session and redirects to the page next.
func (v *visit) signIn(token, next string) error {
	ctx, effect := v.start("console/sign_in", identity.Person{})
	secret, _, expires, err := v.People.Redeem(ctx, token)
	if err != nil {
		return v.signInFailed(err)
	}
	v.conclude(effect, nil)
	if old, ok := v.cookie(v.r); ok && v.People.End(v.r.Context(), old) != nil {
		v.Log.Warn("could not end the previous session; it will expire")
	}
	v.setCookie(secret, max(1, int(expires.Sub(v.Now()).Seconds())))
	v.redirect(safeNext(next))
	return nil
}

// record writes an audit record of an action in the console. It logs a failure to write.
func (v *visit) record(what string, who identity.Person, failed error, about ...jsontree.Member) {
	v.recordAs(frontendConsole, what, who, failed, about...)
}

// auditReady returns an error if an action that grants rights could not be recorded, so that it is
// not carried out. Actions that take rights away do not check this. done is the verb for the
// message, such as "decided".
func (v *visit) auditReady(done string) error {
	if err := v.Audit.Ready(v.Now()); err != nil {
		return contract.Errorf(contract.Unavailable,
			"The audit record cannot be written, so nothing was %s; try again later", done).Because(err)
	}
	return nil
}

// recordAs is record for a front end. It waits for the record to be durable only if it is of a
// successful action.
func (v *visit) recordAs(frontend, what string, who identity.Person, failed error, about ...jsontree.Member) {
	r := v.newRecord(frontend, what, who, about)
	if failed != nil {
		r.Outcome = string(contract.AsError(failed).Kind)
	}
	// Record the action even if the browser has disconnected meanwhile.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(v.r.Context()), recordTimeout)
	defer cancel()
	if err := v.Audit.Write(ctx, &r, failed == nil && frontend == frontendConsole); err != nil {
		v.Log.Error("could not write the audit record", "tool", what, "error", err)
	}
}

// newRecord returns the record of an action that succeeds.
func (v *visit) newRecord(frontend, what string, who identity.Person, about []jsontree.Member) audit.Record {
	r := audit.Record{
		Time: v.Now(), Frontend: frontend, Tool: what, Outcome: "ok",
		Arguments: jsontree.Obj(append(about, jsontree.M("address", jsontree.Str(v.Address(v.r))))...),
	}
	if who.Role > identity.NoRole {
		r.Principal = who.Principal()
	}
	return r
}

// start returns a context that carries the audit record of an action in the console, for stores
// that keep the record with the change. conclude ends it.
func (v *visit) start(what string, who identity.Person, about ...jsontree.Member) (context.Context, *audit.Effect) {
	r := v.newRecord(frontendConsole, what, who, about)
	return audit.Start(v.r.Context(), &r, v.Audit)
}

// conclude writes the audit record of an action, even if the browser has disconnected meanwhile.
func (v *visit) conclude(effect *audit.Effect, failed error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(v.r.Context()), recordTimeout)
	defer cancel()
	if err := effect.Conclude(ctx, failed); err != nil {
		v.Log.Error("could not write the audit record", "path", v.r.URL.Path, "error", err)
	}
}

// signOut ends the session and the event streams of its open pages.
func (v *visit) signOut() error {
	secret, _ := v.cookie(v.r)
	ctx, effect := v.start("console/sign_out", v.person)
	if err := v.People.End(ctx, secret); err != nil {
		return contract.Errorf(contract.Unavailable, "The session could not be ended; try again").Because(err)
	}
	v.conclude(effect, nil)
	v.live.update(func() bool { v.live.signOuts++; return true })
	v.setCookie("", -1)
	v.redirect(loginPath)
	return nil
}

// setCookie sets the session cookie for a number of seconds; a negative number deletes it. Scripts
// cannot read the cookie, and other sites cannot make the browser send it.
func (v *visit) setCookie(secret string, seconds int) {
	http.SetCookie(v.w, &http.Cookie{ //nolint:gosec // Secure is set if the server uses TLS, which it may not on loopback
		Name: v.cookieName(), Value: secret, Path: "/", MaxAge: seconds,
		HttpOnly: true, Secure: v.Secure, SameSite: http.SameSiteStrictMode,
	})
}

// redirect sends the browser to one of our own pages.
func (v *visit) redirect(path string) {
	v.w.Header().Set("Location", path)
	v.w.WriteHeader(http.StatusSeeOther)
}

// signInPage is the data of the sign-in page.
type signInPage struct {
	Next      string // the page to open after the sign-in
	Failed    string // why the last attempt failed
	CrossSite bool   // the request came from another site, so the browser did not send the cookie

	Token  string          // of a link that another site opened; "" if the person must paste one
	Person identity.Person // whom the token signs in
}

// showSignIn responds with the sign-in page, or with plain text to programs.
func (v *visit) showSignIn(status int, failed string) {
	const how = "This page is for people: open it in a browser, and sign in with the link that you got"
	if !v.acceptsHTML() {
		if failed != "" {
			failed += ". "
		}
		v.respondText(status, failed+how)
		return
	}
	page := signInPage{Next: "/", Failed: failed}
	switch {
	case v.r.URL.Path == loginPath:
		page.Next = safeNext(v.r.FormValue("next"))
	case v.r.Method == http.MethodGet:
		page.Next = safeNext(v.r.URL.RequestURI())
		page.CrossSite = v.r.Header.Get("Sec-Fetch-Site") == "cross-site"
	}
	if err := v.pageWith(status, "signin", "", "Sign in", page); err != nil {
		v.fail(errors.Join(errors.New("show the sign-in page"), err))
	}
}

// safeNext returns path if it is a page of the console, and the overview otherwise, so that a
// sign-in link cannot redirect to another site.
func safeNext(path string) string {
	unsafe := func(r rune) bool { return r == '\\' || unicode.IsControl(r) || unicode.IsSpace(r) }
	if !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.ContainsFunc(path, unsafe) {
		return "/"
	}
	u, err := url.Parse(path)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil {
		return "/"
	}
	if !strings.HasPrefix(u.Path, "/console/") || strings.HasPrefix(u.Path, loginPath) ||
		strings.Contains(u.Path, "//") || strings.Contains(u.Path, "\\") {
		return "/"
	}
	return u.String()
}

// extractToken returns the token from pasted text: the token itself, or a whole sign-in link.
func extractToken(pasted string) string {
	pasted = strings.TrimSpace(pasted)
	if u, err := url.Parse(pasted); err == nil && u.Query().Get("token") != "" {
		return u.Query().Get("token")
	}
	return pasted
}
