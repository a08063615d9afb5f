package signedurl

import (
	"cmp"
	"context"
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
	"remit/internal/engine"
)

// use is one use of a link while it is served.
type use struct {
	engine.LinkUse
	w      *sender
	r      *http.Request
	status int    // of an error; 0 if its kind determines it
	answer []byte // the JSON of a success that is still to be sent
}

// finish records a use, and answers it if that has not been done.
func (h *Handler) finish(u *use, err error) {
	if err != nil {
		u.Err = err
	}
	if err != nil && u.r.Context().Err() != nil {
		u.Err = contract.Errorf(contract.Unavailable, "The client disconnected").Because(err)
	}
	u.Sent = u.w.sent
	if failed := h.Guard.Record(u.r.Context(), &u.LinkUse); failed != nil && err == nil {
		err = contract.Errorf(contract.Unavailable,
			"The upload was stored, but its audit record could not be written; do not repeat it").Because(failed)
	}
	switch {
	case err == nil && u.answer != nil:
		writeJSON(u.w, http.StatusCreated, u.answer)
	case err == nil:
	case u.w.status != 0:
		h.Log.Warn("transfer aborted", "path", u.r.URL.Path, "error", err)
		panic(http.ErrAbortHandler) // so that a client does not take the part for the whole
	default:
		u.w.Header().Del("Content-Disposition")
		h.fail(u.w, u.r, u.status, err)
	}
}

// admit checks a link whose signature is valid: whoever got it must still be able to get it.
func (h *Handler) admit(u *use, l Link, err error) error {
	if u.Principal, u.Link = l.By, l.ID; err != nil {
		return err
	}
	if err = h.checkHolder(u.r.Context(), l, u.Kind == engine.UploadLink); err == nil {
		u.Admitted = true
	}
	return err
}

func (h *Handler) checkHolder(ctx context.Context, l Link, writes bool) error {
	err := h.Guard.Check(ctx, l, writes)
	if err != nil && contract.AsError(err).Kind == contract.Denied {
		return invalidLink("This link is no longer valid: " + contract.AsError(err).Message + "; ask the tool for a new one")
	}
	return err
}

