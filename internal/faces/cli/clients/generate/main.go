// Command generate writes docs/clients, and the table of clients in README.md.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"remit/internal/faces/cli/clients"
)

func main() {
	// go generate runs this in internal/faces/cli/clients.
	if err := generate("../../../.."); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func generate(root string) error {
	folder := filepath.Join(root, "docs", "clients")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for _, c := range clients.All() {
		if err := os.WriteFile(filepath.Join(folder, c.Name+".md"), []byte(c.Page()), 0o644); err != nil {
			return err
		}
	}
	readme := filepath.Join(root, "README.md")
	text, err := os.ReadFile(readme)
	if err != nil {
		return err
	}
	changed, err := clients.WithIndex(string(text))
	if err != nil {
		return err
	}
	return os.WriteFile(readme, []byte(changed), 0o644)
}
