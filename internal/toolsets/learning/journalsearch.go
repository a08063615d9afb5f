package learning

import (
	"remit/internal/search/hybrid"
	"remit/internal/search/model"
)

// Search returns the entries that match a question best, by their words and by meaning, and how
// many match.
func Search(list []Record, question string, limit int) (found []Record, total int, err error) {
	local, err := model.Local()
	if err != nil {
		return nil, 0, err
	}
	index, vectors := hybrid.New(local.Dim()), make([][]float32, len(list))
	items := make([]hybrid.Item, len(list))
	for i, r := range list {
		text := r.Text
		if r.Module != "" {
			text = r.Module + "\n" + text
		}
		vectors[i] = local.Embed(text)
		items[i] = hybrid.Item{ID: hybrid.ID(i), Text: text, Vector: vectors[i]}
	}
	index.Put(items)
	query := hybrid.Query{Text: question, Vector: local.Embed(question), Limit: limit}
	query.ExactVectors = func(ids []hybrid.ID) ([][]float32, error) {
		exact := make([][]float32, len(ids))
		for i, id := range ids {
			exact[i] = vectors[id]
		}
		return exact, nil
	}
	results, err := index.Search(query)
	for _, hit := range results.Hits {
		r := list[hit.ID]
		r.Score = float64(hit.Score)
		found = append(found, r)
	}
	return found, results.Total, err
}
