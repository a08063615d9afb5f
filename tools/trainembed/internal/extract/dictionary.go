package extract

import (
	"path"
	"strings"
)

// isDictionary reports whether a path is a WordNet database or the Moby thesaurus.
func isDictionary(name string) bool {
	switch path.Base(name) {
	case "data.noun", "data.verb", "data.adj", "data.adv":
		return true
	case "words.txt":
		return path.Dir(name) == "." || path.Dir(name) == "package"
	}
	return false
}

// dictionary returns the reader of a dictionary.
func dictionary(name string) func(name, text string) []Pair {
	if path.Base(name) == "words.txt" {
		return thesaurusPairs
	}
	return wordNetPairs
}

const (
	// handful is the number of synonyms in one text, because the lists of the thesaurus have
	// hundreds.
	handful = 8
	// handfuls is the maximum number of such texts for a word.
	handfuls = 6
)

// thesaurusPairs pairs each word of a thesaurus with some of its synonyms at a time. Each line
// holds a word and its synonyms, separated by commas. The synonyms of a text are spread over the
// list, because it is sorted by the alphabet and not by meaning.
func thesaurusPairs(_, text string) []Pair {
	var found []Pair
	for line := range strings.SplitSeq(text, "\n") {
		words := strings.Split(strings.TrimSpace(line), ",")
		if len(words) < 5 || words[0] == "" || len(line) > maxBytes {
			continue
		}
		others := words[1:]
		texts := min(handfuls, 1+len(others)/(2*handful))
		for start := range texts {
			found = append(found, Pair{"syn", clip(words[0], maxA), clip(spread(others, start, texts), maxProse)})
		}
	}
	return found
}

// spread joins a handful of words taken evenly from a list; each of the texts gets different words.
func spread(words []string, start, texts int) string {
	count := min(handful, len(words))
	some := make([]string, 0, count)
	for i := range count {
		some = append(some, words[(i*texts+start)*len(words)/(count*texts)])
	}
	return strings.Join(some, ", ")
}
