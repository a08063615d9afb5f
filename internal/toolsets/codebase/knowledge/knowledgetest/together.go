package knowledgetest

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"remit/internal/toolsets/codebase/knowledge"
)

// loadMeanwhile: a load returns only whole sources, and the next load returns what it missed.
func loadMeanwhile(t *testing.T, s Stores) {
	const files, rounds = 12, 25
	var writers sync.WaitGroup
	for w, store := range []knowledge.Store{s.Here, s.OtherProcess} {
		writers.Go(func() {
			for round := range rounds {
				path := strconv.Itoa((round*7 + w) % files)
				batch := []knowledge.Source{code(path, many(round%5, fmt.Sprint(w, ".", round, " "))...), code("of "+strconv.Itoa(w), strconv.Itoa(round))}
				if _, err := store.Replace(t.Context(), batch); err != nil {
					t.Error(err)
				}
			}
		})
	}
	stop, followed := make(chan struct{}), make(chan map[string]knowledge.Source)
	go func() { followed <- follow(t, s.OtherProcess, stop) }()
	writers.Wait()
	close(stop)
	list, _ := load(t, s.Here, 0)
	want := map[string]knowledge.Source{}
	for _, one := range list {
		want[one.Path] = one
	}
	equal(t, <-followed, want)
}

// follow loads changes repeatedly until it is stopped and nothing is left.
func follow(t *testing.T, s knowledge.Store, stop chan struct{}) map[string]knowledge.Source {
	known, since := map[string]knowledge.Source{}, int64(0)
	for last := false; ; {
		newest, err := s.Load(t.Context(), since, func(one knowledge.Source) error {
			if one.Generation <= since {
				t.Errorf("generation %d comes after %d", one.Generation, since)
			}
			known[one.Path] = one
			return whole(one)
		})
		if err != nil || newest < since {
			t.Errorf("load since %d: newest %d, error %v", since, newest, err)
			return known
		}
		since = newest
		if last {
			return known
		}
		select {
		case <-stop:
			last = true
		default:
		}
	}
}

// whole checks that a source and its chunks are from one change.
func whole(one knowledge.Source) error {
	var texts []string
	for _, p := range one.Chunks {
		texts = append(texts, p.Text)
	}
	if want := code(one.Path, texts...); want.Hash != one.Hash || want.Size != one.Size {
		return errors.New(one.Path + " is not whole: " + strings.Join(texts, ", "))
	}
	return nil
}

// generationsInOrder: a process that sees a generation sees all earlier ones.
func generationsInOrder(t *testing.T, s Stores) {
	const each = 20
	var wg sync.WaitGroup
	var mu sync.Mutex
	given := map[int64]bool{}
	for w, store := range []knowledge.Store{s.Here, s.OtherProcess, s.Here, s.OtherProcess} {
		wg.Go(func() {
			for i := range each {
				g, err := store.Replace(t.Context(), []knowledge.Source{code(fmt.Sprint(w, "/", i), "x")})
				if err != nil {
					t.Error(err)
					return
				}
				seen := 0
				newest, err := store.Load(t.Context(), 0, func(knowledge.Source) error { seen++; return nil })
				if err != nil || newest < g || int64(seen) != newest {
					t.Errorf("after generation %d: newest %d, %d sources, error %v", g, newest, seen, err)
				}
				mu.Lock()
				if given[g] {
					t.Errorf("generation %d was given twice", g)
				}
				given[g] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	equal(t, len(given), 4*each)
}
