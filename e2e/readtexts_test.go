package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// textsWorkspace has texts in several encodings, and a file with large imports.
func textsWorkspace(t *testing.T) *workspace {
	t.Helper()
	large := "package big\n\n" + strings.Repeat("// A comment of some length.\n", 2000) + "func Exported(a, b int) error {\n\treturn nil\n}\n"
	return newWorkspace(t, map[string]string{
		"docs/latin.md":  "Gr\xfc\xdfe\nzwei\n",
		"docs/wide.md":   "\xff\xfeG\x00r\x00\xfc\x00\n\x00z\x00\n\x00",
		"docs/plain.md":  "G\x00r\x00\xfc\x00\n\x00z\x00\n\x00",
		"docs/mixed.md":  "Grüße \xff\n",
		"docs/image.md":  "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR",
		"docs/late.md":   strings.Repeat("text\n", 2000) + "a\x00b\n",
		"docs/large.md":  strings.Repeat("Gr\xfc\xdfe\n", 300_000),
		"go.mod":         "module example.org/m\n\ngo 1.24\n",
		"main.go":        "package main\n\nimport (\n\t\"example.org/m/big\"\n\t\"example.org/m/small\"\n)\n\nfunc main() { big.Exported(1, 2); small.F() }\n",
		"big/big.go":     large,
		"small/small.go": "package small\n\nfunc F() {}\n",
	})
}

// TestReadTexts: read_file reads common encodings, and says what it cannot read.
func TestReadTexts(t *testing.T) {
	t.Parallel()
	s := textsWorkspace(t)
	r := s.stdio("--toolsets", "context")
	for args, want := range map[string]string{
		`{"path":"docs/latin.md"}`:                        `"content":"Grüße\nzwei\n","size":11,"lines":2,"language":"markdown","encoding":"iso-8859-1"}`,
		`{"path":"docs/wide.md"}`:                         `"content":"Grü\nz\n","size":14,"lines":2,"language":"markdown","encoding":"utf-16le"}`,
		`{"path":"docs/plain.md"}`:                        `"content":"Grü\nz\n","size":12,"lines":2,"language":"markdown","encoding":"utf-16le"}`,
		`{"path":"docs/mixed.md"}`:                        `"details":"some parts of the file are UTF-8 and some are not; read_repo_file of the toolset booster returns`,
		`{"path":"docs/image.md"}`:                        `"details":"the file is binary; read_repo_file of the toolset booster returns its bytes with encoding=base64"`,
		`{"path":"docs/late.md","offset":2001}`:           `"content":"a\u0000b\n"`,
		`{"path":"docs/large.md"}`:                        `"details":"read a part of it with offset and limit, without outline and includeDeps"`,
		`{"path":"docs/large.md","offset":9,"limit":1}`:   `"content":"Grüße\n","size":1800000,"lines":300000,"language":"markdown","encoding":"iso-8859-1","startLine":9`,
		`{"path":"main.go","includeDeps":true}`:           `"signature":"func Exported(a, b int) error {"`,
		`{"path":"main.go","includeDeps":true,"limit":1}`: `"content":"package small\n\nfunc F() {}\n"`,
	} {
		if got := r.call("read_file", args); !strings.Contains(got.text, want) {
			t.Errorf("%s: %s, want %s", args, clip(got.text), want)
		}
	}
	short := r.call("read_file", `{"path":"main.go","includeDeps":true}`)
	full := r.call("read_file", `{"path":"main.go","includeDeps":true,"fullDeps":true}`)
	if len(short.text) > 40<<10 || !strings.Contains(short.text, "or set fullDeps") || !strings.Contains(full.text, "A comment of some length") {
		t.Errorf("%d bytes by default, %d with fullDeps", len(short.text), len(full.text))
	}
	r.end()
}

// TestReadRepoTexts: read_repo_file reads a range of a text of any size and encoding, in both
// editions; a whole file is UTF-8, as the seeds say.
func TestReadRepoTexts(t *testing.T) {
	t.Parallel()
	s := textsWorkspace(t)
	for _, set := range []string{"booster", "learning-os"} {
		r := s.stdio("--toolsets", set)
		for args, want := range map[string]string{
			`"docs/latin.md","offset":1`:           `"content":"Grüße\nzwei\n","size":11,`,
			`"docs/latin.md","limit":1`:            `"encoding":"iso-8859-1","start_line":1,"end_line":1,"more":true}`,
			`"docs/wide.md","offset":2`:            `"content":"z\n"`,
			`"docs/large.md","offset":300000`:      `"content":"Grüße\n","size":1800000`,
			`"docs/latin.md"`:                      `docs/latin.md is not UTF-8 text`,
			`"docs/wide.md"`:                       `read it with offset=1, which converts it from utf-16le`,
			`"docs/large.md"`:                      `read a part of it with offset and limit`,
			`"docs/mixed.md","offset":1`:           `encoding=base64`,
			`"docs/image.md","limit":1`:            `encoding=base64`,
			`"docs/latin.md","offset":3,"limit":1`: `docs/latin.md has 2 lines, so there is no line 3`,
		} {
			if got := r.call("read_repo_file", fmt.Sprintf(`{"path":%s}`, args)); !strings.Contains(got.text, want) {
				t.Errorf("%s: %s: %s, want %s", set, args, clip(got.text), want)
			}
		}
		r.end()
	}
}
