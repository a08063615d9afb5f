package signedurl

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
)

// asset serves an asset or a range of it.
func (h *Handler) asset(w http.ResponseWriter, r *http.Request, key string) {
	if !isAsset(key) {
		h.fail(w, r, contract.Errorf(contract.NotFound, "Content not found: %s", key).With("path", key))
		return
	}
	found, err := h.Library.Asset(r.Context(), key)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	defer func() { _ = found.Close() }() // closing a file after reading loses nothing
	setAssetHeaders(w.Header(), found)
	http.ServeContent(w, r, "", found.Modified, found.ReadSeekCloser)
}

// isAsset reports whether a key names an asset: books/{book}/assets/ and names beneath it, none of
// them hidden.
func isAsset(key string) bool {
	names := strings.Split(key, "/")
	return len(names) >= 4 && names[0] == "books" && names[2] == "assets" && !slices.ContainsFunc(names, isInvalidName)
}

// isInvalidName reports whether a name is not valid for an asset: it is empty, begins with a dot,
// or has characters other than letters, digits, "_", "." and "-".
func isInvalidName(name string) bool {
	const characters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"
	return name == "" || name[0] == '.' || strings.Trim(name, characters) != ""
}

// setAssetHeaders sets the headers of an asset: its type, its version and what a browser may do
// with it.
func setAssetHeaders(header http.Header, a *Asset) {
	version := sha256.Sum256([]byte(a.Version)) // the version may contain details of this machine
	header.Set("ETag", `"`+hex.EncodeToString(version[:16])+`"`)
	// An asset may be replaced, and its author expects to see the new one. So caches may keep it,
	// but must revalidate it each time, which transfers no content.
	header.Set("Cache-Control", "public, no-cache")
	header.Set("Content-Type", typeOf(a))
	header.Set("Content-Disposition", "attachment")
	if isDisplayable(a.MIME) {
		header.Set("Content-Disposition", "inline")
	}
	header.Set("Access-Control-Allow-Origin", "*") // assets are public to anyone who has the URL
	header.Set("Cross-Origin-Resource-Policy", "cross-origin")
	if a.MIME != pdf { // browsers show no PDF in this sandbox; PDF viewers have their own
		header.Set("Content-Security-Policy", sandbox)
	}
}

// sandbox keeps an uploaded page or SVG from running scripts and from loading other resources.
const sandbox = "sandbox; default-src 'none'; img-src 'self' data:; media-src 'self'; style-src 'unsafe-inline'"

const pdf = "application/pdf"

// typeOf returns the content type of an asset. All texts are UTF-8.
func typeOf(a *Asset) string {
	switch {
	case a.MIME == "":
		return "application/octet-stream"
	case strings.HasPrefix(a.MIME, "text/") && !strings.Contains(a.MIME, ";"):
		return a.MIME + "; charset=utf-8"
	default:
		return a.MIME
	}
}

// isDisplayable reports whether a browser displays a type itself; it downloads all others.
func isDisplayable(mime string) bool {
	kind, _, _ := strings.Cut(mime, "/")
	return mime == pdf || kind == "image" || kind == "audio" || kind == "video"
}

// archive streams a book as a zip.
func (h *Handler) archive(w http.ResponseWriter, r *http.Request, name string) {
	bookID, err := h.Signer.archive(name, r.URL.RawQuery)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	header := w.Header()
	header.Set("Content-Type", "application/zip")
	header.Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", name))
	header.Set("Cache-Control", "private, no-store") // the book may change
	header.Set("Accept-Ranges", "none")
	if r.Method == http.MethodHead {
		return
	}
	out := &splitWriter{ResponseWriter: w}
	err = h.Library.Archive(r.Context(), bookID, out)
	switch {
	case err == nil:
	case !out.started:
		header.Del("Content-Disposition")
		h.fail(w, r, err)
	default:
		h.Log.Warn("archive aborted", "book", bookID, "error", err)
		panic(http.ErrAbortHandler) // abort, so that a client does not take the part for the whole
	}
}

// splitWriter splits writes into small ones: each write has a deadline, which a slow connection
// would miss with a large one.
type splitWriter struct {
	http.ResponseWriter
	started bool
}

const maxWriteBytes = 64 << 10

// Write implements io.Writer.
func (s *splitWriter) Write(data []byte) (written int, err error) {
	s.started = true
	for len(data) > 0 && err == nil {
		var n int
		n, err = s.ResponseWriter.Write(data[:min(len(data), maxWriteBytes)])
		written, data = written+n, data[n:]
	}
	return written, err
}

// upload receives an upload. It reads no bytes before it has checked the URL, and stores nothing
// before all bytes have arrived.
func (h *Handler) upload(w http.ResponseWriter, r *http.Request, key string) {
	size, by, err := h.Signer.upload(key, r.URL.RawQuery)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	switch coding := r.Header.Get("Content-Encoding"); {
	case coding != "" && coding != "identity":
		writeError(w, http.StatusUnsupportedMediaType, validationError,
			fmt.Sprintf("The body is encoded as %q; send it without Content-Encoding", coding))
		return
	case r.ContentLength < 0:
		writeError(w, http.StatusLengthRequired, validationError, fmt.Sprintf("The length of the body is unknown; send Content-Length: %d", size))
		return
	case r.ContentLength != size:
		writeError(w, http.StatusBadRequest, validationError, fmt.Sprintf(
			"The body has %d bytes, but this link accepts %d; ask the tool for a link with the right file_size", r.ContentLength, size))
		return
	}
	timeout := cmp.Or(h.StallTimeout, defaultStallTimeout)
	body := &stallReader{body: r.Body, left: size, control: http.NewResponseController(w), timeout: timeout}
	err = h.Library.Receive(r.Context(), key, size, by, body)
	switch {
	case err == nil:
		stored := jsontree.Obj(
			jsontree.M("status", jsontree.Str("success")), jsontree.M("path", jsontree.Str(key)), jsontree.M("file_size", jsontree.Int(size)))
		writeJSON(w, http.StatusCreated, stored.Append(nil))
	case errors.Is(body.err, os.ErrDeadlineExceeded):
		writeError(w, http.StatusRequestTimeout, validationError,
			fmt.Sprintf("The upload made no progress for %s and nothing was stored; send it again", body.timeout))
	case body.err != nil:
		writeError(w, http.StatusBadRequest, validationError, "The body ended early and nothing was stored; send it again")
	default:
		h.fail(w, r, err)
	}
}

// stallReader reads a body as long as it makes progress, however slowly.
type stallReader struct {
	body        io.Reader
	left        int64 // bytes to come
	control     *http.ResponseController
	timeout     time.Duration
	untilExtend int   // bytes until the deadline is extended
	err         error // message reading failed
}

// progressBytes is how many bytes must arrive within the timeout.
const progressBytes = 16 << 10

// Read implements io.Reader.
func (s *stallReader) Read(into []byte) (int, error) {
	if s.untilExtend <= 0 {
		s.untilExtend = progressBytes
		// If the connection supports no deadlines, its owner limits it.
		_ = s.control.SetReadDeadline(time.Now().Add(s.timeout))
	}
	n, err := s.body.Read(into)
	s.untilExtend -= n
	s.left -= int64(n)
	if s.left == 0 {
		_ = s.control.SetReadDeadline(time.Time{}) // the deadline must not interrupt a slow store
	}
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}
