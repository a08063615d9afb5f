// Package signedurl makes addresses that can be followed with nothing but HTTP, and
// serves what they lead to.
package signedurl

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"remit/internal/contract"
)

// Library is what links lead to. A failure that its caller may read is a
// contract.Error.
type Library interface {
	// Asset opens an asset. The caller closes it.
	Asset(ctx context.Context, key string) (*Asset, error)
	// Receive stores an upload of just this size, or nothing: an error of body, and a
	// body that ends early, leave what was there.
	Receive(ctx context.Context, key string, size int64, by string, body io.Reader) error
	// Archive writes a book as a zip. It writes nothing before it knows that there is
	// such a book.
	Archive(ctx context.Context, bookID string, w io.Writer) error
}

// Asset is the content of a file, to be read from any place in it.
type Asset struct {
	io.ReadSeekCloser
	Size     int64
	Modified time.Time
	MIME     string
	Version  string // differs whenever the content does
}

// Where links lead.
const (
	assets   = "/cdn/"
	uploads  = "/upload/"
	archives = "/archives/"
)

// Leads tells whether a request follows a link. Such a request asks for no other right
// than the link gives, so it does not matter by what name it comes.
func Leads(r *http.Request) bool {
	return slices.ContainsFunc([]string{assets, uploads, archives}, func(place string) bool { return strings.HasPrefix(r.URL.Path, place) })
}

// AssetPath is where an asset is served, without the base.
func AssetPath(key string) string { return assets + key }

// Handler serves what links lead to. Fields do not change once it serves.
type Handler struct {
	Library Library
	Signer  *Signer
	Log     *slog.Logger
	// Admit bounds the requests that run, together with those of other faces; nil if
	// nothing is bounded.
	Admit func() (leave func(), ok bool)
	// Patience is how long an upload may stand still; 0 is half a minute.
	Patience time.Duration
}

const defaultPatience = 30 * time.Second

// Register adds the routes of the face. It claims its paths for every method, so
// a catch-all beside it must not name one.
func (h *Handler) Register(mux *http.ServeMux) {
	h.route(mux, assets, h.asset, http.MethodGet, http.MethodHead)
	h.route(mux, uploads, h.upload, http.MethodPut)
	h.route(mux, archives, h.archive, http.MethodGet, http.MethodHead)
}

// route serves the methods of a place, and says of all others which there are. Whoever
// serves gets the rest of the path as it was sent: what is spelt with percent signs has
// another spelling without, and one is enough.
func (h *Handler) route(mux *http.ServeMux, place string, serve func(http.ResponseWriter, *http.Request, string), methods ...string) {
	mux.HandleFunc(place, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if slices.Contains(methods, r.Method) {
			h.admitted(w, r, func() { serve(w, r, strings.TrimPrefix(r.URL.EscapedPath(), place)) })
			return
		}
		w.Header().Set("Allow", strings.Join(methods, ", "))
		refuse(w, http.StatusMethodNotAllowed, validationError, r.Method+" is not served here; use "+strings.Join(methods, " or "))
	})
}

// admitted serves unless too many requests run.
func (h *Handler) admitted(w http.ResponseWriter, r *http.Request, serve func()) {
	if h.Admit != nil {
		leave, ok := h.Admit()
		if !ok {
			w.Header().Set("Retry-After", "1")
			refuse(w, http.StatusServiceUnavailable, storageError, "Too many requests run at once; try again")
			return
		}
		defer leave()
	}
	if r.ContentLength == 0 {
		// What takes long would be ended by the deadline of the request. A connection
		// that knows no deadlines is one that its owner bounds.
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	}
	serve()
}

// The names of failures: those of the book tools, and one for links that were altered
// or have expired.
const (
	validationError = "ValidationError"
	storageError    = "StorageError"
	linkError       = "InvalidLinkError"
)

// words says failures as the book tools do.
func words() *contract.Contract {
	return &contract.Contract{Shape: contract.Named, Errors: map[contract.Kind]contract.ErrorRule{
		contract.Invalid:     {Code: validationError, Details: []string{"field", "path"}},
		contract.Denied:      {Code: validationError, Details: []string{"path"}},
		contract.NotFound:    {Code: "ContentNotFoundError", Details: []string{"path"}},
		contract.Conflict:    {Code: "ConflictError", Details: []string{"path"}},
		contract.TooLarge:    {Code: validationError, Details: []string{"path"}},
		contract.Limited:     {Code: "RateLimitError"},
		contract.Pending:     {Code: "ApprovalPendingError"},
		contract.Unavailable: {Code: storageError},
		contract.Internal:    {Code: storageError},
	}}
}

// fail answers a request that failed, and logs what its sender is not told.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	failure := contract.AsError(err)
	switch {
	case r.Context().Err() != nil:
		h.Log.Debug("nobody waits for an answer any more", "path", r.URL.Path, "error", err)
	case failure.Kind == contract.Unavailable || failure.Kind == contract.Internal:
		h.Log.Error("a link could not be followed", "path", r.URL.Path, "error", err)
	}
	answer(w, failure.Kind.Status(), words().Render(failure))
}

// refuse answers a request whose fault HTTP has a status for.
func refuse(w http.ResponseWriter, status int, name, message string) {
	failure := contract.Errorf(contract.Invalid, "%s", message)
	failure.Code = name
	answer(w, status, words().Render(failure))
}

// answer sends JSON that is true now, and perhaps not in a moment.
func answer(w http.ResponseWriter, status int, body []byte) {
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Type", "application/json")
	header.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) //nolint:gosec // JSON that is not sniffed is no page; a client that has gone cannot be told
}

// Loopback serves links where no server runs. It begins with the first link that
// somebody asks for, and most never do.
type Loopback struct {
	// Serve serves links on this machine until ctx ends. It tells ready the address.
	Serve func(ctx context.Context, ready func(base string)) error

	mu     sync.Mutex
	base   string
	end    func() error // nil if nothing is served
	closed bool
}

// Base is what links begin with. It is served from then on.
func (l *Loopback) Base() (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return "", errors.New("links are not served any more")
	}
	if l.end != nil {
		return l.base, nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	ready, done := make(chan string, 1), make(chan error, 1)
	go func() { done <- l.Serve(ctx, func(base string) { ready <- base }) }()
	select {
	case l.base = <-ready:
		l.end = func() error { cancel(); return <-done }
		return l.base, nil
	case err := <-done:
		cancel()
		return "", errors.Join(errors.New("links cannot be served"), err)
	}
}

// Close ends what was served, once the requests under way are answered.
func (l *Loopback) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.end == nil {
		return nil
	}
	end := l.end
	l.end = nil
	return end()
}
