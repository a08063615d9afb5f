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

// usage holds how often and where a word occurs.
type usage struct {
	word    string
	count   int // number of occurrences
	pairs   int // number of pairs with it
	sources int // number of sources with it
	pair    int // the last pair with it
	source  string
}

// count counts the words of all pairs.
func count(all []pairs.Pair, cut [2]int) map[string]*usage {
	used := map[string]*usage{}
	for i, pair := range all {
		for side, text := range []string{pair.A, pair.B} {
			left := cut[side]
			for word := range tokenize.All(text) {
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

// vocabulary maps words to rows.
type vocabulary struct {
	lexicon *table.Lexicon
	rows    []entry
}

// entry describes a row before it is trained.
type entry struct {
	key    string
	words  []string // words of the row, the most common first
	count  int
	common bool // has its own row, and not one for the rest of its stem
}

// choose gives rows to the most common words. A word in few pairs shares the row of its stem, or
// the row of another form of the word if there is one.
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

// candidates returns the words that enough pairs have, and the stems of the others.
func candidates(byUse []*usage, options Options) []entry {
	var found []entry
	byStem := map[string]int{} // index in found
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

// plausible reports whether a word may have a row. Long numbers may not.
func plausible(word string) bool {
	return word[0] < '0' || word[0] > '9' || len(word) <= 4
}

// keys returns the words of the rows, and their stems if those are not words themselves.
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

// price returns the cost of a row as a piece of an unknown word. Common words cost less.
func price(e entry, total int) uint8 {
	return uint8(min(255, max(1, math.Round(8*math.Log(float64(total)/float64(e.count))))))
}
