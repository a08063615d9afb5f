package bookstest

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"remit/internal/toolsets/books"
)

func putConditions(t *testing.T, s books.Store) {
	_, _, err := putIf(t, s, lesson, "x", books.Cond{Hash: HashOf("")})
	conflicts(t, "a hash of nothing", err, "")
	equal(t, keys(t, s, ""), []string(nil))

	stored, created, err := putIf(t, s, lesson, "one", books.Cond{Absent: true})
	if err != nil || !created || stored.Hash != HashOf("one") {
		t.Fatalf("create: %+v, created %v, error %v", stored, created, err)
	}
	_, _, err = putIf(t, s, lesson, "two", books.Cond{Absent: true})
	conflicts(t, "create again", err, HashOf("one"))
	_, _, err = putIf(t, s, lesson, "two", books.Cond{Hash: HashOf("zero")})
	conflicts(t, "another hash", err, HashOf("one"))
	holds(t, s, lesson, "one")

	stored, created, err = putIf(t, s, lesson, "two", books.Cond{Hash: HashOf("one")})
	if err != nil || created || stored.Hash != HashOf("two") {
		t.Errorf("change: %+v, created %v, error %v", stored, created, err)
	}
	holds(t, s, lesson, "two")
	if _, err := s.Delete(t.Context(), lesson, books.Cond{}); err != nil {
		t.Fatal(err)
	}
	_, _, err = putIf(t, s, lesson, "three", books.Cond{Hash: HashOf("two")})
	conflicts(t, "what is gone", err, "")
	lacks(t, s, lesson)
}

func deleteConditions(t *testing.T, s books.Store) {
	put(t, s, lesson, "one")
	_, err := s.Delete(t.Context(), lesson, books.Cond{Hash: HashOf("zero")})
	conflicts(t, "another hash", err, HashOf("one"))
	holds(t, s, lesson, "one")
	existed, err := s.Delete(t.Context(), lesson, books.Cond{Hash: HashOf("one")})
	if err != nil || !existed {
		t.Errorf("the right hash: existed %v, error %v", existed, err)
	}
	_, err = s.Delete(t.Context(), lesson, books.Cond{Hash: HashOf("one")})
	conflicts(t, "what is gone", err, "")
	_, err = s.Delete(t.Context(), "books/none/x/y", books.Cond{Hash: HashOf("one")})
	conflicts(t, "what never was", err, "")
}

func pathConflicts(t *testing.T, s books.Store) {
	put(t, s, "books/b/lessons/01.md", "x")
	for _, key := range []string{"books/b/lessons", "books/b/lessons/01.md/x", "books/b/lessons/01.md/x/y/z"} {
		for _, c := range []books.Cond{{}, {Absent: true}} {
			if _, _, err := putIf(t, s, key, "y", c); !errors.Is(err, books.ErrPathConflict) {
				t.Errorf("put %s with %+v: error %v, want ErrPathConflict", key, c, err)
			}
		}
		_, _, err := putIf(t, s, key, "y", books.Cond{Hash: HashOf("x")})
		conflicts(t, "change "+key, err, "")
		if existed, err := s.Delete(t.Context(), key, books.Cond{}); existed || err != nil {
			t.Errorf("delete %s: existed %v, error %v", key, existed, err)
		}
		if err := s.Copy(t.Context(), "books/b/lessons/01.md", key, HashOf("x")); !errors.Is(err, books.ErrPathConflict) {
			t.Errorf("copy to %s: error %v, want ErrPathConflict", key, err)
		}
		lacks(t, s, key)
	}
	equal(t, keys(t, s, ""), []string{"books/b/lessons/01.md"})
	holds(t, s, "books/b/lessons/01.md", "x")
}

