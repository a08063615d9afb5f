package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"remit/internal/toolsets/books"
)

func (b *bookCommands) export() *cobra.Command {
	var target string
	var force bool
	c := &cobra.Command{Use: "export BOOK", Args: exactArgs(1), ValidArgsFunction: b.completeBook()}
	c.RunE = b.run(func(cmd *cobra.Command, l *books.Library, args []string) error {
		if target == "-" {
			return b.exportTo(cmd.Context(), l, args[0], b.Stdout)
		}
		return b.exportFile(cmd.Context(), l, args[0], target, force)
	})
	c.Flags().StringVarP(&target, "output", "o", "", "archive file, its folder, or - for stdout (default BOOK.zip)")
	c.Flags().BoolVar(&force, "force", false, "replace an existing file")
	return c
}

func (b *bookCommands) exportTo(ctx context.Context, l *books.Library, book string, w io.Writer) error {
	if isTerminal(w) {
		return usageError{errors.New("refusing to write a zip archive to a terminal; name a file with -o, or use a pipe")}
	}
	bar := b.bar("Exporting")
	defer bar.end()
	return l.Export(ctx, book, w, bar.updateBytes)
}

// exportFile writes the archive to a temporary file in the same folder and renames it when it is
// complete.
func (b *bookCommands) exportFile(ctx context.Context, l *books.Library, book, target string, force bool) error {
	if target == "" {
		target = "."
	}
	if info, err := os.Stat(target); err == nil && info.IsDir() {
		target = filepath.Join(target, filepath.Base(book)+".zip")
	}
	if _, err := os.Lstat(target); err == nil && !force {
		return fmt.Errorf("%s already exists; name another file with -o, or replace it with --force", target)
	}
	part, err := os.CreateTemp(filepath.Dir(target), ".remit-export-*")
	if err != nil {
		return fmt.Errorf("write the archive: %w", err)
	}
	defer func() { _ = os.Remove(part.Name()) }() // after a rename there is nothing to remove
	err = b.exportTo(ctx, l, book, part)
	if err == nil {
		err = errors.Join(part.Chmod(0o644), part.Sync())
	}
	if err = errors.Join(err, part.Close()); err != nil {
		return err
	}
	info, err := os.Stat(part.Name())
	if err == nil {
		err = os.Rename(part.Name(), target)
	}
	if err != nil {
		return fmt.Errorf("write the archive: %w", err)
	}
	return b.show(map[string]any{"book_id": book, "file": target, "bytes": info.Size()}, func() {
		fmt.Fprintf(b.Stdout, "Exported %s to %s (%s).\n", book, target, size(info.Size()))
	})
}
