package cli

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
)

// MigrateRequest says what to move where.
type MigrateRequest struct {
	From, To Settings
	// Confirm shows what will be done, and returns an error if it shall not be done.
	Confirm func(MigrateReport) error
	Report  func(Progress)
}

// MigrateReport says what was moved, and that it is the same: every row, line and file was
// compared.
type MigrateReport struct {
	From      string           `json:"from,omitempty"`
	To        string           `json:"to,omitempty"`
	BooksFrom []string         `json:"books_from,omitempty"`
	BooksTo   []string         `json:"books_to,omitempty"`
	Tables    map[string]int64 `json:"tables"` // rows
	Memory    int64            `json:"memory_lines"`
	Records   int64            `json:"audit_records"`
	Books     int64            `json:"book_objects"`
}

func (p *Program) migrateCommand() *cobra.Command {
	var from, to, booksTo string
	var yes bool
	c := &cobra.Command{Use: "migrate", Args: cobra.NoArgs}
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		if from == "" && to == "" && booksTo == "" {
			return usageError{errors.New("say what to move where, with --to, --from or --books-to")}
		}
		r, err := p.migrateRequest(cmd, from, to, booksTo)
		if err != nil {
			return usageError{err}
		}
		p.trustNotice(&r.From, false)
		bar := p.bar("Moving")
		r.Report = bar.update
		r.Confirm = func(report MigrateReport) error {
			if yes {
				return nil
			}
			agreed, err := p.confirmPerson(cmd.Context(), report.question())
			if errors.Is(err, errNoTerminal) {
				return errors.New("there is no terminal to ask at; add --yes to move without a question")
			}
			if err == nil && !agreed {
				err = errNoConsent
			}
			return err
		}
		log, err := p.Logger(p.Stderr, r.From.logOptions())
		if err != nil {
			return err
		}
		report, err := p.Backups.Migrate(cmd.Context(), r, log)
		bar.end()
		if err != nil {
			return err
		}
		about := action("data/migrate", jsontree.M("from", jsontree.Str(report.From)), jsontree.M("to", jsontree.Str(report.To)))
		err = p.withRecord(cmd.Context(), &r.To, func(who Identity) error { return who.Record(cmd.Context(), about) })
		return errors.Join(p.show(report, func() { p.printMigration(&report) }), err)
	}
	c.Flags().StringVar(&to, "to", "", "database to move to: postgres://USER@HOST/NAME or sqlite://PATH; by default --database")
	c.Flags().StringVar(&from, "from", "", "database to move from; by default --database")
	c.Flags().StringVar(&booksTo, "books-to", "", "library to move the books of --books to: file://FOLDER or s3://BUCKET/PREFIX?...")
	c.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return p.withJSON("print what was moved as JSON", c)
}

// migrateRequest resolves the settings of both sides.
func (p *Program) migrateRequest(cmd *cobra.Command, from, to, booksTo string) (r MigrateRequest, err error) {
	resolve := func(flag, value string) (Settings, error) {
		if value != "" {
			if err := cmd.Flags().Set(flag, value); err != nil {
				return Settings{}, err
			}
		}
		s, err := p.settings(cmd)
		s.Watch = false
		return s, err
	}
	configured, err := resolve("", "")
	if err != nil {
		return r, err
	}
	if r.From, err = resolve("database", from); err != nil {
		return r, err
	}
	if to == "" {
		to = configured.Database
	}
	if _, err = resolve("database", to); err != nil {
		return r, err
	}
	r.To, err = resolve("books", booksTo)
	return r, err
}

func (r *MigrateReport) question() string {
	var b strings.Builder
	if r.To != "" {
		fmt.Fprintf(&b, "Everything in %s moves to %s. Nobody can change it in the old place afterwards.\n", r.From, r.To)
	}
	if len(r.BooksTo) > 0 {
		fmt.Fprintf(&b, "The books in %s are copied to %s.\n", strings.Join(r.BooksFrom, ", "), strings.Join(r.BooksTo, ", "))
	}
	return b.String() + "Do this?"
}

func (p *Program) printMigration(r *MigrateReport) {
	rows := int64(0)
	for _, name := range slices.Collect(maps.Keys(r.Tables)) {
		rows += r.Tables[name]
	}
	fmt.Fprintf(p.Stdout, "Moved and compared: %s, %s of memory, %s, %s of books, with versions.\n",
		contract.Count(rows, "row"), contract.Count(r.Memory, "line"), contract.Count(r.Records, "audit record"), contract.Count(r.Books, "file"))
	if r.To != "" {
		password := " (with your password, if it needs one)"
		if strings.HasPrefix(r.To, "sqlite:") {
			password = ""
		}
		fmt.Fprintf(p.Stdout, "Start Remit with --database %s from now on%s.\n", r.To, password)
		if strings.HasPrefix(r.From, "sqlite:") != strings.HasPrefix(r.To, "sqlite:") {
			fmt.Fprintln(p.Stdout, "Tokens, sessions and requests are bound to the kind of database: revoke the tokens and create new ones.")
		}
	}
	if len(r.BooksTo) > 0 {
		fmt.Fprintf(p.Stdout, "Start Remit with --books %s from now on. The old library stays as it is.\n", strings.Join(r.BooksTo, ","))
	}
}
