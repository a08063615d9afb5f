package signedurl_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"remit/internal/contract"
	"remit/internal/engine"
	"remit/internal/frontends/signedurl"
)

// TestArchive checks that the zip is streamed as a file with a name.
func TestArchive(t *testing.T) {
	r := serve(t)
	link, err := r.signer.Archive("ai-2025", anHour)
	if err != nil || !strings.HasPrefix(link, "/archives/ai-2025-2025-11-24.zip?") {
		t.Fatalf("got %s, %v", link, err)
	}
	for method, want := range map[string]string{http.MethodGet: "the zip of ai-2025", http.MethodHead: ""} {
		got := r.ask(t, method, link, nil)
		if got.StatusCode != http.StatusOK || got.body != want {
			t.Errorf("%s: got %d %q", method, got.StatusCode, got.body)
		}
		for name, want := range map[string]string{
			"Content-Type": "application/zip", "Content-Disposition": `attachment; filename="ai-2025-2025-11-24.zip"`,
			"Cache-Control": "private, no-store", "Accept-Ranges": "none", "X-Content-Type-Options": "nosniff",
		} {
			if got.Header.Get(name) != want {
				t.Errorf("%s: %s is %q, want %q", method, name, got.Header.Get(name), want)
			}
		}
	}
}

// TestArchiveOfRevokedToken checks that an archive link ends with the credential of who got it, and
// that each use is recorded.
func TestArchiveOfRevokedToken(t *testing.T) {
	r := serve(t)
	link, _ := r.signer.Archive("ai", anHour)
	r.ask(t, http.MethodGet, link, nil)
	r.expectRecord(t, engine.ArchiveLink, "ann@example.com", "", true, false)
	if last := r.records[len(r.records)-1]; last.Sent != int64(len("the zip of ai")) {
		t.Errorf("recorded %+v", last)
	}
	r.check = func(l signedurl.Link, writes bool) error {
		return contract.Errorf(contract.Denied, "its token %q is revoked (%s, %t)", "ci", l.Credential, writes)
	}
	got := r.ask(t, http.MethodGet, link, nil)
	if got.expectError(t, http.StatusForbidden, "InvalidLinkError"); !strings.Contains(got.body, `its token \"ci\" is revoked (token:t1, false); ask`) {
		t.Errorf("got %s", got.body)
	}
	r.expectRecord(t, engine.ArchiveLink, "ann@example.com", contract.Denied, false, false)
}

// TestArchiveRejected checks that altered and expired URLs are rejected.
func TestArchiveRejected(t *testing.T) {
	r := serve(t)
	link, _ := r.signer.Archive("ai", anHour)
	upload, _ := r.signer.Upload(signedurl.Upload{Key: "ai-2025-11-24.zip", Size: 4}, anHour)
	for name, altered := range map[string]string{
		"an upload":    strings.Replace(upload, "/upload/", "/archives/", 1),
		"another book": strings.Replace(link, "/ai-", "/ia-", 1),
		"another day":  strings.Replace(link, "-24.zip", "-25.zip", 1),
		"a later end":  with(link, "expires", "99999999999"),
		"no signature": "/archives/ai-2025-11-24.zip",
		"no name":      "/archives/" + queryOf(link),
	} {
		t.Run(name, func(t *testing.T) {
			for _, method := range []string{http.MethodGet, http.MethodHead} {
				if got := r.ask(t, method, altered, nil); got.StatusCode != http.StatusForbidden || method == http.MethodGet && !strings.Contains(got.body, "InvalidLinkError") {
					t.Errorf("got %d %s", got.StatusCode, got.body)
				}
			}
		})
	}
	r.ask(t, http.MethodGet, with(link, "by", "eve"), nil).expectError(t, http.StatusForbidden, "InvalidLinkError")
	r.expectRecord(t, engine.ArchiveLink, "", contract.Denied, false, false)
	r.now = noon.Add(time.Hour)
	r.ask(t, http.MethodGet, link, nil).expectError(t, http.StatusForbidden, "InvalidLinkError")
}

// TestArchiveAborted checks that a client can detect an incomplete archive.
func TestArchiveAborted(t *testing.T) {
	r := serve(t)
	link, _ := r.signer.Archive("ai", anHour)
	r.archive = func(_ context.Context, w io.Writer) error {
		if _, err := w.Write(bytes.Repeat([]byte("zip "), 100_000)); err != nil {
			return err
		}
		return contract.Errorf(contract.Unavailable, "The book storage cannot be used right now").Because(errors.New("a disk"))
	}
	if got := r.ask(t, http.MethodGet, link, nil); got.err == nil || len(got.body) > 400_000 {
		t.Errorf("got %d bytes and no error", len(got.body))
	}
	r.Close()
	if !strings.Contains(r.log.String(), "a disk") {
		t.Errorf("the log says %s", r.log.String())
	}
}

// TestArchiveClientDisconnects checks that writing the archive fails when the client disconnects.
func TestArchiveClientDisconnects(t *testing.T) {
	r := serve(t)
	link, _ := r.signer.Archive("ai", anHour)
	ended := make(chan error, 1)
	r.archive = func(ctx context.Context, w io.Writer) error {
		var err error
		for err == nil && ctx.Err() == nil {
			_, err = w.Write(make([]byte, 1<<20))
		}
		ended <- errors.Join(err, ctx.Err())
		return err
	}
	request, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, r.URL+link, nil)
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.CopyN(io.Discard, response.Body, 1000)
	response.Body.Close()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("the archive was complete")
		}
	case <-time.After(time.Minute):
		t.Error("writing continues after the client has disconnected")
	}
}
