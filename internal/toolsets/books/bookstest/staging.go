package bookstest

import (
	"errors"
	"strings"
	"testing"
	"testing/iotest"

	"remit/internal/toolsets/books"
)

// stage stages content.
func stage(t *testing.T, s books.Store, key, content string) books.Staged {
	t.Helper()
	staged, err := s.Stage(t.Context(), key, iotest.HalfReader(strings.NewReader(content)), int64(len(content)))
	if err != nil {
		t.Fatalf("stage %s: %v", key, err)
	}
	if staged.Hash() != HashOf(content) {
		t.Errorf("stage %s: the hash is %s", key, staged.Hash())
	}
	return staged
}

// staging checks that staged content is invisible until it is stored, that a refused Put can be
// repeated, and that what is discarded leaves nothing.
func staging(t *testing.T, s books.Store) {
	large := noise(3 << 20)
	for _, content := range []string{"", "new", large} {
		const other = "books/new/x"
		put(t, s, lesson, "old")
		first, second, dropped := stage(t, s, lesson, content), stage(t, s, other, content), stage(t, s, "books/dropped/x", content)
		dropped.Discard()
		lacks(t, s, other)
		holds(t, s, lesson, "old")
		equal(t, keys(t, s, ""), []string{lesson})

		_, _, err := first.Put(t.Context(), books.Cond{Absent: true})
		conflicts(t, "put over an object", err, HashOf("old"))
		if stored, created, err := first.Put(t.Context(), books.Cond{Hash: HashOf("old")}); err != nil || created || stored.Hash != HashOf(content) {
			t.Errorf("replace: %+v, created %v, error %v", stored, created, err)
		}
		if _, created, err := second.Put(t.Context(), books.Cond{Absent: true}); err != nil || !created {
			t.Errorf("create: created %v, error %v", created, err)
		}
		first.Discard()
		second.Discard()
		holds(t, s, lesson, content)
		holds(t, s, other, content)
		for _, key := range []string{lesson, other} {
			if _, err := s.Delete(t.Context(), key, books.Cond{}); err != nil {
				t.Fatal(err)
			}
		}
		equal(t, keys(t, s, ""), []string(nil))
	}
}

// stagingFails checks that content of another size, or from a reader that fails, is not staged.
func stagingFails(t *testing.T, s books.Store) {
	broken := errors.New("the line is dead")
	for _, size := range []int64{2, 4} {
		if _, err := s.Stage(t.Context(), lesson, strings.NewReader("new"), size); err == nil {
			t.Errorf("3 bytes were staged as %d", size)
		}
	}
	if _, err := s.Stage(t.Context(), lesson, iotest.ErrReader(broken), 3); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
	if _, err := s.Stage(t.Context(), "../x", strings.NewReader("new"), 3); !errors.Is(err, books.ErrPathConflict) {
		t.Errorf("error %v", err)
	}
	equal(t, keys(t, s, ""), []string(nil))
}
