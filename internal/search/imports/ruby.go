package imports

import (
	"path"
	"strings"

	"remit/internal/search/lexical"
)

// Kinds of imports in Ruby.
const (
	rubyFeature kind = iota // require 'x', autoload :X, 'x'
	rubyBeside              // require_relative 'x', and paths built from __dir__ or __FILE__
	rubyLoad                // load 'x.rb'
)

// extractRuby reads the requires anywhere in a Ruby file, as far as their arguments are constant.
func extractRuby(content []byte) ([]spec, error) {
	s := scan("ruby", content)
	var specs []spec
	for before := (lexical.Token{}); s.Tok.Kind != lexical.End; {
		at := s.Tok
		s.Next()
		switch {
		case at.Kind != lexical.Word || isRubyName(s, before, at):
		case at.FirstOnLine && (s.Tok.FirstOnLine || s.Tok.Kind == lexical.End) && (at.Text == "require" || at.Text == "require_relative"):
			s.malformed(at.Line, at.Text)
		case at.Text == "require":
			specs = s.rubyRequire(specs, at.Line, rubyFeature)
		case at.Text == "load":
			specs = s.rubyRequire(specs, at.Line, rubyLoad)
		case at.Text == "require_relative":
			specs = s.rubyRequire(specs, at.Line, rubyBeside)
		case at.Text == "autoload":
			s.Accept("(")
			if s.Accept(":") && s.Tok.Kind == lexical.Word {
				if s.Next(); s.Accept(",") {
					specs = s.rubyRequire(specs, at.Line, rubyFeature)
				}
			}
		}
		before = at
	}
	return specs, s.problem()
}

// isRubyName reports whether a word is just a name here: of a definition, a symbol, a key, or a
// member of anything but Kernel.
func isRubyName(s scanner, before, at lexical.Token) bool {
	switch {
	case before.Kind == lexical.Word && before.Text == "def":
		return true
	case before.Kind == lexical.Mark && before.Text == ":" && before.Start == at.Start-1:
		return true
	case before.Kind == lexical.Mark && before.Text == ".":
		return !strings.HasSuffix(s.Src[:before.Start], "Kernel")
	}
	return s.IsAt(":") && s.Tok.Start == at.End && !strings.HasPrefix(s.Src[s.Tok.Start:], "::")
}

// rubyRequire adds the file that an expression names: a string, or a path built from the file's own
// location.
func (s scanner) rubyRequire(specs []spec, line int, k kind) []spec {
	if s.Tok.FirstOnLine {
		return specs
	}
	if s.Accept("(") && s.IsAt(")") {
		s.malformed(line, "require")
	}
	if isText(s.Tok) {
		text := s.Tok.Text
		if rest, ok := strings.CutPrefix(text, "#{__dir__}/"); ok {
			text, k = rest, rubyBeside
		}
		if s.Next(); s.IsAt("+", "%", ".") && !s.Tok.FirstOnLine || strings.Contains(text, "#{") || text == "" {
			return specs
		}
		return append(specs, spec{text, line, k})
	}
	if text, ok := s.rubyPlace(); ok {
		return append(specs, spec{text, line, rubyBeside})
	}
	return specs
}

// rubyPlace reads an expression that names a file relative to the file itself.
func (s scanner) rubyPlace() (string, bool) {
	switch {
	case s.rubyFile("expand_path"):
		text := s.Tok.Text
		if !isText(s.Tok) || s.Next().Text != "," {
			return "", false
		}
		s.Next()
		if s.Accept("__FILE__") {
			return cutFile(text)
		}
		return text, s.rubyFolder()
	case s.rubyFile("join"):
		if !s.rubyFolder() {
			return "", false
		}
		parts := []string{}
		for s.Accept(",") && isText(s.Tok) {
			parts = append(parts, s.Tok.Text)
			s.Next()
		}
		return path.Join(parts...), len(parts) > 0 && s.IsAt(")")
	case s.rubyFolder():
		if !s.Accept("+") || !isText(s.Tok) {
			return "", false
		}
		return strings.TrimPrefix(s.Tok.Text, "/"), true
	}
	return "", false
}

