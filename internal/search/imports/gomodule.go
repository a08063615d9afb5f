package imports

import (
	"path"
	"slices"
	"strconv"
	"strings"
)

// A goModule is what a go.mod or a go.work says, as far as it matters where packages are.
type goModule struct {
	folder   string
	path     string
	uses     []string          // folders of the modules that a go.work uses
	required map[string]string // versions by module path
	replaces []goReplacement
}

// A goReplacement says that a module is in another place: in a folder, if the target begins with a dot.
type goReplacement struct{ path, version, target string }

// readGoModule reads the go.mod in a folder. What cannot be read says nothing.
func readGoModule(files Files, folder string) *goModule {
	content, _ := readIn(files, folder, "go.mod")
	return parseGoModule(folder, content)
}

// goWorkUsing finds the go.work that holds in a module's folder, if it uses that module.
func goWorkUsing(files Files, module string) (*goModule, bool) {
	folder, ok := nearest(module, func(f string) bool { return files.Has(path.Join(f, "go.work")) })
	if !ok {
		return nil, false
	}
	content, _ := files.Read(path.Join(folder, "go.work"))
	work := parseGoModule(folder, content)
	return work, slices.Contains(work.uses, module)
}

// replace notes in which folder each replaced module is: "" if that is no folder of the workspace.
func (m *goModule) replace(folders map[string]string) {
	for _, r := range m.replaces {
		if required := m.required[r.path]; r.version != "" && required != "" && required != r.version {
			continue
		}
		folders[r.path] = ""
		if folder, ok := within(m.folder, r.target); ok && strings.HasPrefix(r.target, ".") {
			folders[r.path] = folder
		}
	}
}

func parseGoModule(folder string, content []byte) *goModule {
	m := &goModule{folder: folder, required: map[string]string{}}
	block := ""
	for line := range strings.Lines(string(content)) {
		words := goModuleWords(line)
		switch {
		case len(words) == 0:
		case block != "" && words[0] == ")":
			block = ""
		case block != "":
			m.note(block, words)
		case len(words) == 2 && words[1] == "(":
			block = words[0]
		default:
			m.note(words[0], words[1:])
		}
	}
	return m
}

// note takes in one directive.
func (m *goModule) note(verb string, words []string) {
	switch {
	case verb == "module" && len(words) == 1:
		m.path = words[0]
	case verb == "use" && len(words) == 1:
		if folder, ok := within(m.folder, words[0]); ok && !path.IsAbs(words[0]) {
			m.uses = append(m.uses, folder)
		}
	case verb == "require" && len(words) == 2:
		m.required[words[0]] = words[1]
	case verb == "replace":
		arrow := slices.Index(words, "=>")
		if arrow < 1 || arrow+1 >= len(words) {
			return
		}
		r := goReplacement{path: words[0], target: words[arrow+1]}
		if arrow == 2 {
			r.version = words[1]
		}
		m.replaces = append(m.replaces, r)
	}
}

// goModuleWords splits a line of a go.mod into words, without quotes, up to a comment.
func goModuleWords(line string) []string {
	var words []string
	for {
		line = strings.TrimLeft(line, " \t\r\n")
		if line == "" || strings.HasPrefix(line, "//") {
			return words
		}
		if quoted, err := strconv.QuotedPrefix(line); err == nil && line[0] != '\'' {
			word, _ := strconv.Unquote(quoted)
			words, line = append(words, word), line[len(quoted):]
			continue
		}
		end := strings.IndexAny(line, " \t\r\n")
		if end < 0 {
			end = len(line)
		}
		if comment := strings.Index(line[:end], "//"); comment > 0 {
			return append(words, line[:comment])
		}
		words, line = append(words, line[:end]), line[end:]
	}
}
