package licence

import (
	"path"
	"slices"
	"strings"
)

// Gate says which files of one package may be used.
type Gate struct {
	Licence string  // of the package as a whole, as found
	Verdict Verdict // on the package as a whole; unless it is permissive, no file may be used
	denies  func(name string) bool
}

// Allowed reports whether the file at a path in the package may be used.
func (g *Gate) Allowed(name string) bool {
	return g.Verdict == Permissive && (g.denies == nil || !g.denies(name))
}

// OfCopyright returns the gate of a Debian package from its debian/copyright.
//
// The patterns there are paths in the source package, but the files to check are installed paths,
// and no table maps one to the other. So a pattern that is not permissive denies every file that it
// could mean: see could.
func OfCopyright(text string) *Gate {
	c := readCopyright(text)
	gate := c.whole()
	var denied []string
	for _, stanza := range c.stanzas {
		if c.verdict(stanza) != Permissive {
			denied = append(denied, stanza.files...)
		}
	}
	gate.denies = func(name string) bool {
		for _, pattern := range denied {
			if could(pattern, name) {
				return true
			}
		}
		return false
	}
	return gate
}

// whole returns the verdict on the package as a whole: by the stanza for everything, else by the
// text before the first stanza, else by the first stanza that is not about the packaging.
func (c copyright) whole() *Gate {
	for _, stanza := range c.stanzas {
		if slices.Contains(stanza.files, "*") || slices.Contains(stanza.files, "./*") {
			return c.gate(stanza)
		}
	}
	if verdict := textVerdict(c.free); verdict != Unknown {
		return &Gate{Licence: strings.Join(ofText(c.free), " and "), Verdict: verdict}
	}
	for _, stanza := range c.stanzas {
		if !strings.HasPrefix(stanza.files[0], "debian/") {
			return c.gate(stanza)
		}
	}
	return &Gate{}
}

// gate names a licence by its short name, or by the text if only the text identifies it.
func (c copyright) gate(s stanza) *Gate {
	name := s.licence
	if OfExpression(name, nil) == Unknown {
		name = strings.Join(ofText(s.licence+"\n"+s.text+"\n"+c.texts[strings.ToLower(name)]), " and ")
	}
	return &Gate{Licence: name, Verdict: c.verdict(s)}
}

// could reports whether the pattern of a source path could mean an installed file. In doubt it
// returns true: a file pattern means every file with that name in any folder and with any suffix
// (docs are built from .rst to .html); a folder pattern means every folder with the same last two
// names; the folder of the documentation means everything that is installed as documentation.
func could(pattern, name string) bool {
	pattern = strings.TrimPrefix(strings.TrimPrefix(pattern, "./"), "/")
	if pattern == "*" {
		return true
	}
	if pattern == "debian/*" {
		return false
	}
	folder, base := path.Split(pattern)
	steps := strings.FieldsFunc(folder, func(r rune) bool { return r == '/' })
	if base != "" && !strings.HasPrefix(base, "*") {
		return matches(stem(base), stem(path.Base(name)))
	}
	if base != "" && base != "*" && !matches(base, path.Base(name)) {
		return false
	}
	if len(steps) > 0 && isDocs(steps[0]) {
		return isDocumentation(name) && (wholeDocs(steps) || within(steps[len(steps)-1:], name))
	}
	return within(steps[max(0, len(steps)-2):], name)
}

// within reports whether the folders of a file contain these names in a row.
func within(steps []string, name string) bool {
	folders := strings.Split(path.Dir(name), "/")
	for start := 0; start+len(steps) <= len(folders); start++ {
		same := true
		for i, step := range steps {
			same = same && matches(step, folders[start+i])
		}
		if same {
			return true
		}
	}
	return false
}

func isDocs(step string) bool {
	switch strings.ToLower(step) {
	case "doc", "docs", "documentation", "manual", "man":
		return true
	}
	return false
}

// wholeDocs reports whether a folder holds all of the documentation: docs, doc/source.
func wholeDocs(steps []string) bool {
	return len(steps) == 1 || len(steps) == 2 && (steps[1] == "source" || steps[1] == "src" || isDocs(steps[1]))
}

func isDocumentation(name string) bool {
	return strings.HasPrefix(name, "usr/share/doc/") || strings.HasPrefix(name, "usr/share/man/") ||
		strings.HasPrefix(name, "usr/share/info/") || strings.HasPrefix(name, "usr/share/doc-base/")
}

func stem(base string) string {
	base = strings.TrimSuffix(base, ".gz")
	if dot := strings.LastIndexByte(base, '.'); dot > 0 {
		return base[:dot]
	}
	return base
}

// matches applies a pattern to one name. An invalid pattern matches, because its meaning is
// unknown.
func matches(pattern, name string) bool {
	ok, err := path.Match(strings.ToLower(pattern), strings.ToLower(name))
	return ok || err != nil
}
