package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"remit/internal/contract"
	"remit/internal/toolsets/codebase/knowledge"
	"remit/internal/visible"
)

// indexProgress returns the progress of indexing: first of the files, then of the embeddings.
func indexProgress(s knowledge.State) Progress {
	if s.Waiting == 0 && s.Unembedded > 0 {
		return Progress{Done: int64(s.Chunks - s.Unembedded), Total: int64(s.Chunks), Unit: "chunks"}
	}
	return Progress{Done: int64(s.Done), Total: int64(s.Total), Unit: "files"}
}

// knowledgeCommands implements the commands search and index.
type knowledgeCommands struct {
	*Program
	kind, module string
	limit        int
	full         bool
}

// searchCommand returns the command that searches by meaning.
func (p *Program) searchCommand() *cobra.Command {
	k := &knowledgeCommands{Program: p}
	c := &cobra.Command{
		Use:        "search QUESTION",
		SuggestFor: []string{"find", "ask"},
		RunE:       k.search,
	}
	f := c.Flags()
	f.StringVar(&k.kind, "type", "", "only results of this type: pattern, rule, decision or issue")
	f.StringVar(&k.module, "module", "", "only results of this module, such as auth for src/server/auth/X.ts")
	f.IntVarP(&k.limit, "limit", "n", 5, "show at most this many results, 1 to 20")
	f.BoolVar(&k.full, "full", false, "show complete texts, not only their first lines")
	f.BoolVar(&p.asJSON, "json", false, "print as JSON")
	return c
}

func knownTypes() []string { return []string{"pattern", "rule", "decision", "issue", anyType} }

// anyType selects results of every type.
const anyType = "all"

func (k *knowledgeCommands) search(cmd *cobra.Command, args []string) error {
	query, err := k.query(args)
	if err != nil {
		return usageError{err}
	}
	_, here, err := k.here(cmd)
	if err != nil {
		return err
	}
	return k.withSession(func(cmd *cobra.Command, s *session, _ []string) error {
		found, err := k.run(cmd.Context(), s, &query)
		switch {
		case errors.Is(err, knowledge.ErrEmpty):
			fmt.Fprintln(k.Stderr, "remit: the index is empty: the project has no notes, docs or code yet")
			return failure{ExitFailed}
		case err != nil:
			return err
		}
		hits := found.Answer.Hits
		for i := range hits {
			hits[i].Path = fromHere(here, hits[i].Path)
		}
		if !s.hasData() && isTerminal(k.Stderr) {
			fmt.Fprintln(k.Stderr, k.hint("remit: the index was not kept, because nothing is stored here yet; \"remit index\" stores it"))
		}
		return k.show(found.Answer)
	})(cmd, args)
}

// query converts the command line to a query.
func (k *knowledgeCommands) query(args []string) (knowledge.Query, error) {
	q := knowledge.Query{Text: strings.TrimSpace(strings.Join(args, " ")), Type: k.kind, Module: k.module, Limit: k.limit}
	if q.Type == anyType {
		q.Type = ""
	}
	switch length := utf8.RuneCountInString(q.Text); {
	case len(args) == 0:
		return q, errors.New("a question is missing; usage: remit search QUESTION")
	case length < 3:
		return q, errors.New("the question must be at least 3 characters long")
	case length > 500:
		return q, fmt.Errorf("the question has %d characters; at most 500 are allowed", length)
	case k.limit < 1 || k.limit > 20:
		return q, fmt.Errorf("--limit must be from 1 to 20, not %d", k.limit)
	case q.Type != "" && !slices.Contains(knownTypes(), q.Type):
		return q, fmt.Errorf("--type must be one of %s, not %q", strings.Join(knownTypes(), ", "), q.Type)
	}
	return q, nil
}

