package extract

import (
	"strconv"
	"strings"
)

// wordNetPairs pairs the words of a set of synonyms with its gloss, both with the examples of their use, and both with the
// sets that are more general, similar, or follow from it. Names of persons, places and species are left out.
func wordNetPairs(_, text string) []Pair {
	sets, at := synsets(text)
	var found []Pair
	for _, s := range sets {
		all := strings.Join(s.words, ", ")
		if wordCount(s.gloss) >= 4 {
			found = append(found, Pair{"syn", clip(all, longestA), clip(s.gloss, longestProse)})
		}
		if wordCount(s.examples) >= 5 {
			found = append(found, Pair{"syn", s.said(longestA), clip(s.examples, longestProse)})
		}
		for _, place := range s.related {
			if other, ok := at[place]; ok {
				found = append(found, Pair{"syn", s.said(longestA), sets[other].said(longestProse)})
			}
		}
	}
	return found
}

// A synset is a set of synonyms with one meaning.
type synset struct {
	words           []string
	gloss, examples string
	related         []string // the places of other sets of the same file
}

// said gives the words and their meaning as one text.
func (s synset) said(most int) string { return clip(strings.Join(s.words, ", ")+" - "+s.gloss, most) }

// synsets reads the lines of a database: the sets in order, and which of them has a place in the file.
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

// isSpecies says that the fields of a set are of those files of nouns that hold animals and plants.
func isSpecies(fields []string) bool {
	return fields[2] == "n" && (fields[1] == "05" || fields[1] == "20")
}

// readSynset reads the fields of a set: after place, file and type stands the number of its words in hexadecimal, then
// each word with a number, then the number of its pointers, then each pointer: sign, place, type and a number.
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
