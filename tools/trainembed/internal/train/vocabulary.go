package train

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"remit/internal/search/tokenize"
	"remit/tools/trainembed/internal/pairs"
	"remit/tools/trainembed/internal/table"
)

// usage is how often a word is used, and where.
type usage struct {
	word    string
	count   int // in all
	pairs   int // that have it
	sources int // that have it
	pair    int // the last that had it
	source  string
}

// count goes through the words of all pairs.
func count(all []pairs.Pair, cut [2]int) map[string]*usage {
	used := map[string]*usage{}
	for i, pair := range all {
		for side, text := range []string{pair.A, pair.B} {
			left := cut[side]
			for word := range tokenize.In(text) {
				if left--; left < 0 {
					break
				}
				u := used[string(word)]
				if u == nil {
					u = &usage{word: string(word), pair: -1}
					used[u.word] = u
				}
				u.see(i, pair.Source)
			}
		}
	}
	return used
}

func (u *usage) see(pair int, source string) {
	u.count++
	if u.pair != pair {
		u.pair = pair
		u.pairs++
	}
	if u.source != source {
		u.source = source
		u.sources++
	}
}

// vocabulary is which row stands for which words.
type vocabulary struct {
	lexicon *table.Lexicon
	rows    []entry
}

// entry is what is known of a row before it is trained.
type entry struct {
	key    string
	words  []string // that it stands for, the most common first
	count  int
	common bool // has a row of its own, not one for what is left of its stem
}

// choose gives rows to the most common words. A word that few pairs have shares the row of
// its stem, and if another form of the word has a row already, shares that.
func choose(used map[string]*usage, options Options) (*vocabulary, error) {
	byUse := slices.SortedFunc(maps.Values(used), func(a, b *usage) int {
		return cmp.Or(cmp.Compare(b.pairs, a.pairs), cmp.Compare(a.word, b.word))
	})
	candidates := candidates(byUse, options)
	slices.SortStableFunc(candidates, func(a, b entry) int {
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.key, b.key))
	})
	v := &vocabulary{rows: candidates[:min(len(candidates), options.Rows)]}
	var err error
	v.lexicon, err = table.NewLexicon(v.keys())
	return v, err
}

// candidates are words that enough pairs have, and the stems of the others.
func candidates(byUse []*usage, options Options) []entry {
	var found []entry
	byStem := map[string]int{} // places in found
	for _, u := range byUse {
		if u.sources < options.Sources || !plausible(u.word) {
			continue
		}
		stem := tokenize.Stem(u.word)
		at, shared := byStem[stem]
		switch {
		case u.pairs >= options.Own:
			found = append(found, entry{key: u.word, words: []string{u.word}, count: u.pairs, common: true})
			if !shared {
				byStem[stem] = len(found) - 1
			}
		case !shared:
			byStem[stem] = len(found)
			found = append(found, entry{key: stem, words: []string{u.word}, count: u.pairs})
		case !found[at].common:
			found[at].words = append(found[at].words, u.word)
			found[at].count += u.pairs
		}
	}
	return found
}

// plausible says whether a word may have a row: long numbers may not.
func plausible(word string) bool {
	return word[0] < '0' || word[0] > '9' || len(word) <= 4
}

// keys are the words of the rows, and their stems where those are not words themselves.
func (v *vocabulary) keys() []table.Key {
	total := 0
	for _, e := range v.rows {
		total += e.count
	}
	known := map[string]bool{}
	keys := make([]table.Key, 0, 2*len(v.rows))
	for row, e := range v.rows {
		known[e.key] = true
		keys = append(keys, table.Key{Word: e.key, Row: row, Price: price(e, total)})
	}
	for row, e := range v.rows {
		if stem := tokenize.Stem(e.key); e.common && !known[stem] {
			known[stem] = true
			keys = append(keys, table.Key{Word: stem, Row: row})
		}
	}
	return keys
}

// price is what a row costs as a piece of an unknown word: less if it is common.
func price(e entry, total int) uint8 {
	return uint8(min(255, max(1, math.Round(8*math.Log(float64(total)/float64(e.count))))))
}
