package approval

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"znkr.io/diff"

	"remit/internal/contract"
	"remit/internal/engine/identity"
	"remit/internal/visible"
)

// Shown is the effect of a call as a person sees it before they decide.
type Shown struct {
	// State identifies what the effect depends on: the content that would be replaced, the row that
	// would change. It is empty if the effect depends on nothing that can change. It must be short,
	// printable and without secrets.
	State         string
	Title         string // the effect in one line
	Before, After string // the content that the call changes, if it can be shown as text
}

// Show returns what a call would do now. seen is the state that a person was shown earlier, or "".
// If the effect of the call is still the one that was shown then, the result has that state.
type Show func(ctx context.Context, seen string) (Shown, error)

func digest(parts ...string) string { return hex.EncodeToString(identity.Digest(parts...)) }

// ShownDigest returns what a decision on the request is bound to besides its call: the tool, its
// contract and the state that the person saw.
func (r Request) ShownDigest() string { return digest("shown 1", r.Tool, r.Digest, r.Shown) }

// PageMark returns the mark of a page or prompt that shows the request in this state. A person's
// approval must carry the mark of what they saw; see StateOf.
func (r Request) PageMark(state string) string { return r.pageDigest(state)[:16] + ":" + state }

// pageDigest returns the digest of what a page of the request shows in this state: the call and
// what it would do.
func (r Request) pageDigest(state string) string {
	r.Shown = state
	return digest("page 1", r.ID, r.Key, r.ShownDigest())
}

// StateOf returns the state in the mark of a page that showed this request; false if the mark is of
// no page of it.
func (r Request) StateOf(mark string) (state string, ok bool) {
	_, state, ok = strings.Cut(mark, ":")
	return state, ok && r.PageMark(state) == mark
}

const (
	// maxComparisons bounds the comparisons of lines in the search for the fewest changes, in
	// addition to one per line. 2,000 changes need half as many.
	maxComparisons = 1 << 23
	// contextLines is the number of unchanged lines to show around a change.
	contextLines = 3
)

// Hunks returns the lines to remove and to add that turn before into after. If exact is true, they
// are the fewest possible; finding those may take too long.
func Hunks(before, after []string) (hunks []diff.Hunk[string], exact bool) {
	if hunks, exact = minimal(before, after); exact {
		return hunks, true
	}
	return diff.Hunks(before, after, diff.Context(contextLines), diff.Fast()), false
}

// minimal finds the fewest changes, unless that takes too many comparisons. The library offers no
// way to stop it except a panic.
func minimal(before, after []string) (hunks []diff.Hunk[string], ok bool) {
	type tooMany struct{}
	limit := maxComparisons + len(before) + len(after)
	defer func() {
		if r := recover(); r != nil && r != (tooMany{}) {
			panic(r)
		}
	}()
	equal := func(a, b string) bool {
		if limit--; limit < 0 {
			panic(tooMany{})
		}
		return a == b
	}
	return diff.HunksFunc(before, after, equal, diff.Context(contextLines), diff.Minimal()), true
}

// Lines splits a text into lines with their line breaks; the last line may have none.
func Lines(text string) []string { return slices.Collect(strings.Lines(text)) }

// Limits of Text. A dialog or a prompt is no place for more; the page of the request shows all.
const (
	maxTextLines = 40
	maxTextLine  = 200 // characters
)

// Text returns the effect as plain text: the title, and the changed lines with a sign in front.
// Invisible characters are escaped, so that content cannot pass for ours.
func (s Shown) Text() string {
	var b strings.Builder
	if s.Title != "" {
		b.WriteString(visible.Line(s.Title) + "\n")
	}
	hunks, _ := Hunks(Lines(s.Before), Lines(s.After))
	shown, left := 0, 0
	for _, h := range hunks {
		for _, e := range h.Edits {
			sign, line := "  ", e.X
			switch e.Op {
			case diff.Insert:
				sign, line = "+ ", e.Y
			case diff.Delete:
				sign = "- "
			}
			if shown++; shown > maxTextLines {
				left++
				continue
			}
			b.WriteString(sign + visible.Clip(visible.Line(strings.TrimSuffix(line, "\n")), maxTextLine) + "\n")
		}
	}
	if left > 0 {
		fmt.Fprintf(&b, "(%s)\n", contract.Count(left, "more line"))
	}
	return b.String()
}
