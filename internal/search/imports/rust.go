package imports

import (
	"remit/internal/search/lexical"
)

const (
	// rustModule is `mod x;`: the text is the module's name, with those of the modules written out around it, as in a::x,
	// and after a space the path of an attribute, if there is one.
	rustModule kind = iota + 1
	// rustInline is a module that is written out in the file, named in the same way.
	rustInline
	// rustPath is a path that begins with crate, self or super, as seen from the file's own module.
	rustPath
	// rustUse is a path that begins with a crate, or with a module of the file.
	rustUse
	// rustCrate is a path that begins with a crate.
	rustCrate
	// rustInclude is a file whose text is put in, relative to the file.
	rustInclude
)

// extractRust reads the modules, uses and paths of a Rust file, whatever they are conditional on. What macros are made
// from is not looked at.
func extractRust(content []byte) ([]spec, error) {
	p := rustParser{scanner: scan("rust", content)}
	for p.Tok.Kind != lexical.End && len(p.specs) < mostImports {
		p.item()
	}
	return p.specs, p.problem()
}
