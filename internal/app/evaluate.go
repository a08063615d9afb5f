package app

import (
	"context"
	"io"

	"remit/internal/frontends/cli"
	"remit/internal/search/eval"
	"remit/internal/search/model"
)

// evaluate measures how well search finds the answers to questions.
func evaluate(ctx context.Context, name string, set io.Reader, report func(cli.Progress)) ([]cli.Evaluation, error) {
	sets, err := evalSets(name, set)
	if err != nil {
		return nil, err
	}
	local, err := model.Local()
	if err != nil {
		return nil, err
	}
	measured := make([]cli.Evaluation, len(sets))
	for i, s := range sets {
		scores, err := eval.Measure(ctx, s, local.Embed, local.Dim(), func(done, total int) {
			report(cli.Progress{Done: int64(done), Total: int64(total), Unit: "texts", Name: s.Name})
		})
		if err != nil {
			return nil, err
		}
		measured[i] = cli.Evaluation{Set: s.Name, Documents: len(s.Documents), Questions: len(s.Questions), Unanswered: s.Unanswered, Missing: s.Missing}
		for _, score := range scores {
			measured[i].Scores = append(measured[i].Scores, cli.MethodScore{Method: score.Method, NDCG: score.NDCG, Recall: score.Recall})
		}
	}
	return measured, nil
}

func evalSets(name string, set io.Reader) ([]*eval.Set, error) {
	if set == nil {
		return eval.Builtin()
	}
	read, err := eval.Read(name, set)
	if err != nil {
		return nil, err
	}
	return []*eval.Set{read}, nil
}
