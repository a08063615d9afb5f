// Package signedurl makes signed URLs for uploads and archives, and serves them together with the
// URLs of assets. A client needs nothing but HTTP to use them. Every use is checked and recorded
// like a call. The package does not store content; a Library does.
package signedurl

import (
	"cmp"
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
	"remit/internal/engine"
)

// Library holds the content behind the URLs. An error whose message the client may see is a
// contract.Error.
type Library interface {
	// Asset opens an asset. The caller must close it.
	Asset(ctx context.Context, key string) (*Asset, error)
	// Receive stores an upload. It reads body at most once. When all bytes have arrived, it calls
	// arrived with their SHA-256. If reading body or arrived fails, or body ends early, Receive
	// stores nothing and leaves the previous content unchanged.
	Receive(ctx context.Context, u Upload, body io.Reader, arrived func(hash string) error) error
	// Archive writes a book as a zip. It writes nothing before it has found the book.
	Archive(ctx context.Context, bookID string, w io.Writer) error
}

// Guard decides who may use links, and records each use.
type Guard interface {
	// Reader returns who asks for an asset. The request has been authenticated.
	Reader(r *http.Request) (principal string)
	// Address returns the address of the client.
	Address(r *http.Request) string
	// Check returns nil if whoever got a link could still get it. A contract.Denied error says why
	// not, as the end of a sentence.
	Check(ctx context.Context, l Link, writes bool) error
	// Spent reports whether a link was used. Another process may use it at the same time.
	Spent(ctx context.Context, l Link) (bool, error)
	// Spend uses up a link. It returns true for exactly one caller, in whichever process.
	Spend(ctx context.Context, l Link) (bool, error)
	// Ready returns an error if the use of a link could not be recorded.
	Ready() error
	// Context returns the context in which an upload is stored, so that it is recorded first.
	Context(ctx context.Context, u *engine.LinkUse) context.Context
	// Record records the use of a link. The error means that something may have been stored without
	// a record.
	Record(ctx context.Context, u *engine.LinkUse) error
}

// Asset is the content of a file.
type Asset struct {
	io.ReadSeekCloser
	Size     int64
	Modified time.Time
	MIME     string
	Version  string // changes whenever the content does
}

// Path prefixes of the URLs.
const (
	assetPrefix   = "/cdn/"
	uploadPrefix  = "/upload/"
	archivePrefix = "/archives/"
)

// Matches reports whether a request uses a URL of this package. Such a request has no rights beyond
// those of its URL, so any host name is safe.
func Matches(r *http.Request) bool {
	return slices.ContainsFunc([]string{assetPrefix, uploadPrefix, archivePrefix}, func(prefix string) bool {
		return strings.HasPrefix(r.URL.Path, prefix)
	})
}

// AssetPath returns the path of an asset's URL.
func AssetPath(key string) string { return assetPrefix + key }

// Handler serves the URLs. Its fields must not change after the first request.
type Handler struct {
	Library Library
	Guard   Guard
	Signer  *Signer
	Log     *slog.Logger
	// Admit limits the requests in progress, together with those of other front ends. If it is nil,
	// there is no limit.
	Admit func() (leave func(), ok bool)
	// StallTimeout is how long an upload may make no progress; the default is 30 seconds.
	StallTimeout time.Duration
}

const defaultStallTimeout = 30 * time.Second

// Register adds the routes. It handles every method of its paths, so a catch-all route beside it
// must not name a method.
func (h *Handler) Register(mux *http.ServeMux) {
	h.route(mux, assetPrefix, engine.AssetLink, h.asset, http.MethodGet, http.MethodHead)
	h.route(mux, uploadPrefix, engine.UploadLink, h.upload, http.MethodPut)
	h.route(mux, archivePrefix, engine.ArchiveLink, h.archive, http.MethodGet, http.MethodHead)
}

// route serves the given methods of a path prefix and answers 405 to all others. The handler gets
// the rest of the path exactly as it was sent: percent-encoding would give one file several URLs.
func (h *Handler) route(mux *http.ServeMux, prefix string, kind engine.LinkKind, serve func(*use) error, methods ...string) {
	mux.HandleFunc(prefix, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if slices.Contains(methods, r.Method) {
			h.limitRequests(w, r, func() {
				u := &use{w: &sender{ResponseWriter: w}, r: r}
				u.Kind, u.Started, u.Client, u.Address = kind, h.Signer.Now(), r.UserAgent(), h.Guard.Address(r)
				u.Path = strings.TrimPrefix(r.URL.EscapedPath(), prefix)
				h.finish(u, serve(u))
			})
			return
		}
		w.Header().Set("Allow", strings.Join(methods, ", "))
		writeError(w, http.StatusMethodNotAllowed, validationError, r.Method+" is not allowed here; use "+strings.Join(methods, " or "))
	})
}

// limitRequests serves a request unless too many are in progress.
func (h *Handler) limitRequests(w http.ResponseWriter, r *http.Request, serve func()) {
	if h.Admit != nil {
		leave, ok := h.Admit()
		if !ok {
			w.Header().Set("Retry-After", "1")
			writeError(w, http.StatusServiceUnavailable, storageError, "Too many requests are in progress; try again")
			return
		}
		defer leave()
	}
	if r.ContentLength == 0 {
		// The read deadline of the request would end a long response. If the connection supports no
		// deadlines, its owner limits it.
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	}
	serve()
}

// Error names: those of the book tools, and one for URLs that were altered or have expired.
const (
	validationError = "ValidationError"
	storageError    = "StorageError"
	linkError       = "InvalidLinkError"
)

// errorContract returns a contract that renders errors as the book tools do.
func errorContract() *contract.Contract {
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

// fail answers a request that failed, and logs the cause, which the client does not see. status is
// that of the error, or 0 if its kind determines it.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, status int, err error) {
	failure := contract.AsError(err)
	switch {
	case r.Context().Err() != nil:
		h.Log.Debug("client disconnected before the response", "path", r.URL.Path, "error", err)
	case failure.Kind == contract.Unavailable || failure.Kind == contract.Internal:
		h.Log.Error("signed URL request failed", "path", r.URL.Path, "error", err)
	}
	writeJSON(w, cmp.Or(status, failure.Kind.Status()), errorContract().Render(failure))
}

// writeError answers with an error that has an HTTP status of its own.
func writeError(w http.ResponseWriter, status int, name, message string) {
	failure := contract.Errorf(contract.Invalid, "%s", message)
	failure.Code = name
	writeJSON(w, status, errorContract().Render(failure))
}

// writeJSON sends JSON that must not be cached.
func writeJSON(w http.ResponseWriter, status int, body []byte) {
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Type", "application/json")
	header.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) //nolint:gosec // JSON with nosniff is not rendered as a page
}

// Loopback serves the URLs if no server is running. It starts with the first URL that is made; most
// processes make none.
type Loopback struct {
	// Serve serves the URLs on this machine until ctx ends. It calls ready with the base URL.
	Serve func(ctx context.Context, ready func(base string)) error

	mu     sync.Mutex
	base   string
	end    func() error // nil if not serving
	closed bool
}

// Base returns the base URL, and starts serving if necessary.
func (l *Loopback) Base() (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return "", errors.New("signed URLs: the server is closed")
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
		return "", errors.Join(errors.New("cannot serve signed URLs"), err)
	}
}

// Close stops serving after it has finished the requests in progress.
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
