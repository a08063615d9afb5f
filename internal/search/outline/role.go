package outline

import (
	"bytes"
	"path"
	"slices"
	"strings"
)

// The roles of a file.
const (
	Test   = "test"   // tests and their support files
	Config = "config" // how the project is built, run and configured
	Entry  = "entry"  // where a program or a package begins
	Core   = "core"   // anything else
)

// Role returns the role of a file by the conventions of its language: test, config, entry or core.
// If several apply, it is the first of these.
func Role(name, language string, content []byte) string {
	switch {
	case isTest(name, language):
		return Test
	case isConfig(name, language):
		return Config
	case isEntry(name, language, content):
		return Entry
	}
	return Core
}

func isTest(name, language string) bool {
	folders := strings.Split(strings.ToLower(path.Dir(name)), "/")
	if slices.ContainsFunc(folders, func(folder string) bool { return slices.Contains(testFolders, folder) && holdsTests(folder, language) }) {
		return true
	}
	stem := stemOf(name)
	lower := strings.ToLower(stem)
	switch language {
	case "go", "rust", "dart", "elixir", "ruby", "c", "cpp", "lua", "erlang", "shell":
		return hasSuffix(lower, "_test", "_spec", "_unittest", "_tests", "_suite")
	case "python":
		return strings.HasPrefix(lower, "test_") || hasSuffix(lower, "_test", "_tests") || lower == "conftest" || lower == "tests"
	case "javascript", "typescript", "vue", "svelte", "css", "scss":
		return hasSuffix(lower, ".test", ".spec", ".tests", ".e2e", ".cy", "-test", "_test", ".stories-test") || strings.Contains(lower, ".test.")
	case "java", "kotlin", "csharp", "php", "swift", "scala", "groovy", "fsharp", "objectivec":
		return hasSuffix(stem, "Test", "Tests", "TestCase", "Spec", "IT") && stem != "IT"
	}
	return strings.HasSuffix(lower, ".test")
}

// holdsTests reports whether the files of a test folder are tests: a folder of specifications may
// contain prose.
func holdsTests(folder, language string) bool {
	prose := language == "markdown" || language == "text" || language == "restructuredtext" || language == "asciidoc"
	return !prose || folder != "spec" && folder != "specs"
}

// stemOf returns the name of a file without its last extension.
func stemOf(name string) string {
	base := path.Base(name)
	return strings.TrimSuffix(base, path.Ext(base))
}

func hasSuffix(s string, suffixes ...string) bool {
	return slices.ContainsFunc(suffixes, func(suffix string) bool { return strings.HasSuffix(s, suffix) })
}

func isConfig(name, language string) bool {
	base := path.Base(name)
	lower := strings.ToLower(base)
	stem := stemOf(lower)
	switch language {
	case "json", "yaml", "toml", "ini", "dotenv", "gomod", "dockerfile", "makefile", "cmake", "hcl", "meson", "starlark", "nix":
		return true
	case "xml":
		return hasSuffix(lower, "proj", ".props", ".targets", ".config", "pom.xml", "settings.xml", "manifest.xml", ".plist")
	case "ruby":
		return hasSuffix(lower, "file", ".gemspec", ".ru")
	case "groovy":
		return true // such files belong to Gradle and Jenkins
	case "text":
		return isTextConfig(lower)
	}
	switch stem {
	case "config", "settings", "configuration", "gulpfile", "gruntfile", "setup", "noxfile", "build.gradle", "settings.gradle":
		return stem != "setup" || language == "python"
	case "build":
		return language == "rust" && Module(name) == Root
	}
	return strings.HasPrefix(base, ".") || strings.Contains(lower, ".config.") || hasSuffix(stem, ".config", ".conf", "rc.js")
}

func isTextConfig(lower string) bool {
	switch lower {
	case "go.sum", "gemfile.lock", "codeowners", "procfile", "mix.lock", "pubspec.lock", "py.typed":
		return true
	}
	return strings.HasPrefix(lower, ".") || strings.HasPrefix(lower, "requirements") || strings.HasPrefix(lower, "constraints")
}

func isEntry(name, language string, content []byte) bool {
	stem := stemOf(name)
	lower := strings.ToLower(stem)
	switch language {
	case "go":
		return declaresMain(content, "package main") && declaresMain(content, "func main(")
	case "python":
		return lower == "__main__" || lower == "manage" || isOneOf(lower, "main", "app", "wsgi", "asgi", "server", "cli") && isTop(name)
	case "javascript", "typescript":
		return isOneOf(lower, "index", "main", "server", "app", "cli") && isTop(name) || inBin(name, content)
	case "rust":
		return isOneOf(lower, "main", "lib") && hasSuffix(path.Dir(name), "src") || path.Base(path.Dir(name)) == "bin"
	case "java", "groovy":
		return bytes.Contains(content, []byte("static void main("))
	case "kotlin":
		return declaresMain(content, "fun main(")
	case "csharp":
		return lower == "program" || bytes.Contains(content, []byte("static void Main(")) || bytes.Contains(content, []byte("static async Task Main("))
	case "c", "cpp", "objectivec":
		return declaresMain(content, "int main(") || declaresMain(content, "main(")
	case "swift", "scala", "dart", "zig", "haskell":
		return lower == "main" || bytes.Contains(content, []byte("\n@main"))
	case "php", "html", "vue", "svelte":
		return isOneOf(lower, "index", "app", "main") && isTop(name)
	}
	return inBin(name, content)
}

// declaresMain reports whether a line begins with start.
func declaresMain(content []byte, start string) bool {
	return bytes.HasPrefix(content, []byte(start)) || bytes.Contains(content, []byte("\n"+start))
}

func isOneOf(word string, words ...string) bool { return slices.Contains(words, word) }

// inBin reports whether a file is a program in a bin folder.
func inBin(name string, content []byte) bool {
	return path.Base(path.Dir(name)) == "bin" && bytes.HasPrefix(content, []byte("#!"))
}

// isTop reports whether a file is directly in the root, in a source root or a layer of it, or in
// those of a package of a workspace: src/server/index.ts is an entry point,
// src/server/auth/index.ts only re-exports.
func isTop(name string) bool {
	folders := strings.Split(path.Dir(name), "/")
	if folders[0] == "." {
		return true
	}
	for i, folder := range folders {
		folder = strings.ToLower(folder)
		isPackage := i > 0 && slices.Contains(workspaces, strings.ToLower(folders[i-1]))
		if !isPackage && !slices.Contains(sourceRoots, folder) && !slices.Contains(layers, folder) {
			return false
		}
	}
	return true
}
