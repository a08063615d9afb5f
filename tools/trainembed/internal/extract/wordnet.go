package extract

import (
	"strconv"
	"strings"
)

// wordNetPairs pairs the words of a set of synonyms with its gloss, both with examples of their
// use, and both with the sets that are more general, similar or implied. It leaves out names of
// persons, places and species.
func wordNetPairs(_, text string) []Pair {
	sets, at := synsets(text)
	var found []Pair
	for _, s := range sets {
		all := strings.Join(s.words, ", ")
		if wordCount(s.gloss) >= 4 {
			found = append(found, Pair{"syn", clip(all, maxA), clip(s.gloss, maxProse)})
		}
		if wordCount(s.examples) >= 5 {
			found = append(found, Pair{"syn", s.said(maxA), clip(s.examples, maxProse)})
		}
		for _, place := range s.related {
			if other, ok := at[place]; ok {
				found = append(found, Pair{"syn", s.said(maxA), sets[other].said(maxProse)})
			}
		}
	}
	return found
}

// A synset is a set of synonyms with one meaning.
type synset struct {
	words           []string
	gloss, examples string
	related         []string // the positions of related sets in the same file
}

// said returns the words and their meaning as one text.
func (s synset) said(limit int) string { return clip(strings.Join(s.words, ", ")+" - "+s.gloss, limit) }

// synsets parses the lines of a database. It returns the sets in order, and the index of each by
// its position in the file.
func synsets(text string) ([]synset, map[string]int) {
	var sets []synset
	at := map[string]int{}
	for line := range strings.SplitSeq(text, "\n") {
		head, gloss, ok := strings.Cut(line, " | ")
		if !ok || strings.HasPrefix(line, " ") {
			continue
		}
		fields := strings.Fields(head)
		s, ok := readSynset(fields)
		if !ok || s.words[0] == "" || isUpper(s.words[0][0]) || isSpecies(fields) {
			continue
		}
		meaning, examples, _ := strings.Cut(gloss, `; "`)
		s.gloss, s.examples = tidy(meaning), tidy(strings.ReplaceAll(examples, `"`, ""))
		at[fields[0]] = len(sets)
		sets = append(sets, s)
	}
	return sets, at
}

// isSpecies reports whether a set is from one of the noun files with animals and plants.
func isSpecies(fields []string) bool {
	return fields[2] == "n" && (fields[1] == "05" || fields[1] == "20")
}

// readSynset parses the fields of a set. After position, file and type follow: the number of words
// in hexadecimal, each word with a number, the number of pointers, and each pointer with sign,
// position, type and a number.
func readSynset(fields []string) (synset, bool) {
	if len(fields) < 6 {
		return synset{}, false
	}
	count, err := strconv.ParseUint(fields[3], 16, 8)
	if err != nil || count == 0 || len(fields) < 4+2*int(count) {
		return synset{}, false
	}
	var s synset
	for i := range int(count) {
		word, _, _ := strings.Cut(fields[4+2*i], "(")
		s.words = append(s.words, strings.ReplaceAll(word, "_", " "))
	}
	for rest := fields[4+2*int(count):]; len(rest) >= 5; rest = rest[4:] {
		sign, place := rest[1], rest[2]
		if sign == "@" || sign == "&" || sign == "*" || sign == ">" || sign == "^" {
			s.related = append(s.related, place)
		}
	}
	return s, true
}
