package codebase

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"remit/internal/search/filetypes"
	"remit/internal/search/glob"
)

// A Selection says which files to search: those that are in one of the Paths, that Globs include,
// and that have one of the Types and none of the NotTypes. An empty list of globs or types selects
// all files.
type Selection struct {
	Folder   string   // the folder that paths and globs are relative to; "" is the root
	Paths    []string // files, folders or globs; none selects the files in Folder
	Globs    []string // as for ripgrep: the last one that matches decides, and ! excludes
	Types    []string // names of file types, such as "go"
	NotTypes []string
}

// FileTypes lists the file types that a Selection can name, with their globs.
func FileTypes() string { return filetypes.List() }

// compile returns a pattern for the paths of the selected files, or nil for all files.
func (s Selection) compile() (*glob.Pattern, error) {
	var tests []func(path string) bool
	for _, add := range []func() (func(string) bool, error){s.pathTest, s.globTest, s.typeTest} {
		test, err := add()
		if fault, ok := errors.AsType[*glob.SyntaxError](err); ok {
			err = fmt.Errorf("%s is not a valid glob: %s", fault.Pattern, fault.Reason)
		}
		if err != nil {
			return nil, err
		}
		if test != nil {
			tests = append(tests, test)
		}
	}
	if len(tests) == 0 {
		return nil, nil
	}
	return glob.Func(fmt.Sprintf("%q", s), func(path string) bool {
		return !slices.ContainsFunc(tests, func(test func(string) bool) bool { return !test(path) })
	}), nil
}

// pathTest returns a test for Paths.
func (s Selection) pathTest() (func(string) bool, error) {
	given := s.Paths
	if len(given) == 0 {
		given = []string{"."}
	}
	names, globs := make([]string, len(given)), make([]*glob.Pattern, len(given))
	for i, p := range given {
		if names[i] = path.Join(s.Folder, p); names[i] == "." {
			return nil, nil
		}
		if !IsGlob(p) {
			continue
		}
		var err error
		if globs[i], err = glob.Compile(s.fromRoot(anywhere(p))); err != nil {
			return nil, err
		}
	}
	return func(file string) bool {
		for i, name := range names {
			rest, beneath := strings.CutPrefix(file, name)
			if beneath && (rest == "" || rest[0] == '/') || globs[i] != nil && globs[i].Match(file) {
				return true
			}
		}
		return false
	}, nil
}

// fromRoot returns a glob that is relative to Folder as one that is relative to the root.
func (s Selection) fromRoot(relative string) string {
	special := strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`, `{`, `\{`, `}`, `\}`, `,`, `\,`, `\`, `\\`)
	return path.Join(special.Replace(s.Folder), relative)
}

// IsGlob reports whether a path is a glob.
func IsGlob(path string) bool { return strings.ContainsAny(path, `*?[{\`) }

// A globRule is a value of Globs.
type globRule struct {
	files, folders *glob.Pattern // folders: everything in the folders that the value matches
	excludes       bool
}

// globTest returns a test for Globs.
func (s Selection) globTest() (func(string) bool, error) {
	rules, includesAll := make([]globRule, len(s.Globs)), true
	for i, written := range s.Globs {
		r := &rules[i]
		written, r.excludes = strings.CutPrefix(written, "!")
		includesAll = includesAll && r.excludes
		if written == "" {
			return nil, errors.New("a glob needs a name or a path, such as '*.go'")
		}
		whole := anywhere(written)
		if strings.Contains(written, "/") {
			whole = s.fromRoot(whole)
		}
		var err error
		if r.files, err = glob.Compile(whole); err == nil && r.excludes {
			r.folders, err = glob.Compile(strings.TrimSuffix(whole, "/**") + "/**")
		}
		if err != nil {
			return nil, err
		}
	}
	if len(rules) == 0 {
		return nil, nil
	}
	return func(file string) bool {
		for _, r := range slices.Backward(rules) {
			if r.files.Match(file) || r.folders != nil && r.folders.Match(file) {
				return !r.excludes
			}
		}
		return includesAll
	}, nil
}

// typeTest returns a test for Types and NotTypes.
func (s Selection) typeTest() (func(string) bool, error) {
	wanted, err := typeGlobs(s.Types)
	if err != nil {
		return nil, err
	}
	unwanted, err := typeGlobs(s.NotTypes)
	if err != nil || len(wanted)+len(unwanted) == 0 {
		return nil, err
	}
	return func(file string) bool {
		matches := func(p *glob.Pattern) bool { return p.Match(path.Base(file)) }
		return (wanted == nil || slices.ContainsFunc(wanted, matches)) && !slices.ContainsFunc(unwanted, matches)
	}, nil
}

func typeGlobs(names []string) (all []*glob.Pattern, err error) {
	for _, name := range names {
		globs := filetypes.Globs(name)
		if globs == nil {
			return nil, fmt.Errorf("%s is not a file type; \"remit grep --type-list\" lists all types", name)
		}
		for _, g := range globs {
			p, err := glob.Compile(g)
			if err != nil {
				return nil, err
			}
			all = append(all, p)
		}
	}
	return all, nil
}
