// Command generate writes the files of the repository that are generated from its code:
//
//	generate contracts   catalog.json and hidden.json of package catalog, and docs/tools.md
//	generate clients     docs/clients
//
// go generate runs it in the folder of this program.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// repository is the root of the repository, relative to the folder of this program.
const repository = "../.."

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	makers := map[string]func(context.Context) (map[string][]byte, error){"contracts": contractFiles, "clients": clientFiles}
	if len(args) != 1 || makers[args[0]] == nil {
		return fmt.Errorf("unknown arguments %q; want contracts or clients", args)
	}
	files, err := makers[args[0]](ctx)
	if err != nil {
		return err
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(repository, name), data, 0o644); err != nil {
			return fmt.Errorf("write generated files: %w", err)
		}
	}
	return nil
}