// show prints the results.
func (k *knowledgeCommands) show(found knowledge.Answer) error {
	if found.State.Note != "" {
		fmt.Fprintf(k.Stderr, "remit: %s\n", visible.Line(found.State.Note))
	}
	for i := range found.Hits {
		hit := &found.Hits[i]
		hit.Type, hit.Date = cmp.Or(hit.Type, hit.Source), hit.Date.UTC().Truncate(time.Second)
	}
	if k.asJSON {
		if err := writeJSON(k.Stdout, struct {
			Results []knowledge.Hit `json:"results"`
			Total   int             `json:"totalFound"`
			Note    string          `json:"note,omitempty"`
		}{append([]knowledge.Hit{}, found.Hits...), found.Total, found.State.Note}); err != nil {
			return err
		}
	} else {
		out := newOutput(k.Stdout, isTerminal(k.Stdout), k.colours())
		for i := range found.Hits {
			k.showOne(out, &found.Hits[i])
		}
		if err := out.Flush(); err != nil && !isBrokenPipe(err) {
			return err
		}
	}
	if len(found.Hits) == 0 {
		fmt.Fprintln(k.Stderr, k.hint("remit: nothing found; ask in other words, or use \"remit grep\" for exact text"))
		return failure{ExitFailed}
	}
	return nil
}

// firstLines is how many lines of a text are shown without --full.
const firstLines = 4

// showOne prints a heading for a result, and its text below.
func (k *knowledgeCommands) showOne(out *output, r *knowledge.Hit) {
	out.paint(fmt.Sprintf("%.2f", r.Score), green)
	out.print("  ", r.Type)
	if r.Module != "" {
		out.print("  ", visible.Line(r.Module))
	}
	if r.Path != "" {
		out.print("  ")
		out.name(r.Path)
		out.print(":", strconv.Itoa(r.Line))
	}
	out.print("\n")
	lines := strings.Split(strings.TrimRight(r.Content, "\n"), "\n")
	for i, line := range lines {
		if i == firstLines && !k.full && len(lines) > firstLines+1 {
			out.print("      ... ", contract.Count(len(lines)-firstLines, "more line"), "\n")
			break
		}
		line = visible.Line(strings.ReplaceAll(line, "\t", "    "))
		if maxWidth := widthOf(k.Stdout); maxWidth > 0 && !k.full {
			line = cut(line, maxWidth-7)
		}
		out.print("      ", line, "\n")
	}
	out.print("\n")
}

// indexCommand returns the command that updates the index.
func (p *Program) indexCommand() *cobra.Command {
	k := &knowledgeCommands{Program: p}
	c := &cobra.Command{
		Use:  "index",
		Args: cobra.NoArgs,
		RunE: k.withSession(k.index),
	}
	c.Flags().BoolVar(&p.asJSON, "json", false, "print as JSON")
	return c
}

func (k *knowledgeCommands) index(cmd *cobra.Command, s *session, _ []string) error {
	begun := time.Now()
	found, err := k.run(cmd.Context(), s, nil)
	if err != nil {
		return err
	}
	state := found.State
	if k.asJSON {
		return writeJSON(k.Stdout, state)
	}
	_, err = fmt.Fprintf(k.Stdout, "%s, %s indexed with %s; checked %s in %s\n", contract.Count(state.Files, "file"),
		contract.Count(state.Chunks, "chunk"), visible.Line(state.Model), contract.Count(state.Done, "file"), time.Since(begun).Round(100*time.Millisecond))
	if state.Note != "" {
		fmt.Fprintf(k.Stderr, "remit: %s\n", visible.Line(state.Note))
	}
	return err
}

// run updates the index, shows the progress and, unless the query is nil, searches.
func (k *knowledgeCommands) run(ctx context.Context, s *session, q *knowledge.Query) (knowledgeResult, error) {
	bar := k.bar("Indexing")
	defer bar.end()
	lines := &progressLines{out: k.Stderr, silent: bar.maxWidth > 0, printed: time.Now()}
	found, err := s.knowledge(ctx, q, func(s knowledge.State) {
		bar.update(indexProgress(s))
		lines.update(indexProgress(s))
	})
	if errors.Is(err, context.Canceled) {
		return found, errors.New("interrupted; the next run continues where this one stopped")
	}
	return found, err
}
