package markdown_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// differs are the examples of CommonMark's specification (0.31.2) that come out
// otherwise on purpose.
var differs = map[int]string{
	183: "a comment is left out",
	200: "an empty address leads nowhere", 485: "an empty address leads nowhere", 486: "an empty address leads nowhere",
	487: "an empty address leads nowhere", 567: "an empty address leads nowhere",
	475: "a picture always has a description",
	500: "what looks like a scheme is taken for one",
	596: "no other scheme", 598: "no other scheme", 599: "no other scheme", 601: "no other scheme",
}

// TestSpecification goes through all examples of the specification, as goldmark's
// module has them: 640 of 652 come out as goldmark or the specification itself have
// them, and the rest is in differs.
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
