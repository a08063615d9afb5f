// Package learningtest contains the test suite of write_memory_entry, which must pass with every
// learning.Memory.
package learningtest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"remit/internal/contract"
	"remit/internal/toolsets/learning"
)

const (
	log       = "decisions.jsonl"
	practices = "best_practices.md"
)

// Suite tests a store. open returns the same empty files as two processes see them.
func Suite(t *testing.T, open func(t *testing.T) (one, other learning.Memory)) {
	for name, test := range map[string]func(t *testing.T, one, other *tools){
		"supersedes": supersedes, "undo": undo, "refusals": refusals, "similar": similar, "similar of many writers": similarAtOnce,
	} {
		t.Run(name, func(t *testing.T) {
			one, other := open(t)
			test(t, newTools(t, one), newTools(t, other))
		})
	}
}

// tools are the tools of one process.
type tools struct {
	*learning.Tools
	journal learning.Journal
	t       *testing.T
}

func newTools(t *testing.T, memory learning.Memory) *tools {
	return &tools{
		Tools:   &learning.Tools{Memory: memory, Now: time.Now},
		journal: learning.Journal{Memory: memory, Files: []string{log, practices}, Policy: &contract.PathPolicy{}}, t: t,
	}
}

// write writes an entry and returns the answer.
func (w *tools) write(file, entry, supersedes string) learning.WriteOut {
	w.t.Helper()
	out, err := w.Write(w.t.Context(), learning.WriteIn{File: file, Entry: learning.Entry(entry), Supersedes: supersedes})
	if err != nil {
		w.t.Fatalf("write %s: %v", entry, err)
	}
	return out
}

// counts returns the texts that count, and all states.
func (w *tools) counts() (texts, states string) {
	w.t.Helper()
	list, err := w.journal.List(w.t.Context(), time.UTC)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, r := range list {
		states += "[" + string(r.State) + "]"
		if r.Counts() {
			texts += r.Text + ";"
		}
	}
	return texts, states
}

func (w *tools) want(wantTexts, wantStates string) {
	w.t.Helper()
	if texts, states := w.counts(); texts != wantTexts || states != wantStates {
		w.t.Errorf("%s %s, want %s %s", texts, states, wantTexts, wantStates)
	}
}

func entry(text string) string {
	return `{"timestamp":"2026-01-09T10:30:00Z","type":"decision","content":"` + text + `"}`
}

func (w *tools) idOf(text string) string {
	w.t.Helper()
	list, err := w.journal.List(w.t.Context(), time.UTC)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, r := range list {
		if r.Text == text {
			return r.ID
		}
	}
	w.t.Fatalf("there is no entry %q", text)
	return ""
}

// supersedes: an entry names the one that it replaces by ID or line, in both kinds of files, also
// if another process has written that.
func supersedes(t *testing.T, one, other *tools) {
	one.write(log, entry("first"), "")
	other.write(log, entry("second"), one.idOf("first"))
	one.want("second;", "[][superseded]")
	one.write(log, entry("third"), "2")
	other.want("third;", "[][superseded][superseded]")
	other.write(log, entry("fourth"), log+":3")
	one.want("fourth;", "[][superseded][superseded][superseded]")

	one.write(practices, "- a practice\n  of two lines\n", "")
	place := other.write(practices, "- a better one", "2")
	if place.LineNumber != 3 {
		t.Errorf("line %d, want 3", place.LineNumber)
	}
	one.want("fourth;a better one;", "[][superseded][superseded][superseded][][superseded]")
}

// undo: an entry is taken back, and an undo can be undone.
func undo(t *testing.T, one, other *tools) {
	now := time.Date(2026, 1, 9, 10, 30, 0, 0, time.UTC)
	for _, file := range []string{log, practices} {
		first, second := entry("first in the log"), entry("second in the log")
		if file == practices {
			first, second = "first", "second"
		}
		one.write(file, first, "")
		one.write(file, second, "1")
		undo := learning.UndoEntry(file, now)
		in := learning.WriteIn{File: file, Entry: learning.Entry(undo), Supersedes: learning.NewID(learning.WriteIn{
			File: file, Entry: learning.Entry(second), Supersedes: learning.NewID(learning.WriteIn{File: file, Entry: learning.Entry(first)}),
		})}
		other.write(file, undo, in.Supersedes)
		if texts, _ := one.counts(); !strings.Contains(texts, "first") || strings.Contains(texts, "second;") {
			t.Errorf("after the undo: %s", texts)
		}
		one.write(file, learning.UndoEntry(file, now.Add(time.Second)), learning.NewID(in))
		if texts, _ := one.counts(); !strings.Contains(texts, "second") || strings.Contains(texts, "first;") {
			t.Errorf("after the undo of the undo: %s", texts)
		}
	}
}

