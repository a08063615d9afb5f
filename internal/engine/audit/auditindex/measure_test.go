package auditindex

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestNth compares nth with sorting.
func TestNth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.Int64Range(0, 50), 1, 300).Draw(t, "list")
		k := rapid.IntRange(0, len(list)-1).Draw(t, "k")
		sorted := slices.Sorted(slices.Values(list))
		if got := nth(list, k); got != sorted[k] || slices.Max(list[:k+1]) > got {
			t.Fatalf("nth %d = %d, want %d", k, got, sorted[k])
		}
	})
}
