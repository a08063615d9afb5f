package pairs

import (
	"fmt"
	"io/fs"
	"strings"

	"remit/tools/trainembed/internal/extract"
)

// Own is the kind of pairs that were written for this training: two wordings of one thing.
const Own = "own"

// takeOwn writes the pairs of all wording files.
func (g *builder) takeOwn(files fs.FS, held *evaluation) error {
	if files == nil {
		return nil
	}
	names, err := fs.Glob(files, "*.txt")
	if err != nil {
		return fmt.Errorf("find wordings: %w", err)
	}
	g.total += len(names)
	for _, name := range names {
		if err := g.take(own(files, name, held)); err != nil {
			return err
		}
	}
	return nil
}

// own returns the pairs of one wording file. Each line holds several wordings of one thing,
// separated by bars; each is paired with all that follow it. A line that begins with # is a
// heading. Wordings similar to something in an evaluation set are left out, because people who
// write both may have the same ideas.
func own(files fs.FS, name string, held *evaluation) packagePairs {
	h := packagePairs{id: "own:" + strings.TrimSuffix(name, ".txt")}
	text, err := fs.ReadFile(files, name)
	if err != nil {
		h.err = fmt.Errorf("read wordings: %w", err)
		return h
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		wordings := strings.Split(strings.TrimSpace(line), " | ")
		far := wordings[:0:0]
		for _, wording := range wordings {
			if held.near(wording) {
				h.held++
			} else {
				far = append(far, wording)
			}
		}
		made := combined(far)
		h.found += len(made)
		h.pairs = append(h.pairs, made...)
	}
	return h
}

func combined(wordings []string) []extract.Pair {
	var pairs []extract.Pair
	for i, a := range wordings {
		for _, b := range wordings[i+1:] {
			pairs = append(pairs, extract.Pair{Kind: Own, A: a, B: b})
		}
	}
	return pairs
}
