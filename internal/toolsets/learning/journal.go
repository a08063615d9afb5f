package learning

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"remit/internal/contract"
	"remit/internal/search/chunk"
	"remit/internal/search/entries"
)

// Journal reads the entries of the memory files for people.
type Journal struct {
	Memory Memory
	Files  []string
	Policy *contract.PathPolicy // what may be read
}

// Record is an entry of a memory file as people see it.
type Record struct {
	ID         string        `json:"id"`
	File       string        `json:"file"`
	Line       int           `json:"line,omitempty"` // 0 if the file is too long to count its lines
	At         time.Time     `json:"timestamp,omitzero"`
	Type       string        `json:"type,omitempty"`
	Module     string        `json:"module,omitempty"`
	Text       string        `json:"text"`
	Entry      string        `json:"entry"` // as it is in the file
	State      entries.State `json:"state,omitempty"`
	By         string        `json:"by,omitempty"`
	Supersedes string        `json:"supersedes,omitempty"`
	Undo       bool          `json:"undo,omitempty"`
	Score      float64       `json:"score,omitempty"` // of a search
}

// Counts reports whether the entry says something that still holds.
func (r *Record) Counts() bool { return r.State == entries.Live && !r.Undo }

// maxJournal is how many bytes of a file are read, from its end.
const maxJournal = 256 << 20

// List returns all entries: those with a time first, the newest first, and then the others. A time
// without a zone, and a date alone, are in the given zone.
func (j *Journal) List(ctx context.Context, zone *time.Location) ([]Record, error) {
	var list []Record
	for _, file := range j.Files {
		tail, err := j.Memory.Tail(ctx, file, j.Policy, maxJournal)
		switch {
		case isOutOfReach(err) || errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		for _, e := range entries.Parse(file, tail.Text) {
			r := recordOf(file, &e, zone)
			if tail.Before > 0 {
				r.Line = 0
			}
			list = append(list, r)
		}
	}
	slices.Reverse(list)
	slices.SortStableFunc(list, func(a, b Record) int {
		return cmp.Or(cmp.Compare(boolean(a.At.IsZero()), boolean(b.At.IsZero())), b.At.Compare(a.At))
	})
	return list, nil
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}

func recordOf(file string, e *entries.Entry, zone *time.Location) Record {
	r := Record{
		ID: e.ID, File: file, Line: e.Line, Entry: e.Text, State: e.State, By: e.By, Supersedes: e.Supersedes, Undo: e.Undo,
		Text: e.Text,
	}
	switch {
	case e.Undo:
		r.Text = "takes back " + e.Supersedes
	case !isLog(file):
		r.Text = strings.TrimSpace(strings.TrimLeft(e.Text, "-*+"))
	}
	if !isLog(file) {
		return r
	}
	if c, ok := chunk.Entry(file, e.Text); ok && !e.Undo {
		r.Text, r.Module, r.At = c.Text, c.Module, c.Date
	}
	var fields struct{ Type any }
	_ = json.Unmarshal([]byte(e.Text), &fields) // a line that is not an object has no type
	r.Type, _ = fields.Type.(string)
	if at, ok := dateOf([]byte(e.Text), zone); ok {
		r.At = at
	}
	r.At = r.At.In(zone)
	if r.At.IsZero() {
		r.At = time.Time{}
	}
	return r
}

// minPrefix is how many characters of an ID are enough.
const minPrefix = 4

// Find returns the entry that a person names: by its ID, by the beginning of it, or as FILE:LINE.
func Find(list []Record, ref string) (Record, error) {
	file, line, isPlace := strings.Cut(ref, ":")
	number, _ := strconv.Atoi(line)
	var found []Record
	for _, r := range list {
		if isPlace && r.File == file && r.Line == number || !isPlace && len(ref) >= minPrefix && strings.HasPrefix(r.ID, strings.ToLower(ref)) {
			found = append(found, r)
		}
	}
	// Equal entries have the same ID; the one that counts is meant.
	slices.SortStableFunc(found, func(a, b Record) int { return cmp.Compare(boolean(!a.Counts()), boolean(!b.Counts())) })
	switch {
	case !isPlace && len(ref) < minPrefix:
		return Record{}, fmt.Errorf("%q is too short for an ID; give at least %d characters of it", ref, minPrefix)
	case len(found) == 0:
		return Record{}, fmt.Errorf("no memory entry %q", ref)
	case slices.ContainsFunc(found, func(r Record) bool { return r.ID != found[0].ID }):
		return Record{}, fmt.Errorf("several memory entries begin with %q; give more characters of the ID", ref)
	}
	return found[0], nil
}

// NewID returns the ID that an entry gets when it is written, and "" for Markdown without any text.
func NewID(in WriteIn) string {
	body := string(in.stored())
	if in.Supersedes != "" {
		body, _ = entries.Mark(in.File, body, in.Supersedes)
	}
	for _, e := range entries.Parse(in.File, []byte(body)) {
		return e.ID
	}
	return ""
}

// UndoEntry returns the entry that takes back the one that it supersedes.
func UndoEntry(file string, at time.Time) string {
	return entries.UndoEntry(file, at.UTC().Format(time.RFC3339))
}

// Current returns the text of a memory file without the entries that were superseded or taken back.
func Current(file, text string) string { return string(entries.Current(file, []byte(text))) }
