package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"remit/internal/visible"

	"github.com/spf13/cobra"
)

// Evaluation is the search quality that was measured on one test set.
type Evaluation struct {
	Set       string `json:"set"`
	Documents int    `json:"documents"`
	Questions int    `json:"questions"`
	// Unanswered counts questions without an answer, which are skipped. Missing counts answers that
	// are not among the documents; they count as not found.
	Unanswered int           `json:"unanswered,omitempty"`
	Missing    int           `json:"missing,omitempty"`
	Scores     []MethodScore `json:"scores"`
}

// MethodScore is the quality of one search method, from 0 to 1.
type MethodScore struct {
	Method string  `json:"method"`
	NDCG   float64 `json:"ndcg@10"`
	Recall float64 `json:"recall@10"`
}

// evalCommand returns the command that measures the quality of the search by meaning.
func (p *Program) evalCommand() *cobra.Command {
	var sets []string
	c := &cobra.Command{
		Use:  "eval",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.eval(cmd.Context(), sets) },
	}
	c.Flags().StringArrayVar(&sets, "set", nil, "file with documents and questions; can be repeated")
	return p.withJSON("print as JSON", c)
}

func (p *Program) eval(ctx context.Context, files []string) error {
	measured, err := p.evaluateAll(ctx, files)
	if err != nil {
		return err
	}
	for _, m := range measured {
		if m.Unanswered+m.Missing > 0 {
			fmt.Fprintf(p.Stderr, "remit: %s: questions without an answer, skipped: %d; answers that are not among the "+
				"documents, counted as not found: %d\n", visible.Line(m.Set), m.Unanswered, m.Missing)
		}
	}
	return p.show(measured, func() {
		var t table
		t.add("SET", "DOCUMENTS", "QUESTIONS", "METHOD", "NDCG@10", "RECALL@10")
		for _, m := range measured {
			for _, s := range m.Scores {
				t.add(visible.Line(m.Set), strconv.Itoa(m.Documents), strconv.Itoa(m.Questions), s.Method,
					fmt.Sprintf("%.3f", s.NDCG), fmt.Sprintf("%.3f", s.Recall))
			}
		}
		t.write(p.Stdout)
	})
}

func (p *Program) evaluateAll(ctx context.Context, files []string) ([]Evaluation, error) {
	bar := p.bar("Measuring")
	defer bar.end()
	if len(files) == 0 {
		return p.Evaluate(ctx, "", nil, bar.update)
	}
	var all []Evaluation
	for _, name := range files {
		measured, err := p.evaluateFile(ctx, name, bar.update)
		if err != nil {
			return nil, err
		}
		all = append(all, measured...)
	}
	return all, nil
}

func (p *Program) evaluateFile(ctx context.Context, name string, report func(Progress)) ([]Evaluation, error) {
	if name == "-" {
		return p.Evaluate(ctx, "stdin", p.Stdin, report)
	}
	file, err := os.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("file %s does not exist", name)
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return p.Evaluate(ctx, filepath.Base(name), io.Reader(file), report)
}
