package main

import "testing"

// TestClientsUpToDate: the committed pages equal the generated ones.
func TestClientsUpToDate(t *testing.T) {
	files, err := clientFiles(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 9 {
		t.Errorf("only %d files are generated", len(files))
	}
	checkFiles(t, files)
}

// TestMissingIndexMarkers: a README without the markers is an error.
func TestMissingIndexMarkers(t *testing.T) {
	for _, readme := range []string{"", indexStart, indexEnd, indexEnd + indexStart} {
		if got, err := withIndex(readme); err == nil {
			t.Errorf("%q became %q", readme, got)
		}
	}
}

func TestArguments(t *testing.T) {
	for _, args := range [][]string{nil, {"tools"}, {"contracts", "clients"}} {
		if err := run(t.Context(), args); err == nil {
			t.Errorf("%q must be an error", args)
		}
	}
}
