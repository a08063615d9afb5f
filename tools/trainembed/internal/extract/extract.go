// Package extract makes pairs of texts out of one file's bytes: a question-like text, such as a doc comment or a heading,
// and the answer-like text that it stands for, such as a function or a section.
package extract

import (
	"bytes"
	"compress/gzip"
	"io"
	"path"
	"strings"
)

// A Pair is a question-like text A and an answer-like text B that belong together.
type Pair struct {
	// Kind says where the pair comes from: go, py, js for code; prop for a property of JavaScript, which is code without
	// much to read; doc, lead, term, man for prose; syn for words.
	Kind string
	A, B string
}

const (
	// mostBytes is the size of the largest file that is read: larger ones are data, not written by hand.
	mostBytes = 4 << 20
	// mostDictionary is the same for dictionaries, which are large by nature.
	mostDictionary = 64 << 20
	// longestA and longestB bound the texts of a pair, in bytes: a model reads 40 and 80 words of them.
	longestA = 400
	longestB = 1200
	// longestProse bounds B where it is prose.
	longestProse = 900
)

// Wants says whether File may find pairs in a file of that name, so that a caller need not read the others.
func Wants(name string) bool { return reader(name) != nil }

// File gives the pairs of one file in the order in which they stand there. The name decides how it is read; a name that
// ends in .gz is unpacked first. It never fails: from a broken file come the pairs that can be made out.
func File(name string, content []byte) []Pair {
	read := reader(name)
	if read == nil {
		return nil
	}
	if strings.HasSuffix(name, ".gz") {
		content = unpack(content)
	}
	if len(content) > mostDictionary || len(content) > mostBytes && !isDictionary(name) {
		return nil
	}
	if bytes.IndexByte(content[:min(len(content), 8<<10)], 0) >= 0 {
		return nil
	}
	return read(name, strings.ToValidUTF8(string(content), " "))
}

// unpack gives the bytes of a gzip file, up to the size of the largest file that is read; none if it is broken.
func unpack(content []byte) []byte {
	packed, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		return nil
	}
	plain, err := io.ReadAll(io.LimitReader(packed, mostBytes+1))
	if err != nil {
		return nil
	}
	return plain
}

// reader finds who reads a file of that name; nil if nobody does.
func reader(name string) func(name, text string) []Pair {
	if isDictionary(name) {
		return dictionary(name)
	}
	name = strings.TrimSuffix(name, ".gz")
	if unwanted(name) {
		return nil
	}
	base := strings.ToLower(path.Base(name))
	if isManual(name) {
		return manualPairs
	}
	switch path.Ext(base) {
	case ".go":
		return goPairs
	case ".py", ".pyi":
		return pythonPairs
	case ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx":
		return scriptPairs
	case ".md", ".markdown", ".mdx", ".adoc", ".asciidoc":
		return markdownPairs
	case ".html", ".htm", ".xhtml":
		return htmlPairs
	case ".rst", ".txt":
		return structuredPairs
	case ".pod":
		return podPairs
	}
	return nil
}

// unwanted says that a path leads to what nobody wrote for the package itself: copies of others, tests of Go, minified
// code, licences and logs of changes.
func unwanted(name string) bool {
	lower := strings.ToLower("/" + name)
	for _, part := range []string{
		"/vendor/", "/third_party/", "/node_modules/", "/testdata/", "/fixtures/", "/locale/", "/core/arch/",
		"/std/arch/", "/core_arch/", "/genindex",
		"/_static/", "/dist-info/", ".egg-info/", "/l10n/", "/i18n/", "/locales/", "_test.go", ".min.", ".umd.",
		".bundle.",
		"/zz_generated", ".pb.go",
	} {
		if strings.Contains(lower, part) {
			return true
		}
	}
	base := path.Base(lower)
	if strings.HasPrefix(base, "perl5") && strings.Contains(base, "delta") {
		return true
	}
	for _, start := range []string{
		"license", "licence", "copying", "notice", "copyright", "changelog", "changes", "history",
		"authors", "contributors", "maintainers", "code_of_conduct", "code-of-conduct", "thirdparty", "third-party",
		"releases.",
		"release-notes", "release_notes", "whatsnew", "news.", "py-modindex", "search.html", "sitemap", "requirements",
	} {
		if strings.HasPrefix(base, start) {
			return true
		}
	}
	return false
}
