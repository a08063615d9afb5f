// Package extract makes pairs of texts from the content of one file: a question-like text, such as
// a doc comment or a heading, and the answer-like text that belongs to it, such as a function or a
// section.
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
	// Kind says where the pair comes from: go, py, js for code; prop for a JavaScript property,
	// which is code with little text; doc, lead, term, man for prose; syn for words.
	Kind string
	A, B string
}

const (
	// maxBytes is the size of the largest file that is read. Larger ones are data, not written by
	// hand.
	maxBytes = 4 << 20
	// maxDictionary is the same for dictionaries, which are larger.
	maxDictionary = 64 << 20
	// maxA and maxB limit the texts of a pair, in bytes. The model reads 40 and 80 words of
	// them.
	maxA = 400
	maxB = 1200
	// maxProse limits B if it is prose.
	maxProse = 900
)

// Wants reports whether File may find pairs in a file of that name, so that a caller need not read
// the others.
func Wants(name string) bool { return reader(name) != nil }

// File returns the pairs of one file in their order. The name decides how it is parsed; a name that
// ends in .gz is unpacked first. File never fails: for a broken file it returns the pairs that it
// can find.
func File(name string, content []byte) []Pair {
	read := reader(name)
	if read == nil {
		return nil
	}
	if strings.HasSuffix(name, ".gz") {
		content = unpack(content)
	}
	if len(content) > maxDictionary || len(content) > maxBytes && !isDictionary(name) {
		return nil
	}
	if bytes.IndexByte(content[:min(len(content), 8<<10)], 0) >= 0 {
		return nil
	}
	return read(name, strings.ToValidUTF8(string(content), " "))
}

// unpack returns the content of a gzip file, up to the size of the largest file that is read, or
// nothing if it is broken.
func unpack(content []byte) []byte {
	packed, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		return nil
	}
	plain, err := io.ReadAll(io.LimitReader(packed, maxBytes+1))
	if err != nil {
		return nil
	}
	return plain
}

// reader returns the function that parses a file of that name, or nil if there is none.
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

// unwanted reports whether a path belongs to a file that was not written for the package itself:
// vendored copies, tests of Go, minified code, licences and change logs.
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
