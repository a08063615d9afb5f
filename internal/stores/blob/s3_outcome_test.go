package blob

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"remit/internal/toolsets/books"
)

// held is a network that holds back the requests of one kind, and tells the client that the
// connection is broken. They arrive when the test says so.
type held struct {
	sync.Mutex
	kind string // of the requests that are held back; "" for none
	late []*http.Request
}

// holdBack makes an unsteady network hold back requests.
func holdBack(u *unsteady, kind string) *held {
	h, to := &held{kind: kind}, u.to
	u.to = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.Lock()
		holds := h.kind != "" && kindOf(r) == h.kind
		h.Unlock()
		if !holds {
			to.ServeHTTP(w, r)
			return
		}
		body, _ := io.ReadAll(r.Body)
		late := r.Clone(context.Background())
		late.Body = io.NopCloser(bytes.NewReader(body))
		h.Lock()
		h.late = append(h.late, late)
		h.Unlock()
		closeConnection(w)
	})
	return h
}

// release lets requests pass again, and delivers those that were held back. It returns the statuses
// of the answers, which nobody gets.
func (h *held) release(to http.Handler) (statuses []int) {
	h.Lock()
	late := h.late
	h.kind, h.late = "", nil
	h.Unlock()
	for _, r := range late {
		answer := httptest.NewRecorder()
		to.ServeHTTP(answer, r)
		statuses = append(statuses, answer.Code)
	}
	return statuses
}

// await waits until the outcome of a write is known.
func await(t *testing.T, err error) (bool, error) {
	t.Helper()
	var unknown *books.UnknownError
	if !errors.As(err, &unknown) {
		t.Fatalf("error %v, want an UnknownError", err)
	}
	return unknown.Wait(t.Context())
}

// TestS3ArrivesLate checks that the outcome of a write that got no answer is not known until the
// store refuses it, and that it has no effect if it arrives after that. Meanwhile no other write of
// the object is tried.
func TestS3ArrivesLate(t *testing.T) {
	for name, c := range map[string]struct {
		kind  string
		write func(s *S3) error
	}{
		"replace": {"PUT", func(s *S3) error {
			_, _, err := store(t, s, "books/b/x", "new", books.Cond{Hash: sumOf("old")})
			return err
		}},
		"any": {"PUT", func(s *S3) error { _, _, err := store(t, s, "books/b/x", "new", books.Cond{}); return err }},
		"delete": {"DELETE", func(s *S3) error {
			_, err := s.Delete(t.Context(), "books/b/x", books.Cond{Hash: sumOf("old")})
			return err
		}},
		"in parts": {"POST upload", func(s *S3) error {
			_, _, err := inShortParts(s).Put(t.Context(), "books/b/x", newFilm(shorter, 0), shorter, books.Cond{Hash: sumOf("old")})
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, u := newUnsteady(t)
			s.validity = time.Second
			defer s.Close()
			u.behind.Store(int64(time.Hour)) // nothing seems to expire, however slow the test is
			mustStore(t, s, "books/b/x", "old")
			h := holdBack(u, c.kind)
			err := c.write(s)
			var pending *books.PendingError
			if err := c.write(s); !errors.As(err, &pending) {
				t.Errorf("another write: error %v", err)
			}
			u.behind.Store(0)
			if done, err := await(t, err); done || err != nil {
				t.Errorf("done %v, error %v", done, err)
			}
			statuses := h.release(u.to)
			if len(statuses) != tries {
				t.Errorf("%d requests were held back", len(statuses))
			}
			for _, status := range statuses {
				if status != http.StatusForbidden {
					t.Errorf("a late request was answered with %d", status)
				}
			}
			if got := load(t, s, "books/b/x"); got != "old" {
				t.Errorf("there is %q", got)
			}
			if err := c.write(s); err != nil {
				t.Errorf("a write after that: %v", err)
			}
		})
	}
}

// TestS3ArrivesInTime checks that a write is found that got no answer but arrives before it
// expires.
func TestS3ArrivesInTime(t *testing.T) {
	t.Parallel()
	s, u := newUnsteady(t)
	defer s.Close()
	mustStore(t, s, "books/b/x", "old")
	h := holdBack(u, "PUT")
	_, _, err := store(t, s, "books/b/x", "new", books.Cond{Hash: sumOf("old")})
	if statuses := h.release(u.to); statuses[0] != http.StatusOK {
		t.Errorf("the answers are %v", statuses)
	}
	if done, err := await(t, err); !done || err != nil {
		t.Errorf("done %v, error %v", done, err)
	}
	// The other copies still can arrive, and would replace the old content if it were there again.
	var pending *books.PendingError
	if _, _, err := store(t, s, "books/b/x", "old", books.Cond{}); !errors.As(err, &pending) {
		t.Errorf("error %v, want a PendingError", err)
	}
	mustStore(t, s, "books/b/x", "newer")
	h = holdBack(u, "PUT")
	_, _, err = store(t, s, "books/b/y", "new", books.Cond{Absent: true})
	h.release(u.to)
	if done, err := await(t, err); !done || err != nil {
		t.Errorf("done %v, error %v", done, err)
	}
	if _, err := s.Delete(t.Context(), "books/b/y", books.Cond{}); !errors.As(err, &pending) {
		t.Errorf("delete: error %v, want a PendingError", err)
	}
}

