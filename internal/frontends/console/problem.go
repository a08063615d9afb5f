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
	"remit/internal/engine/approval"
)

// problem is an error as people read it.
type problem struct {
	Title, Message string
	Back, On       string // a page to go on with, and what it is
}

// titles are the kinds of failures in the words of a page.
var titles = map[contract.Kind]string{
	contract.Invalid:     "That does not fit",
	contract.Denied:      "You may not do this",
	contract.NotFound:    "Not found",
	contract.Conflict:    "It changed meanwhile",
	contract.TooLarge:    "That is too much",
	contract.Limited:     "Too many attempts",
	contract.Pending:     "This waits for approval",
	contract.Unavailable: "Not available right now",
}

func titleOf(kind contract.Kind) string { return cmp.Or(titles[kind], "Something went wrong") }

// errSlow is what happens to a form that does not arrive in time.
var errSlow = errors.New("the form was not sent in time")

// fail answers with the page of an error. Callers see its message; the log its cause.
func (v *visit) fail(err error) {
	if errors.Is(err, errNobody) && v.follows() {
		v.w.Header().Set("Content-Type", eventStream)
		_, _ = io.WriteString(v.w, endEvent)
		return
	}
	if errors.Is(err, errNobody) {
		v.askToSignIn(http.StatusUnauthorized, "")
		return
	}
	if errors.Is(err, errSlow) {
		v.problem(http.StatusRequestTimeout, problem{Title: "That took too long", Message: "The form did not arrive in time; send it again.", Back: "/", On: "Go on to the overview"})
		return
	}
	e := contract.AsError(err)
	message := e.Message
	if e.Kind == contract.Internal {
		message = "The log of the server says what happened. Nothing of it is shown here."
		v.Log.Error("a page of the console failed", "path", v.r.URL.Path, "error", err)
	} else if e.Cause != nil {
		v.Log.Info("a request to the console was refused", "path", v.r.URL.Path, "kind", e.Kind, "cause", e.Cause)
	}
	if seconds, ok := e.Details["retry_after"].(int); ok {
		v.w.Header().Set("Retry-After", strconv.Itoa(seconds))
	}
	back, on := wayOn(v.r.URL)
	v.problem(e.Kind.Status(), problem{Title: titleOf(e.Kind), Message: clip(approval.Plain(message), longestMessage), Back: back, On: on})
}

// longestMessage is how much of a message is shown: it may name whatever was asked for.
const longestMessage = 1000

// wayOn leads from a page that failed to the one that people came by.
func wayOn(failed *url.URL) (back, on string) {
	for _, part := range []struct{ beneath, page, name string }{
		{"/console/books", "/console/books", "books"},
		{"/console/files/", "/console/search", "the search"},
		{"/console/search", "/console/search", "the search"},
		{"/console/tasks", "/console/tasks", "tasks"},
		{"/console/memory", "/console/memory", "memory"},
	} {
		if strings.HasPrefix(failed.Path, part.beneath) && (failed.Path != part.page || failed.RawQuery != "") {
			return part.page, "Go on to " + part.name
		}
	}
	return "/", "Go on to the overview"
}

// noPage answers where there is no page, or none that takes the method. What there is, is
// told to those who are signed in.
func (v *visit) noPage() error {
	if err := v.enter(); err != nil {
		return err
	}
	return v.otherMethod()
}

// otherMethod tells which methods a page takes, if there is one.
func (v *visit) otherMethod() error {
	var takes []string
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
		other := v.r.Clone(v.r.Context())
		other.Method = method
		if _, pattern := v.known.Handler(other); pattern != "" {
			takes = append(takes, method)
		}
	}
	if len(takes) == 0 {
		return contract.Errorf(contract.NotFound, "There is no such page")
	}
	allowed := strings.Join(takes, ", ")
	v.w.Header().Set("Allow", allowed)
	back, on := wayOn(v.r.URL)
	v.problem(http.StatusMethodNotAllowed, problem{Title: "That does not fit", Message: "This page takes " + allowed + " alone.", Back: back, On: on})
	return nil
}

// problem answers with words to those who read no pages, and with a page otherwise.
func (v *visit) problem(status int, p problem) {
	if !v.readsPages() {
		v.say(status, p.Title+": "+p.Message)
		return
	}
	if err := v.pageWith(status, "problem", "", p.Title, p); err != nil {
		v.Log.Error("the page of an error failed", "path", v.r.URL.Path, "error", err)
		v.say(http.StatusInternalServerError, "Something went wrong. The log of the server says what.")
	}
}

// readsPages tells a browser from a program such as curl.
func (v *visit) readsPages() bool { return strings.Contains(v.r.Header.Get("Accept"), "text/html") }

// say answers in plain text.
func (v *visit) say(status int, text string) {
	v.w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	v.w.WriteHeader(status)
	_, _ = v.w.Write([]byte(text + "\n"))
}
