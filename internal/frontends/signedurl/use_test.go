package signedurl_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"remit/internal/contract"
	"remit/internal/engine"
	"remit/internal/frontends/signedurl"
)

// TestUploadWorksOnce checks that the first upload uses up a link, whether or not the early look
// notices it.
func TestUploadWorksOnce(t *testing.T) {
	for _, looks := range []bool{true, false} {
		r := serve(t)
		r.looks = looks
		link := r.uploadLink(t)
		if got := r.ask(t, http.MethodPut, link, strings.NewReader("FILM")); got.StatusCode != http.StatusCreated {
			t.Fatalf("got %d %s", got.StatusCode, got.body)
		}
		got := r.ask(t, http.MethodPut, link, strings.NewReader("EVIL"))
		if got.expectError(t, http.StatusForbidden, "InvalidLinkError"); !strings.Contains(got.body, "used already") {
			t.Errorf("got %s", got.body)
		}
		r.expectRecord(t, engine.UploadLink, "ann@example.com", contract.Denied, false, false)
		if r.received[film] != "FILM" || r.effects != 1 {
			t.Errorf("the library got %v in %d uploads", r.received, r.effects)
		}
	}
}

// TestUploadsAtOnce checks that of many clients that send the same link at once, one stores.
func TestUploadsAtOnce(t *testing.T) {
	r := serve(t)
	const clients = 16
	link, stored := r.uploadLink(t), make([]bool, clients)
	start := fmt.Sprintf("PUT %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nFI", link)
	var begun, all sync.WaitGroup
	begun.Add(clients)
	for i := range clients {
		all.Go(func() {
			status, _ := r.send(t, start, func(conn net.Conn) {
				begun.Done()
				begun.Wait() // nobody sends the rest before all have begun
				_, _ = io.WriteString(conn, "LM")
			})
			stored[i] = status == http.StatusCreated
		})
	}
	all.Wait()
	count := 0
	for _, one := range stored {
		if one {
			count++
		}
	}
	if r.effects != 1 || count != 1 {
		t.Errorf("%d uploads were stored, %d clients were told so", r.effects, count)
	}
}

// TestUploadMayBeRepeated checks that an upload that was refused or cut off before all bytes had
// arrived does not use up the link.
func TestUploadMayBeRepeated(t *testing.T) {
	r := serve(t)
	link := r.uploadLink(t)
	r.ask(t, http.MethodPut, link, strings.NewReader("too long")).expectError(t, http.StatusBadRequest, "ValidationError")
	r.expectRecord(t, engine.UploadLink, "ann@example.com", contract.Invalid, true, false)
	start := fmt.Sprintf("PUT %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nFIL", link)
	if status, body := r.send(t, start, func(conn net.Conn) { _ = conn.(*net.TCPConn).CloseWrite() }); status != http.StatusBadRequest {
		t.Errorf("cut off: %d %s", status, body)
	}
	r.full = errors.New("the disk is full")
	r.ask(t, http.MethodPut, link, strings.NewReader("FILM")).expectError(t, http.StatusServiceUnavailable, "StorageError")
	r.full, r.fail = nil, errors.New("the database is away")
	r.ask(t, http.MethodPut, link, strings.NewReader("FILM")).expectError(t, http.StatusServiceUnavailable, "StorageError")
	r.fail = nil
	r.expectNothingReceived(t)
	if got := r.ask(t, http.MethodPut, link, strings.NewReader("FILM")); got.StatusCode != http.StatusCreated {
		t.Errorf("got %d %s", got.StatusCode, got.body)
	}
}

// TestFailedUploadUsesUpLink checks that a link is used up if storing failed after all bytes had
// arrived, that the answer says so, and that the record is durable.
func TestFailedUploadUsesUpLink(t *testing.T) {
	r := serve(t)
	link := r.uploadLink(t)
	r.err = contract.Errorf(contract.Unavailable, "It is unknown whether this change was made").Because(errors.New("a lost answer"))
	got := r.ask(t, http.MethodPut, link, strings.NewReader("FILM"))
	if got.expectError(t, http.StatusServiceUnavailable, "StorageError"); !strings.Contains(got.body, "used up") {
		t.Errorf("got %s", got.body)
	}
	r.expectRecord(t, engine.UploadLink, "ann@example.com", contract.Unavailable, true, true)
	r.err = nil
	r.ask(t, http.MethodPut, link, strings.NewReader("FILM")).expectError(t, http.StatusForbidden, "InvalidLinkError")
	r.expectNothingReceived(t)
}

