package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"remit/internal/engine/approval"
	"remit/internal/toolsets/books"
)

func (b *bookCommands) log() *cobra.Command {
	var most int
	c := &cobra.Command{Use: "log BOOK [PATH]", Args: between(1, 2), ValidArgsFunction: b.completeBook}
	c.RunE = b.run(func(cmd *cobra.Command, l *books.Library, args []string) error {
		if most < 0 {
			return usageError{fmt.Errorf("--limit must be at least 0, not %d", most)}
		}
		path, ask := "", most
		if len(args) == 2 {
			path = args[1]
		}
		if most > 0 {
			ask++ // one more tells whether there is more
		}
		changes, err := l.History(cmd.Context(), args[0], path, ask)
		if err != nil {
			return err
		}
		more := most > 0 && len(changes) > most
		if more {
			changes = changes[:most]
			fmt.Fprintf(b.Stderr, "Only the newest %d are shown; --limit 0 shows all.\n", most)
		}
		return b.show(append([]books.Change{}, changes...), func() { b.printChanges(changes) })
	})
	c.Flags().IntVar(&most, "limit", 100, "how many changes at the most; 0 for all")
	return c
}

func (b *bookCommands) printChanges(changes []books.Change) {
	lines := table{gives: 3, none: "Nothing was changed through Remit yet."}
	lines.add("WHEN", "WHO", "WHAT", "PATH", "BEFORE", "AFTER", "SIZE")
	for _, c := range changes {
		bytes := size(c.Size)
		if c.Action == "delete" {
			bytes = ""
		}
		lines.add(b.moment(c.At), approval.Plain(c.By), c.Action, approval.Plain(c.Path), shortHash(c.Old), shortHash(c.New), bytes)
	}
	lines.write(b.Stdout)
}

// moment is a time where the person is.
func (p *Program) moment(text string) string {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return approval.Plain(text)
	}
	return at.In(p.Now().Location()).Format(time.DateTime)
}

// shortHash is as much of a hash as tells it from others.
func shortHash(hash string) string {
	if hash == "" {
		return "-"
	}
	return fmt.Sprintf("%.12s", hash)
}

func (b *bookCommands) restore() *cobra.Command {
	var version string
	c := &cobra.Command{Use: "restore BOOK PATH", Args: exactly(2), ValidArgsFunction: b.completeBook}
	c.RunE = b.change(func(cmd *cobra.Command, l *books.Library, args []string) error {
		done, err := l.Restore(cmd.Context(), args[0], args[1], version, loginName())
		if err != nil {
			return err
		}
		return b.show(done, func() {
			was := "nothing was there"
			if done.Old != "" {
				was = shortHash(done.Old) + " was there"
			}
			fmt.Fprintf(b.Stdout, "Restored %s to %s (%s; %s).\n", args[1], shortHash(done.New), size(done.Size), was)
		})
	})
	c.Flags().StringVar(&version, "version", "", "which one; the one before the current if not given")
	return c
}
