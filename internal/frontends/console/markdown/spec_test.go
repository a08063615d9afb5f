package markdown_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// differs are the examples of CommonMark's specification (0.31.2) that this package intentionally
// renders differently.
var differs = map[int]string{
	183: "comments are removed",
	200: "an empty address is not linked", 485: "an empty address is not linked", 486: "an empty address is not linked",
	487: "an empty address is not linked", 567: "an empty address is not linked",
	475: "an image always has a description",
	500: "text that looks like a scheme counts as one",
	596: "the scheme is not allowed", 598: "the scheme is not allowed", 599: "the scheme is not allowed", 601: "the scheme is not allowed",
}

// TestSpecification renders all examples of the specification, from goldmark's module: 640 of 652
// give the same as goldmark or as the specification, and the rest is in differs.
func TestSpecification(t *testing.T) {
	folder, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/yuin/goldmark").Output()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(folder)), "_test", "spec.json"))
	if err != nil {
		t.Fatal(err)
	}
	var examples []struct {
		Markdown, HTML string
		Example        int
	}
	if err := json.Unmarshal(data, &examples); err != nil {
		t.Fatal(err)
	}
	agree := 0
	for _, e := range examples {
		got, want := same(ours(e.Markdown)), same(oracle(t, e.Markdown))
		if got == want || got == same(e.HTML) {
			agree++
		} else if differs[e.Example] == "" {
			t.Errorf("example %d, %q, became\n%s\nwant\n%s", e.Example, e.Markdown, got, want)
		}
	}
	if agree != len(examples)-len(differs) || len(examples) < 600 {
		t.Errorf("%d of %d examples agree", agree, len(examples))
	}
}
