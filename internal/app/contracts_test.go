package app

import (
	"testing"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/catalog"
	"remit/internal/toolsets/codebase"
)

// TestEveryContractFitsItsHandler: a start opens no contract, so a field that a
// contract or its handler lacks is found here.
func TestEveryContractFitsItsHandler(t *testing.T) {
	known, err := catalog.Load("conformance")
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range known {
		a := &App{code: &code{reads: codebase.NewTracker(nil, nil, time.Now)}, known: known, kept: &keeping{}}
		if _, err := a.newEngine([]*contract.Set{set}); err != nil {
			t.Error(err)
		}
	}
}
