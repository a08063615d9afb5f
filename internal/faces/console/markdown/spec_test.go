package markdown_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestSpecTmp(t *testing.T) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/yuin/goldmark").Output()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "_test", "spec.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all []struct {
		Markdown, HTML, Section string
		Example                 int
	}
	json.Unmarshal(data, &all)
	good := 0
	for _, e := range all {
		if a, b := same(oracle(t, e.Markdown)), same(ours(e.Markdown)); a == b {
			good++
		} else {
			t.Logf("%d %s %q\n--- goldmark\n%s\n--- ours\n%s\n", e.Example, e.Section, e.Markdown, a, b)
		}
	}
	t.Logf("%d of %d", good, len(all))
}
