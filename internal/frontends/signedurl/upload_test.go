package signedurl_test

import (
	"bufio"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"remit/internal/contract"
	"remit/internal/engine"
	"remit/internal/frontends/signedurl"
)

func (r *rig) uploadLink(t *testing.T) string {
	t.Helper()
	link, err := r.signer.Upload(signedurl.Upload{Key: film, Size: 4}, anHour)
	if err != nil {
		t.Fatal(err)
	}
	return link
}

// expectNothingReceived checks that the library got no upload.
func (r *rig) expectNothingReceived(t *testing.T) {
	t.Helper()
	r.memLibrary.mu.Lock()
	defer r.memLibrary.mu.Unlock()
	if r.received != nil {
		t.Errorf("the library got %v", r.received)
	}
}

// reset clears what the library got.
func (r *rig) reset() {
	r.memLibrary.mu.Lock()
	defer r.memLibrary.mu.Unlock()
	r.received = nil
}

// TestUpload checks that the content and its author arrive.
func TestUpload(t *testing.T) {
	r := serve(t)
	link := r.uploadLink(t)
	if !strings.HasPrefix(link, "/upload/"+film+"?") {
		t.Errorf("the link is %s", link)
	}
	got := r.ask(t, http.MethodPut, link, strings.NewReader("FILM"))
	if want := `{"status":"success","path":"` + film + `","file_size":4}`; got.StatusCode != http.StatusCreated || got.body != want {
		t.Errorf("got %d %s", got.StatusCode, got.body)
	}
	r.memLibrary.mu.Lock()
	defer r.memLibrary.mu.Unlock()
	if r.received[film] != "FILM" || r.by != "ann@example.com" {
		t.Errorf("the library got %v by %s", r.received, r.by)
	}
	r.expectRecord(t, engine.UploadLink, "ann@example.com", "", true, true)
	if last := r.records[len(r.records)-1]; last.Size != 4 || last.Path != film || last.Link == "" {
		t.Errorf("recorded %+v", last)
	}
}

// TestUploadRejected checks that a URL is valid only for what it was made for.
func TestUploadRejected(t *testing.T) {
	r := serve(t)
	link := r.uploadLink(t)
	archive, _ := r.signer.Archive("ai", anHour)
	signature := link[strings.Index(link, "signature=")+len("signature="):]
	signature, _, _ = strings.Cut(signature, "&")
	other := *r.signer
	other.LibraryID = "file:///elsewhere"
	foreign, _ := other.Upload(signedurl.Upload{Key: film, Size: 4}, anHour)
	for name, altered := range map[string]string{
		"no query":            "/upload/" + film,
		"another key":         strings.Replace(link, "film.mp4", "other.mp4", 1),
		"another book":        strings.Replace(link, "books/ai/", "books/ia/", 1),
		"a key spelt anew":    strings.Replace(link, "film", "fil%6d", 1),
		"another size":        with(link, "size", "5"),
		"a later end":         with(link, "expires", "99999999999"),
		"somebody else":       with(link, "by", "eve"),
		"another token":       with(link, "for", "local"),
		"another id":          with(link, "id", "x"),
		"an earlier start":    with(link, "issued", "0"),
		"an empty signature":  with(link, "signature", ""),
		"a short signature":   with(link, "signature", signature[:63]),
		"a capital signature": with(link, "signature", strings.ToUpper(signature)),
		"one more parameter":  link + "&x=1",
		"a parameter twice":   link + "&size=4",
		"bad escapes":         link + "&%zz=1",
		"that of an archive":  "/upload/" + film + queryOf(archive),
		"of another library":  foreign,
	} {
		t.Run(name, func(t *testing.T) {
			r.ask(t, http.MethodPut, altered, strings.NewReader("FILM")).expectError(t, http.StatusForbidden, "InvalidLinkError")
			r.expectNothingReceived(t)
			r.expectRecord(t, engine.UploadLink, "", contract.Denied, false, false)
		})
	}
}

