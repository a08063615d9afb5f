package imports

import (
	"path"
	"strings"
)

// otherLanguage finds one of the languages of this file by name.
func otherLanguage(name string) (language, bool) {
	switch name {
	case "java":
		return language{javaImports, jvmFiles}, true
	case "kotlin":
		return language{kotlinImports, jvmFiles}, true
	case "scala":
		return language{scalaImports, jvmFiles}, true
	case "c":
		return language{cImports, cFiles}, true
	case "cpp":
		return language{cppImports, cFiles}, true
	case "csharp":
		return language{csharpImports, csharpFiles}, true
	case "php":
		return language{phpImports, phpFiles}, true
	case "ruby":
		return language{rubyImports, rubyFiles}, true
	default:
		return language{}, false
	}
}

// mostOfPackage is how many files are given at most for a package or a namespace that is imported as a whole.
const mostOfPackage = 200

// folders gives the folder of a path and those above it, the nearest first, "." last.
func folders(from string) []string {
	var all []string
	for folder := path.Dir(from); ; folder = path.Dir(folder) {
		all = append(all, folder)
		if folder == "." || folder == "/" {
			return all
		}
	}
}

// within joins a folder and what stands beneath it; false if that leads out of the workspace.
func within(folder, name string) (string, bool) {
	joined := path.Join(folder, name)
	out := joined == ".." || strings.HasPrefix(joined, "../") || strings.HasPrefix(name, "/")
	return joined, !out
}

// shared counts the folders that two paths have in common from the root.
func shared(a, b string) int {
	n := 0
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			break
		}
		if a[i] == '/' {
			n++
		}
	}
	return n
}

// endingIn gives those of the workspace's files whose path is tail, or ends in a slash and tail.
func endingIn(files Files, tail string) []string {
	var found []string
	for _, file := range files.Named(path.Base(tail)) {
		if file == tail || strings.HasSuffix(file, "/"+tail) {
			found = append(found, file)
		}
	}
	return found
}

// inFolder gives the files directly in a folder whose name ends in one of the endings.
func inFolder(files Files, folder string, endings ...string) []string {
	var found []string
	for _, name := range files.In(folder) {
		for _, ending := range endings {
			if strings.HasSuffix(name, ending) {
				found = append(found, path.Join(folder, name))
				break
			}
		}
	}
	return found
}
