package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"remit/internal/engine/approval"
)

// Evaluation is how well the questions of a set find their answers.
type Evaluation struct {
	Set       string `json:"set"`
	Documents int    `json:"documents"`
	Questions int    `json:"questions"`
	// Unanswered questions are left out; answers that are Missing from the documents count as not found.
	Unanswered int           `json:"unanswered,omitempty"`
	Missing    int           `json:"missing,omitempty"`
	Scores     []MethodScore `json:"scores"`
}

// MethodScore is what one way to search reaches, from 0 to 1.
type MethodScore struct {
	Method string  `json:"method"`
	NDCG   float64 `json:"ndcg@10"`
	Recall float64 `json:"recall@10"`
}

// evalCommand measures the search by meaning.
func (p *Program) evalCommand() *cobra.Command {
	var sets []string
	c := &cobra.Command{
		Use:  "eval",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.eval(cmd.Context(), sets) },
	}
	c.Flags().StringArrayVar(&sets, "set", nil, "a file of questions and documents; may be given again")
	return p.withJSON("print JSON", c)
}

func (p *Program) eval(ctx context.Context, files []string) error {
	measured, err := p.evaluateAll(ctx, files)
	if err != nil {
		return err
	}
	for _, m := range measured {
		if m.Unanswered+m.Missing > 0 {
			fmt.Fprintf(p.Stderr, "remit: %s: %d questions have no answer and are left out; %d answers are no documents and count as not found\n", approval.Plain(m.Set), m.Unanswered, m.Missing)
		}
	}
	return p.show(measured, func() {
		var t table
		t.add("SET", "DOCUMENTS", "QUESTIONS", "METHOD", "NDCG@10", "RECALL@10")
		for _, m := range measured {
			for _, s := range m.Scores {
				t.add(approval.Plain(m.Set), strconv.Itoa(m.Documents), strconv.Itoa(m.Questions), s.Method, fmt.Sprintf("%.3f", s.NDCG), fmt.Sprintf("%.3f", s.Recall))
			}
		}
		t.write(p.Stdout)
	})
}

func (p *Program) evaluateAll(ctx context.Context, files []string) ([]Evaluation, error) {
	bar := p.bar("Measuring")
	defer bar.end()
	if len(files) == 0 {
		return p.Evaluate(ctx, "", nil, bar.tell)
	}
	var all []Evaluation
	for _, name := range files {
		measured, err := p.evaluateFile(ctx, name, bar.tell)
		if err != nil {
			return nil, err
		}
		all = append(all, measured...)
	}
	return all, nil
}

func (p *Program) evaluateFile(ctx context.Context, name string, tell func(Progress)) ([]Evaluation, error) {
	if name == "-" {
		return p.Evaluate(ctx, "stdin", p.Stdin, tell)
	}
	file, err := os.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, usageError{fmt.Errorf("there is no file %s", name)}
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return p.Evaluate(ctx, filepath.Base(name), io.Reader(file), tell)
}
