package books

import (
	"errors"

	"remit/internal/contract"
	"remit/internal/search/glob"
)

// globs is what a caller's pattern stands for.
type globs struct{ pattern *glob.Pattern }

// compileGlob reads a pattern.
func compileGlob(pattern string) (globs, error) {
	p, err := glob.Compile(pattern)
	if err == nil {
		return globs{p}, nil
	}
	if syntax, ok := errors.AsType[*glob.SyntaxError](err); ok {
		return globs{}, contract.Errorf(contract.Invalid, "pattern is no glob pattern: %q; %s", pattern, syntax.Why).With("field", "pattern")
	}
	return globs{}, contract.Errorf(contract.Invalid, "pattern stands for more than %d patterns, with all that its braces allow; use fewer braces, or several calls", glob.Most).With("field", "pattern")
}

// match tells whether a path is meant.
func (g globs) match(path string) bool { return g.pattern.Match(path) }
