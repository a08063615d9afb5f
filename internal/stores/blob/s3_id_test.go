package blob

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"remit/internal/toolsets/books"
)

// TestS3ID gives a library its id from many replicas at once: all get the same one, and no tool
// finds the object.
func TestS3ID(t *testing.T) {
	t.Parallel()
	s := newS3(t)
	if id, err := s.ID(t.Context()); id != "" || err != nil {
		t.Fatalf("a new library has the id %q, %v", id, err)
	}
	made := make([]string, 5)
	var replicas sync.WaitGroup
	for i := range made {
		replicas.Go(func() {
			var err error
			if made[i], err = s.MakeID(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	replicas.Wait()
	id, err := s.ID(t.Context())
	if err != nil || id == "" || slices.ContainsFunc(made, func(one string) bool { return one != id }) {
		t.Errorf("%q, %q, %v", made, id, err)
	}
	if _, err := s.Stat(t.Context(), ".remit-id"); !errors.Is(err, books.ErrNotFound) {
		t.Errorf("the id can be read as an object: %v", err)
	}
	for o := range s.List(t.Context(), "") {
		t.Errorf("%s is listed", o.Key)
	}
}
