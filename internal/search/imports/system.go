package imports

import "path"

// systemLanguage finds one of the languages of this file by name.
func systemLanguage(name string) (language, bool) {
	switch name {
	case "go":
		return language{extractGo, resolveGo}, true
	case "python":
		return language{extractPython, resolvePython}, true
	case "rust":
		return language{extractRust, resolveRust}, true
	case "markdown":
		return language{extractMarkdown, resolveMarkdown}, true
	default:
		return language{}, false
	}
}

// nearest finds the closest folder, from the given one upwards, in which ok holds.
func nearest(folder string, ok func(folder string) bool) (string, bool) {
	for !ok(folder) {
		if folder == "." {
			return "", false
		}
		folder = path.Dir(folder)
	}
	return folder, true
}