// TestUploadExpires checks the expiry to the second.
func TestUploadExpires(t *testing.T) {
	r := serve(t)
	link := r.uploadLink(t)
	r.now = noon.Add(time.Hour - time.Second)
	if got := r.ask(t, http.MethodPut, link, strings.NewReader("FILM")); got.StatusCode != http.StatusCreated {
		t.Errorf("got %d %s", got.StatusCode, got.body)
	}
	r.reset()
	link = r.uploadLink(t)
	r.now = noon.Add(time.Hour)
	got := r.ask(t, http.MethodPut, link, strings.NewReader("FILM"))
	if got.expectError(t, http.StatusForbidden, "InvalidLinkError"); !strings.Contains(got.body, "expired") {
		t.Errorf("got %s", got.body)
	}
	r.expectNothingReceived(t)
}

// TestUploadArrivesTooLate checks that an upload whose last byte arrives after the link has expired
// is not stored, although it began earlier.
func TestUploadArrivesTooLate(t *testing.T) {
	r := serve(t)
	checks := 0
	r.check = func(signedurl.Link, bool) error {
		if checks++; checks == 2 { // all bytes have arrived
			r.now = noon.Add(time.Hour)
		}
		return nil
	}
	got := r.ask(t, http.MethodPut, r.uploadLink(t), strings.NewReader("FILM"))
	if got.expectError(t, http.StatusForbidden, "InvalidLinkError"); !strings.Contains(got.body, "expired") {
		t.Errorf("got %s", got.body)
	}
	r.expectNothingReceived(t)
	r.expectRecord(t, engine.UploadLink, "ann@example.com", contract.Denied, false, false)
}

// digestOf returns the SHA-256 of a text in base64.
func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// TestUploadDigest checks that a body without the announced SHA-256 is not stored and does not use
// up the link.
func TestUploadDigest(t *testing.T) {
	r := serve(t)
	link := r.uploadLink(t)
	evil, film := digestOf("EVIL"), digestOf("FILM")
	for _, c := range []struct{ header, value, want string }{
		{"Content-Digest", "sha-256=:" + evil + ":", "Content-Digest announces"},
		{"X-Amz-Checksum-Sha256", evil, "X-Amz-Checksum-Sha256 announces"},
		{"Content-Digest", "sha-256=" + film, "is not valid"},
		{"Content-Digest", "sha-256=:" + film[1:] + ":", "is not valid"},
		{"Content-Digest", "sha-256=:" + film + ":, SHA-256=:" + evil + ":", "two different"},
		{"X-Amz-Checksum-Sha256", "", "is not valid"},
	} {
		got := r.ask(t, http.MethodPut, link, strings.NewReader("FILM"), c.header, c.value)
		if got.expectError(t, http.StatusBadRequest, "ValidationError"); !strings.Contains(got.body, c.want) {
			t.Errorf("%s: %s: got %s", c.header, c.value, got.body)
		}
		r.expectRecord(t, engine.UploadLink, "ann@example.com", contract.Invalid, true, false)
	}
	r.expectNothingReceived(t)
	got := r.ask(t, http.MethodPut, link, strings.NewReader("FILM"), "Content-Digest", "sha-512=:unknown:,\tsha-256=:"+film+":", "X-Amz-Checksum-Sha256", film)
	if got.StatusCode != http.StatusCreated {
		t.Errorf("got %d %s", got.StatusCode, got.body)
	}
}

// FuzzAnnouncedDigest checks that headers announce a SHA-256, nothing, or an error.
func FuzzAnnouncedDigest(f *testing.F) {
	f.Add("sha-256=:"+digestOf("FILM")+":", digestOf("FILM"))
	f.Add("sha-512=:x:, sha-256=::", "")
	f.Add("sha-256=:,:", "=")
	f.Fuzz(func(t *testing.T, content, amz string) {
		got, err := signedurl.AnnouncedDigest(http.Header{"Content-Digest": {content}, "X-Amz-Checksum-Sha256": {amz}})
		raw, notHex := hex.DecodeString(got)
		if err == nil && (notHex != nil || base64.StdEncoding.EncodeToString(raw) != amz || len(raw) != sha256.Size) {
			t.Errorf("%q and %q announce %q", content, amz, got)
		}
	})
}

