package links

import (
	"fmt"
	"net/http"
)

// archive streams a book as a zip, made while it is sent.
func (h *Handler) archive(w http.ResponseWriter, r *http.Request, name string) {
	bookID, err := h.Signer.archive(name, r.URL.RawQuery)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	header := w.Header()
	header.Set("Content-Type", "application/zip")
	header.Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", name))
	header.Set("Cache-Control", "private, no-store") // the book goes on
	header.Set("Accept-Ranges", "none")
	if r.Method == http.MethodHead {
		return
	}
	out := &sips{ResponseWriter: w}
	err = h.Library.Archive(r.Context(), bookID, out)
	switch {
	case err == nil:
	case !out.begun:
		header.Del("Content-Disposition")
		h.fail(w, r, err)
	default:
		h.Log.Warn("an archive was broken off", "book", bookID, "error", err)
		panic(http.ErrAbortHandler) // so that nobody takes the part that was sent for the whole
	}
}

// sips sends a little at a time: a connection has so long for each write, and a slow
// one would need longer for much at once.
type sips struct {
	http.ResponseWriter
	begun bool
}

const sip = 64 << 10

// Write sends data.
func (s *sips) Write(data []byte) (written int, err error) {
	s.begun = true
	for len(data) > 0 && err == nil {
		var n int
		n, err = s.ResponseWriter.Write(data[:min(len(data), sip)])
		written, data = written+n, data[n:]
	}
	return written, err
}
