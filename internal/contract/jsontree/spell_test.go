package jsontree_test

import (
	"encoding/json"
	"testing"

	"remit/internal/contract/jsontree"
)

func TestSpell(t *testing.T) {
	const text = "{\"a\":\"é\u202e\U0001F600\\n\"}"
	got := jsontree.Escape(text, func(r rune) bool { return r < 0x7f })
	if want := `{"a":"\u00e9\u202e\ud83d\ude00\n"}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	var before, after any
	if json.Unmarshal([]byte(text), &before) != nil || json.Unmarshal([]byte(got), &after) != nil {
		t.Fatal("the result is not valid JSON")
	}
	if before.(map[string]any)["a"] != after.(map[string]any)["a"] {
		t.Errorf("%v became %v", before, after)
	}
}
