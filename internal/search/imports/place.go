package imports

import (
	"iter"
	"path"
	"slices"
	"strings"
)

// mostOfPackage is how many files are given at most for a package or a namespace that is imported as a whole.
const mostOfPackage = 200

// upwards gives a folder and those above it, the nearest first, "." last.
func upwards(folder string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for yield(folder) && folder != "." && folder != "/" {
			folder = path.Dir(folder)
		}
	}
}

// nearest finds the closest folder, from the given one upwards, in which ok holds.
func nearest(folder string, ok func(folder string) bool) (string, bool) {
	for above := range upwards(folder) {
		if ok(above) {
			return above, true
		}
	}
	return "", false
}

// outside tells whether a clean path leads out of the workspace.
func outside(place string) bool {
	return place == ".." || strings.HasPrefix(place, "../") || strings.HasPrefix(place, "/")
}

// within joins a folder and what stands beneath it; false if that leads out of the workspace.
func within(folder, name string) (string, bool) {
	joined := path.Join(folder, name)
	return joined, !outside(joined) && !strings.HasPrefix(name, "/")
}

// fileIn joins a folder and the name of a file beneath it; false if there is no such file.
func fileIn(files Files, folder, name string) (string, bool) {
	file, ok := within(folder, name)
	return file, ok && files.Has(file)
}

// readIn reads the file of that name beneath a folder; false if there is none, or if it may not be read.
func readIn(files Files, folder, name string) ([]byte, bool) {
	file, ok := fileIn(files, folder, name)
	if !ok {
		return nil, false
	}
	content, err := files.Read(file)
	return content, err == nil
}

// firstFound gives the first file that find knows for one of the items.
func firstFound[T any](items []T, find func(item T) (file string, ok bool)) (string, bool) {
	for _, item := range items {
		if file, ok := find(item); ok {
			return file, true
		}
	}
	return "", false
}

// cached gives what is known by a key, which is found out when it is first asked for.
func cached[V any](known map[string]V, key string, find func() V) V {
	value, ok := known[key]
	if !ok {
		value = find()
		known[key] = value
	}
	return value
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

// beneath gives the path of a folder from another one above it.
func beneath(folder, root string) (string, bool) {
	switch root {
	case ".":
		return folder, !outside(folder)
	case folder:
		return ".", true
	}
	return strings.CutPrefix(folder, root+"/")
}

// endingIn gives those of the workspace's files whose path is tail, or ends in a slash and tail.
func endingIn(files Files, tail string) []string {
	return slices.DeleteFunc(slices.Clone(files.Named(path.Base(tail))), func(file string) bool {
		return file != tail && !strings.HasSuffix(file, "/"+tail)
	})
}

// inFolder gives the files directly in a folder whose name ends in one of the endings; those that end in a slash are
// the folders.
func inFolder(files Files, folder string, endings ...string) []string {
	var found []string
	for _, name := range files.In(folder) {
		if slices.ContainsFunc(endings, func(ending string) bool { return strings.HasSuffix(name, ending) }) {
			found = append(found, path.Join(folder, name))
		}
	}
	return found
}

// folderAt finds the folder that names lead to from another one. It goes down step by step, so that what begins alike is
// listed once.
func folderAt(files Files, folder string, names ...string) (string, bool) {
	for _, name := range names {
		if !lists(files.In(folder), name+"/") {
			return "", false
		}
		folder = path.Join(folder, name)
	}
	return folder, true
}

// once keeps the first of equal texts, and none that is among those that do not count.
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
