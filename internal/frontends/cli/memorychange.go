package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/toolsets/learning"
	"remit/internal/visible"
)

const (
	// memoryToolset is the edition whose tool accepts entries for all memory files.
	memoryToolset = "booster"
	memoryTool    = "write_memory_entry"
)

// memoryEntry is what the flags of "memory add" say.
type memoryEntry struct{ file, kind, module, supersedes, time string }

func (m *memoryCommands) add() *cobra.Command {
	var e memoryEntry
	c := &cobra.Command{
		Use: "add TEXT", Aliases: []string{"new", "write"},
		Args: atLeastOneArg("the text is missing: remit memory add TEXT, or - to read it from stdin"),
	}
	f := c.Flags()
	f.StringVar(&e.file, "file", "decisions", "file of the entry: decisions, progress, practices, or its name")
	f.StringVar(&e.kind, "type", "", "type of the entry (default: decision, or progress in the progress log)")
	f.StringVar(&e.module, "module", "", "module that the entry is about")
	f.StringVar(&e.supersedes, "supersedes", "", "earlier entry that this one replaces: its ID, or FILE:LINE")
	addTimeFlag(c, &e.time)
	c.RunE = m.with(func(cmd *cobra.Command, w Workspace, args []string) error {
		in, old, at, err := m.newEntry(cmd, w, e, args)
		if err != nil {
			return err
		}
		answer, err := m.write(cmd.Context(), w, in)
		if err != nil {
			return m.refused(err, in.File, at)
		}
		id := learning.NewID(in)
		if m.asJSON {
			members := append([]jsontree.Member{jsontree.M("id", jsontree.Str(id)), jsontree.M("file", jsontree.Str(in.File))}, answer.Members...)
			return writeJSON(m.Stdout, jsontree.Obj(members...))
		}
		fmt.Fprintf(m.Stdout, "Added %s to %s\n", id, in.File)
		if in.Supersedes != "" {
			fmt.Fprintf(m.Stdout, "It supersedes %s: %s\n", old.ID, brief(old.Text))
		}
		if like := answer.At("similar_to", "entry_id").Text; like != "" {
			fmt.Fprintf(m.Stdout, m.hint("An earlier entry says almost the same: %s %s\nTo take one of them back: remit memory undo %s\n"),
				like, brief(answer.At("similar_to", "excerpt").Text), cmp.Or(id, like))
		}
		return nil
	}, memoryToolset)
	return c
}

func addTimeFlag(c *cobra.Command, text *string) {
	c.Flags().StringVar(text, "time", "", "time of the entry, like 2026-01-09T10:30:00Z (default: now); repeats a call that was approved")
}

// brief returns the first line of a text.
func brief(text string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return cut(visible.Line(first), 100)
}

// timeOf returns the time of an entry.
func (m *memoryCommands) timeOf(text string) (time.Time, error) {
	if text == "" {
		return m.Now().UTC().Truncate(time.Second), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, usageError{fmt.Errorf("--time must be a date-time like 2026-01-09T10:30:00Z, not %q", text)}
	}
	return at, nil
}

// newEntry returns the entry to write, and the one that it supersedes.
func (m *memoryCommands) newEntry(
	cmd *cobra.Command, w Workspace, e memoryEntry, args []string,
) (in learning.WriteIn, old learning.Record, at time.Time, err error) {
	text, err := m.textOf(args)
	if err != nil {
		return in, old, at, err
	}
	if in.File, err = memoryFile(e.file, w.Journal().Files); err != nil {
		return in, old, at, err
	}
	if at, err = m.timeOf(e.time); err != nil {
		return in, old, at, err
	}
	if e.supersedes != "" {
		if old, err = m.find(cmd, w, e.supersedes); err != nil {
			return in, old, at, err
		}
		if old.File != in.File && cmd.Flags().Changed("file") {
			return in, old, at, usageError{fmt.Errorf("the entry %s is in %s; an entry can only supersede one of its own file", old.ID, old.File)}
		}
		in.File, in.Supersedes = old.File, old.ID
	}
	isLog := strings.HasSuffix(in.File, ".jsonl")
	if !isLog && (e.kind != "" || e.module != "" || e.time != "") {
		return in, old, at, usageError{fmt.Errorf("entries of %s are Markdown: they have no --type, --module and --time", in.File)}
	}
	in.Entry = learning.Entry(markdownItem(text))
	if isLog {
		in.Entry = learning.Entry(logLine(in.File, text, e, at))
	}
	return in, old, at, nil
}

