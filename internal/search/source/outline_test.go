package source_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"remit/internal/search/source"
)

// TestOutline: the file NAME.want says what NAME declares.
func TestOutline(t *testing.T) {
	files, err := filepath.Glob("testdata/outline/*")
	if err != nil || len(files) < 15 {
		t.Fatalf("%d files, error %v", len(files), err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, ".want") {
			continue
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			want, err := os.ReadFile(file + ".want")
			if err != nil {
				t.Fatal(err)
			}
			language := source.Language(strings.TrimSuffix(file, ".txt"), content)
			if diff := cmp.Diff(string(want), list(source.Outline(language, content))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", language, diff)
			}
		})
	}
}

func list(symbols []source.Symbol) string {
	var b strings.Builder
	for _, s := range symbols {
		fmt.Fprintf(&b, "%d-%d %s %s\n", s.Line, s.End, s.Kind, s.Name)
	}
	return b.String()
}
