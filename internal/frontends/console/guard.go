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

	"remit/internal/contract"
	"remit/internal/engine/identity"
)

// What one request may take.
const (
	pagePatience  = 30 * time.Second // for a page to be made
	writePatience = 5 * time.Minute  // for a browser to take it in: assets of books can be large
	maxBody       = 1 << 20          // bytes of a form
)

// policy keeps pages from running, showing or reaching anything but what we serve.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; font-src 'self'; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// guarded lets a request through to a page: from our own pages alone, of somebody who
// is signed in and whose role is enough. Bearer tokens are never looked at.
func (c *Console) guarded(page route) http.HandlerFunc {
	return c.protected(func(v *visit) error {
		if err := v.enter(); err != nil {
			return err
		}
		if v.person.Role < page.needs {
			v.refused("role", v.person.Principal())
			return contract.Errorf(contract.Denied, "This needs the role %s, and you are signed in as %s. "+
				"Somebody with the role admin can give you another link under Settings, or on this machine: remit token link --role %s",
				page.needs, v.person.Role, page.needs)
		}
		return page.serve(v)
	})
}

// protected is what holds for every request, signed in or not.
func (c *Console) protected(serve func(v *visit) error) http.HandlerFunc {
	var sameOrigin http.CrossOriginProtection
	return func(w http.ResponseWriter, r *http.Request) {
		c.protect(w.Header())
		control := http.NewResponseController(w)
		if control.SetWriteDeadline(time.Now().Add(writePatience)) == nil {
			defer func() { _ = control.SetWriteDeadline(time.Time{}) }() // the connection may serve others next
		}
		ctx, cancel := context.WithTimeout(r.Context(), pagePatience)
		defer cancel()
		v := &visit{Console: c, w: w, r: r.WithContext(ctx), lasting: r.Context()}
		defer v.contain()
		if err := sameOrigin.Check(r); err != nil {
			v.refused("origin", v.Address(r))
			v.fail(contract.Errorf(contract.Denied, "This request came from another web site, so it was not carried out").Because(err))
			return
		}
		if err := v.takeForm(); err != nil {
			v.fail(err)
			return
		}
		if err := serve(v); err != nil {
			v.fail(err)
		}
	}
}

// protect sets the headers that every answer has.
func (c *Console) protect(h http.Header) {
	if c.Secure && !c.onLocalhost() {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin") // without any, browsers withhold the origin of our own forms too
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()")
	h.Set("Cache-Control", "no-store")
}

// onLocalhost tells whether people reach us under the name that all servers of a machine
// have: what is said of the name holds for all of them.
func (c *Console) onLocalhost() bool {
	u, err := url.Parse(c.base())
	return err == nil && strings.EqualFold(u.Hostname(), "localhost")
}

// takeForm reads the form of a request that has one, so that pages find it in
// PostForm.
func (v *visit) takeForm() error {
	if v.r.Method == http.MethodGet || v.r.Method == http.MethodHead {
		return nil
	}
	kind, _, _ := strings.Cut(v.r.Header.Get("Content-Type"), ";")
	if v.r.ContentLength != 0 && !strings.EqualFold(strings.TrimSpace(kind), "application/x-www-form-urlencoded") {
		return contract.Errorf(contract.Invalid, "This page takes forms alone (application/x-www-form-urlencoded)")
	}
	v.r.Body = http.MaxBytesReader(v.w, v.r.Body, maxBody)
	err := v.r.ParseForm()
	var large *http.MaxBytesError
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errSlow
	case errors.As(err, &large):
		return contract.Errorf(contract.TooLarge, "The form is larger than 1 MiB")
	case err != nil:
		return contract.Errorf(contract.Invalid, "The form cannot be read").Because(err)
	}
	return nil
}

// contain turns a panic into a page; the stack goes to the log alone.
func (v *visit) contain() {
	fault := recover()
	if fault == nil {
		return
	}
	if fault == http.ErrAbortHandler { //nolint:errorlint // net/http compares it so
		panic(fault)
	}
	v.fail(fmt.Errorf("panic: %v\n%s", fault, debug.Stack()))
}

// cookieName tells browsers, where cookies travel over TLS alone, to take the cookie
// from this very host and nobody else. Cookies know no ports: what is hashed keeps the
// servers of one machine from taking each other's away.
func (c *Console) cookieName() string {
	sum := sha256.Sum256([]byte(c.base()))
	name := "remit_session_" + hex.EncodeToString(sum[:4])
	if c.Secure {
		return "__Host-" + name
	}
	return name
}

// cookie is the secret of the session that a request belongs to. Two of them are as
// good as none: another site of the same machine may have planted one.
func (c *Console) cookie(r *http.Request) (string, bool) {
	found := r.CookiesNamed(c.cookieName())
	if len(found) != 1 || found[0].Value == "" {
		return "", false
	}
	return found[0].Value, true
}

// What happens to a request of nobody who is signed in.
var (
	errNobody    = errors.New("nobody is signed in")
	errBadCookie = fmt.Errorf("%w: the cookie is that of no session", errNobody)
)

// clicked tells a request that a person made from one by which a page keeps itself up to
// date: that must not keep a session alive that nobody uses.
func clicked(r *http.Request) bool {
	mode := r.Header.Get("Sec-Fetch-Mode")
	return (mode == "" || mode == "navigate") && r.Header.Get("HX-Request") == "" && r.URL.Path != eventsPath
}

// signedIn is who sends a request; errNobody if it is nobody.
func (c *Console) signedIn(r *http.Request) (identity.Person, error) {
	secret, ok := c.cookie(r)
	if !ok {
		return identity.Person{}, errNobody
	}
	find := c.People.Look
	if clicked(r) {
		find = c.People.Person
	}
	person, err := find(r.Context(), secret)
	switch {
	case err == nil && person.Role > identity.Nobody:
		return person, nil
	case err == nil || contract.AsError(err).Kind == contract.Denied:
		return identity.Person{}, errBadCookie
	default:
		return identity.Person{}, contract.Errorf(contract.Unavailable, "Who is signed in cannot be looked up right now; try again").Because(err)
	}
}
