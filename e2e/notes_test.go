package e2e

import (
	"fmt"
	"os"
	"testing"
)

// note tells whoever runs the tests something that they should see even if all
// passes: test.sh names a file for it.
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

// leaveOut skips a test that cannot run here, and says so. In CI that is a failure.
func leaveOut(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("CI must not leave out %s", what)
	}
	note(t, "NOT RUN: %s", what)
	t.Skip(what)
}
