package chunk_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"remit/internal/search/chunk"
)

var update = flag.Bool("update", false, "write what is found as what is wanted")

// TestFiles: the file NAME.want lists the chunks of NAME.
func TestFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/code/*.txt")
	if err != nil || len(files) < 12 {
		t.Fatalf("%d files, error %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := list(chunk.Of("shop/"+strings.TrimSuffix(filepath.Base(file), ".txt"), content))
			if *update {
				if err := os.WriteFile(file+".want", []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file + ".want")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// list formats chunks: discoveries with their text, others with their beginning.
func list(found []chunk.Chunk) string {
	var b strings.Builder
	for _, p := range found {
		what := p.Source
		text, _, _ := strings.Cut(strings.TrimSpace(p.Text), "\n")
		if p.Source == chunk.Discovery {
			what, text = p.Type, strings.ReplaceAll(p.Text, "\n", " / ")
		}
		fmt.Fprintf(&b, "%d-%d %s [%s]", p.Line, p.End, what, p.Name)
		if !p.Date.IsZero() {
			fmt.Fprintf(&b, " %s", p.Date.Format("2006-01-02"))
		}
		fmt.Fprintf(&b, " %s: %s\n", p.Module, text)
	}
	return b.String()
}