// folderGoes checks that a folder without contents can become an object and the reverse, also after
// failed writes.
func folderGoes(t *testing.T, s books.Store) {
	for range 2 {
		put(t, s, "books/b/a/b/c/d", "x")
		if existed, err := s.Delete(t.Context(), "books/b/a/b/c/d", books.Cond{}); !existed || err != nil {
			t.Fatalf("delete: existed %v, error %v", existed, err)
		}
		_, _, err := putIf(t, s, "books/b/a/b/e", "x", books.Cond{Hash: HashOf("y")})
		conflicts(t, "change nothing", err, "")
		put(t, s, "books/b/a", "y")
		if existed, err := s.Delete(t.Context(), "books/b/a", books.Cond{}); !existed || err != nil {
			t.Fatalf("delete: existed %v, error %v", existed, err)
		}
	}
	equal(t, keys(t, s, ""), []string(nil))
}

func oneWins(t *testing.T, s books.Store) {
	put(t, s, lesson, "before")
	raceFor(t, s, books.Cond{Hash: HashOf("before")})
}

func oneCreates(t *testing.T, s books.Store) { raceFor(t, s, books.Cond{Absent: true}) }

// raceFor lets 16 goroutines write different contents at once under the same condition.
func raceFor(t *testing.T, s books.Store, c books.Cond) {
	var winner atomic.Int32
	var won atomic.Int32
	inParallel(16, func(i int) {
		_, _, err := putIf(t, s, lesson, "by "+strconv.Itoa(i), c)
		switch {
		case err == nil:
			won.Add(1)
			winner.Store(int32(i))
		case !errors.Is(err, books.ErrConflict):
			t.Error(err)
		}
	})
	if won.Load() != 1 {
		t.Errorf("%d of 16 won", won.Load())
	}
	holds(t, s, lesson, "by "+strconv.Itoa(int(winner.Load())))
}

// increments lets 16 goroutines increment a number concurrently.
func increments(t *testing.T, s books.Store) {
	const callers = 16
	each := 5
	if os.Getenv("REMIT_FULL") == "true" {
		each = 25
	}
	put(t, s, lesson, "0")
	inParallel(callers, func(int) {
		for range each {
			if err := Increment(t.Context(), s, lesson); err != nil {
				t.Error(err)
				return
			}
		}
	})
	holds(t, s, lesson, strconv.Itoa(callers*each))
}

// Increment adds one to the number at a key. It writes on the condition of the old hash, and
// retries after a conflict with a random backoff.
func Increment(ctx context.Context, s books.Store, key string) error {
	for try := time.Duration(1); ; try++ {
		begun := time.Now()
		body, err := s.Open(ctx, key)
		if err != nil {
			return err
		}
		was, err := io.ReadAll(body)
		if err = errors.Join(err, body.Close()); err != nil {
			return err
		}
		n, err := strconv.Atoi(string(was))
		if err != nil {
			return err
		}
		next := strconv.Itoa(n + 1)
		_, _, err = s.Put(ctx, key, strings.NewReader(next), int64(len(next)), books.Cond{Hash: HashOf(string(was))})
		if !errors.Is(err, books.ErrConflict) {
			return err
		}
		time.Sleep(rand.N(time.Since(begun)*min(try, 16) + 1)) //nolint:gosec // not security-relevant
	}
}

// folderContended lets several goroutines put and delete the only objects of a folder, which must
// not disturb each other.
func folderContended(t *testing.T, s books.Store) {
	inParallel(8, func(i int) {
		key := "books/b/deep/folder/" + strconv.Itoa(i)
		for n := range 25 {
			content := strconv.Itoa(n)
			_, created, err := putIf(t, s, key, content, books.Cond{Absent: true})
			if err != nil || !created {
				t.Errorf("put %s: created %v, error %v", key, created, err)
				return
			}
			existed, err := s.Delete(t.Context(), key, books.Cond{Hash: HashOf(content)})
			if err != nil || !existed {
				t.Errorf("delete %s: existed %v, error %v", key, existed, err)
				return
			}
		}
	})
	equal(t, keys(t, s, ""), []string(nil))
}
