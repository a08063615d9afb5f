package links

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"remit/internal/contract/jsontree"
)

// upload takes the bytes of an upload. Nothing of them is read before the link is
// known to be good, and nothing is kept before all of them are here.
func (h *Handler) upload(w http.ResponseWriter, r *http.Request, key string) {
	size, by, err := h.Signer.upload(key, r.URL.RawQuery)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	switch coding := r.Header.Get("Content-Encoding"); {
	case coding != "" && coding != "identity":
		refuse(w, http.StatusUnsupportedMediaType, validationError, fmt.Sprintf("The body is encoded as %q; send it as it is", coding))
		return
	case r.ContentLength < 0:
		refuse(w, http.StatusLengthRequired, validationError, fmt.Sprintf("The length of the body is not known; send Content-Length: %d", size))
		return
	case r.ContentLength != size:
		refuse(w, http.StatusBadRequest, validationError, fmt.Sprintf("The body has %d bytes, but this link takes %d; ask the tool for a link with the right file_size", r.ContentLength, size))
		return
	}
	body := &steady{body: r.Body, left: size, control: http.NewResponseController(w), patience: h.patience()}
	err = h.Library.Receive(r.Context(), key, size, by, body)
	switch {
	case err == nil:
		stored := jsontree.Obj(jsontree.M("status", jsontree.Str("success")), jsontree.M("path", jsontree.Str(key)), jsontree.M("file_size", jsontree.Int(size)))
		answer(w, http.StatusCreated, stored.Append(nil))
	case errors.Is(body.err, os.ErrDeadlineExceeded):
		refuse(w, http.StatusRequestTimeout, validationError, fmt.Sprintf("The upload stood still for %s and nothing was stored; send it again", body.patience))
	case body.err != nil:
		refuse(w, http.StatusBadRequest, validationError, "The body ended early and nothing was stored; send it again")
	default:
		h.fail(w, r, err)
	}
}

func (h *Handler) patience() time.Duration {
	if h.Patience == 0 {
		return defaultPatience
	}
	return h.Patience
}

// steady reads a body for as long as it moves on, however slowly.
type steady struct {
	body     io.Reader
	left     int64 // bytes that are yet to come
	control  *http.ResponseController
	patience time.Duration
	stride   int   // bytes until the deadline is put off
	err      error // why it could not be read to its end
}

// stride is how much must come within the patience of a handler.
const stride = 16 << 10

// Read reads on.
func (s *steady) Read(into []byte) (int, error) {
	if s.stride <= 0 {
		s.stride = stride
		_ = s.control.SetReadDeadline(time.Now().Add(s.patience)) // a connection that knows none is one that its owner bounds
	}
	n, err := s.body.Read(into)
	s.stride -= n
	s.left -= int64(n)
	if s.left == 0 {
		_ = s.control.SetReadDeadline(time.Time{}) // else it would end a store that takes its time
	}
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}
