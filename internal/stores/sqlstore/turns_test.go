package sqlstore

import (
	"context"
	"testing"
)

func TestTurns(t *testing.T) {
	t.Parallel()
	all := newTurns()
	ended, end := context.WithCancel(t.Context())
	end()
	first, _ := all.take(t.Context(), "ada")
	second, err := all.take(t.Context(), "ada")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := all.take(ended, "ada"); err == nil {
		t.Error("a third transaction got a turn")
	}
	first()
	third, err := all.take(t.Context(), "ada")
	if err != nil {
		t.Fatal(err)
	}
	second()
	third()
	if _, err := (*turns)(nil).take(ended, "ada"); err != nil {
		t.Errorf("SQLite has to wait: %v", err)
	}
}
