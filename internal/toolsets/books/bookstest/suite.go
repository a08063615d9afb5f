// Package bookstest contains the test suite that every books.Store must pass, and a generator of
// sample courses.
package bookstest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"remit/internal/toolsets/books"
)

// Run tests the promises of books.Store. open returns an empty store that lives until the end of
// the test it is given.
func Run(t *testing.T, open func(t *testing.T) books.Store) {
	for name, check := range map[string]func(*testing.T, books.Store){
		"put and get":                              putAndGet,
		"replace":                                  replace,
		"an empty store":                           emptyStore,
		"sizes from empty to large":                sizes,
		"long keys":                                longKeys,
		"a wrong size":                             wrongSize,
		"a reader that fails":                      readerFails,
		"a cancelled call changes nothing":         cancelled,
		"cancelled while reading":                  cancelledWhileReading,
		"read from any place":                      seek,
		"read while others write":                  readWhileReplaced,
		"versions differ with the content":         versions,
		"stage":                                    staging,
		"stage what does not arrive":               stagingFails,
		"delete":                                   deleteOnce,
		"copy":                                     copies,
		"copy with a wrong hash":                   copyConflicts,
		"conditions of put":                        putConditions,
		"conditions of delete":                     deleteConditions,
		"a file where a folder should be":          pathConflicts,
		"a folder disappears with its last object": folderGoes,
		"list in byte order":                       listOrder,
		"list by prefix":                           listPrefix,
		"list and stop":                            listStops,
		"list while others write":                  listWhileWriting,
		"of 16 with the same hash one wins":        oneWins,
		"of 16 that create one wins":               oneCreates,
		"no increment is lost":                     increments,
		"put and delete in one folder":             folderContended,
		"random operations":                        randomOperations,
	} {
		t.Run(name, func(t *testing.T) { check(t, open(t)) })
	}
}

// HashOf returns the SHA-256 of a content in the form that stores return.
func HashOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

// putIf stores content if the condition holds.
func putIf(t *testing.T, s books.Store, key, content string, c books.Cond) (books.Object, bool, error) {
	t.Helper()
	return s.Put(t.Context(), key, strings.NewReader(content), int64(len(content)), c)
}

func put(t *testing.T, s books.Store, key, content string) books.Object {
	t.Helper()
	stored, _, err := putIf(t, s, key, content, books.Cond{})
	if err != nil {
		t.Fatalf("put %s: %v", key, err)
	}
	return stored
}

// open opens an object and closes it at the end of the test.
func open(t *testing.T, s books.Store, key string) *books.Body {
	t.Helper()
	body, err := s.Open(t.Context(), key)
	if err != nil {
		t.Fatalf("open %s: %v", key, err)
	}
	t.Cleanup(func() { _ = body.Close() })
	return body
}

// get reads an object and checks its description.
func get(t *testing.T, s books.Store, key string) string {
	t.Helper()
	body := open(t, s, key)
	content, err := io.ReadAll(body)
	if err = errors.Join(err, body.Close()); err != nil {
		t.Fatalf("read %s: %v", key, err)
	}
	describes(t, body.Object, key, string(content))
	return string(content)
}

// holds checks the content stored at a key.
func holds(t *testing.T, s books.Store, key, want string) {
	t.Helper()
	if got := get(t, s, key); got != want {
		t.Errorf("%s holds %q, want %q", key, short(got), short(want))
	}
	at, err := s.Stat(t.Context(), key)
	if err != nil {
		t.Fatalf("stat %s: %v", key, err)
	}
	describes(t, at, key, want)
}

// lacks checks that nothing is stored at a key.
func lacks(t *testing.T, s books.Store, key string) {
	t.Helper()
	_, err := s.Stat(t.Context(), key)
	missing(t, "stat "+key, err)
	body, err := s.Open(t.Context(), key)
	missing(t, "open "+key, err)
	if body != nil {
		t.Errorf("open %s gave a body", key)
	}
}

func missing(t *testing.T, act string, err error) {
	t.Helper()
	if !errors.Is(err, books.ErrNotFound) {
		t.Errorf("%s: error %v, want ErrNotFound", act, err)
	}
}

// describes checks the description of an object; its hash may be missing.
func describes(t *testing.T, o books.Object, key, content string) {
	t.Helper()
	if o.Key != key || o.Size != int64(len(content)) || o.Hash != "" && o.Hash != HashOf(content) || o.Version == "" ||
		o.Modified.IsZero() || o.Modified.Location() != time.UTC {
		t.Errorf("%s with %d bytes is described as %+v", key, len(content), o)
	}
}

// conflicts checks that an error is a conflict with the hash of the existing object.
func conflicts(t *testing.T, act string, err error, actual string) {
	t.Helper()
	var conflict *books.ConflictError
	if !errors.As(err, &conflict) || !errors.Is(err, books.ErrConflict) {
		t.Errorf("%s: error %v, want a conflict", act, err)
		return
	}
	if conflict.Actual != actual {
		t.Errorf("%s: the reported hash is %q, want %q", act, conflict.Actual, actual)
	}
}

// keys lists the keys of a store.
func keys(t *testing.T, s books.Store, prefix string) []string {
	t.Helper()
	var found []string
	for o, err := range s.List(t.Context(), prefix) {
		if err != nil {
			t.Fatalf("list %q: %v", prefix, err)
		}
		found = append(found, o.Key)
	}
	return found
}

func equal(t *testing.T, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func short(content string) string {
	const limit = 80
	if len(content) > limit {
		return content[:limit] + "..."
	}
	return content
}

// inParallel runs f in several goroutines and waits for all.
func inParallel(n int, f func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { f(i) })
	}
	wg.Wait()
}

// noise returns incompressible content, the same on every call.
func noise(size int) string {
	var b bytes.Buffer
	block := sha256.Sum256([]byte("noise"))
	for b.Len() < size {
		b.Write(block[:])
		block = sha256.Sum256(block[:])
	}
	return b.String()[:size]
}
