package knowledge

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
	"unicode"
	"unique"

	"remit/internal/search/chunk"
	"remit/internal/search/hybrid"
	"remit/internal/search/tokenize"
)

// The score of a chunk is that of its words and meaning, times the weight of its source, times (1 +
// the boosts for its age and for the reads of its file).
const (
	discoveryWeight = 1
	docsWeight      = 0.7 // what somebody took the trouble to write down comes first
	codeWeight      = 0.6 // there is so much code that it would drown the rest
	sessionWeight   = 0.45

	// For discoveries of a type that the query names: a query for issues wants issues.
	namedBoost = 0.15

	recencyBoost = 0.05 // for a memory entry or session of today, falling linearly to zero
	recencySpan  = 90 * 24 * time.Hour
	accessBoost  = 0.05 // for a file that is read all the time
)

func weightOf(source string) float32 {
	switch source {
	case chunk.Docs:
		return docsWeight
	case chunk.Code:
		return codeWeight
	case chunk.Session:
		return sessionWeight
	}
	return discoveryWeight
}

// recency returns 1 for a date of now or in the future, falling to 0 for an old one.
func recency(date int64, now time.Time) float64 {
	return min(1, max(0, 1-float64(now.Sub(time.Unix(date, 0)))/float64(recencySpan)))
}

// A candidate is a chunk that may become a hit.
type candidate struct {
	place
	score float64
	chunk Chunk
	bag   map[string]struct{} // the words of the chunk, after fold has compared it
}

// find answers a query. moved reports that some of the results no longer exist.
func (x *Index) find(ctx context.Context, q Query, w method) (answer Answer, moved bool, err error) {
	defer x.priority.search()()
	x.catalog.searching.RLock()
	candidates, total, err := x.rank(ctx, q, w)
	x.catalog.searching.RUnlock()
	if err != nil {
		return Answer{}, false, err
	}
	candidates, missing := x.withoutMissing(candidates)
	total -= missing
	x.boost(ctx, candidates)
	read, err := x.show(ctx, candidates)
	if err != nil {
		return Answer{}, false, err
	}
	moved = len(read) < len(candidates)
	kept, folded := fold(read, q.Limit)
	for i := range kept {
		answer.Hits = append(answer.Hits, x.hit(&kept[i]))
	}
	answer.Total = max(total-folded-(len(candidates)-len(read)), len(kept))
	return answer, moved, nil
}

// withoutMissing removes candidates whose files do not exist any more, as long as not all files
// were compared with the index. It returns how many there were.
func (x *Index) withoutMissing(candidates []candidate) (there []candidate, missing int) {
	t := x.tree.Load()
	if t == nil || x.surveyed.Load() {
		return candidates, 0
	}
	there = slices.DeleteFunc(slices.Clone(candidates), func(c candidate) bool {
		path := c.entry.origin.path
		return !isFed(path) && t.Modified(filePath(path)).IsZero()
	})
	return there, len(candidates) - len(there)
}

// minWindow is the minimum number of best candidates that are read, since some may be duplicates.
const minWindow = 30

// rank returns the best chunks by words, meaning and source. The caller must hold searching.
func (x *Index) rank(ctx context.Context, q Query, w method) ([]candidate, int, error) {
	found, err := w.index.Search(hybrid.Query{
		Text: w.text, Vector: w.vector, Filter: x.filter(q), Boost: x.weigh(q.Text), Limit: max(minWindow, 3*q.Limit),
		ExactVectors: func(ids []hybrid.ID) ([][]float32, error) { return x.fine(ctx, w.id, ids), nil },
	})
	if err != nil {
		return nil, 0, err
	}
	var candidates []candidate
	for _, h := range found.Hits {
		e := x.catalog.table.get(h.ID)
		if e == nil {
			found.Total--
			continue
		}
		candidates = append(candidates, candidate{place: place{h.ID, e}, score: float64(h.Score)})
	}
	return candidates, found.Total, nil
}

// filter returns the filter of a query.
func (x *Index) filter(q Query) (keep func(hybrid.ID) bool) {
	kind, module := unique.Make(q.Type), unique.Make(q.Module)
	discovery, session := unique.Make(chunk.Discovery), unique.Make(chunk.Session)
	anyKind := q.Type == "" || q.Type == "all"
	anyModule := q.Module == ""
	return func(id hybrid.ID) bool {
		e := x.catalog.table.get(id)
		// A retired one passes: its replacement may not exist yet.
		return e != nil && !e.origin.absent.Load() &&
			(anyKind || e.kind == kind && e.source == discovery) &&
			(anyModule || e.module == module) &&
			(q.Exclude == "" || e.origin.path != q.Exclude) &&
			(!q.NoSessions || e.source != session)
	}
}

