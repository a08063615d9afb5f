package books_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"remit/internal/engine/audit"
	"remit/internal/toolsets/books"
)

// command runs a command of a person in a process, with its records.
func (m *mortal) command(body func(ctx context.Context) error) error {
	record := &audit.Record{Principal: "ann", Frontend: "terminal", Tool: "books/test", Outcome: "ok"}
	effect := audit.NewEffect(record, auditor{m})
	err := body(audit.WithEffect(context.Background(), effect))
	if effect.AddTo(record); err != nil {
		record.Outcome = "unavailable"
	}
	_ = auditor{m}.Write(context.Background(), record, true) // fails if the process is dead
	return err
}

// proves checks that all calls are settled, and that the records agree with the books.
func (b *bed) proves(story string) {
	b.t.Helper()
	last := b.start(-1)
	last.settle()
	var ledger audit.Ledger
	if err := ledger.ReadAll(b.t.Context(), b.records()); err != nil {
		b.t.Fatal(err)
	}
	if open := ledger.Open(); len(open) > 0 {
		b.t.Fatalf("%s: %d calls are not settled\n%s", story, len(open), b.summary())
	}
	lines, err := last.library.HistoryLines(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	found, err := last.library.Prove(b.t.Context(), lines, ledger.Changes, func(int, int) {})
	if err != nil || len(found.Problems)+len(found.Notes) > 0 {
		b.t.Fatalf("%s: problems %q, notes %q, error %v\n%s", story, found.Problems, found.Notes, err, b.summary())
	}
}

// state returns the entries of the registry and the files of all books.
func (b *bed) state(l *books.Library) (all []string) {
	b.t.Helper()
	known, err := l.Books(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	for _, k := range known {
		all = append(all, fmt.Sprintf("%s %q %s", k.ID, k.Title, k.Status))
	}
	for o, err := range b.store.List(b.t.Context(), "books/") {
		if err != nil {
			b.t.Fatal(err)
		}
		all = append(all, o.Key)
	}
	return all
}

// TestInterruptedCommands kills a process at each step of a command that changes a whole book.
// Another process settles the records; then the command is repeated, and ends as if nothing had
// happened.
func TestInterruptedCommands(t *testing.T) {
	t.Parallel()
	here := []string{`abc "The title" active`, "books/abc/lessons/1.md", "books/abc/lessons/2.md"}
	onEachStore(t, func(t *testing.T, newBed func() *bed) {
		remove := func(ctx context.Context, l *books.Library) error {
			_, err := l.Remove(ctx, "abc", "ann", nil)
			return err
		}
		for _, tc := range []struct {
			name   string
			before func(ctx context.Context, l *books.Library) error
			run    func(ctx context.Context, l *books.Library) error
			want   []string
		}{
			{"edit", nil, func(ctx context.Context, l *books.Library) error {
				_, err := l.SetTitle(ctx, "abc", "Another")
				return err
			}, append([]string{`abc "Another" active`}, here[1:]...)},
			{"archive", nil, func(ctx context.Context, l *books.Library) error {
				_, err := l.SetArchived(ctx, "abc", true)
				return err
			}, append([]string{`abc "The title" archived`}, here[1:]...)},
			{"remove", nil, remove, nil},
			{"restore", remove, func(ctx context.Context, l *books.Library) error {
				_, err := l.RestoreBook(ctx, "abc", "ann", nil)
				return err
			}, here},
			{"rename", nil, func(ctx context.Context, l *books.Library) error {
				_, err := l.Rename(ctx, "abc", "new", "ann", nil)
				return err
			}, []string{`new "The title" active`, "books/new/lessons/1.md", "books/new/lessons/2.md"}},
		} {
			ended := false
			for step := 1; !ended; step += stride(t) {
				b := newBed()
				first := b.start(-1)
				if err := first.command(first.fill); err != nil {
					t.Fatal(err)
				}
				if tc.before != nil {
					if err := first.command(func(ctx context.Context) error { return tc.before(ctx, first.library) }); err != nil {
						t.Fatal(err)
					}
				}
				victim := b.start(step)
				ended = victim.command(func(ctx context.Context) error { return tc.run(ctx, victim.library) }) == nil
				victim.kill()
				story := fmt.Sprintf("%s, killed at step %d", tc.name, step)
				b.proves(story)
				again := b.start(-1)
				err := again.command(func(ctx context.Context) error { return tc.run(ctx, again.library) })
				if got := b.state(again.library); !slices.Equal(got, tc.want) {
					t.Fatalf("%s: after a repeat (error %v) there are %q, want %q", story, err, got, tc.want)
				}
				b.proves(story + " and repeated")
			}
		}
	})
}

// fill makes the book abc with two lessons.
func (m *mortal) fill(ctx context.Context) error {
	from := folderOf("lessons/1.md", "# One", "lessons/2.md", "# Two")
	_, err := m.library.Import(ctx, from, books.ImportOptions{Book: "abc", Title: "The title", By: "ann"}, nil)
	return err
}
