package cli

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"remit/internal/contract/jsontree"
	"remit/internal/toolsets/books"
)

func (b *bookCommands) log() *cobra.Command {
	var limit int
	c := &cobra.Command{
		Use: "log BOOK [PATH]", Aliases: []string{"history"}, Args: argsBetween(1, 2), ValidArgsFunction: b.completeBook(),
	}
	c.RunE = b.run(func(cmd *cobra.Command, l *books.Library, args []string) error {
		if limit < 0 {
			return usageError{fmt.Errorf("--limit must be at least 0, not %d", limit)}
		}
		path, wanted := "", limit
		if len(args) == 2 {
			path = args[1]
		}
		if limit > 0 {
			wanted++ // one more shows whether the list is complete
		}
		changes, err := l.History(cmd.Context(), args[0], path, wanted)
		if err != nil {
			return err
		}
		more := limit > 0 && len(changes) > limit
		if more {
			changes = changes[:limit]
			fmt.Fprintf(b.Stderr, "Only the newest %d are shown; --limit 0 shows all.\n", limit)
		}
		return b.show(append([]books.Change{}, changes...), func() { b.printChanges(changes) })
	})
	c.Flags().IntVar(&limit, "limit", 100, "list at most this many changes; 0 lists all")
	return c
}

func (b *bookCommands) printChanges(changes []books.Change) {
	lines := table{shrink: 3, empty: "No changes are recorded."}
	lines.add("WHEN", "WHO", "WHAT", "PATH", "BEFORE", "AFTER", "SIZE")
	for _, c := range changes {
		bytes := size(c.Size)
		if c.New == "" && c.Size == 0 {
			bytes = ""
		}
		lines.add(b.moment(c.At), c.By, c.Action, c.Path, shortHash(c.Old), shortHash(c.New), bytes)
	}
	lines.write(b.Stdout)
}

// moment formats a time in the user's time zone.
func (p *Program) moment(text string) string {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return text
	}
	return at.In(p.Now().Location()).Format(time.DateTime)
}

// shortHash returns the first characters of a hash, enough to identify it.
func shortHash(hash string) string {
	if hash == "" {
		return "-"
	}
	return fmt.Sprintf("%.12s", hash)
}

func (b *bookCommands) restore() *cobra.Command {
	var version string
	c := &cobra.Command{Use: "restore BOOK [PATH]", Args: argsBetween(1, 2), ValidArgsFunction: b.completeBook()}
	c.RunE = b.change("books/restore", func(cmd *cobra.Command, c *bookChange, args []string) error {
		if len(args) == 1 {
			if version != "" {
				return usageError{errors.New("--version needs the path of a file: remit books restore BOOK PATH --version VERSION")}
			}
			return b.restoreBook(cmd, c, args[0])
		}
		c.about(jsontree.M("book", jsontree.Str(args[0])), jsontree.M("path", jsontree.Str(args[1])))
		question := fmt.Sprintf("Restore %q of the book %q to version %q?", args[1], args[0], cmp.Or(version, "before the last change"))
		if err := c.permit(cmd.Context(), question, toolFor(args[1])); err != nil {
			return err
		}
		done, err := c.workspace.Library().Restore(cmd.Context(), args[0], args[1], version, loginName())
		if err != nil {
			return err
		}
		c.about(jsontree.M("before", jsontree.Str(done.Old)), jsontree.M("after", jsontree.Str(done.New)))
		return b.show(done, func() {
			was := "there was no file"
			if done.Old != "" {
				was = "it was " + shortHash(done.Old)
			}
			fmt.Fprintf(b.Stdout, "Restored %s to %s (%s; %s).\n", args[1], shortHash(done.New), size(done.Size), was)
		})
	})
	c.Flags().StringVar(&version, "version", "", "version to restore (default: the previous one)")
	return c
}
