// Command generate compiles the contracts of all toolsets into catalog.json and
// hidden.json, and writes docs/tools.md from them. It refuses a contract that changed more than
// its version says.
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
	for file, data := range map[string][]byte{
		filepath.Join(folder, "catalog.json"): built.JSON,
		filepath.Join(folder, "hidden.json"):  built.Hidden,
		filepath.Join(root, "docs/tools.md"):  built.Markdown,
	} {
		if err := os.WriteFile(file, data, 0o644); err != nil {
			return fmt.Errorf("write what was made of the contracts: %w", err)
		}
	}
	return nil
}
