package app

import (
	"context"
	"errors"
	"io"
	"time"

	"remit/internal/faces/cli"
	"remit/internal/search/eval"
	"remit/internal/search/model"
	"remit/internal/toolsets/codebase/knowledge"
)

// Knowledge gives what the project knows, whose index is opened when it is first used.
func (a *App) Knowledge() cli.Knowledge { return peoplesKnowledge{a.knows} }

// closeKnowledge ends the work on the index and writes down what clients did.
func (a *App) closeKnowledge() error {
	ctx, cancel := context.WithTimeout(context.Background(), flushPatience)
	defer cancel()
	a.sessions.Close(ctx)
	return a.knows.Close()
}

// peoplesKnowledge is what the project knows as people search it.
type peoplesKnowledge struct{ index *knowledge.Index }

// Index keeps the promise of cli.Knowledge.
func (p peoplesKnowledge) Index(ctx context.Context, tell func(cli.IndexState)) (cli.IndexState, error) {
	err := p.index.Run(ctx, func(s knowledge.State) { tell(indexState(s)) })
	return indexState(p.index.State()), err
}

func indexState(s knowledge.State) cli.IndexState {
	return cli.IndexState{Files: s.Files, Pieces: s.Pieces, Done: s.Done, Total: s.Total, Model: s.Model, Note: s.Note, Waiting: s.Waiting, Unembedded: s.Unembedded}
}

// Search keeps the promise of cli.Knowledge.
func (p peoplesKnowledge) Search(ctx context.Context, q cli.KnowledgeQuery) (cli.Known, error) {
	found, err := p.index.Search(ctx, knowledge.Query{Text: q.Text, Type: q.Type, Module: q.Module, Limit: q.Limit})
	if errors.Is(err, knowledge.ErrEmpty) {
		return cli.Known{}, cli.ErrNothingKnown
	}
	known := cli.Known{Results: make([]cli.KnownPiece, len(found.Hits)), Total: found.Total, Note: found.State.Note}
	for i, hit := range found.Hits {
		known.Results[i] = cli.KnownPiece{
			ID: hit.ID, Type: hit.Type, Content: hit.Content, Module: hit.Module, Session: hit.Session, Date: hit.Date.UTC().Truncate(time.Second),
			Score: hit.Score, Source: hit.Source, Name: hit.Name, Path: hit.Path, Line: hit.Line, EndLine: hit.End,
		}
		if hit.Type == "" {
			known.Results[i].Type = hit.Source
		}
	}
	return known, err
}

// evaluate measures how well questions find their answers.
func evaluate(ctx context.Context, name string, set io.Reader, tell func(cli.Progress)) ([]cli.Evaluation, error) {
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
			tell(cli.Progress{Done: int64(done), Total: int64(total), Unit: "texts", Name: s.Name})
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
