package memlog

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"remit/internal/engine/audit"
)

// Prove compares a memory file with the changes of it that were recorded. Only the first size bytes
// may have lines that people have typed.
func (m *Memory) Prove(_ context.Context, file string, size int64, changes []*audit.Announced) (c audit.Comparison, err error) {
	text, err := m.textFrom(file, 0, math.MaxInt64)
	if err != nil {
		return c, fmt.Errorf("read %s: %w", file, err)
	}
	return ProveText(file, text, size, changes), nil
}

// ProveText is Prove for the text of a memory file in a file or in the database. People type lines
// into files only. So a line after an entry of the database is a problem if it has no record.
func ProveText(file string, text []byte, size int64, changes []*audit.Announced) (c audit.Comparison) {
	p := proof{text: text, covered: map[int]bool{}}
	p.split()
	for _, a := range p.match(changes) {
		if a.State == audit.Made {
			c.Problems = append(c.Problems, fmt.Sprintf("%s: the entry of call %s at %s is missing or was changed", file, a.Call.ID,
				a.Call.Time.Format(time.RFC3339)))
		}
	}
	typed, added := p.typed(min(size, int64(len(text))), changes)
	if len(typed) > 0 {
		c.Notes = append(c.Notes, fmt.Sprintf("%s: people have typed line %s", file, strings.Join(typed, ", ")))
	}
	if len(added) > 0 {
		c.Problems = append(c.Problems, fmt.Sprintf("%s: no record says that line %s was added", file, strings.Join(added, ", ")))
	}
	return c
}

// proof is a memory file that is compared with records.
type proof struct {
	text    []byte
	starts  []int // of the lines
	covered map[int]bool
}

func (p *proof) split() {
	at := 0
	for line := range bytes.Lines(p.text) {
		p.starts = append(p.starts, at)
		at += len(line)
	}
}

// match finds the entry of each change, at its place or elsewhere, and returns the changes that
// have none. Changes that may not have been made come last.
func (p *proof) match(changes []*audit.Announced) (missing []*audit.Announced) {
	var moved []*audit.Announced
	for _, a := range changes {
		if a.State != audit.NotMade && !p.cover(a, int(a.At)) {
			moved = append(moved, a)
		}
	}
	slices.SortStableFunc(moved, func(a, b *audit.Announced) int { return cmp.Compare(b.State, a.State) })
	if len(moved) == 0 {
		return nil
	}
	lines := map[string][]int{} // by their hash
	for i, at := range p.starts {
		end := len(p.text)
		if i+1 < len(p.starts) {
			end = p.starts[i+1]
		}
		sum := sha256.Sum256(bytes.TrimSuffix(p.text[at:end], []byte{'\n'}))
		hash := hex.EncodeToString(sum[:])
		lines[hash] = append(lines[hash], at)
	}
	for _, a := range moved {
		places := lines[a.New]
		if a.Lines > 1 {
			places = nil
			for _, at := range placesOf(&a.Change, p.text) {
				places = append(places, int(at))
			}
		}
		if !slices.ContainsFunc(places, func(at int) bool { return p.cover(a, at) }) {
			missing = append(missing, a)
		}
	}
	return missing
}

// cover reports whether the entry of a change is at a place where no other one is.
func (p *proof) cover(a *audit.Announced, at int) bool {
	end := at + int(a.Size)
	first, isStart := slices.BinarySearch(p.starts, at)
	if !isStart || a.Size < 0 || end > len(p.text) || end < len(p.text) && p.text[end] != '\n' || p.covered[at] {
		return false
	}
	if sum := sha256.Sum256(p.text[at:end]); hex.EncodeToString(sum[:]) != a.New {
		return false
	}
	for _, start := range p.starts[first:] {
		if start > end {
			break
		}
		p.covered[start] = true
	}
	return true
}

// typed returns the numbers of the lines that no change has written, from the first change on.
// added are those that were added to a database.
func (p *proof) typed(size int64, changes []*audit.Announced) (typed, added []string) {
	first, stored, inFile := int64(math.MaxInt64), int64(math.MaxInt64), int64(-1)
	for _, a := range changes {
		first = min(first, a.At)
		if a.Stored {
			stored = min(stored, a.At)
		} else {
			inFile = max(inFile, a.At)
		}
	}
	for i, at := range p.starts {
		place := int64(at)
		switch {
		case place < first || place >= size || p.covered[at] || p.text[at] == '\n':
		case place >= stored && place > inFile:
			added = append(added, strconv.Itoa(i+1))
		default:
			typed = append(typed, strconv.Itoa(i+1))
		}
	}
	return typed, added
}
