package cli

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"remit/internal/contract/jsontree"
	"remit/internal/toolsets/books"
	"remit/internal/visible"
)

// list returns the command that lists books. It is used twice: for "books" and for "books list".
func (b *bookCommands) list(use string) *cobra.Command {
	c := &cobra.Command{
		Use:  use,
		Args: cobra.NoArgs,
		RunE: b.run(func(cmd *cobra.Command, l *books.Library, _ []string) error {
			all, err := l.Overviews(cmd.Context())
			if err != nil {
				return err
			}
			return b.show(append([]books.Overview{}, all...), func() { b.printBooks(all) })
		}),
	}
	if use == "list" {
		c.Aliases = []string{"ls"}
	}
	return c
}

func (b *bookCommands) printBooks(all []books.Overview) {
	const empty = "There are no books. Import one: remit books import FOLDER, or create one: remit books new BOOK"
	lines := table{shrink: 1, colour: b.colours(), empty: b.hint(empty)}
	lines.add("BOOK", "TITLE", "STATUS", "STORE", "LESSONS", "CREATED")
	for _, book := range all {
		lessons := strconv.Itoa(book.Lessons)
		if book.Lessons < 0 {
			lessons = "?"
		}
		lines.add(book.ID, book.Title, book.Status, book.Backend, lessons, day(book.Created))
		if book.Status != "active" {
			lines.paint(2, yellow)
		}
	}
	lines.write(b.Stdout)
}

// day returns the date of a timestamp from the registry.
func day(text string) string {
	if len(text) > len("2006-01-02") {
		text = text[:len("2006-01-02")]
	}
	return text
}

func (b *bookCommands) create() *cobra.Command {
	var title string
	c := &cobra.Command{Use: "new BOOK", Aliases: []string{"create", "add"}, Args: exactArgs(1)}
	c.RunE = b.change("books/new", func(cmd *cobra.Command, c *bookChange, args []string) error {
		c.about(jsontree.M("book", jsontree.Str(args[0])))
		question := fmt.Sprintf("Create the book %q with book.yaml, a lesson and a summary?", args[0])
		if err := c.permit(cmd.Context(), question, "write_content", "write_summary"); err != nil {
			return err
		}
		made, err := c.workspace.Library().Create(cmd.Context(), books.NewBook{ID: args[0], Title: title, By: loginName()})
		if err != nil {
			return err
		}
		return b.show(made, func() {
			fmt.Fprintf(b.Stdout, "Created %s, %q: book.yaml, a lesson and a summary in the library.\n",
				made.ID, visible.Line(made.Title))
		})
	})
	c.Flags().StringVar(&title, "title", "", "title of the book (default: made from the id)")
	return c
}
