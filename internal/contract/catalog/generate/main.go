// Command generate compiles the contracts of all toolsets into the files of package
// catalog, and writes docs/tools.md from them. It refuses a contract that changed
// more than its version says.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"remit/internal/contract"
	"remit/internal/contract/catalog"
)

func main() {
	// go generate runs this in internal/contract/catalog.
	if err := generate("../../.."); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func generate(root string) error {
	built, err := catalog.Build(os.DirFS(filepath.Join(root, "internal/toolsets")))
	if err != nil {
		return err
	}
	folder := filepath.Join(root, "internal/contract/catalog")
	published, err := catalog.Published(context.Background(), folder)
	if err != nil {
		return err
	}
	if err := contract.Gate(published, built.Sets); err != nil {
		return err
	}
	if err := write(filepath.Join(root, "docs/tools.md"), built.Markdown); err != nil {
		return err
	}
	for name, data := range built.Files {
		if err := write(filepath.Join(folder, name), data); err != nil {
			return err
		}
	}
	return nil
}

func write(file string, data []byte) error {
	if err := os.WriteFile(file, data, 0o644); err != nil {
		return fmt.Errorf("write what was made of the contracts: %w", err)
	}
	return nil
}
