package app

import (
	"testing"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/catalog"
	"remit/internal/toolsets/codebase"
)

// TestEveryContractFitsItsHandler also checks the sets that are not served by default.
func TestEveryContractFitsItsHandler(t *testing.T) {
	known, err := catalog.Load("conformance")
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range known {
		a := &App{code: &code{reads: codebase.NewTracker(nil, nil, time.Now)}, known: known, storage: &storage{}}
		if _, err := a.newEngine([]*contract.Set{set}, a.options); err != nil {
			t.Error(err)
		}
	}
}
