package outline

import (
	"bytes"
	_ "embed"
	"path"
	"strings"
	"sync"

	"remit/internal/search/lexical"
)

// Language returns the language of a file in lower case, as editors name it: typescript, go,
// python, cpp, csharp, ... It uses the file's name, then its extension, its #! line, its vim or
// emacs modeline, and its beginning. The default is "text".
func Language(name string, content []byte) string {
	base := strings.ToLower(path.Base(name))
	// A program may have this name too.
	isWord := base == "build" || base == "workspace" || base == "buck"
	if language, ok := fileNames()[base]; ok && (!isWord || hinted(content) == "") {
		return language
	}
	extension := strings.TrimPrefix(path.Ext(base), ".")
	if language := ambiguous(extension, content); language != "" {
		return language
	}
	if language, ok := extensions()[extension]; ok {
		return language
	}
	if language := byPrefix(base); language != "" {
		return language
	}
	if language := hinted(content); language != "" {
		return language
	}
	return "text"
}

// byPrefix recognises names that continue after a dot: Dockerfile.dev, .env.local, .eslintrc.
func byPrefix(base string) string {
	switch stem, _, _ := strings.Cut(base, "."); stem {
	case "dockerfile", "containerfile":
		return "dockerfile"
	case "makefile":
		return "makefile"
	}
	if base == ".env" || strings.HasPrefix(base, ".env.") {
		return "dotenv"
	}
	return ""
}

// maxJudged is the number of bytes of a file that are examined if its name is ambiguous.
const maxJudged = 64 << 10

// ambiguous decides by content where several languages share an extension; "" if they do not.
func ambiguous(extension string, content []byte) string {
	head := content[:min(len(content), maxJudged)]
	switch extension {
	case "h":
		return cOrCpp(head)
	case "m":
		return objectiveCOrMatlab(head)
	case "pl":
		return perlOrProlog(head)
	case "ts", "inc", "s", "t", "mod":
		if hint := byStart(head); hint != "" { // Qt tools store translations in .ts files
			return hint
		}
	case "d", "in", "tmpl", "template", "dist", "sample", "example":
		return hinted(head)
	}
	if extension == "mod" {
		return "text" // go.mod is recognised by its name
	}
	return ""
}

// cOrCpp decides whether a header is C or C++.
func cOrCpp(head []byte) string {
	if language := byModeline(head); language != "" {
		return language
	}
	s := newScanner("c", head)
	for i := range s.tokens {
		next := s.text(i + 1)
		switch word := s.text(i); word {
		case "::":
			return "cpp"
		case "public", "private", "protected":
			if next == ":" {
				return "cpp"
			}
		case "=":
			if next == "delete" || next == "default" {
				return "cpp"
			}
		case "namespace", "template", "class", "using":
			if next != "(" && (i == 0 || s.line(i-1) != s.line(i)) {
				return "cpp"
			}
		default:
			if strings.Contains(word, "constexpr") {
				return "cpp"
			}
		}
	}
	return "c"
}

func objectiveCOrMatlab(head []byte) string {
	for line := range bytes.Lines(head) {
		line = bytes.TrimSpace(line)
		switch {
		case bytes.HasPrefix(line, []byte("#import")), bytes.HasPrefix(line, []byte("#include")), bytes.HasPrefix(line, []byte("@")),
			bytes.HasPrefix(line, []byte("//")), bytes.HasPrefix(line, []byte("/*")):
			return "objectivec"
		case bytes.HasPrefix(line, []byte("%")), bytes.HasPrefix(line, []byte("function ")), bytes.HasPrefix(line, []byte("classdef ")):
			return "matlab"
		}
	}
	return "objectivec"
}

func perlOrProlog(head []byte) string {
	for line := range bytes.Lines(head) {
		switch word, _ := firstWord(line); word {
		case "use", "my", "sub", "package", "our", "require":
			return "perl"
		}
		if bytes.HasPrefix(line, []byte(":-")) || bytes.HasSuffix(bytes.TrimSpace(line), []byte(":-")) {
			return "prolog"
		}
	}
	return "perl"
}

// firstWord splits a line into its first word of letters and the rest.
func firstWord(line []byte) (word string, rest []byte) {
	line = bytes.TrimLeft(line, " \t")
	n := 0
	for n < len(line) && lexical.IsWordByte(line[n]) {
		n++
	}
	return string(line[:n]), line[n:]
}

// Each table has a line for each language: its name, then words in lower case that identify it.
var (
	//go:embed extensions.txt
	byExtension string // of its files
	//go:embed filenames.txt
	byName string // whole names of files
	//go:embed othernames.txt
	// Names in shebang lines and modelines that are neither the language's name nor an extension.
	byOtherName string
)

var (
	extensions = sync.OnceValue(func() map[string]string { return readTable(byExtension) })
	fileNames  = sync.OnceValue(func() map[string]string { return readTable(byName) })
	otherNames = sync.OnceValue(func() map[string]string { return readTable(byOtherName) })
	// allLanguages contains the names of the languages themselves.
	allLanguages = sync.OnceValue(func() map[string]bool {
		all := map[string]bool{}
		for _, table := range []string{byExtension, byName, byOtherName} {
			for line := range strings.Lines(table) {
				all[strings.Fields(line)[0]] = true
			}
		}
		return all
	})
)

// readTable converts lines of a value and its keys into a map.
func readTable(table string) map[string]string {
	byKey := map[string]string{}
	for line := range strings.Lines(table) {
		words := strings.Fields(line)
		for _, key := range words[1:] {
			byKey[key] = words[0]
		}
	}
	return byKey
}