// TestUploadSizes checks that the size of the body must match the URL.
func TestUploadSizes(t *testing.T) {
	r := serve(t)
	link := r.uploadLink(t)
	for _, body := range []string{"", "FIL", "FILMS"} {
		r.ask(t, http.MethodPut, link, strings.NewReader(body)).expectError(t, http.StatusBadRequest, "ValidationError")
	}
	r.ask(t, http.MethodPut, link, io.MultiReader(strings.NewReader("FILM"))).expectError(t, http.StatusLengthRequired, "ValidationError")
	r.ask(t, http.MethodPut, link, strings.NewReader("FILM"), "Content-Encoding", "gzip").expectError(t, http.StatusUnsupportedMediaType, "ValidationError")
	r.expectNothingReceived(t)
}

// send sends bytes over a new connection and returns the response.
func (r *rig) send(t *testing.T, text string, then func(net.Conn)) (status int, body string) {
	t.Helper()
	conn, err := net.Dial("tcp", r.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	then(conn)
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	data, _ := io.ReadAll(response.Body)
	return response.StatusCode, string(data)
}

// TestUploadEndsEarly checks that nothing is stored, and that the client gets an error.
func TestUploadEndsEarly(t *testing.T) {
	r := serve(t)
	start := fmt.Sprintf("PUT %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nFI", r.uploadLink(t))
	status, body := r.send(t, start, func(conn net.Conn) { _ = conn.(*net.TCPConn).CloseWrite() })
	if status != http.StatusBadRequest || !strings.Contains(body, "ended early") {
		t.Errorf("got %d %s", status, body)
	}
	r.expectNothingReceived(t)
}

// TestUploadStalls checks that an upload without progress is aborted.
func TestUploadStalls(t *testing.T) {
	r := serve(t)
	r.handler.StallTimeout = 50 * time.Millisecond
	start := fmt.Sprintf("PUT %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nFI", r.uploadLink(t))
	status, body := r.send(t, start, func(net.Conn) {})
	if status != http.StatusRequestTimeout || !strings.Contains(body, "made no progress") {
		t.Errorf("got %d %s", status, body)
	}
	r.expectNothingReceived(t)
}

// TestUploadChecksURLFirst checks that a URL that is not valid is rejected before the client sends
// the body.
func TestUploadChecksURLFirst(t *testing.T) {
	r := serve(t)
	start := fmt.Sprintf("PUT %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n", with(r.uploadLink(t), "size", "5"))
	if status, body := r.send(t, start, func(net.Conn) {}); status != http.StatusForbidden {
		t.Errorf("got %d %s", status, body)
	}
}

// TestNoSecret checks that no URL is made or accepted without the secret.
func TestNoSecret(t *testing.T) {
	r := serve(t)
	link := r.uploadLink(t)
	r.signer.Secret = func() ([]byte, error) { return nil, errors.New("the database is away") }
	r.ask(t, http.MethodPut, link, strings.NewReader("FILM")).expectError(t, http.StatusServiceUnavailable, "StorageError")
	if _, err := r.signer.Upload(signedurl.Upload{Key: film, Size: 4}, anHour); err == nil {
		t.Error("a link was made")
	}
	if _, err := r.signer.Archive("ai", anHour); err == nil {
		t.Error("a link was made")
	}
}

// FuzzUploadLink checks that no altered URL is accepted.
func FuzzUploadLink(f *testing.F) {
	signer := &signedurl.Signer{Secret: func() ([]byte, error) { return []byte("secret"), nil }, Now: func() time.Time { return noon }}
	good, err := signer.Upload(signedurl.Upload{Key: film, Size: 4}, anHour)
	if err != nil {
		f.Fatal(err)
	}
	_, query, _ := strings.Cut(good, "?")
	f.Add(film, query)
	f.Add(film, query+"&")
	f.Add(film, query+"&size=4")
	f.Add(film+"/", strings.Replace(query, "size=4", "size=%34", 1))
	f.Add("", "expires=1&signature=%00;")
	f.Fuzz(func(t *testing.T, key, query string) {
		upload, link, err := signedurl.ReadUpload(signer, key, query)
		if err == nil && (upload != signedurl.Upload{Key: film, Size: 4, By: anHour.By} || link.Credential != anHour.Credential || link.ID == "") {
			t.Errorf("%q with %q is accepted as %+v of %+v", key, query, upload, link)
		}
	})
}