// textOf returns the text of the command line, or of stdin.
func (m *memoryCommands) textOf(args []string) (string, error) {
	text := strings.Join(args, " ")
	if text == "-" {
		const tooLong = 1 << 20 // the contract allows much less, and its error says how much
		data, err := io.ReadAll(io.LimitReader(m.Stdin, tooLong))
		if err != nil {
			return "", fmt.Errorf("read the text from stdin: %w", err)
		}
		text = string(data)
	}
	text = strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n"))
	if text == "" {
		return "", usageError{errors.New("the text is empty: remit memory add TEXT")}
	}
	return text, nil
}

// logLine returns an entry for a file of JSON lines.
func logLine(file, text string, e memoryEntry, at time.Time) []byte {
	kind := "decision"
	if file == memoryShort()["progress"] {
		kind = "progress"
	}
	line := jsontree.Obj(jsontree.M("timestamp", jsontree.Str(at.Format(time.RFC3339))), jsontree.M("type", jsontree.Str(cmp.Or(e.kind, kind))))
	if e.module != "" {
		line.Members = append(line.Members, jsontree.M("module", jsontree.Str(e.module)))
	}
	line.Members = append(line.Members, jsontree.M("content", jsontree.Str(text)))
	return line.Append(nil)
}

// markdownItem returns a text as one item of a list, unless it is Markdown with a structure of its
// own.
func markdownItem(text string) string {
	if strings.ContainsAny(text[:1], "-*+#>`|<") {
		return text
	}
	return "- " + strings.ReplaceAll(text, "\n", "\n  ")
}

// write calls the tool that writes an entry.
func (m *memoryCommands) write(ctx context.Context, w Workspace, in learning.WriteIn) (jsontree.Value, error) {
	args := jsontree.Obj(jsontree.M("file", jsontree.Str(in.File)), jsontree.M("entry", jsontree.Str(string(in.Entry))))
	if in.Supersedes != "" {
		args.Members = append(args.Members, jsontree.M("supersedes", jsontree.Str(in.Supersedes)))
	}
	s := &session{program: m.Program, opened: w}
	answer, _, err := s.callTool(ctx, engine.Call{Tool: memoryTool, Args: args})
	return answer, err
}

// refused prints why an entry was not written, and the next step. It returns the error that ends
// the command.
func (m *memoryCommands) refused(err error, file string, at time.Time) error {
	r, ok := errors.AsType[*refusal](err)
	if !ok {
		return err
	}
	fmt.Fprintf(m.Stderr, "remit: %s\n", visible.Line(r.message))
	if r.kind != contract.Pending {
		return failure{ExitFailed}
	}
	m.printDeciding(r.request)
	again := "When it is approved, run the command again"
	if strings.HasSuffix(file, ".jsonl") {
		again += " with --time " + at.Format(time.RFC3339)
	}
	fmt.Fprintln(m.Stderr, again+".")
	return failure{ExitPending}
}

func (m *memoryCommands) undo() *cobra.Command {
	var text string
	c := &cobra.Command{
		Use: "undo ID...", Aliases: []string{"rm", "remove", "delete"},
		Args: atLeastOneArg(`an entry is missing: remit memory undo ID; "remit memory list" lists the IDs`),
	}
	addTimeFlag(c, &text)
	c.RunE = m.with(func(cmd *cobra.Command, w Workspace, args []string) error {
		at, err := m.timeOf(text)
		if err != nil {
			return err
		}
		undone := []map[string]string{}
		for _, ref := range args {
			var id string
			if id, err = m.undoOne(cmd, w, ref, at); err != nil {
				break
			}
			undone = append(undone, map[string]string{"id": id, "undone": ref})
		}
		if m.asJSON {
			err = errors.Join(err, writeJSON(m.Stdout, undone))
		}
		return err
	}, memoryToolset)
	return c
}

// undoOne takes an entry back, and returns the ID of the entry that does it.
func (m *memoryCommands) undoOne(cmd *cobra.Command, w Workspace, ref string, at time.Time) (string, error) {
	old, err := m.find(cmd, w, ref)
	if err != nil {
		return "", err
	}
	in := learning.WriteIn{File: old.File, Entry: learning.Entry(learning.UndoEntry(old.File, at)), Supersedes: old.ID}
	if _, err := m.write(cmd.Context(), w, in); err != nil {
		return "", m.refused(err, in.File, at)
	}
	id := learning.NewID(in)
	if !m.asJSON {
		fmt.Fprintf(m.Stdout, m.hint("Took back %s: %s\nTo undo this: remit memory undo %s\n"), old.ID, brief(old.Text), id)
		if old.Supersedes != "" {
			fmt.Fprintf(m.Stdout, "The entry %s counts again.\n", old.Supersedes)
		}
	}
	return id, nil
}
