package books

import (
	"strings"
	"testing"

	"remit/internal/contract"
)

// TestStoredAnyway checks that an answer does not say that nothing was changed if a file was.
func TestStoredAnyway(t *testing.T) {
	t.Parallel()
	err := storedAnyway("books/new/a.md", contract.Errorf(contract.Unavailable,
		"The audit record cannot be written, so nothing was changed; try again later"))
	if got := err.Error(); !strings.Contains(got, "books/new/a.md is stored, but") || strings.Contains(got, "nothing was changed") {
		t.Error(got)
	}
}
