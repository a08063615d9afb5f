// Package knowledgetest contains the test suite that every knowledge.Store must pass.
package knowledgetest

import (
	"crypto/sha256"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"remit/internal/search/chunk"
	"remit/internal/toolsets/codebase/knowledge"
)

// Stores holds several views of one storage, which is empty.
type Stores struct {
	Here           knowledge.Store
	OtherProcess   knowledge.Store // the same workspace, as opened by another process
	OtherWorkspace knowledge.Store // another workspace
	// Age moves all stored times back by a duration, as if that much time had passed.
	Age func(t *testing.T, by time.Duration)
	// Damage damages all stored vectors.
	Damage func(t *testing.T, how Damage)
}

// Damage is a kind of damage to a stored vector.
type Damage string

// The kinds of damage.
const (
	Cut   Damage = "four bytes are missing at the end"
	Torn  Damage = "one byte is missing at the end"
	Empty Damage = "nothing is left"
	NaN   Damage = "each number is NaN"
)

// Suite tests the promises of knowledge.Store. open returns stores that live until the end of the
// test it is given.
func Suite(t *testing.T, open func(t *testing.T) Stores) {
	for name, check := range map[string]func(*testing.T, Stores){
		"nothing is known":                     nothing,
		"a source is stored unchanged":         sourceStays,
		"texts and paths are stored unchanged": textsStay,
		"chunks are numbered":                  numbered,
		"a source is replaced":                 replaced,
		"a source is deleted and comes back":   goneAndBack,
		"a path twice in a batch":              twice,
		"a path that is too long":              tooLong,
		"what changed since":                   since,
		"discoveries come first":               discoveriesFirst,
		"chunks in the requested order":        chunksInOrder,
		"a load in many parts":                 manyParts,
		"a source of many chunks":              manyChunks,
		"each can end a load":                  eachEnds,
		"each can use the store":               eachUses,
		"adjacent paths":                       closePaths,
		"a load that is overtaken":             overtaken,
		"a load while others replace":          loadMeanwhile,
		"generations are committed in order":   generationsInOrder,
		"a generation of another database":     otherDatabase,
		"a cancelled call changes nothing":     cancelled,
		"two workspaces":                       workspaces,
		"two processes":                        processes,
		"vectors":                              vectors,
		"vectors of many keys":                 manyVectors,
		"concurrent vectors":                   vectorsAtOnce,
		"damaged vectors":                      damaged,
		"sweep":                                sweep,
		"sweep of many":                        sweepMany,
		"sweep of models":                      sweepModels,
		"sweep that comes too soon":            sweepSeldom,
		"sweep of deleted sources":             sweepGone,
		"sweep while others put and replace":   sweepMeanwhile,
		"lease":                                lease,
		"lease goes to one":                    leaseToOne,
		"number of sources":                    counts,
		"snapshots":                            snapshots,
		"random operations of two processes":   model,
	} {
		t.Run(name, func(t *testing.T) { check(t, open(t)) })
	}
}

// noon is the time of the suite's events. Stores keep microseconds.
var noon = time.Date(2026, 8, 1, 12, 0, 0, 123456000, time.UTC)

func keyOf(text string) knowledge.Key {
	sum := sha256.Sum256([]byte(text))
	return knowledge.Key(sum[:16])
}

// code returns a source with a chunk for each text, as it is loaded.
func code(path string, texts ...string) knowledge.Source {
	s := knowledge.Source{Path: path, Hash: sha256.Sum256([]byte(strings.Join(texts, "\n"))), Size: int64(len(texts)), Modified: noon}
	for i, text := range texts {
		s.Chunks = append(s.Chunks, knowledge.Chunk{
			Ref: knowledge.Ref{Path: path, Number: i}, Key: keyOf(text),
			Chunk: chunk.Chunk{Source: chunk.Code, Name: "f", Text: text, Module: "m", Line: i + 1, End: i + 2},
		})
	}
	return s
}

// found returns a source of discoveries.
func found(path string, texts ...string) knowledge.Source {
	s := code(path, texts...)
	for i := range s.Chunks {
		p := &s.Chunks[i]
		p.Source, p.Type, p.Session, p.Date = chunk.Discovery, chunk.Rule, "s1", noon.Add(-time.Hour)
	}
	return s
}

func gone(path string) knowledge.Source { return knowledge.Source{Path: path, Gone: true} }

func replace(t *testing.T, s knowledge.Store, sources ...knowledge.Source) int64 {
	t.Helper()
	generation, err := s.Replace(t.Context(), sources)
	if err != nil {
		t.Fatal(err)
	}
	return generation
}

func load(t *testing.T, s knowledge.Store, since int64) (list []knowledge.Source, newest int64) {
	t.Helper()
	newest, err := s.Load(t.Context(), since, func(one knowledge.Source) error {
		list = append(list, one)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list, newest
}

// expect checks the result of a load from the beginning.
func expect(t *testing.T, s knowledge.Store, want ...knowledge.Source) {
	t.Helper()
	expectSince(t, s, 0, want...)
}

func expectSince(t *testing.T, s knowledge.Store, since int64, want ...knowledge.Source) {
	t.Helper()
	list, newest := load(t, s, since)
	equal(t, list, want)
	last := since
	for _, one := range want {
		last = max(last, one.Generation)
	}
	if newest != last {
		t.Errorf("the newest generation is %d, want %d", newest, last)
	}
}

// of returns a source as it is after a change.
func of(generation int64, s knowledge.Source) knowledge.Source {
	s.Generation = generation
	return s
}

func paths(list []knowledge.Source) string {
	var names []string
	for _, one := range list {
		name := one.Path
		if one.Gone {
			name = "-" + name
		}
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

func equal(t *testing.T, got, want any) {
	t.Helper()
	if reflect.DeepEqual(got, want) { // much faster than the comparison below, and usually true
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func many(n int, prefix string) (texts []string) {
	for i := range n {
		texts = append(texts, fmt.Sprint(prefix, i))
	}
	return texts
}