// cutFile converts a path relative to a file into one relative to its folder.
func cutFile(text string) (string, bool) {
	joined := path.Join("file", text)
	return joined, joined != "file" && !strings.HasPrefix(joined, "file/")
}

// rubyFile skips the beginning of a call such as File.join, up to its arguments. It returns false
// if there is no such call.
func (s scanner) rubyFile(function string) bool {
	if !s.IsAt("File") || !strings.HasPrefix(s.Src[s.At:], "."+function+"(") {
		return false
	}
	for range 4 {
		s.Next()
	}
	return true
}

// rubyFolder skips __dir__ or File.dirname(__FILE__).
func (s scanner) rubyFolder() bool {
	if s.Accept("__dir__") {
		return true
	}
	return s.rubyFile("dirname") && s.Accept("__FILE__") && s.Accept(")")
}

// resolveRuby resolves what is required: from the file's folder, or in Ruby's load path: lib of the
// folders above and of every gem in the workspace, and in a Rails application the folders below
// app.
func resolveRuby(files Files, from string, specs []spec) []string {
	r := &ruby{files: files, from: from}
	return resolveEach(specs, r.file)
}

// A ruby resolves the requires of one file.
type ruby struct {
	files Files
	from  string
	roots []string // the load path, computed when first needed
}

// file finds the file that a spec refers to.
func (r *ruby) file(s spec) (string, bool) {
	switch s.kind {
	case rubyBeside:
		return r.at(path.Dir(r.from), s.text)
	case rubyLoad:
		return r.loaded(s.text)
	default:
		return r.feature(s.text)
	}
}

// at finds a file in a folder, with or without its extension.
func (r *ruby) at(folder, name string) (string, bool) {
	if !strings.HasSuffix(name, ".rb") {
		name += ".rb"
	}
	return fileIn(r.files, folder, name)
}

// feature finds what require names.
func (r *ruby) feature(name string) (string, bool) {
	if strings.HasPrefix(name, "./") || strings.HasPrefix(name, "../") {
		return r.at(path.Dir(r.from), name)
	}
	return firstFound(r.loadPath(), func(root string) (string, bool) { return r.at(root, name) })
}

// loaded finds what load names: a file with its extension, from the root or the file's folder, or
// in the load path.
func (r *ruby) loaded(name string) (string, bool) {
	if path.Ext(name) == "" {
		return "", false
	}
	folders := append([]string{path.Dir(r.from), "."}, r.loadPath()...)
	return firstFound(folders, func(folder string) (string, bool) { return fileIn(r.files, folder, name) })
}

// loadPath returns the folders in which Ruby searches, those of the file's own gem first.
func (r *ruby) loadPath() []string {
	if r.roots != nil {
		return r.roots
	}
	for folder := range upwards(path.Dir(r.from)) {
		if path.Base(folder) == "lib" {
			r.roots = append(r.roots, folder)
		}
		r.roots = append(r.roots, path.Join(folder, "lib"))
		switch path.Base(folder) {
		case "spec", "test":
			r.roots = append(r.roots, folder)
		}
		if r.files.Has(path.Join(folder, "config/application.rb")) {
			r.roots = append(r.roots, inFolder(r.files, path.Join(folder, "app"), "/")...)
		}
	}
	for parent := range upwards(path.Dir(r.from)) {
		r.roots = append(r.roots, r.gemsIn(parent)...)
	}
	return r.roots
}

// gemsIn returns the lib folders of the gems that are directly in a folder, or in its folder gems.
func (r *ruby) gemsIn(parent string) []string {
	var found []string
	for _, folder := range append(inFolder(r.files, parent, "/"), inFolder(r.files, path.Join(parent, "gems"), "/")...) {
		if len(inFolder(r.files, folder, ".gemspec")) > 0 {
			found = append(found, path.Join(folder, "lib"))
		}
	}
	return found
}
