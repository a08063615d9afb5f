package extract

import (
	"path"
	"strings"
)

// isDictionary says that a path leads to a database of WordNet or to the thesaurus Moby.
func isDictionary(name string) bool {
	switch path.Base(name) {
	case "data.noun", "data.verb", "data.adj", "data.adv":
		return true
	case "words.txt":
		return path.Dir(name) == "." || path.Dir(name) == "package"
	}
	return false
}

// dictionary finds who reads a dictionary.
func dictionary(name string) func(name, text string) []Pair {
	if path.Base(name) == "words.txt" {
		return thesaurusPairs
	}
	return wordNetPairs
}

const (
	// handful is how many synonyms of the thesaurus make a text: its lists run to hundreds.
	handful = 8
	// handfuls is how many such texts a word has at most.
	handfuls = 6
)

// thesaurusPairs pairs each word of a thesaurus, one a line with its synonyms after commas, with some of them at a time, which
// are spread over the list: it is in the order of the alphabet, not of meanings.
func thesaurusPairs(_, text string) []Pair {
	var found []Pair
	for line := range strings.SplitSeq(text, "\n") {
		words := strings.Split(strings.TrimSpace(line), ",")
		if len(words) < 5 || words[0] == "" || len(line) > mostBytes {
			continue
		}
		others := words[1:]
		texts := min(handfuls, 1+len(others)/(2*handful))
		for start := range texts {
			found = append(found, Pair{"syn", clip(words[0], longestA), clip(spread(others, start, texts), longestProse)})
		}
	}
	return found
}

// spread joins a handful of words that are evenly taken from a list, others for each of so many texts.
func spread(words []string, start, texts int) string {
	count := min(handful, len(words))
	some := make([]string, 0, count)
	for i := range count {
		some = append(some, words[(i*texts+start)*len(words)/(count*texts)])
	}
	return strings.Join(some, ", ")
}
