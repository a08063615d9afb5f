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

func TestArguments(t *testing.T) {
	for _, args := range [][]string{nil, {"tools"}, {"contracts", "clients"}} {
		if err := run(t.Context(), args); err == nil {
			t.Errorf("%q must be an error", args)
		}
	}
}
