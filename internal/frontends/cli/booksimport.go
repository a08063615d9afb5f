package cli

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/toolsets/books"
	"remit/internal/visible"
)

func (b *bookCommands) importing() *cobra.Command {
	var o books.ImportOptions
	c := &cobra.Command{Use: "import FOLDER|FILE.zip", Args: exactArgs(1), ValidArgsFunction: files(0, 1)}
	c.RunE = b.change("books/import", func(cmd *cobra.Command, c *bookChange, args []string) error {
		return b.importFrom(cmd, c, args[0], o)
	})
	c.Flags().StringVar(&o.Book, "book", "", "id of the book (default: made from the folder's name)")
	c.Flags().StringVar(&o.Title, "title", "", "title of the book (default: what the archive, a configuration file or the README states)")
	c.Flags().BoolVar(&o.DryRun, "dry-run", false, "show what would be imported, without writing anything")
	c.Flags().BoolVar(&o.KeepPaths, "keep-places", false, "keep media files next to the lessons")
	c.Flags().BoolVar(&o.SkipFailed, "skip-bad", false, "skip files that cannot be imported")
	return c
}

func (b *bookCommands) importFrom(cmd *cobra.Command, c *bookChange, place string, o books.ImportOptions) error {
	from, closer, err := openSource(place)
	if err != nil {
		return err
	}
	defer func() { _ = closer.Close() }() // nothing was written to it
	if abs, err := filepath.Abs(place); err == nil {
		place = abs
	}
	o.Name, o.By = filepath.Base(place), loginName()
	if ext := filepath.Ext(o.Name); strings.EqualFold(ext, ".zip") {
		o.Name = strings.TrimSuffix(o.Name, ext)
	}
	bar := b.bar("Importing")
	o.Confirm = func(plan books.Imported) error { return c.permitImport(cmd.Context(), place, plan) }
	done, err := c.workspace.Library().Import(cmd.Context(), from, o, bar.updateBytes)
	bar.end()
	for _, outcome := range []string{"created", "updated", "unchanged"} {
		c.about(jsontree.M(outcome, jsontree.Int(int64(countFiles(done, outcome)))))
	}
	if err != nil {
		if written := countFiles(done, "created") + countFiles(done, "updated"); written > 0 {
			fmt.Fprintf(b.Stderr, "%d of %s are in the book. Run the same command again to continue.\n",
				written+countFiles(done, "unchanged"), contract.Count(len(done.Files), "file"))
		}
		return err
	}
	return b.reportImport(done, o)
}

// permitImport asks for permission to write what an import has planned.
func (c *bookChange) permitImport(ctx context.Context, place string, plan books.Imported) error {
	var tools []string
	for _, f := range plan.Files {
		if tool := toolFor(f.To); !slices.Contains(tools, tool) {
			tools = append(tools, tool)
		}
	}
	c.about(jsontree.M("book", jsontree.Str(plan.Book)), jsontree.M("from", jsontree.Str(filepath.Base(place))),
		jsontree.M("files", jsontree.Int(int64(len(plan.Files)))), jsontree.M("bytes", jsontree.Int(plan.Bytes)))
	question := fmt.Sprintf("Import %s (%s) from %s into the book %s, %q? Files with the same path are replaced.",
		contract.Count(len(plan.Files), "file"), size(plan.Bytes), place, plan.Book, plan.Title)
	return c.permit(ctx, question, tools...)
}

// openSource opens the folder or archive to import.
func openSource(place string) (fs.FS, io.Closer, error) {
	info, err := os.Stat(place)
	if err != nil {
		return nil, nil, fmt.Errorf("there is no folder or archive %s", place)
	}
	if info.IsDir() {
		root, err := os.OpenRoot(place)
		if err != nil {
			return nil, nil, fmt.Errorf("open the folder: %w", err)
		}
		return root.FS(), root, nil
	}
	if !info.Mode().IsRegular() { // opening a pipe would block
		return nil, nil, fmt.Errorf("%s is neither a folder nor a zip archive", place)
	}
	file, err := os.Open(place)
	if err != nil {
		return nil, nil, fmt.Errorf("open the archive: %w", err)
	}
	archive, err := zip.NewReader(file, info.Size())
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) { // the import checks paths itself
		_ = file.Close()
		return nil, nil, fmt.Errorf("%s is neither a folder nor a zip archive", place)
	}
	return archive, file, nil
}

