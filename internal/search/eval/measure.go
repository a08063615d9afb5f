package eval

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"

	"remit/internal/search/hybrid"
)

// depth is the number of hits that are evaluated.
const depth = 10

// Score is how well a method answers the questions of a set.
type Score struct {
	// Method is bm25 (words alone), model (meaning alone) or hybrid (both).
	Method string
	// NDCG is the mean nDCG@10, with the grades as gains: a grade of 2 counts as much as two grades
	// of 1.
	NDCG float64
	// Recall is the mean recall@10: the fraction of a question's answers among the first ten hits.
	Recall float64
	// Questions is the number of questions asked.
	Questions int
}

// Measure asks all questions of a set with each method, using an index of its documents as it is
// used in production. embed returns vectors with dim dimensions; if it is nil, only bm25 is
// measured. progress, which may be nil, is called with the number of texts done and in total.
// Measure returns an error if the context ends.
func Measure(ctx context.Context, set *Set, embed func(text string) []float32, dim int, progress func(done, total int)) ([]Score, error) {
	m := measurement{set: set, embed: embed, index: hybrid.New(dim), progress: progress}
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

// measurement is the state of one Measure.
type measurement struct {
	set      *Set
	embed    func(string) []float32
	index    *hybrid.Index
	vectors  [][]float32
	progress func(done, total int)
	done     int
}

// step reports progress, and returns an error if the context has ended.
func (m *measurement) step(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.done++
	if m.progress != nil {
		m.progress(m.done, len(m.set.Documents)+len(m.set.Questions))
	}
	return nil
}

// fill adds the documents to the index. A document's ID is its index in the set.
func (m *measurement) fill(ctx context.Context) error {
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

// ask adds the results of each method for a question to its score.
func (m *measurement) ask(q Question, scores []Score) error {
	vector := m.embed(q.Text)
	for i := range scores {
		query := hybrid.Query{Text: q.Text, Vector: vector, ExactVectors: m.fine, Limit: depth}
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

func (m *measurement) fine(ids []hybrid.ID) ([][]float32, error) {
	var vectors [][]float32
	for _, id := range ids {
		vectors = append(vectors, m.vectors[id])
	}
	return vectors, nil
}

// ndcg returns the normalized discounted cumulative gain of the first ten ids: the sum of the
// answers' grades, discounted by rank, as a fraction of the sum for the best order.
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

// recall returns the fraction of the answers that are among the first ten ids.
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
