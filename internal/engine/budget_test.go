package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/engine/enginetest"
)

const listYAML = `
name: note
title: List
description: Lists numbers.
hints: {readOnly: true, destructive: false, idempotent: true, openWorld: false}
input:
  type: object
  properties:
    first: {type: integer, default: 0, description: Where to begin}
    size: {type: integer, default: 10, description: How long each is}
  additionalProperties: false
output:
  type: object
  properties:
    numbers: {type: array, items: {type: string}, description: The numbers}
    next: {type: string, description: Where to go on}
    total: {type: integer, description: How many there are}
  required: [numbers, total]
  additionalProperties: false
truncate: {list: numbers, cursor: next, budget: 4KiB}
examples: []
`

type listIn struct {
	First int `json:"first"`
	Size  int `json:"size"`
}

type listOut struct {
	Numbers []string `json:"numbers"`
	Next    string   `json:"next,omitempty"`
	Total   int      `json:"total"`
	first   int
}

func (l listOut) Cut(n int) any {
	l.Numbers, l.Next = l.Numbers[:n], fmt.Sprint(l.first+n)
	return l
}

// thousand lists the numbers up to 1000.
func thousand(_ context.Context, in listIn) (listOut, error) {
	out := listOut{Total: 1000, first: in.First}
	for i := in.First; i < out.Total; i++ {
		out.Numbers = append(out.Numbers, fmt.Sprintf("%0*d", in.Size, i))
	}
	return out, nil
}

// TestBudget follows the cursor and checks, for every shape of a set, that no answer exceeds the
// budget and that together they contain every element exactly once.
func TestBudget(t *testing.T) {
	for _, tc := range []struct {
		name, shape string
		size, first int
	}{{"plain", "plain", 10, 0}, {"in an envelope", "envelope", 10, 0}, {"one element is over the budget", "plain", 5000, 990}} {
		t.Run(tc.name, func(t *testing.T) {
			e := listEngine(t, tc.shape)
			next, seen := fmt.Sprint(tc.first), tc.first
			for next != "" {
				args := mustParse(t, fmt.Sprintf(`{"first":%s,"size":%d}`, next, tc.size))
				result, err := e.Call(t.Context(), engine.Call{Tool: "note", Principal: "ann", Args: args})
				if err != nil || result.Err != nil {
					t.Fatalf("%s, %v", result.Body, err)
				}
				answer := mustParse(t, string(result.Body))
				if tc.shape == "envelope" {
					answer = answer.Field("data")
				}
				numbers, cursor := answer.Field("numbers"), answer.Field("next")
				if n := len(numbers.Members); len(result.Body) > 4<<10 && n != 1 || n == 0 {
					t.Fatalf("%d bytes with %d numbers", len(result.Body), n)
				}
				for _, m := range numbers.Members {
					if m.Value.Text != fmt.Sprintf("%0*d", tc.size, seen) {
						t.Fatalf("%s in place of %d", m.Value.Text, seen)
					}
					seen++
				}
				next = cursor.Text
			}
			if seen != 1000 {
				t.Errorf("it ended before %d", seen)
			}
		})
	}
}

func listEngine(t *testing.T, shape string) *engine.Engine {
	t.Helper()
	set := loadSetOf(t, strings.Replace(setYAML, "shape: coded", "shape: "+shape, 1), listYAML)
	return enginetest.New(t, set, map[string]engine.Handler{"note": engine.Handle(thousand)}, engine.Options{})
}

func mustParse(t *testing.T, text string) jsontree.Value {
	t.Helper()
	tree, err := jsontree.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

type uncutOut struct {
	Numbers []string `json:"numbers"`
	Next    string   `json:"next"`
	Total   int      `json:"total"`
}

// TestTruncationNeedsPaged checks that binding fails for a handler whose answer cannot be
// truncated.
func TestTruncationNeedsPaged(t *testing.T) {
	set := loadSet(t, listYAML)
	_, err := engine.New([]*contract.Set{set}, engine.Handlers{
		Catalog:  []*contract.Set{set},
		Toolsets: []engine.Toolset{{Sets: []string{"demo"}, Handlers: map[string]engine.Handler{"note": handle[listIn, uncutOut]()}}},
	}, engine.Options{})
	if want := `demo/note: the contract may cut "numbers", so engine_test.uncutOut must be an engine.Paged`; err == nil ||
		err.Error() != want {
		t.Errorf("error %v\nwant  %s", err, want)
	}
}