func countFiles(i books.Imported, outcome string) int {
	n := 0
	for _, f := range i.Files {
		if f.Outcome == outcome {
			n++
		}
	}
	return n
}

// reportImport prints the result of an import. It fails if bad files stopped the import.
func (b *bookCommands) reportImport(done books.Imported, o books.ImportOptions) error {
	stopped := len(done.Failed) > 0 && !o.SkipFailed
	for _, bad := range done.Failed {
		fmt.Fprintf(b.Stderr, "remit: %s: %s\n", visible.Line(bad.From), visible.Line(bad.Reason))
	}
	switch {
	case b.asJSON:
		done.Skipped, done.Failed = append([]books.SkippedFile{}, done.Skipped...), append([]books.SkippedFile{}, done.Failed...)
		done.Files = append([]books.ImportedFile{}, done.Files...)
		if err := writeJSON(b.Stdout, done); err != nil {
			return err
		}
	case o.DryRun:
		b.printPlan(done)
	case !stopped:
		b.printImported(done)
	}
	if wanted := strings.Join(strings.Fields(o.Title), " "); wanted != "" && wanted != done.Title && !stopped && !o.DryRun {
		fmt.Fprintf(b.Stderr, b.hint("The book keeps its title %q; change it: remit books edit %s --title TITLE\n"), visible.Line(done.Title), done.Book)
	}
	if stopped {
		fmt.Fprintln(b.Stderr, "Nothing was written. Fix these files, or skip them with --skip-bad.")
		return failure{ExitFailed}
	}
	return nil
}

func (b *bookCommands) printImported(done books.Imported) {
	var counts []string
	for _, outcome := range []string{"created", "updated", "unchanged"} {
		if n := countFiles(done, outcome); n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, outcome))
		}
	}
	fmt.Fprintf(b.Stdout, "Imported %s (%s) into %s, %q: %s.\n",
		contract.Count(len(done.Files), "file"), size(done.Bytes), done.Book, visible.Line(done.Title), strings.Join(counts, ", "))
	if done.Links > 0 {
		fmt.Fprintf(b.Stdout, "Updated %s to the new paths.\n", contract.Count(done.Links, "link"))
	}
	b.printLeft(done)
	fmt.Fprintf(b.Stdout, b.hint("Next, check it: remit books validate %s\n"), done.Book)
}

// printLeft lists the first files that were left out.
func (b *bookCommands) printLeft(done books.Imported) {
	const limit = 10
	for i, left := range done.Skipped {
		if i == limit {
			fmt.Fprintf(b.Stdout, "Left out: %d more\n", len(done.Skipped)-limit)
			return
		}
		fmt.Fprintf(b.Stdout, "Left out: %s (%s)\n", visible.Line(left.From), left.Reason)
	}
}

func (b *bookCommands) printPlan(done books.Imported) {
	lines := table{shrink: 1}
	lines.add("FROM", "TO", "SIZE", "LINKS CHANGED")
	for _, f := range done.Files {
		links := ""
		if f.Links > 0 {
			links = strconv.Itoa(f.Links)
		}
		lines.add(f.From, f.To, size(f.Size), links)
	}
	lines.write(b.Stdout)
	b.printLeft(done)
	fmt.Fprintf(b.Stdout, "%s (%s) would go into %s, %q. Nothing was written.\n",
		contract.Count(len(done.Files), "file"), size(done.Bytes), done.Book, visible.Line(done.Title))
}
