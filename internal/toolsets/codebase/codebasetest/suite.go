// Package codebasetest contains the test suite that every codebase.Accesses must pass.
package codebasetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"remit/internal/toolsets/codebase"
)

// Suite tests the promises of codebase.Accesses. open returns the accesses of two workspaces in one
// empty store that lives until the end of the test it is given.
func Suite(t *testing.T, open func(t *testing.T) (here, elsewhere codebase.Accesses)) {
	for name, check := range map[string]func(*testing.T, codebase.Accesses, codebase.Accesses){
		"nothing was read":                nothing,
		"reads add up":                    addUp,
		"a clock that is set back":        putBack,
		"paths are stored unchanged":      pathsStay,
		"a path twice in a batch":         twiceInABatch,
		"many paths at once":              many,
		"concurrent adds lose nothing":    addAtOnce,
		"a cancelled call counts nothing": cancelled,
		"two workspaces":                  workspaces,
	} {
		t.Run(name, func(t *testing.T) {
			here, elsewhere := open(t)
			check(t, here, elsewhere)
		})
	}
}

// noon is the time of the suite's events.
var noon = time.Date(2026, 8, 1, 12, 0, 0, 123456000, time.UTC)

func read(path string, count int64, ago time.Duration) codebase.Access {
	return codebase.Access{Path: path, Count: count, Last: noon.Add(-ago)}
}

func add(t *testing.T, a codebase.Accesses, reads ...codebase.Access) {
	t.Helper()
	if err := a.Add(t.Context(), reads); err != nil {
		t.Fatal(err)
	}
}

func expectOf(t *testing.T, a codebase.Accesses, paths []string, want ...codebase.Access) {
	t.Helper()
	got, err := a.Of(t.Context(), paths)
	if diff := cmp.Diff(want, got); len(got)+len(want) > 0 && diff != "" || err != nil {
		t.Errorf("error %v, -want +got:\n%s", err, diff)
	}
}

func nothing(t *testing.T, a, _ codebase.Accesses) {
	expectOf(t, a, nil)
	expectOf(t, a, []string{"a", ""})
	add(t, a)
	expectOf(t, a, []string{"a", ""})
}

func addUp(t *testing.T, a, _ codebase.Accesses) {
	add(t, a, read("b", 1, time.Hour), read("a", 2, 0))
	add(t, a, read("b", 3, time.Minute))
	expectOf(t, a, []string{"b", "none", "a"}, read("a", 2, 0), read("b", 4, time.Minute))
	expectOf(t, a, []string{"b", "b"}, read("b", 4, time.Minute))
}

func putBack(t *testing.T, a, _ codebase.Accesses) {
	add(t, a, read("a", 1, 0))
	add(t, a, read("a", 1, time.Hour))
	expectOf(t, a, []string{"a"}, read("a", 2, 0))
}

func pathsStay(t *testing.T, a, _ codebase.Accesses) {
	longest := strings.Repeat("é", codebase.MaxPath/2)
	for _, path := range []string{" ", "a/b.ts", "A/b.ts", "é", "e\u0301", "\xff\xfe/bad", `'"\;--%_$1`, "two\nlines", longest} {
		add(t, a, read(path, 7, time.Second))
		expectOf(t, a, []string{path}, read(path, 7, time.Second))
	}
	add(t, a, read(longest+"x", 1, 0), read("beside it", 1, 0))
	expectOf(t, a, []string{longest + "x", "beside it"}, read("beside it", 1, 0))
}

func twiceInABatch(t *testing.T, a, _ codebase.Accesses) {
	add(t, a, read("a", 1, 0), read("b", 1, 0), read("a", 2, time.Hour))
	expectOf(t, a, []string{"a"}, read("a", 3, 0))
}

func many(t *testing.T, a, _ codebase.Accesses) {
	var reads []codebase.Access
	var paths []string
	for i := range 3000 {
		path := fmt.Sprintf("src/%04d.go", i)
		reads, paths = append(reads, read(path, int64(i), time.Duration(i)*time.Second)), append(paths, path)
	}
	add(t, a, reads...)
	expectOf(t, a, paths, reads...)
}

func addAtOnce(t *testing.T, a, _ codebase.Accesses) {
	together(t, []codebase.Accesses{a})
}

// Together tests that several stores on the same workspace add up their counts. open returns such
// stores, empty.
func Together(t *testing.T, open func(t *testing.T) []codebase.Accesses) {
	together(t, open(t))
}

func together(t *testing.T, stores []codebase.Accesses) {
	t.Helper()
	const writers, batches = 8, 10
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for b := range batches {
				reads := []codebase.Access{read("a", 1, time.Duration(w*batches+b)*time.Second), read("b", 2, 0), read("c", 3, 0)}
				if w%4 > 1 { // in another order, to provoke deadlocks
					slices.Reverse(reads)
				}
				if err := stores[w%len(stores)].Add(t.Context(), reads); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	const n = writers * batches
	expectOf(t, stores[0], []string{"a", "b", "c"}, read("a", n, 0), read("b", 2*n, 0), read("c", 3*n, 0))
}

func cancelled(t *testing.T, a, _ codebase.Accesses) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := a.Add(ctx, []codebase.Access{read("a", 1, 0)}); err == nil {
		t.Error("a cancelled call says that it has counted")
	}
	expectOf(t, a, []string{"a"})
}

func workspaces(t *testing.T, here, elsewhere codebase.Accesses) {
	add(t, here, read("a", 1, 0), read("b", 1, 0))
	add(t, elsewhere, read("a", 5, time.Hour), read("c", 1, time.Hour))
	expectOf(t, here, []string{"a", "b", "c"}, read("a", 1, 0), read("b", 1, 0))
	expectOf(t, elsewhere, []string{"a", "b", "c"}, read("a", 5, time.Hour), read("c", 1, time.Hour))
}
