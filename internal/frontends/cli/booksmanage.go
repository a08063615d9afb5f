package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/toolsets/books"
	"remit/internal/visible"
)

func (b *bookCommands) showBook() *cobra.Command {
	c := &cobra.Command{Use: "show BOOK [PATH]", Aliases: []string{"info"}, Args: argsBetween(1, 2), ValidArgsFunction: b.completeBook()}
	c.RunE = b.run(func(cmd *cobra.Command, l *books.Library, args []string) error {
		if len(args) == 2 {
			text, err := l.Text(cmd.Context(), args[0], args[1])
			if err != nil {
				return err
			}
			return b.show(map[string]string{"book_id": args[0], "path": args[1], "content": text}, func() { fmt.Fprint(b.Stdout, text) })
		}
		d, lessons, err := l.Describe(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		answer := struct {
			books.Details
			Paths []string `json:"lesson_paths"`
		}{d, append([]string{}, lessons...)}
		return b.show(answer, func() { b.printDetails(&d, lessons) })
	})
	return c
}

func (b *bookCommands) printDetails(d *books.Details, lessons []string) {
	for _, line := range [][2]string{
		{"book", d.ID},
		{"title", visible.Line(d.Title)},
		{"status", d.Status},
		{"store", d.Backend},
		{"created", day(d.Created)},
		{"changed", b.moment(d.Changed)},
		{"content", fmt.Sprintf("%s, %s, %s in all (%s)", contract.Count(d.Lessons, "lesson"), contract.Count(d.Assets, "asset"), contract.Count(d.Files, "file"), size(d.Bytes))},
	} {
		if line[1] != "" {
			fmt.Fprintf(b.Stdout, "%-8s %s\n", line[0]+":", line[1])
		}
	}
	for _, path := range lessons {
		fmt.Fprintf(b.Stdout, "  %s\n", path)
	}
}

func (b *bookCommands) edit() *cobra.Command {
	var title string
	c := &cobra.Command{Use: "edit BOOK --title TITLE", Aliases: []string{"update"}, Args: exactArgs(1), ValidArgsFunction: b.completeBook()}
	c.RunE = b.change("books/edit", func(cmd *cobra.Command, c *bookChange, args []string) error {
		if !cmd.Flags().Changed("title") {
			return usageError{errors.New("nothing to change; name the new title with --title")}
		}
		c.about(jsontree.M("book", jsontree.Str(args[0])), jsontree.M("title", jsontree.Str(title)))
		if err := c.permit(cmd.Context(), fmt.Sprintf("Change the title of the book %q to %q?", args[0], title), "write_content"); err != nil {
			return err
		}
		book, err := c.workspace.Library().SetTitle(cmd.Context(), args[0], title)
		if err != nil {
			return err
		}
		return b.show(book, func() { fmt.Fprintf(b.Stdout, "The title of %s is %q.\n", book.ID, visible.Line(book.Title)) })
	})
	c.Flags().StringVar(&title, "title", "", "new title of the book")
	return c
}

func (b *bookCommands) archive() *cobra.Command {
	var undo bool
	c := &cobra.Command{
		Use: "archive BOOK", SuggestFor: []string{"unarchive"}, Args: exactArgs(1), ValidArgsFunction: b.completeBook(),
	}
	c.RunE = b.change("books/archive", func(cmd *cobra.Command, c *bookChange, args []string) error {
		c.about(jsontree.M("book", jsontree.Str(args[0])), jsontree.M("undo", jsontree.Boolean(undo)))
		question := fmt.Sprintf("Archive the book %q, so that nobody can change it?", args[0])
		if undo {
			question = fmt.Sprintf("Make the book %q active again, so that it can be changed?", args[0])
		}
		if err := c.permit(cmd.Context(), question, "write_content"); err != nil {
			return err
		}
		book, err := c.workspace.Library().SetArchived(cmd.Context(), args[0], !undo)
		if err != nil {
			return err
		}
		return b.show(book, func() {
			if undo {
				fmt.Fprintf(b.Stdout, "%s is active: it can be changed.\n", book.ID)
			} else {
				fmt.Fprintf(b.Stdout, b.hint("%s is archived: it can be read, not changed. Undo: remit books archive %s --undo\n"), book.ID, book.ID)
			}
		})
	})
	c.Flags().BoolVar(&undo, "undo", false, "make an archived book active again")
	return c
}

func (b *bookCommands) rename() *cobra.Command {
	c := &cobra.Command{Use: "rename BOOK NEW-ID", Aliases: []string{"mv"}, Args: exactArgs(2), ValidArgsFunction: b.completeBook()}
	c.RunE = b.change("books/rename", func(cmd *cobra.Command, c *bookChange, args []string) error {
		c.about(jsontree.M("book", jsontree.Str(args[0])), jsontree.M("to", jsontree.Str(args[1])))
		question := fmt.Sprintf("Rename the book %q to %q?", args[0], args[1])
		if err := c.permit(cmd.Context(), question, "write_content", "write_summary", "upload_asset", "delete_content", "delete_summary"); err != nil {
			return err
		}
		bar := b.bar("Renaming")
		done, err := c.workspace.Library().Rename(cmd.Context(), args[0], args[1], loginName(), bar.updateBytes)
		bar.end()
		c.about(jsontree.M("files", jsontree.Int(int64(done.Files))))
		if err != nil {
			if done.Files > 0 {
				fmt.Fprintln(b.Stderr, "The rename is not complete. Run the same command again to continue.")
			}
			return err
		}
		return b.show(done, func() {
			fmt.Fprintf(b.Stdout, "Renamed %s to %s (%s, %s).\n", args[0], done.ID, contract.Count(done.Files, "file"), size(done.Bytes))
			fmt.Fprintf(b.Stdout, b.hint("Earlier versions: remit books log %s; remit books restore %s PATH finds them.\n"), args[0], done.ID)
		})
	})
	return c
}

func (b *bookCommands) remove() *cobra.Command {
	var yes bool
	c := &cobra.Command{Use: "rm BOOK", Aliases: []string{"remove", "delete"}, Args: exactArgs(1), ValidArgsFunction: b.completeBook()}
	c.RunE = b.change("books/rm", func(cmd *cobra.Command, c *bookChange, args []string) error {
		l := c.workspace.Library()
		d, _, err := l.Describe(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		c.about(jsontree.M("book", jsontree.Str(args[0])), jsontree.M("files", jsontree.Int(int64(d.Files))))
		question := fmt.Sprintf("Remove the book %s, %q, with %s (%s)? \"remit books restore %s\" brings it back.",
			d.ID, d.Title, contract.Count(d.Files, "file"), size(d.Bytes), d.ID)
		c.asks = !yes
		if err := c.permit(cmd.Context(), question, "delete_content", "delete_summary"); err != nil {
			return err
		}
		bar := b.bar("Removing")
		done, err := l.Remove(cmd.Context(), args[0], loginName(), bar.updateBytes)
		bar.end()
		if err != nil {
			if done.Files > 0 {
				fmt.Fprintln(b.Stderr, "The book is not removed completely. Run the same command again to continue.")
			}
			return err
		}
		return b.show(done, func() {
			fmt.Fprintf(b.Stdout, b.hint("Removed %s (%s, %s). Bring it back: remit books restore %s\n"), done.ID, contract.Count(done.Files, "file"), size(done.Bytes), done.ID)
		})
	})
	c.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return c
}

// restoreBook brings back a book that was removed.
func (b *bookCommands) restoreBook(cmd *cobra.Command, c *bookChange, book string) error {
	c.about(jsontree.M("book", jsontree.Str(book)))
	question := fmt.Sprintf("Bring back the files of the book %q that were removed with it?", book)
	if err := c.permit(cmd.Context(), question, "write_content", "write_summary", "upload_asset"); err != nil {
		return err
	}
	bar := b.bar("Restoring")
	done, err := c.workspace.Library().RestoreBook(cmd.Context(), book, loginName(), bar.updateBytes)
	bar.end()
	c.about(jsontree.M("files", jsontree.Int(int64(done.Files))))
	if err != nil {
		return err
	}
	return b.show(done, func() {
		fmt.Fprintf(b.Stdout, "Restored %s, %q (%s, %s).\n", done.ID, visible.Line(done.Title), contract.Count(done.Files, "file"), size(done.Bytes))
	})
}
