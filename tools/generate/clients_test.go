package main

import "testing"

// TestClientsUpToDate: the pages are those that go generate would write.
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
			t.Errorf("%q is no error", args)
		}
	}
}
