package bookstest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"remit/internal/toolsets/books"
)

func listOrder(t *testing.T, s books.Store) {
	want := []string{
		".history/b/log", "books/b/a", "books/b/a-b", "books/b/a.b", "books/b/a0", "books/b/aB", "books/b/aa/b", "books/b/aa/b-c/d", "books/b/aa/b.c",
		"books/b/aa/b0", "books/b/ab", "books/b/d-e", "books/b/d.e/f", "books/b/d/e", "books/b/d/e.f/g", "books/b/d/f/g", "books/b/d0", "books/b/lessons/10.md",
		"books/b/lessons/9.md", "registry.yaml",
	}
	if !slices.IsSorted(want) {
		t.Fatal("the test is wrong")
	}
	for i := range want {
		key := want[(i*7)%len(want)] // in another order
		put(t, s, key, key)
	}
	equal(t, keys(t, s, ""), want)
	for o, err := range s.List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		describes(t, o, o.Key, o.Key)
	}
}

func listPrefix(t *testing.T, s books.Store) {
	all := []string{"books/b/a/b/c", "books/b/a/bc", "books/b/ab/c", "books/b2/a", "books/bb", "registry.yaml"}
	for _, key := range all {
		put(t, s, key, "x")
	}
	for _, prefix := range []string{
		"", "b", "books", "books/", "books/b", "books/b/", "books/b/a", "books/b/a/", "books/b/a/b", "books/b/a/b/", "books/b/a/b/c", "books/b/a/b/c/",
		"books/b/a/b/cd", "books/bb", "books/bb/", "books/b2/a", "reg", "registry.yaml", "registry.yaml/", "none", "none/", "books/none/x",
	} {
		var want []string
		for _, key := range all {
			if strings.HasPrefix(key, prefix) {
				want = append(want, key)
			}
		}
		if got := keys(t, s, prefix); !slices.Equal(got, want) {
			t.Errorf("%q lists %q, want %q", prefix, got, want)
		}
	}
}

func listStops(t *testing.T, s books.Store) {
	for i := range 10 {
		put(t, s, fmt.Sprintf("books/b/%d/x", i), "x")
	}
	list := s.List(t.Context(), "books/b/")
	for range 2 { // it can be iterated again
		seen := 0
		for _, err := range list {
			if err != nil {
				t.Fatal(err)
			}
			if seen++; seen == 3 {
				break
			}
		}
		equal(t, seen, 3)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for o, err := range s.List(ctx, "books/b/") {
		if err != nil {
			break // it may notice the cancellation at any time, or be done
		}
		if o.Key == "books/b/3/x" {
			cancel()
		}
	}
}

// listWhileWriting checks that a listing during writes returns permanent objects exactly once and
// in order, and only whole objects.
func listWhileWriting(t *testing.T, s books.Store) {
	var stay []string
	for i := range 30 {
		stay = append(stay, fmt.Sprintf("books/b/%02d/stays%d", i%10, i/10))
	}
	slices.Sort(stay)
	for _, key := range stay {
		put(t, s, key, "x")
	}
	stop := comeAndGo(t, s)
	defer stop()
	for range 20 {
		seen := keysOfWhole(t, s)
		equal(t, slices.DeleteFunc(seen, func(key string) bool { return strings.Contains(key, "goes") }), stay)
	}
	stop()
	equal(t, keys(t, s, ""), stay)
}

// comeAndGo puts and deletes objects until it is stopped.
func comeAndGo(t *testing.T, s books.Store) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var others sync.WaitGroup
	for i := range 2 {
		others.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				key := fmt.Sprintf("books/b/%02d/goes%d", n%12, i)
				_, _, err := putIf(t, s, key, "whole", books.Cond{})
				if err == nil {
					_, err = s.Delete(t.Context(), key, books.Cond{})
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	return func() {
		cancel()
		others.Wait()
	}
}

func keysOfWhole(t *testing.T, s books.Store) (seen []string) {
	t.Helper()
	for o, err := range s.List(t.Context(), "books/b/") {
		if err != nil {
			t.Fatal(err)
		}
		want := map[bool]string{true: "whole", false: "x"}[strings.Contains(o.Key, "goes")]
		describes(t, o, o.Key, want)
		seen = append(seen, o.Key)
	}
	if !slices.IsSorted(seen) {
		t.Errorf("not in order: %q", seen)
	}
	return seen
}
