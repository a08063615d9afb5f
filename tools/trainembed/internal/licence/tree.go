package licence

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
)

// Notice is a file of a package about its licence.
type Notice struct {
	Path string
	Text string
}

// IsNotice reports whether OfTree needs the file at this path: licence texts, and npm's
// package.json files.
func IsNotice(name string) bool {
	base := strings.ToLower(path.Base(name))
	if base == "package.json" {
		return true
	}
	switch path.Ext(base) {
	case "", ".txt", ".md", ".rst", ".markdown", ".mit", ".bsd", ".apache", ".isc", ".gpl", ".lesser", ".lgpl", ".mpl", ".agpl":
	default:
		return false
	}
	if strings.Contains(base, "third") || strings.Contains(base, "3rd") {
		return false // a list of works by others, most of them not in the package
	}
	for _, start := range []string{"license", "licence", "copying", "unlicense", "mit-license", "mit-licence"} {
		if rest, ok := strings.CutPrefix(base, start); ok && (rest == "" || strings.ContainsAny(rest[:1], "-._ s")) {
			return true
		}
	}
	return false
}

// OfTree returns the gate of a package in which a licence applies to its folder and all folders
// below: Go modules and npm packages. The nearest notice above a file applies.
func OfTree(notices []Notice) *Gate {
	folders := map[string]*folderLicence{}
	for _, notice := range notices {
		dir := path.Dir(notice.Path)
		if folders[dir] == nil {
			folders[dir] = &folderLicence{}
		}
		folders[dir].add(notice)
	}
	root := folders["."]
	if root == nil {
		return &Gate{}
	}
	return &Gate{Licence: root.name(), Verdict: root.verdict(), denies: func(name string) bool {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if folder := folders[dir]; folder != nil && folder.speaks(dir) {
				return folder.verdict() != Permissive
			}
		}
		return false
	}}
}

// folderLicence holds what the notices of one folder say.
type folderLicence struct {
	manifest   bool
	expression string // from package.json
	texts      []string
	names      []string // names of the licences in texts
}

func (f *folderLicence) add(notice Notice) {
	if path.Base(notice.Path) == "package.json" {
		f.manifest, f.expression = true, manifestLicence(notice.Text)
		return
	}
	f.texts = append(f.texts, notice.Text)
	for _, name := range ofText(notice.Text) {
		if !slices.Contains(f.names, name) {
			f.names = append(f.names, name)
		}
	}
}

// speaks reports whether the folder has its own licence. A bundled package must have one; any other
// package.json without a licence leaves it to the folder above.
func (f *folderLicence) speaks(dir string) bool {
	if len(f.texts) > 0 || f.expression != "" {
		return true
	}
	parent := path.Dir(dir)
	return f.manifest && (path.Base(parent) == "node_modules" || path.Base(path.Dir(parent)) == "node_modules" && strings.HasPrefix(path.Base(parent), "@"))
}

// name returns the licence in the manifest, unless the texts beside it name more.
func (f *folderLicence) name() string {
	if declared := OfExpression(f.expression, nil); declared != Unknown && declared == f.verdict() {
		return f.expression
	}
	return strings.Join(f.names, " AND ")
}

// verdict checks the manifest against the texts beside it, unless the manifest leaves a choice:
// then the text of the other licence may be there too.
func (f *folderLicence) verdict() Verdict {
	texts := Unknown
	if len(f.names) > 0 {
		texts = Permissive
		for _, name := range f.names {
			texts = both(texts, ofName(name))
		}
	}
	declared := OfExpression(f.expression, nil)
	switch {
	case f.expression == "" || declared == Unknown:
		return texts
	case declared == Permissive && texts == Restricted && !slices.Contains(expressionWords(f.expression), "or"):
		return Restricted
	}
	return declared
}

// manifestLicence reads the licence in package.json: "license", or its old forms with an object or
// a list.
func manifestLicence(text string) string {
	var manifest struct {
		License  json.RawMessage `json:"license"`
		Licenses json.RawMessage `json:"licenses"`
	}
	if json.Unmarshal([]byte(strings.TrimPrefix(text, "\ufeff")), &manifest) != nil {
		return ""
	}
	if name := licenceField(manifest.License); name != "" {
		return name
	}
	return licenceField(manifest.Licenses)
}

func licenceField(field json.RawMessage) string {
	var name string
	if json.Unmarshal(field, &name) == nil {
		return name
	}
	var one struct{ Type string }
	if json.Unmarshal(field, &one) == nil {
		return one.Type
	}
	var many []json.RawMessage
	if json.Unmarshal(field, &many) != nil {
		return ""
	}
	var names []string
	for _, item := range many {
		if name := licenceField(item); name != "" {
			names = append(names, name)
		}
	}
	return strings.Join(names, " OR ")
}
