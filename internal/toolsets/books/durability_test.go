package books_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/stores/blob"
	"remit/internal/stores/blob/s3test"
	"remit/internal/toolsets/books"
)

// TestNothingAcknowledgedIsLost runs four servers on one library with four agents each. All write
// the same file of a new book, and each also writes a book of its own. Every acknowledged content
// must be current or kept, and the history must contain each change once, in order.
func TestNothingAcknowledgedIsLost(t *testing.T) {
	t.Run("disk", func(t *testing.T) {
		dir := t.TempDir()
		contend(t, true, func() (books.Store, error) { return blob.OpenDisk(dir) })
	})
	t.Run("S3", func(t *testing.T) {
		t.Parallel()
		server := s3test.Start(t)
		address := server.URL(server.Bucket(t), "shelf")
		// This gateway checks and deletes in two steps, so the test does not delete.
		contend(t, false, func() (books.Store, error) { return blob.OpenS3(t.Context(), address, server.Getenv) })
	})
}

func contend(t *testing.T, deleting bool, open func() (books.Store, error)) {
	const servers, agents, rounds = 4, 4, 3
	var mu sync.Mutex
	var stored []string // acknowledged contents
	var unsure []string // contents of writes whose outcome was not known
	var last *testServer
	var all []*testServer
	deletes := 0
	var group sync.WaitGroup
	for s := range servers {
		store, err := open()
		if err != nil {
			t.Fatal(err)
		}
		d := serve(t)
		d.stores.Main, last, all = store, d, append(all, d)
		for a := range agents {
			group.Go(func() {
				own := d.call(t, "write_content", fmt.Sprintf(`{"book_id":"own-%d-%d","path":"a.md","content":"x"}`, s, a))
				if own.Field("status").Text != "success" {
					t.Error(text(own))
				}
				for r := range rounds {
					if deleting && (a+r)%4 == 3 {
						answer := d.call(t, "delete_content", `{"book_id":"abc","path":"a.md"}`)
						mu.Lock()
						if text(answer.Field("existed")) == "true" {
							deletes++
						}
						mu.Unlock()
						continue
					}
					content := fmt.Sprintf("server %d agent %d round %d", s, a, r)
					answer := d.call(t, "write_content", fmt.Sprintf(`{"book_id":"abc","path":"a.md","content":%q}`, content))
					mu.Lock()
					switch {
					case answer.Field("status").Text == "success":
						stored = append(stored, content)
					case strings.Contains(text(answer), "not known yet"): // a busy machine
						unsure = append(unsure, content)
					case !strings.Contains(text(answer), "An earlier write of books/abc/a.md may still reach"):
						t.Error(text(answer))
					}
					mu.Unlock()
				}
			})
		}
	}
	group.Wait()
	for _, d := range all {
		d.library.Settle()
	}
	changes, err := last.library.History(t.Context(), "abc", "a.md", 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, content := range unsure {
		if slices.ContainsFunc(changes, func(c books.Change) bool { return c.New == hash(content) }) {
			stored = append(stored, content)
		}
	}
	last.checkAll(t, stored, deletes)
	if listed, err := last.library.Books(t.Context()); err != nil || len(listed) != servers*agents+1 {
		t.Errorf("%v, error %v", listed, err)
	}
}

// checkAll checks that all stored contents exist and that the history is a chain.
func (d *testServer) checkAll(t *testing.T, stored []string, deletes int) {
	t.Helper()
	live := d.call(t, "read_content", `{"book_id":"abc","path":"a.md"}`)
	for _, content := range stored {
		if live.Field("content").Text == content {
			continue
		}
		body, err := d.stores.Main.Open(t.Context(), ".history/abc/objects/"+hash(content))
		if err != nil {
			t.Errorf("%q is lost: %v", content, err)
			continue
		}
		data, err := io.ReadAll(body)
		if err := errors.Join(err, body.Close()); err != nil || string(data) != content {
			t.Errorf("%q is kept as %q, error %v", content, data, err)
		}
	}
	changes, err := d.library.History(t.Context(), "abc", "a.md", 0)
	if err != nil || len(changes) != len(stored)+deletes {
		t.Errorf("%d changes, %d writes and %d deletes, error %v", len(changes), len(stored), deletes, err)
	}
	before := ""
	for _, c := range slices.Backward(changes) {
		// After a delete, the same content can be written as if new. Then a change that was
		// recorded earlier sorts before it.
		if deletes == 0 && c.Old != before {
			t.Errorf("%s replaces %.6s, but %.6s was there", c.Version, c.Old, before)
		}
		before = c.New
		if c.Old != "" && !slices.ContainsFunc(changes, func(other books.Change) bool { return other.New == c.Old }) {
			t.Errorf("%s replaces %.6s, which nobody wrote", c.Version, c.Old)
		}
	}
}

// lossy is a store that writes but may report a failure.
type lossy struct {
	books.Store
	answer func(key string) error // the result of a write that was carried out
}

func (s *lossy) Put(ctx context.Context, key string, r io.Reader, size int64, c books.Cond) (books.Object, bool, error) {
	stored, created, err := s.Store.Put(ctx, key, r, size, c)
	if err == nil {
		err = s.answer(key)
	}
	return stored, created, err
}

// TestLostAnswers: the history contains exactly the changes that happened, whatever the store
// answered.
func TestLostAnswers(t *testing.T) {
	d := serve(t)
	lost := ""
	d.stores.Main = &lossy{d.stores.Main, func(key string) error {
		if lost != "" && strings.HasPrefix(key, lost) {
			return errBroken
		}
		return nil
	}}
	write := func(content string) {
		d.call(t, "write_content", fmt.Sprintf(`{"book_id":"abc","path":"a.md","content":%q}`, content))
	}
	write("one")
	lost = ".history/abc/log"
	write("two") // is not attempted
	lost = "books"
	write("six") // is stored
	lost = ""
	want := []string{fmt.Sprintf("write ann  %.6s", hash("one")), fmt.Sprintf("write ann %.6s %.6s", hash("one"), hash("six"))}
	if got := d.log(t, "abc", "a.md"); !slices.Equal(got, want) {
		t.Errorf("the history is %q, want %q", got, want)
	}
	d.stores.Main = &faulty{Store: d.stores.Main, fail: func(act, key string) error {
		switch {
		case act == "put" && strings.HasPrefix(key, "books"):
			return books.ErrUnknown
		case act == "stat" && strings.HasPrefix(key, ".history"):
			return errBroken // so that nobody can find out
		}
		return nil
	}}
	d.fails(t, "write_content", `{"book_id":"abc","path":"a.md","content":"ten"}`,
		`{"error":"StorageError","message":"It is unknown whether books/abc/a.md was changed; read it before you repeat the change","path":"books/abc/a.md"}`)
}

// TestCancelledCall: a call cancelled midway leaves no history record of a change that was not
// made.
func TestCancelledCall(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	d := onFaulty(t, func(act, key string) error {
		if act != "put" || !strings.HasPrefix(key, "books") {
			return nil
		}
		cancel()
		return ctx.Err()
	})
	args, err := jsontree.Parse([]byte(`{"book_id":"abc","path":"a.md","content":"one"}`))
	if err != nil {
		t.Fatal(err)
	}
	if result, err := d.Call(ctx, engine.Call{Tool: "write_content", Args: args, Principal: "ann", Frontend: "test"}); err == nil && result.Err == nil {
		t.Errorf("it succeeds: %s", result.Body)
	}
	if got := d.stored(t, ""); len(got) != 0 {
		t.Errorf("%q is there", got)
	}
}

// TestDamagedHistory: damaged content is not restored.
func TestDamagedHistory(t *testing.T) {
	d := serve(t)
	for _, content := range []string{"one", "two"} {
		d.does(t, "write_content", fmt.Sprintf(`{"book_id":"abc","path":"a.md","content":%q}`, content))
	}
	if err := os.WriteFile(filepath.Join(d.dir, ".history/abc/objects", hash("one")), []byte("six"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := d.library.Restore(t.Context(), "abc", "a.md", "", "bob"); err == nil || !strings.Contains(err.Error(), "is damaged") {
		t.Errorf("it says %v", err)
	}
	if got := d.field(t, "content", "read_content", `{"book_id":"abc","path":"a.md"}`); got != `"two"` {
		t.Errorf("the file holds %s", got)
	}
	if got := d.log(t, "abc", "a.md"); len(got) != 2 {
		t.Errorf("the history is %q", got)
	}
}

// TestServersWhoseClocksDiffer: the previous version is the content that was replaced, whatever the
// timestamps.
func TestServersWhoseClocksDiffer(t *testing.T) {
	d := serve(t)
	ahead := time.Hour
	d.library.Now = func() time.Time { return time.Now().Add(ahead) }
	slow := &books.Library{Stores: d.library.Stores, Now: time.Now, Log: d.library.Log}
	for _, content := range []string{"one", "two"} {
		d.does(t, "write_content", fmt.Sprintf(`{"book_id":"abc","path":"lessons/a.md","content":%q}`, content))
	}
	for _, act := range []func() error{
		func() error {
			_, err := slow.Import(t.Context(), folderOf("a.md", "six"), books.ImportOptions{Book: "abc", By: "bob"}, nil)
			return err
		},
		func() error { _, err := slow.Restore(t.Context(), "abc", "lessons/a.md", "", "bob"); return err },
	} {
		if err := act(); err != nil {
			t.Fatal(err)
		}
	}
	if got := d.field(t, "content", "read_content", `{"book_id":"abc","path":"lessons/a.md"}`); got != `"two"` {
		t.Errorf("the file holds %s", got)
	}
}

// TestBookWithUnknownStore: a book whose store is unknown is not reported as missing.
func TestBookWithUnknownStore(t *testing.T) {
	d := serve(t)
	d.given(t, "registry.yaml", "books: [")
	d.given(t, "books/near/a.md", "x")
	const near = `{"book_id":"near","path":"a.md"}`
	d.does(t, "read_content", near)
	other, err := blob.OpenDisk(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	d.stores.Other = &faulty{Store: other, name: "s3"}
	d.fails(t, "read_content", near, `{"error":"StorageError","message":"registry.yaml has an error in line 1, so books cannot be listed or written; correct it first","path":"registry.yaml"}`)
}

// TestLargeRegistry: a registry over 1 MiB is refused without parsing it, and no book is added that
// would make it so large.
func TestLargeRegistry(t *testing.T) {
	d := serve(t)
	d.given(t, "registry.yaml", "books: # "+strings.Repeat("x", 20<<20)+"\n")
	d.fails(t, "list_books", `{}`, `{"error":"StorageError","message":"registry.yaml has 20971530 bytes, so books can neither be listed nor written; at most 1048576 bytes are read","path":"registry.yaml"}`)
	full := "books: # " + strings.Repeat("x", 1<<20-20) + "\n"
	d.given(t, "registry.yaml", full)
	d.does(t, "list_books", `{}`)
	d.fails(t, "write_content", `{"book_id":"new","path":"lessons/a.md","content":"x"}`, `{"error":"StorageError","message":"books/new/lessons/a.md is stored, but its book is not in registry.yaml yet. The book new cannot be added: registry.yaml would have more than 1048576 bytes","path":"registry.yaml"}`)
}

// coarse is a store whose versions do not distinguish changes in quick succession, like a disk with
// a coarse clock.
type coarse struct {
	books.Store
	modified time.Time
}

func (s *coarse) dull(o books.Object) books.Object {
	o.Version, o.Modified = "1", s.modified
	return o
}

func (s *coarse) Open(ctx context.Context, key string) (*books.Body, error) {
	body, err := s.Store.Open(ctx, key)
	if err == nil {
		body.Object = s.dull(body.Object)
	}
	return body, err
}

func (s *coarse) Stat(ctx context.Context, key string) (books.Object, error) {
	o, err := s.Store.Stat(ctx, key)
	return s.dull(o), err
}

func (s *coarse) List(ctx context.Context, prefix string) iter.Seq2[books.Object, error] {
	return func(yield func(books.Object, error) bool) {
		for o, err := range s.Store.List(ctx, prefix) {
			if !yield(s.dull(o), err) {
				return
			}
		}
	}
}

// TestChangesWithinATick: such changes are seen, also by a server that was delayed between reading
// the clock and reading the file.
func TestChangesWithinATick(t *testing.T) {
	for name, heldUp := range map[string]time.Duration{"at once": 0, "held up": 10 * time.Second} {
		t.Run(name, func(t *testing.T) {
			d := serve(t)
			now := time.Now()
			d.library.Now = func() time.Time { return now }
			d.stores.Main = &coarse{d.stores.Main, now.Add(heldUp)}
			for _, content := range []string{"one", "two"} {
				registry := fmt.Sprintf("books:\n  - {book_id: abc, title: %s, storage_backend: fs, created_at: 2025-01-01, status: active}\n", content)
				d.given(t, "registry.yaml", registry)
				d.given(t, "books/abc/a.md", content)
				if got := text(d.does(t, "list_books", `{}`)); !strings.Contains(got, `"title":"`+content+`"`) {
					t.Errorf("the books are %s", got)
				}
				if got := text(d.does(t, "grep_search", `{"book_id":"abc","pattern":"."}`)); !strings.Contains(got, content) {
					t.Errorf("%q is found as %s", content, got)
				}
				if got := d.field(t, "file_hash_sha256", "read_content", `{"book_id":"abc","path":"a.md"}`); got != `"`+hash(content)+`"` {
					t.Errorf("the hash of %q is %s", content, got)
				}
			}
		})
	}
}