// TestS3CancelledWrite checks that a write that the caller gives up is not reported as failed, for
// it may be carried out.
func TestS3CancelledWrite(t *testing.T) {
	s, u := newUnsteady(t)
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	u.how = func(_ http.ResponseWriter, r *http.Request, to http.Handler) {
		arrived := r.Clone(context.WithoutCancel(r.Context()))
		// All of it arrives before the caller gives up.
		arrived.Body = io.NopCloser(bytes.NewReader(must(io.ReadAll(r.Body))))
		cancel()
		to.ServeHTTP(httptest.NewRecorder(), arrived)
	}
	u.fail(2) // after the check for objects below it
	_, _, err := s.Put(ctx, "books/b/x", strings.NewReader("new"), 3, books.Cond{Absent: true})
	if done, err := err == nil, err; !done {
		if done, err = await(t, err); !done || err != nil {
			t.Errorf("done %v, error %v", done, err)
		}
	}
	if got := load(t, s, "books/b/x"); got != "new" {
		t.Errorf("there is %q", got)
	}
}

// TestS3NotSent checks that a write that was never sent has failed for certain.
func TestS3NotSent(t *testing.T) {
	s := clientOf(t, "http://127.0.0.1:1")
	s.backoff = time.Millisecond
	body := must(uploadOf(strings.NewReader("x"), 1))
	_, err := s.put(t.Context(), "books/b/x", body, "id", nil)
	if unknown := (*books.UnknownError)(nil); err == nil || errors.As(err, &unknown) {
		t.Errorf("error %v", err)
	}
	if err := s.checkLate("books/b/x", body); err != nil {
		t.Errorf("another write: error %v", err)
	}
}

// clockedStore is a store with a clock of its own. It refuses requests that have expired, and
// answers nothing else but 404 to HEAD and 500 to the others.
type clockedStore struct {
	ahead    time.Duration
	accepted []time.Duration // how much longer the requests were valid
}

func (c *clockedStore) RoundTrip(r *http.Request) (*http.Response, error) {
	now := time.Now().Add(c.ahead)
	header := http.Header{"Date": {now.UTC().Format(http.TimeFormat)}}
	status := http.StatusNotFound
	if changes(r) {
		query := r.URL.Query()
		at, _ := time.Parse("20060102T150405Z", query.Get("X-Amz-Date"))
		window, _ := time.ParseDuration(query.Get("X-Amz-Expires") + "s")
		status = http.StatusInternalServerError
		if left := at.Add(window).Sub(now); left < 0 {
			status = http.StatusForbidden
		} else {
			c.accepted = append(c.accepted, left)
		}
	}
	return &http.Response{StatusCode: status, Header: header, Body: http.NoBody}, nil
}

// TestS3Clocks checks that requests are valid for some seconds by the clock of the store, however
// far it is ahead, and that an outcome is known only when the store has refused the requests by its
// own clock.
func TestS3Clocks(t *testing.T) {
	for _, ahead := range []time.Duration{0, 90 * time.Second, -90 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			s := clientOf(t, "http://127.0.0.1:1")
			clocked := &clockedStore{ahead: ahead}
			s.base = clocked
			start := time.Now()
			_, _, err := s.Put(t.Context(), ".history/x", strings.NewReader("x"), 1, books.Cond{Absent: true})
			done, err := await(t, err)
			took := time.Since(start)
			// A store that is behind accepts requests for longer.
			longest := 17*time.Second + max(-ahead, 0)
			if done || err != nil || took < s.timeout || took > longest+2*time.Second {
				t.Errorf("%v ahead: done %v, error %v after %v", ahead, done, err, took)
			}
			for _, left := range clocked.accepted {
				if left < s.timeout || left > longest {
					t.Errorf("%v ahead: a request was valid for %v", ahead, left)
				}
			}
			if len(clocked.accepted) == 0 {
				t.Errorf("%v ahead: no request was accepted", ahead)
			}
		})
	}
}
