package eval

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"

	"remit/internal/search/hybrid"
)

// depth is how many hits are looked at.
const depth = 10

// Score says how well a method answers the questions of a set.
type Score struct {
	// Method is bm25 (by words alone), model (by meaning alone) or hybrid (by both).
	Method string
	// NDCG is the mean of nDCG@10, with the grades as gains: one of 2 is worth two of 1.
	NDCG float64
	// Recall is the mean of recall@10: the share of a question's answers that are among the first ten.
	Recall float64
	// Questions is how many were asked.
	Questions int
}

// Measure asks all questions of a set by each method, with an index of its documents as it is served to people. embed makes
// vectors with so many dimensions; without it only bm25 is measured. progress, which may be nil, is told how many texts of
// all are done. The error is that of the context.
func Measure(ctx context.Context, set *Set, embed func(text string) []float32, dim int, progress func(done, total int)) ([]Score, error) {
	m := measuring{set: set, embed: embed, index: hybrid.New(dim), progress: progress}
	if embed == nil {
		m.embed = func(string) []float32 { return nil }
	}
	if err := m.fill(ctx); err != nil {
		return nil, err
	}
	scores := []Score{{Method: "bm25"}}
	if embed != nil {
		scores = append(scores, Score{Method: "model"}, Score{Method: "hybrid"})
	}
	for _, q := range set.Questions {
		if err := m.step(ctx); err != nil {
			return nil, err
		}
		if err := m.ask(q, scores); err != nil {
			return nil, err
		}
	}
	for i := range scores {
		scores[i].Questions = len(set.Questions)
		scores[i].NDCG /= float64(max(1, len(set.Questions)))
		scores[i].Recall /= float64(max(1, len(set.Questions)))
	}
	return scores, nil
}

// measuring is a measurement on its way.
type measuring struct {
	set      *Set
	embed    func(string) []float32
	index    *hybrid.Index
	vectors  [][]float32
	progress func(done, total int)
	done     int
}

// step tells of progress, and whether to go on.
func (m *measuring) step(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.done++
	if m.progress != nil {
		m.progress(m.done, len(m.set.Documents)+len(m.set.Questions))
	}
	return nil
}

// fill puts the documents into the index, by their number.
func (m *measuring) fill(ctx context.Context) error {
	var items []hybrid.Item
	for i, d := range m.set.Documents {
		if err := m.step(ctx); err != nil {
			return err
		}
		m.vectors = append(m.vectors, m.embed(d.Text))
		items = append(items, hybrid.Item{ID: hybrid.ID(i), Text: d.Text, Vector: m.vectors[i]})
	}
	m.index.Put(items)
	return nil
}

// ask adds what each method is worth for a question to its score.
func (m *measuring) ask(q Question, scores []Score) error {
	vector := m.embed(q.Text)
	for i := range scores {
		query := hybrid.Query{Text: q.Text, Vector: vector, Fine: m.fine, Limit: depth}
		switch scores[i].Method {
		case "bm25":
			query.Vector = nil
		case "model":
			query.Text = ""
		}
		found, err := m.index.Search(query)
		if err != nil {
			return err
		}
		var ids []string
		for _, h := range found.Hits {
			ids = append(ids, m.set.Documents[h.ID].ID)
		}
		scores[i].NDCG += ndcg(ids, q.Answers)
		scores[i].Recall += recall(ids, q.Answers)
	}
	return nil
}

func (m *measuring) fine(ids []hybrid.ID) ([][]float32, error) {
	var vectors [][]float32
	for _, id := range ids {
		vectors = append(vectors, m.vectors[id])
	}
	return vectors, nil
}

// ndcg returns the normalised discounted cumulative gain of the first ten ids: what the grades of the answers among them are
// worth, less the later they come, as a share of what the best order would give.
func ndcg(ids []string, answers map[string]float64) float64 {
	var gain, best float64
	for i, id := range ids[:min(len(ids), depth)] {
		gain += answers[id] * discount(i)
	}
	grades := slices.SortedFunc(maps.Values(answers), func(a, b float64) int { return cmp.Compare(b, a) })
	for i, grade := range grades[:min(len(grades), depth)] {
		best += grade * discount(i)
	}
	if best == 0 {
		return 0
	}
	return gain / best
}

func discount(place int) float64 { return 1 / math.Log2(float64(place)+2) }

// recall returns the share of the answers that are among the first ten ids.
func recall(ids []string, answers map[string]float64) float64 {
	if len(answers) == 0 {
		return 0
	}
	found := 0
	for _, id := range ids[:min(len(ids), depth)] {
		if answers[id] > 0 {
			found++
		}
	}
	return float64(found) / float64(len(answers))
}
