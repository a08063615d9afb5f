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

// The score of a piece is that of its words and meaning, times the weight of its source, times 1 and what its age and the
// reads of its file add to it.
const (
	discoveryWeight = 1
	docsWeight      = 0.7 // what somebody took the trouble to note comes first
	codeWeight      = 0.6 // there is so much of it that it would drown the rest
	sessionWeight   = 0.45

	namedBoost = 0.15 // for discoveries of a type that the query names: who asks for issues wants issues

	recencyBoost = 0.05 // for a memory entry or session of today, falling evenly to nothing
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

// recency is 1 for what was done now, or is to come, and 0 for what is old.
func recency(date int64, now time.Time) float64 {
	return min(1, max(0, 1-float64(now.Sub(time.Unix(date, 0)))/float64(recencySpan)))
}

// A candidate is a piece that may become a hit.
type candidate struct {
	place
	score float64
	piece Piece
	bag   map[string]struct{} // the words of the piece, once fold has looked at it
}

// find answers a query. moved says that some of what was found is not there any more.
func (x *Index) find(ctx context.Context, q Query, w way) (answer Answer, moved bool, err error) {
	defer x.courtesy.search()()
	x.catalog.searching.RLock()
	candidates, total, err := x.rank(ctx, q, w)
	x.catalog.searching.RUnlock()
	if err != nil {
		return Answer{}, false, err
	}
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

// leastWindow is how many of the best are read at least, as some of them may say the same.
const leastWindow = 30

// rank gives the best pieces by words, meaning and source. The caller holds searching.
func (x *Index) rank(ctx context.Context, q Query, w way) ([]candidate, int, error) {
	found, err := w.index.Search(hybrid.Query{
		Text: w.text, Vector: w.vector, Keep: x.filter(q), Weigh: x.weigh(q.Text), Limit: max(leastWindow, 3*q.Limit),
		Fine: func(ids []hybrid.ID) ([][]float32, error) { return x.fine(ctx, w.id, ids), nil },
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

// filter gives the filter of a query.
func (x *Index) filter(q Query) (keep func(hybrid.ID) bool) {
	kind, module := unique.Make(q.Type), unique.Make(q.Module)
	discovery, session := unique.Make(chunk.Discovery), unique.Make(chunk.Session)
	anyKind := q.Type == "" || q.Type == "all"
	anyModule := q.Module == ""
	return func(id hybrid.ID) bool {
		e := x.catalog.table.get(id)
		return e != nil && !e.origin.absent.Load() && // one that is retired passes: what takes its place may not be there yet
			(anyKind || e.kind == kind && e.source == discovery) &&
			(anyModule || e.module == module) &&
			(q.Not == "" || e.origin.path != q.Not) &&
			(!q.NoSessions || e.source != session)
	}
}

// named gives the type of discovery that a query speaks of; "" if of none, or of several.
func named(query string) string {
	found := ""
	for _, word := range tokenize.Of(query) {
		kind := cmp.Or(namedTypes[word], found)
		if found != "" && found != kind {
			return ""
		}
		found = kind
	}
	return found
}

// namedTypes are the types of discoveries by the words for them.
var namedTypes = map[string]string{
	"decision": chunk.Decision, "decisions": chunk.Decision, "decided": chunk.Decision, "rule": chunk.Rule, "rules": chunk.Rule,
	"pattern": chunk.Pattern, "patterns": chunk.Pattern, "issue": chunk.Issue, "issues": chunk.Issue,
}

// unnamed leaves out of a query the word that names a type: it says what is wanted, and need not stand in it.
func unnamed(query string) string {
	if named(query) == "" {
		return query
	}
	rest := slices.DeleteFunc(strings.Fields(query), func(word string) bool { return named(word) != "" })
	if len(rest) < 2 { // then there is nothing else that is asked for
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

// fineTime is how long a search waits for vectors to compare closely.
const fineTime = 500 * time.Millisecond

// fine reads vectors as they were before they were made small. Where that fails, the small ones are good enough.
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
		x.o.Log.Debug("vectors were not compared closely", "error", err)
		return nil
	}
	vectors := make([][]float32, len(ids))
	for i, key := range keys {
		vectors[i] = kept[key]
	}
	return vectors
}

// boostTime is how long a search waits to know how files are read.
const boostTime = 200 * time.Millisecond

// boost adds what age and reads say, and sorts.
func (x *Index) boost(ctx context.Context, candidates []candidate) {
	reads := x.reads(ctx, candidates)
	now := x.o.Now()
	for i := range candidates {
		c := &candidates[i]
		access := min(1, max(0, reads[c.entry.origin.path]))
		age := 0.0
		if isFed(c.entry.origin.path) { // the files of a checkout are all of today
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
		x.o.Log.Debug("a search does not know how files are read", "error", err)
	}
	return reads
}

// alike is how many words of two texts, in percent of all their words, must be in both for them to say the same.
const alike = 90

// fold keeps the best candidates, at most limit of them, of those that say the same only the first. It tells how many it left
// out because they do.
func fold(candidates []candidate, limit int) (kept []candidate, folded int) {
	for _, c := range candidates {
		c.bag = bagOf(c.piece.Text)
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

// bagOf is the words of a text, in lower case.
func bagOf(text string) map[string]struct{} {
	bag := map[string]struct{}{}
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), isBetween) {
		bag[word] = struct{}{}
	}
	return bag
}

func isBetween(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }

// isAlike compares what two texts have in common with all that they have. Texts without words are never alike.
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