// asset serves an asset or a range of it.
func (h *Handler) asset(u *use) error {
	u.Principal, u.Admitted = h.Guard.Reader(u.r), true
	if !isAsset(u.Path) {
		return contract.Errorf(contract.NotFound, "Content not found: %s", u.Path).With("path", u.Path)
	}
	found, err := h.Library.Asset(u.r.Context(), u.Path)
	if err != nil {
		return err
	}
	defer func() { _ = found.Close() }() // closing a file after reading loses nothing
	setAssetHeaders(u.w.Header(), found)
	http.ServeContent(u.w, u.r, "", found.Modified, found.ReadSeekCloser)
	if u.w.status >= http.StatusBadRequest {
		u.Err = contract.Errorf(contract.Invalid, "%s", http.StatusText(u.w.status))
	}
	return nil
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
func (h *Handler) archive(u *use) error {
	bookID, link, err := h.Signer.archive(u.Path, u.r.URL.RawQuery)
	if err := h.admit(u, link, err); err != nil {
		return err
	}
	header := u.w.Header()
	header.Set("Content-Type", "application/zip")
	header.Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", u.Path))
	header.Set("Cache-Control", "private, no-store") // the book may change
	header.Set("Accept-Ranges", "none")
	if u.r.Method == http.MethodHead {
		return nil
	}
	return h.Library.Archive(u.r.Context(), bookID, u.w)
}

// sender counts what is sent, and splits writes into small ones: each write has a deadline, which a
// slow connection would miss with a large one.
type sender struct {
	http.ResponseWriter
	status int // 0 until the response has begun
	sent   int64
}

// Unwrap returns the underlying writer, for http.ResponseController.
func (s *sender) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (s *sender) WriteHeader(status int) {
	s.status = cmp.Or(s.status, status)
	s.ResponseWriter.WriteHeader(status)
}

const maxWriteBytes = 64 << 10

// Write implements io.Writer.
func (s *sender) Write(data []byte) (written int, err error) {
	s.status = cmp.Or(s.status, http.StatusOK)
	for len(data) > 0 && err == nil {
		var n int
		n, err = s.ResponseWriter.Write(data[:min(len(data), maxWriteBytes)])
		written, data = written+n, data[n:]
	}
	s.sent += int64(written)
	return written, err
}

// upload receives an upload. It reads no bytes before it has checked the link, and stores nothing
// before all bytes have arrived and have the announced digest. The link is used up at that moment:
// an upload that is refused or cut off earlier may be sent again, and none has an effect twice.
func (h *Handler) upload(u *use) error {
	allowed, link, err := h.Signer.upload(u.Path, u.r.URL.RawQuery)
	if err := h.admit(u, link, err); err != nil {
		return err
	}
	u.Size = allowed.Size
	if spent, err := h.Guard.Spent(u.r.Context(), link); err != nil || spent {
		return h.used(u, err)
	}
	if err := h.Guard.Ready(); err != nil {
		return contract.Errorf(contract.Unavailable, "The audit record cannot be written, so nothing was stored; try again later").Because(err)
	}
	if err := u.checkHeaders(); err != nil {
		return err
	}
	digest, err := announcedDigest(u.r.Header)
	if err != nil {
		return err
	}
	body := &stallReader{body: u.r.Body, control: http.NewResponseController(u.w), timeout: cmp.Or(h.StallTimeout, defaultStallTimeout)}
	var refused error
	// A client that disconnects after its last byte does not cancel the write.
	ctx := h.Guard.Context(context.WithoutCancel(u.r.Context()), &u.LinkUse)
	err = h.Library.Receive(ctx, allowed, body, func(hash string) error {
		// The deadline must not interrupt a slow store.
		_ = body.control.SetReadDeadline(time.Time{})
		if refused = digest.check(hash); refused == nil {
			refused = h.spend(u, link)
		}
		return refused
	})
	switch {
	case err == nil:
		stored := jsontree.Obj(
			jsontree.M("status", jsontree.Str("success")), jsontree.M("path", jsontree.Str(u.Path)), jsontree.M("file_size", jsontree.Int(u.Size)))
		u.answer = stored.Append(nil)
		return nil
	case refused != nil:
		return refused
	case errors.Is(body.err, os.ErrDeadlineExceeded):
		u.status = http.StatusRequestTimeout
		return contract.Errorf(contract.Invalid, "The upload made no progress for %s and nothing was stored; send it again", body.timeout)
	case body.err != nil:
		return contract.Errorf(contract.Invalid, "The body ended early and nothing was stored; send it again").Because(body.err)
	case u.Effect:
		return usedUp(err)
	}
	return err
}

// checkHeaders returns an error if the body cannot be the upload that the link permits.
func (u *use) checkHeaders() error {
	switch coding := u.r.Header.Get("Content-Encoding"); {
	case coding != "" && coding != "identity":
		u.status = http.StatusUnsupportedMediaType
		return contract.Errorf(contract.Invalid, "The body is encoded as %q; send it without Content-Encoding", coding)
	case u.r.ContentLength < 0:
		u.status = http.StatusLengthRequired
		return contract.Errorf(contract.Invalid, "The length of the body is unknown; send Content-Length: %d", u.Size)
	case u.r.ContentLength != u.Size:
		return contract.Errorf(contract.Invalid, "The body has %d bytes, but this link accepts %d; ask the tool for a link with the right file_size",
			u.r.ContentLength, u.Size)
	}
	return nil
}

// spend uses up the link of an upload whose bytes have all arrived. It checks the link again,
// because an upload may take long.
func (h *Handler) spend(u *use, l Link) error {
	ctx := context.WithoutCancel(u.r.Context())
	err := h.checkHolder(ctx, l, true)
	if !h.Signer.Now().Before(l.Expires) { // others forget then that the link was used
		err = invalidLink(linkExpired)
	}
	if err != nil {
		u.Admitted = false
		return err
	}
	fresh, err := h.Guard.Spend(ctx, l)
	if err != nil || !fresh {
		return h.used(u, err)
	}
	u.Effect = true
	return nil
}

// used returns the error for a link that was used before, or whose state is unknown because of err.
func (h *Handler) used(u *use, err error) error {
	if err != nil {
		return contract.Errorf(contract.Unavailable, "Signed links cannot be used right now; try again").Because(err)
	}
	u.Admitted = false
	return invalidLink(linkUsed)
}

// usedUp adds to the error of an upload that its link cannot be used again.
func usedUp(err error) error {
	failure := *contract.AsError(err)
	failure.Message += " (this link is used up; ask upload_asset for a new one)"
	return &failure
}

// stallReader reads a body as long as it makes progress, however slowly.
type stallReader struct {
	body        io.Reader
	control     *http.ResponseController
	timeout     time.Duration
	untilExtend int   // bytes until the deadline is extended
	err         error // why reading failed
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
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}
