// Command generate writes docs/clients, and the table of clients in README.md.
package main

import (
	"fmt"
	"os"

	"remit/internal/faces/cli/clients"
)

func main() {
	// go generate runs this in internal/faces/cli/clients.
	if err := generate("../../../.."); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func generate(repository string) error {
	root, err := os.OpenRoot(repository)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // each file was closed by itself
	if err := root.MkdirAll("docs/clients", 0o755); err != nil {
		return err
	}
	for _, c := range clients.All() {
		if err := root.WriteFile("docs/clients/"+c.Name+".md", []byte(c.Page()), 0o644); err != nil {
			return err
		}
	}
	text, err := root.ReadFile("README.md")
	if err != nil {
		return err
	}
	changed, err := clients.WithIndex(string(text))
	if err != nil {
		return err
	}
	return root.WriteFile("README.md", []byte(changed), 0o644)
}
