package markdown_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"remit/internal/frontends/console/markdown"
	"remit/internal/toolsets/books/bookstest"
)

// corpus returns texts that are typical of lessons and documents, by name.
func corpus(t testing.TB) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, pattern := range []string{"testdata/*.md", "../../../../README.md", "../../../../docs/*.md", "../../../../docs/adr/*.md"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatal(pattern, err)
		}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			all[name] = string(data)
		}
	}
	for name, file := range bookstest.Course(1, 60) {
		if strings.HasSuffix(name, ".md") {
			_, all[name] = markdown.Split(string(file.Data))
		}
	}
	return all
}
