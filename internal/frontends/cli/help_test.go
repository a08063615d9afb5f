package cli

import (
	"testing"

	"github.com/spf13/cobra"
)

// TestHelpSections: help.txt has one section for each command, with a line for lists and an
// example, and no section of anything else.
func TestHelpSections(t *testing.T) {
	unused := helpSections()
	var look func(c *cobra.Command)
	look = func(c *cobra.Command) {
		if c.Short == "" || c.Example == "" {
			t.Errorf("%s has no line or no example in help.txt", c.CommandPath())
		}
		delete(unused, c.CommandPath())
		for _, sub := range c.Commands() {
			look(sub)
		}
	}
	look((&Program{}).command())
	for name := range unused {
		t.Errorf("help.txt has a section %q, but there is no such command", name)
	}
}
