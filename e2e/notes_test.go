package e2e

import (
	"fmt"
	"os"
	"testing"
)

// note logs a text that should be seen even if all tests pass. test.sh sets REMIT_NOTES to a file
// for these texts and prints them at the end.
func note(t *testing.T, format string, args ...any) {
	t.Helper()
	text := fmt.Sprintf(format, args...)
	t.Log(text)
	name := os.Getenv("REMIT_NOTES")
	if name == "" {
		return
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintln(f, text); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// skipOutsideCI skips a test that this machine cannot run. In CI it fails instead.
func skipOutsideCI(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("CI must not skip %s", what)
	}
	note(t, "NOT RUN: %s", what)
	t.Skip(what)
}