// TestUploadOfRevokedToken checks that a link is refused once its holder's credential has ended,
// before the upload and also during it, when the link stays unused.
func TestUploadOfRevokedToken(t *testing.T) {
	r := serve(t)
	link := r.uploadLink(t)
	revoked := contract.Errorf(contract.Denied, "its token %q is revoked", "ci")
	r.check = func(l signedurl.Link, writes bool) error {
		if l.Credential != "token:t1" || !l.Issued.Equal(noon) || !writes {
			t.Errorf("checked %+v, writes %t", l, writes)
		}
		return revoked
	}
	got := r.ask(t, http.MethodPut, link, strings.NewReader("FILM"))
	if got.expectError(t, http.StatusForbidden, "InvalidLinkError"); !strings.Contains(got.body, "is revoked; ask the tool for a new one") {
		t.Errorf("got %s", got.body)
	}
	r.expectRecord(t, engine.UploadLink, "ann@example.com", contract.Denied, false, false)
	checks := 0
	r.check = func(signedurl.Link, bool) error {
		if checks++; checks > 1 {
			return revoked
		}
		return nil
	}
	r.ask(t, http.MethodPut, link, strings.NewReader("FILM")).expectError(t, http.StatusForbidden, "InvalidLinkError")
	r.expectNothingReceived(t)
	if len(r.spent) != 0 {
		t.Error("the link was used up")
	}
	r.check = func(signedurl.Link, bool) error { return contract.Errorf(contract.Unavailable, "Try again") }
	r.ask(t, http.MethodPut, link, strings.NewReader("FILM")).expectError(t, http.StatusServiceUnavailable, "StorageError")
}

// TestUploadWithoutRecord checks that a client is told if its upload was stored but not recorded.
func TestUploadWithoutRecord(t *testing.T) {
	r := serve(t)
	r.lost = errors.New("the disk is full")
	got := r.ask(t, http.MethodPut, r.uploadLink(t), strings.NewReader("FILM"))
	if got.expectError(t, http.StatusServiceUnavailable, "StorageError"); !strings.Contains(got.body, "do not repeat it") {
		t.Errorf("got %s", got.body)
	}
}

// TestUploadGoesOnWithoutClient checks that a client that disconnects after its last byte does not
// cancel the write: the link is used up then.
func TestUploadGoesOnWithoutClient(t *testing.T) {
	r := serve(t)
	arrived, gone := make(chan struct{}), make(chan struct{})
	r.check = func() func(signedurl.Link, bool) error {
		checks := 0
		return func(signedurl.Link, bool) error {
			if checks++; checks == 2 { // all bytes have arrived
				close(arrived)
				<-gone
			}
			return nil
		}
	}()
	conn, err := net.Dial("tcp", r.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(conn, "PUT %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nFILM", r.uploadLink(t)); err != nil {
		t.Fatal(err)
	}
	select {
	case <-arrived:
	case <-time.After(time.Minute):
		t.Error("the link is not checked again when all bytes have arrived")
	}
	conn.Close()
	close(gone)
	r.Close() // waits for the handler
	if r.received[film] != "FILM" {
		t.Error("the upload was not stored")
	}
	r.expectRecord(t, engine.UploadLink, "ann@example.com", "", true, true)
}

// TestAssetsAreRecorded checks that each use of an asset's URL is recorded with its outcome.
func TestAssetsAreRecorded(t *testing.T) {
	r := serve(t)
	for _, tc := range []struct {
		key, header string
		outcome     contract.Kind
		sent        int64
	}{
		{photo, "bytes=2-4", "", 3},
		{photo, "bytes=90-", contract.Invalid, 0},
		{photo, "", "", 10},
		{"books/ai/assets/images/none.png", "", contract.NotFound, 0},
		{"registry.yaml", "", contract.NotFound, 0},
	} {
		r.ask(t, http.MethodGet, signedurl.AssetPath(tc.key), nil, "Range", tc.header)
		r.expectRecord(t, engine.AssetLink, "reader", tc.outcome, true, false)
		if last := r.records[len(r.records)-1]; last.Path != tc.key || tc.outcome == "" && last.Sent != tc.sent {
			t.Errorf("recorded %+v", last)
		}
	}
}
