package links

import (
	"net/http"
	"strconv"

	"remit/internal/contract"
)

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
