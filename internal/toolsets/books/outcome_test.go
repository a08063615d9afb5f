package books_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"remit/internal/engine"
	"remit/internal/toolsets/books"
)

// unsure is a store that fails at writes of books with the error of fail, before or after it has
// carried them out. If fail is nil, the write succeeds.
type unsure struct {
	books.Store
	carriesOut bool
	fail       func() error
}

func (s *unsure) Put(ctx context.Context, key string, r io.Reader, size int64, c books.Cond) (books.Object, bool, error) {
	if s.fail == nil || !strings.HasPrefix(key, "books/") {
		return s.Store.Put(ctx, key, r, size, c)
	}
	if s.carriesOut {
		if _, _, err := s.Store.Put(ctx, key, r, size, c); err != nil {
			return books.Object{}, false, err
		}
	}
	return books.Object{}, false, s.fail()
}

const unsureWrite = `{"book_id":"abc","path":"lessons/a.md","content":"two"}`

// newUnsure returns a server with a file that contains "one".
func newUnsure(t *testing.T) (*testServer, *unsure) {
	t.Helper()
	d := serve(t)
	store := &unsure{Store: d.stores.Main}
	d.stores.Main = store
	d.does(t, "write_content", `{"book_id":"abc","path":"lessons/a.md","content":"one"}`)
	return d, store
}

// hasLog checks the history of the file: each content replaced the one before.
func (d *testServer) hasLog(t *testing.T, when string, contents ...string) {
	t.Helper()
	var want []string
	before := ""
	for _, content := range contents {
		want = append(want, fmt.Sprintf("write ann %s %.6s", before, hash(content)))
		before = fmt.Sprintf("%.6s", hash(content))
	}
	if got := d.log(t, "abc", "lessons/a.md"); !slices.Equal(got, want) {
		t.Errorf("%s: the history is %q, want %q", when, got, want)
	}
}

// TestUnknownOutcome: a change whose outcome is not known is not reported as failed. Its history
// record stays until the outcome is known, and after that if the change was made.
func TestUnknownOutcome(t *testing.T) {
	for name, c := range map[string]struct {
		made bool
		err  error
		want []string
	}{
		"made":                   {made: true, want: []string{"one", "two"}},
		"not made":               {want: []string{"one"}},
		"written over, not made": {err: books.ErrUnknown, want: []string{"one"}},
		"never known":            {err: errBroken, want: []string{"one", "two"}},
	} {
		t.Run(name, func(t *testing.T) {
			d, store := newUnsure(t)
			known := make(chan struct{})
			store.carriesOut = c.made
			store.fail = func() error {
				return &books.UnknownError{Until: time.Now().Add(90 * time.Minute), Cause: errBroken, Wait: func(context.Context) (bool, error) {
					<-known
					return c.made, c.err
				}}
			}
			answer := text(d.call(t, "write_content", unsureWrite))
			if !strings.Contains(answer, "not known yet whether books/abc/lessons/a.md was changed") || !strings.Contains(answer, "within 5400 s") {
				t.Errorf("the answer is %s", answer)
			}
			d.hasLog(t, "while it is not known", "one", "two")
			close(known)
			d.library.Settle()
			d.hasLog(t, "once it is known", c.want...)
		})
	}
}

// TestUnknownOutcomeOfKeyedCall: a call with an idempotency key stays claimed.
func TestUnknownOutcomeOfKeyedCall(t *testing.T) {
	d, store := newUnsure(t)
	store.fail = func() error {
		return &books.UnknownError{Cause: errBroken, Wait: func(context.Context) (bool, error) { return false, nil }}
	}
	if _, result := d.answer(t, "write_content", unsureWrite); !errors.Is(result.Err, engine.ErrUnknownOutcome) {
		t.Errorf("error %v", result.Err)
	}
	d.library.Settle()
}

// TestPendingWrite: while an earlier write may still take effect, nothing is changed or recorded.
func TestPendingWrite(t *testing.T) {
	d, store := newUnsure(t)
	store.carriesOut = true // the earlier write, with the same content, arrives at that moment
	store.fail = func() error { return &books.PendingError{Until: time.Now().Add(90 * time.Minute)} }
	d.fails(t, "write_content", unsureWrite, `{"error":"StorageError","message":"An earlier write of books/abc/lessons/a.md may still reach the book `+
		`storage, so nothing was changed; try again in 5400 s","path":"books/abc/lessons/a.md"}`)
	d.hasLog(t, "afterwards", "one")
}

// TestOutcomeInHistory: if the answer of the store was lost and others have written since, their
// history records tell whether the change was made. One that was not made is tried again.
func TestOutcomeInHistory(t *testing.T) {
	for _, made := range []bool{true, false} {
		d, store := newUnsure(t)
		other := &books.Library{Stores: func(context.Context) (books.Stores, error) { return books.Stores{Main: store.Store}, nil }, Now: time.Now, Log: d.library.Log}
		store.carriesOut = made
		store.fail = func() error {
			store.fail = nil // the next try succeeds
			if _, err := other.Import(t.Context(), folderOf("a.md", "six"), books.ImportOptions{Book: "abc", By: "bob"}, nil); err != nil {
				t.Error(err)
			}
			return books.ErrUnknown
		}
		d.does(t, "write_content", unsureWrite)
		want := []string{fmt.Sprintf("write ann  %.6s", hash("one"))}
		if made {
			want = append(want, fmt.Sprintf("write ann %.6s %.6s", hash("one"), hash("two")), fmt.Sprintf("import bob %.6s %.6s", hash("two"), hash("six")))
		} else {
			want = append(want, fmt.Sprintf("import bob %.6s %.6s", hash("one"), hash("six")), fmt.Sprintf("write ann %.6s %.6s", hash("six"), hash("two")))
		}
		if got := d.log(t, "abc", "lessons/a.md"); !slices.Equal(got, want) {
			t.Errorf("made %v: the history is %q, want %q", made, got, want)
		}
	}
}

// TestRecordIsRemovedLater: the history record of a change that was not made is removed even if
// that fails at first.
func TestRecordIsRemovedLater(t *testing.T) {
	d, store := newUnsure(t)
	store.fail = func() error { return errBroken }
	fails := 1
	d.stores.Main = &faulty{Store: store, fail: func(act, key string) error {
		if fails > 0 && act == "delete" {
			fails--
			return &books.PendingError{}
		}
		return nil
	}}
	d.call(t, "write_content", unsureWrite)
	d.library.Settle()
	d.hasLog(t, "later", "one")
}
