package console

import (
	"cmp"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"remit/internal/contract"
	"remit/internal/visible"
)

// problem is the data of an error page.
type problem struct {
	Title, Message string
	Link, LinkText string // the page to continue with
}

// titles are the headings of error pages by kind.
var titles = map[contract.Kind]string{
	contract.Invalid:     "Invalid request",
	contract.Denied:      "Not allowed",
	contract.NotFound:    "Not found",
	contract.Conflict:    "Conflict",
	contract.TooLarge:    "Too large",
	contract.Limited:     "Too many requests",
	contract.Pending:     "Waiting for approval",
	contract.Unavailable: "Not available right now",
}

func titleOf(kind contract.Kind) string { return cmp.Or(titles[kind], "Something went wrong") }

// errSlow means that a form did not arrive in time.
var errSlow = errors.New("read form: timed out")

// fail responds with the error page of an error. Visitors see its message; the log gets its cause.
func (v *visit) fail(err error) {
	if errors.Is(err, errNotSignedIn) && v.wantsEvents() {
		v.w.Header().Set("Content-Type", eventStream)
		_, _ = io.WriteString(v.w, endEvent)
		return
	}
	if errors.Is(err, errNotSignedIn) {
		v.showSignIn(http.StatusUnauthorized, "")
		return
	}
	if errors.Is(err, errSlow) {
		v.problem(http.StatusRequestTimeout, problem{
			Title: "Request timed out", Message: "The form did not arrive in time; send it again.",
			Link: "/", LinkText: "Go to the overview",
		})
		return
	}
	if v.clientCtx.Err() != nil {
		return // the browser has left
	}
	e := contract.AsError(err)
	message := e.Message
	if e.Kind == contract.Internal {
		message = "The details are in the server log."
		v.Log.Error("console page failed", "path", v.r.URL.Path, "error", err)
	} else if e.Cause != nil {
		v.Log.Info("console request rejected", "path", v.r.URL.Path, "kind", e.Kind, "cause", e.Cause)
	}
	if seconds, ok := e.Details["retry_after"].(int); ok {
		v.w.Header().Set("Retry-After", strconv.Itoa(seconds))
	}
	link, text := returnLink(v.r.URL)
	v.problem(statusOf(e.Kind), problem{
		Title: titleOf(e.Kind), Message: clip(visible.Line(message), maxMessage), Link: link, LinkText: text,
	})
}

// statusOf returns the status of a page about a failure. A page about a call that waits for
// approval is 202, because htmx shows no page with an error status.
func statusOf(kind contract.Kind) int {
	if kind == contract.Pending {
		return http.StatusAccepted
	}
	return kind.Status()
}

// maxMessage bounds the characters of a message on a page: it may quote input of any length.
const maxMessage = 1000

// returnLink returns the link of an error page: to the page that people most likely came from.
func returnLink(failed *url.URL) (link, text string) {
	for _, part := range []struct{ prefix, page, name string }{
		{"/console/books", "/console/books", "books"},
		{"/console/files/", "/console/search", "search"},
		{"/console/search", "/console/search", "search"},
		{"/console/tasks", "/console/tasks", "tasks"},
		{"/console/memory", "/console/memory", "memory"},
	} {
		if strings.HasPrefix(failed.Path, part.prefix) && (failed.Path != part.page || failed.RawQuery != "") {
			return part.page, "Go to " + part.name
		}
	}
	return "/", "Go to the overview"
}

// notFound responds to a path without a page, or to a method that the page does not accept. It
// requires a session, so that strangers cannot find out which pages exist.
func (v *visit) notFound() error {
	if err := v.authenticate(); err != nil {
		return err
	}
	return v.methodNotAllowed()
}

// methodNotAllowed responds with the methods that a page accepts, or with Not found if there is no
// such page.
func (v *visit) methodNotAllowed() error {
	var accepted []string
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
		other := v.r.Clone(v.r.Context())
		other.Method = method
		if _, pattern := v.routeMux.Handler(other); pattern != "" {
			accepted = append(accepted, method)
		}
	}
	if len(accepted) == 0 {
		return contract.Errorf(contract.NotFound, "There is no such page")
	}
	allowed := strings.Join(accepted, ", ")
	v.w.Header().Set("Allow", allowed)
	link, text := returnLink(v.r.URL)
	v.problem(http.StatusMethodNotAllowed, problem{
		Title: "Invalid request", Message: "This page accepts only " + allowed + ".", Link: link, LinkText: text,
	})
	return nil
}

// problem responds with an error page, or with plain text to programs.
func (v *visit) problem(status int, p problem) {
	if !v.acceptsHTML() {
		v.respondText(status, p.Title+": "+p.Message)
		return
	}
	if err := v.pageWith(status, "problem", "", p.Title, p); err != nil {
		v.Log.Error("console error page failed", "path", v.r.URL.Path, "error", err)
		v.respondText(http.StatusInternalServerError, "Something went wrong. The details are in the server log.")
	}
}

// acceptsHTML reports whether the client is a browser and not a program such as curl.
func (v *visit) acceptsHTML() bool { return strings.Contains(v.r.Header.Get("Accept"), "text/html") }

// respondText responds with plain text.
func (v *visit) respondText(status int, text string) {
	v.w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	v.w.WriteHeader(status)
	_, _ = v.w.Write([]byte(text + "\n"))
}
