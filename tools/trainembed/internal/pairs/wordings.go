package pairs

import (
	"fmt"
	"io/fs"
	"strings"

	"remit/tools/trainembed/internal/extract"
)

// Own is the kind of pairs that were written for this: two wordings of one thing.
const Own = "own"

// takeOwn writes the pairs of all files of wordings.
func (g *gathering) takeOwn(files fs.FS, held *evaluation) error {
	if files == nil {
		return nil
	}
	names, err := fs.Glob(files, "*.txt")
	if err != nil {
		return fmt.Errorf("look for wordings: %w", err)
	}
	g.total += len(names)
	for _, name := range names {
		if err := g.take(own(files, name, held)); err != nil {
			return err
		}
	}
	return nil
}

// own gives the pairs of one file of wordings: a thing a line, in several wordings with bars between them, each of which is
// paired with each that follows. A line that begins with # says what the next ones are about. Wordings that are near to
// something in an evaluation set are left out: people who write both come to think of the same.
func own(files fs.FS, name string, held *evaluation) harvest {
	h := harvest{id: "own:" + strings.TrimSuffix(name, ".txt")}
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
