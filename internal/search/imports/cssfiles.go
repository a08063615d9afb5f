package imports

import (
	"path"
	"strings"
)

// stylesheet resolves the path of a style sheet, whose extension may be left out. In Sass it may be a part of others,
// whose name begins with an underscore, or a folder with an index.
func (r *nodeResolver) stylesheet(full string) (string, bool) {
	if file, ok := r.exact(full); ok {
		return file, true
	}
	if path.Ext(r.from) == ".less" {
		return r.firstExact(full+".less", full+".css")
	}
	folder, name := path.Split(full)
	part := folder + "_" + name
	return r.firstExact(
		full+".scss", part+".scss", full+".sass", part+".sass", part, full+".css", full+".less",
		full+"/_index.scss", full+"/index.scss", full+"/_index.sass", full+"/index.sass",
	)
}

func (r *nodeResolver) firstExact(candidates ...string) (string, bool) {
	for _, candidate := range candidates {
		if file, ok := r.exact(candidate); ok {
			return file, true
		}
	}
	return "", false
}

// link resolves an address in a page. One that begins with a slash is beneath the top of the site: the page's own folder
// or that of its package, or what they keep for the site as it is.
func (r *nodeResolver) link(text string) (string, bool) {
	folder := path.Dir(r.from)
	if !strings.HasPrefix(text, "/") {
		return r.exact(path.Join(folder, text))
	}
	candidates := []string{path.Join(folder, text), path.Join(folder, "public", text)}
	if p := r.packageOf(r.from); p != nil {
		candidates = append(candidates, path.Join(p.folder, text), path.Join(p.folder, "public", text))
	}
	return r.firstExact(candidates...)
}
