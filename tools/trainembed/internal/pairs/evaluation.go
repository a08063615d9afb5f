package pairs

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// shared is the number of consecutive words that make two texts overlap.
const shared = 12

// An evaluation holds the texts of the evaluation sets, so that nothing in them is used for
// training.
type evaluation struct {
	runs   map[uint64]struct{} // hashes of runs of shared words
	wholes map[uint64]struct{} // questions and sentences
	texts  [][]string          // the content words of each text
}

// readEvaluation reads sets of documents and questions. Each line is a JSON object with a text.
func readEvaluation(paths []string) (*evaluation, error) {
	e := &evaluation{runs: map[uint64]struct{}{}, wholes: map[uint64]struct{}{}}
	for _, path := range paths {
		if err := e.read(path); err != nil {
			return nil, fmt.Errorf("read evaluation set: %w", err)
		}
	}
	return e, nil
}

func (e *evaluation) read(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var entry struct{ Text string }
		if err := json.Unmarshal(lines.Bytes(), &entry); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		e.add(entry.Text)
	}
	return lines.Err()
}

// fewest is the minimum number of words in a sentence that is not generic.
const fewest = 4

func (e *evaluation) add(text string) {
	all := words(text, nil)
	e.texts = append(e.texts, content(text))
	e.wholes[join(all)] = struct{}{}
	for i := 0; i+shared <= len(all); i++ {
		e.runs[join(all[i:i+shared])] = struct{}{}
	}
	for sentence := range sentences(text) {
		if all = words(sentence, all); len(all) >= fewest {
			e.wholes[join(all)] = struct{}{}
		}
	}
}

// holds reports whether a text is a question or a sentence of the sets, contains such a sentence,
// or shares a run of words with them.
func (e *evaluation) holds(text string, scratch *[]uint64) bool {
	if len(e.wholes) == 0 {
		return false
	}
	all := words(text, *scratch)
	*scratch = all
	if _, ok := e.wholes[join(all)]; ok {
		return true
	}
	for i := 0; i+shared <= len(all); i++ {
		if _, ok := e.runs[join(all[i:i+shared])]; ok {
			return true
		}
	}
	for sentence := range sentences(text) {
		all = words(sentence, all)
		if _, ok := e.wholes[join(all)]; ok && len(all) >= fewest {
			return true
		}
	}
	return false
}

// sentences splits a text after every full stop, question mark, exclamation mark and semicolon
// before a space.
func sentences(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		start := 0
		for i := 0; i+1 < len(text); i++ {
			if text[i+1] != ' ' && text[i+1] != '\n' || strings.IndexByte(".?!;", text[i]) < 0 {
				continue
			}
			if !yield(text[start : i+1]) {
				return
			}
			start = i + 1
		}
		if start < len(text) {
			yield(text[start:])
		}
	}
}