// named returns the type of discovery that a query names; "" if it names none or several.
func named(query string) string {
	found := ""
	for _, word := range tokenize.Words(query) {
		kind := cmp.Or(namedTypes[word], found)
		if found != "" && found != kind {
			return ""
		}
		found = kind
	}
	return found
}

// namedTypes maps words to types of discoveries.
var namedTypes = map[string]string{
	"decision": chunk.Decision, "decisions": chunk.Decision, "decided": chunk.Decision, "rule": chunk.Rule, "rules": chunk.Rule,
	"pattern": chunk.Pattern, "patterns": chunk.Pattern, "issue": chunk.Issue, "issues": chunk.Issue,
}

// unnamed removes from a query the word that names a type: it says what is wanted, but need not
// occur in it.
func unnamed(query string) string {
	if named(query) == "" {
		return query
	}
	rest := slices.DeleteFunc(strings.Fields(query), func(word string) bool { return named(word) != "" })
	if len(rest) < 2 { // then the query consists of nothing else
		return query
	}
	return strings.Join(rest, " ")
}

func (x *Index) weigh(query string) func(hybrid.ID) float32 {
	kind, some := unique.Make(named(query)), named(query) != ""
	return func(id hybrid.ID) float32 {
		switch e := x.catalog.table.get(id); {
		case e == nil:
			return 0
		case some && e.kind == kind:
			return discoveryWeight * (1 + namedBoost)
		default:
			return e.weight
		}
	}
}

// fineTime is how long a search waits for full-precision vectors.
const fineTime = 500 * time.Millisecond

// fine reads full-precision vectors. If that fails, the quantised ones are good enough.
func (x *Index) fine(ctx context.Context, model string, ids []hybrid.ID) [][]float32 {
	ctx, cancel := context.WithTimeout(ctx, fineTime)
	defer cancel()
	store, err := x.store(ctx)
	if err != nil {
		return nil
	}
	keys := make([]Key, len(ids))
	for i, id := range ids {
		if e := x.catalog.table.get(id); e != nil {
			keys[i] = e.key
		}
	}
	kept, err := store.Vectors(ctx, model, keys)
	if err != nil {
		x.o.Log.Debug("full-precision vectors could not be read; ranking with quantized vectors", "error", err)
		return nil
	}
	vectors := make([][]float32, len(ids))
	for i, key := range keys {
		vectors[i] = kept[key]
	}
	return vectors
}

// boostTime is how long a search waits for the importance of files.
const boostTime = 200 * time.Millisecond

// boost adds the boosts for age and reads, and sorts.
func (x *Index) boost(ctx context.Context, candidates []candidate) {
	reads := x.reads(ctx, candidates)
	now := x.o.Now()
	for i := range candidates {
		c := &candidates[i]
		access := min(1, max(0, reads[c.entry.origin.path]))
		age := 0.0
		if isFed(c.entry.origin.path) { // all files of a fresh checkout have the same date
			age = recency(c.entry.date, now)
		}
		c.score = min(1, c.score*(1+recencyBoost*age+accessBoost*access))
	}
	slices.SortStableFunc(candidates, func(a, b candidate) int { return cmp.Compare(b.score, a.score) })
}

func (x *Index) reads(ctx context.Context, candidates []candidate) map[string]float64 {
	if x.o.Boosts == nil {
		return nil
	}
	var paths []string
	for _, c := range candidates {
		if path := c.entry.origin.path; !isFed(path) && !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	if len(paths) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, boostTime)
	defer cancel()
	reads, err := x.o.Boosts(ctx, paths)
	if err != nil {
		x.o.Log.Debug("cannot read the file access counts for a search", "error", err)
	}
	return reads
}

// alike is the percentage of common words, of all words of two texts, from which on they are
// duplicates.
const alike = 90

// fold returns the best candidates, at most limit of them, and of duplicates only the first. It
// also returns how many duplicates it left out.
func fold(candidates []candidate, limit int) (kept []candidate, folded int) {
	for _, c := range candidates {
		c.bag = bagOf(c.chunk.Text)
		isSame := func(known candidate) bool { return known.entry.key == c.entry.key || isAlike(known.bag, c.bag) }
		switch {
		case slices.ContainsFunc(kept, isSame):
			folded++
		case len(kept) < limit:
			kept = append(kept, c)
		}
	}
	return kept, folded
}

// bagOf returns the words of a text in lower case.
func bagOf(text string) map[string]struct{} {
	bag := map[string]struct{}{}
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), isBetween) {
		bag[word] = struct{}{}
	}
	return bag
}

func isBetween(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }

// isAlike reports whether two texts are duplicates by their common words. Texts without words never
// are.
func isAlike(a, b map[string]struct{}) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(a)*100 < len(b)*alike || len(a) == 0 {
		return false
	}
	both := 0
	for word := range a {
		if _, found := b[word]; found {
			both++
		}
	}
	return both*100 >= (len(a)+len(b)-both)*alike
}