// refusals: nothing is written if an entry names none that it can replace.
func refusals(t *testing.T, one, other *tools) {
	one.write(log, entry("first"), "")
	other.write(log, entry("second"), "1")
	id := one.idOf("first")
	one.write(practices, "```\nan open block", "")
	for _, in := range []learning.WriteIn{
		{File: log, Entry: learning.Entry(entry("x")), Supersedes: "ffffffffffff"},
		{File: log, Entry: learning.Entry(entry("x")), Supersedes: "7"},
		{File: log, Entry: learning.Entry(entry("x")), Supersedes: id},
		{File: log, Entry: learning.Entry(entry("x")), Supersedes: practices + ":1"},
		{File: log, Entry: `"text"`, Supersedes: "2"},
		{File: log, Entry: `{"supersedes":"another"}`, Supersedes: "2"},
		{File: practices, Entry: "x", Supersedes: "1"},
	} {
		_, err := other.Write(t.Context(), in)
		if failure := contract.AsError(err); err == nil || failure.Kind != contract.Invalid || failure.Details["field"] != "supersedes" {
			t.Errorf("%+v: %v", in, err)
		}
	}
	one.want("second;```\nan open block;", "[][superseded][]")
}

// similar: the answer names an earlier entry that says almost the same, whoever wrote it, unless it
// no longer counts.
func similar(t *testing.T, one, other *tools) {
	similarTo := func(out learning.WriteOut) string {
		if out.SimilarTo == nil {
			return ""
		}
		return out.SimilarTo.Excerpt
	}
	one.write(log, entry("SQLite for the tasks of a single user"), "")
	if got := similarTo(one.write(log, entry("Lessons are written in Markdown"), "")); got != "" {
		t.Errorf("similar to %q", got)
	}
	for _, w := range []*tools{other, one, other} {
		other.write(log, entry("Lessons have pictures in folders of their own"), "")
		if got := similarTo(w.write(log, entry("Pictures of lessons have folders of their own"), "")); got == "" {
			t.Error("an entry of another process was not found")
		}
		if got := similarTo(w.write(log, entry("For the tasks of a single user: SQLite"), "")); got == "" {
			t.Error("an older entry was not found")
		}
	}
	const last = "The console shows at most fifty entries on each page"
	one.write(log, entry(last), "")
	if got := similarTo(one.write(log, entry("The console shows at most fifty entries on every page"), one.idOf(last))); got != "" {
		t.Errorf("similar to %q, which it supersedes", got)
	}
	one.write(practices, "- Look at the data before you model it.", "")
	if got := similarTo(other.write(practices, "Before you model it, look at the data.", "")); got != "- Look at the data before you model it." {
		t.Errorf("Markdown: similar to %q", got)
	}
}

// similarAtOnce: writers at the same time find what was written before them.
func similarAtOnce(t *testing.T, one, other *tools) {
	const writers, rounds = 8, 10
	other.write(log, entry("SQLite for the tasks of a single user"), "")
	failed := make(chan error, writers)
	for n := range writers {
		w := one
		if n%4 == 3 {
			w = other
		}
		go func() { failed <- w.writeMany(t.Context(), n, rounds) }()
	}
	for range writers {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
	for _, w := range []*tools{one, other} {
		if got := w.write(log, entry("SQLite is for the tasks of a single user"), ""); got.SimilarTo == nil {
			t.Error("nothing similar was found")
		}
	}
}

func (w *tools) writeMany(ctx context.Context, n, rounds int) error {
	for round := range rounds {
		text := fmt.Sprintf("the writer %c has written an entry about the subject %c", 'A'+n, 'a'+round)
		_, err := w.Write(ctx, learning.WriteIn{File: log, Entry: learning.Entry(entry(text))})
		if err != nil {
			return err
		}
	}
	return nil
}
