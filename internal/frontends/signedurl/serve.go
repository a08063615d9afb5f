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

// asset serves an asset, or the parts of it that were asked for.
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
	defer func() { _ = found.Close() }() // what was only read has nothing left to lose
	describe(w.Header(), found)
	http.ServeContent(w, r, "", found.Modified, found.ReadSeekCloser)
}

// isAsset tells the key of an asset: books/{book}/assets/ and names beneath it, none
// of them hidden.
func isAsset(key string) bool {
	names := strings.Split(key, "/")
	return len(names) >= 4 && names[0] == "books" && names[2] == "assets" && !slices.ContainsFunc(names, isOdd)
}

// isOdd tells a name that no asset has: anything but letters, digits and _ . - in it,
// or a dot in front.
func isOdd(name string) bool {
	const characters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"
	return name == "" || name[0] == '.' || strings.Trim(name, characters) != ""
}

// describe says what an asset is, and what a browser may do with it.
func describe(header http.Header, a *Asset) {
	version := sha256.Sum256([]byte(a.Version)) // it may tell of the machine
	header.Set("ETag", `"`+hex.EncodeToString(version[:16])+`"`)
	// An asset may be replaced, and whoever did so looks for the new one: so anybody may
	// keep it, and asks each time whether it is still the same, which costs no bytes.
	header.Set("Cache-Control", "public, no-cache")
	header.Set("Content-Type", typeOf(a))
	header.Set("Content-Disposition", "attachment")
	if isShown(a.MIME) {
		header.Set("Content-Disposition", "inline")
	}
	header.Set("Access-Control-Allow-Origin", "*") // whoever has the address of an asset may see it
	header.Set("Cross-Origin-Resource-Policy", "cross-origin")
	if a.MIME != pdf { // browsers show no PDF in a sandbox; it has one of its own
		header.Set("Content-Security-Policy", sandbox)
	}
}

// sandbox keeps a page or a drawing that somebody uploaded from running scripts here,
// and from asking for anything else.
const sandbox = "sandbox; default-src 'none'; img-src 'self' data:; media-src 'self'; style-src 'unsafe-inline'"

const pdf = "application/pdf"

// typeOf is the type of an asset. Texts are UTF-8 like all that is kept here.
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

// isShown tells what a browser shows by itself; all else it keeps as a file.
func isShown(mime string) bool {
	kind, _, _ := strings.Cut(mime, "/")
	return mime == pdf || kind == "image" || kind == "audio" || kind == "video"
}

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
	body := &steady{body: r.Body, left: size, control: http.NewResponseController(w), patience: cmp.Or(h.Patience, defaultPatience)}
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
