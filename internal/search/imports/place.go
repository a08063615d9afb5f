package imports

import (
	"iter"
	"path"
	"slices"
	"strings"
)

// maxOfPackage limits the files of a package or a namespace that is imported as a whole.
const maxOfPackage = 200

// upwards returns a folder and its parents, the nearest first, "." last.
func upwards(folder string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for yield(folder) && folder != "." && folder != "/" {
			folder = path.Dir(folder)
		}
	}
}

// nearest finds the closest folder, from the given one upwards, for which ok is true.
func nearest(folder string, ok func(folder string) bool) (string, bool) {
	for above := range upwards(folder) {
		if ok(above) {
			return above, true
		}
	}
	return "", false
}

// outside reports whether a clean path leads out of the workspace.
func outside(place string) bool {
	return place == ".." || strings.HasPrefix(place, "../") || strings.HasPrefix(place, "/")
}

// within joins a folder and a relative path; false if the result is outside of the workspace.
func within(folder, name string) (string, bool) {
	joined := path.Join(folder, name)
	return joined, !outside(joined) && !strings.HasPrefix(name, "/")
}

// fileIn joins a folder and a relative path; false if there is no such file.
func fileIn(files Files, folder, name string) (string, bool) {
	file, ok := within(folder, name)
	return file, ok && files.Has(file)
}

// readIn reads a file below a folder; false if it does not exist or may not be read.
func readIn(files Files, folder, name string) ([]byte, bool) {
	file, ok := fileIn(files, folder, name)
	if !ok {
		return nil, false
	}
	content, err := files.Read(file)
	return content, err == nil
}

// firstFound returns the first file that find returns for one of the items.
func firstFound[T any](items []T, find func(item T) (file string, ok bool)) (string, bool) {
	for _, item := range items {
		if file, ok := find(item); ok {
			return file, true
		}
	}
	return "", false
}

// cached returns the cached value of a key, and computes it on the first call.
func cached[V any](known map[string]V, key string, find func() V) V {
	value, ok := known[key]
	if !ok {
		value = find()
		known[key] = value
	}
	return value
}

// shared returns the number of leading folders that two paths have in common.
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

// beneath returns the path of a folder relative to a folder above it.
func beneath(folder, root string) (string, bool) {
	switch root {
	case ".":
		return folder, !outside(folder)
	case folder:
		return ".", true
	}
	return strings.CutPrefix(folder, root+"/")
}

// endingIn returns the files of the workspace whose path is tail, or ends in a slash and tail.
func endingIn(files Files, tail string) []string {
	return slices.DeleteFunc(slices.Clone(files.Named(path.Base(tail))), func(file string) bool {
		return file != tail && !strings.HasSuffix(file, "/"+tail)
	})
}

// inFolder returns the files directly in a folder whose name ends in one of the endings; names with
// a trailing slash are folders.
func inFolder(files Files, folder string, endings ...string) []string {
	var found []string
	for _, name := range files.List(folder) {
		if slices.ContainsFunc(endings, func(ending string) bool { return strings.HasSuffix(name, ending) }) {
			found = append(found, path.Join(folder, name))
		}
	}
	return found
}

// folderAt follows names from a folder downwards. It goes step by step, so that listings of common
// parents are shared.
func folderAt(files Files, folder string, names ...string) (string, bool) {
	for _, name := range names {
		if !lists(files.List(folder), name+"/") {
			return "", false
		}
		folder = path.Join(folder, name)
	}
	return folder, true
}

// once removes duplicates, and all texts in not.
func once(texts []string, not ...string) []string {
	seen := map[string]bool{}
	for _, text := range not {
		seen[text] = true
	}
	return slices.DeleteFunc(texts, func(text string) bool {
		again := seen[text]
		seen[text] = true
		return again
	})
}
