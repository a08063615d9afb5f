package pairs

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"

	"remit/tools/trainembed/internal/extract"
)

// TestWordings: each wording is paired with those that follow, unless an evaluation set has nearly
// the same.
func TestWordings(t *testing.T) {
	set := filepath.Join(t.TempDir(), "set.jsonl")
	if err := os.WriteFile(set, []byte(`{"kind":"q","id":"1","text":"how do we stop brute force attempts at sign-in"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	held, err := readEvaluation([]string{set})
	if err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{"a.txt": {Data: []byte("# attacks\nlockout | brute force attempts at sign in stop | who may try again\ncache | keep a copy\n")}}
	h := own(files, "a.txt", held)
	want := []extract.Pair{{Kind: Own, A: "lockout", B: "who may try again"}, {Kind: Own, A: "cache", B: "keep a copy"}}
	if h.err != nil || h.id != "own:a" || h.held != 1 || !slices.Equal(h.pairs, want) {
		t.Errorf("got %+v", h)
	}
	if h := own(files, "b.txt", held); h.err == nil {
		t.Error("a file that is not there gives pairs")
	}
}
