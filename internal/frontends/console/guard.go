package console

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"remit/internal/bodies"
	"remit/internal/contract"
	"remit/internal/engine/identity"
)

// Limits of one request.
const (
	pageTimeout  = 30 * time.Second // to render a page
	writeTimeout = 5 * time.Minute  // to send the response; assets of books can be large
	maxBody      = 1 << 20          // bytes of a form
	maxTextBody  = 4 << 20          // bytes of a form with a text of a book, encoded
)

// policy is the Content-Security-Policy: pages may run, show and reach only what this server
// serves.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; font-src 'self'; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// guarded serves a page to a signed-in person whose role is sufficient, and only if the request
// comes from our own pages. It never accepts bearer tokens.
func (c *Console) guarded(page route) http.HandlerFunc {
	return c.protected(func(v *visit) error {
		if err := v.authenticate(); err != nil {
			return err
		}
		if v.person.Role < page.needs {
			v.recordRefusal("role", v.person.Principal())
			return contract.Errorf(contract.Denied, "This needs the role %s, and you are signed in as %s. "+
				"An admin can create another link for you under Settings, or on the server's machine with: remit token link --role %s",
				page.needs, v.person.Role, page.needs)
		}
		return page.serve(v)
	})
}

// protected applies the rules for every request, whether or not somebody is signed in: security
// headers, timeouts, same origin, and a valid form.
func (c *Console) protected(serve func(v *visit) error) http.HandlerFunc {
	var sameOrigin http.CrossOriginProtection
	return func(w http.ResponseWriter, r *http.Request) {
		c.protect(w.Header())
		control := http.NewResponseController(w)
		if control.SetWriteDeadline(time.Now().Add(writeTimeout)) == nil {
			// The connection may be reused.
			defer func() { _ = control.SetWriteDeadline(time.Time{}) }()
		}
		ctx, cancel := context.WithTimeout(r.Context(), pageTimeout)
		defer cancel()
		v := &visit{Console: c, w: w, r: r.WithContext(ctx), clientCtx: r.Context()}
		defer v.recoverPanic()
		defer v.memory.Release()
		if err := sameOrigin.Check(r); err != nil {
			v.recordRefusal("origin", v.Address(r))
			v.fail(contract.Errorf(contract.Denied, "This request came from another web site, so it was rejected").Because(err))
			return
		}
		if err := v.parseForm(); err != nil {
			v.fail(err)
			return
		}
		if err := serve(v); err != nil {
			v.fail(err)
		}
	}
}

// protect sets the security headers of every response.
func (c *Console) protect(h http.Header) {
	if c.Secure && !c.onLocalhost() {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	// With no-referrer, browsers would hide the origin of our own forms too.
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()")
	h.Set("Cache-Control", "no-store")
}

// onLocalhost reports whether the URL of the server has the host name localhost. All servers of the
// machine share that name, so a strict transport policy for it would affect all of them.
func (c *Console) onLocalhost() bool {
	u, err := url.Parse(c.base())
	return err == nil && strings.EqualFold(u.Hostname(), "localhost")
}

// parseForm parses the form of a request that has a body, so that pages find it in PostForm.
func (v *visit) parseForm() error {
	if v.r.Method == http.MethodGet || v.r.Method == http.MethodHead {
		return nil
	}
	kind, _, _ := strings.Cut(v.r.Header.Get("Content-Type"), ";")
	if v.r.ContentLength != 0 && !strings.EqualFold(strings.TrimSpace(kind), "application/x-www-form-urlencoded") {
		return contract.Errorf(contract.Invalid, "This page accepts only forms (application/x-www-form-urlencoded)")
	}
	limit := int64(maxBody)
	if strings.HasPrefix(v.r.URL.Path, "/console/books/") {
		limit = maxTextBody
	}
	data, memory, err := v.Bodies.Read(v.r, limit)
	v.memory = memory
	if err == nil {
		v.r.PostForm, err = url.ParseQuery(string(data))
	}
	var large *http.MaxBytesError
	switch {
	case errors.Is(err, bodies.ErrBusy):
		return contract.Errorf(contract.Unavailable, "Too many large requests are in progress; try again")
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errSlow
	case errors.As(err, &large):
		return contract.Errorf(contract.TooLarge, "The form is larger than %d MiB", limit>>20)
	case err != nil:
		return contract.Errorf(contract.Invalid, "The form cannot be read").Because(err)
	}
	return nil
}

// recoverPanic turns a panic into an error page. The stack goes to the log only.
func (v *visit) recoverPanic() {
	fault := recover()
	if fault == nil {
		return
	}
	if fault == http.ErrAbortHandler { //nolint:errorlint // net/http compares it with == too
		panic(fault)
	}
	v.fail(fmt.Errorf("panic: %v\n%s", fault, debug.Stack()))
}

// cookieName returns the name of the session cookie. With TLS, the prefix __Host- makes browsers
// accept the cookie from this host only. Browsers share cookies between the ports of a host, so the
// name contains a hash of the server's URL: two servers on one machine do not overwrite each
// other's cookies.
func (c *Console) cookieName() string {
	sum := sha256.Sum256([]byte(c.base()))
	name := "remit_session_" + hex.EncodeToString(sum[:4])
	if c.Secure {
		return "__Host-" + name
	}
	return name
}

// cookie returns the session secret of a request. Two such cookies count as none: another site on
// the same machine may have set one of them.
func (c *Console) cookie(r *http.Request) (string, bool) {
	found := r.CookiesNamed(c.cookieName())
	if len(found) != 1 || found[0].Value == "" {
		return "", false
	}
	return found[0].Value, true
}

// Errors of requests without a valid session.
var (
	errNotSignedIn = errors.New("not signed in")
	errBadCookie   = fmt.Errorf("%w: no session has this cookie", errNotSignedIn)
)

// fromPerson reports whether a person made the request, and not the script of an open page.
// Automatic requests must not keep an idle session alive; requests with partHeader are not
// automatic.
func fromPerson(r *http.Request) bool {
	if r.Header.Get(partHeader) != "" {
		return true
	}
	mode := r.Header.Get("Sec-Fetch-Mode")
	return (mode == "" || mode == "navigate") && r.Header.Get("HX-Request") == "" && r.URL.Path != eventsPath
}

// currentPerson returns the person who sent a request, or errNotSignedIn.
func (c *Console) currentPerson(r *http.Request) (identity.Person, error) {
	secret, ok := c.cookie(r)
	if !ok {
		return identity.Person{}, errNotSignedIn
	}
	find := c.People.PersonWithoutTouch
	if fromPerson(r) {
		find = c.People.Person
	}
	person, err := find(r.Context(), secret)
	switch {
	case err == nil && person.Role > identity.NoRole:
		return person, nil
	case err == nil || contract.AsError(err).Kind == contract.Denied:
		return identity.Person{}, errBadCookie
	default:
		return identity.Person{}, contract.Errorf(contract.Unavailable,
			"Your session cannot be looked up right now; try again").Because(err)
	}
}
