package books

import (
	"errors"

	"remit/internal/contract"
	"remit/internal/search/glob"
)

// compileGlob reads a pattern.
func compileGlob(pattern string) (*glob.Pattern, error) {
	p, err := glob.Compile(pattern)
	if err == nil {
		return p, nil
	}
	if syntax, ok := errors.AsType[*glob.SyntaxError](err); ok {
		return nil, contract.Errorf(contract.Invalid, "pattern is no glob pattern: %q; %s", pattern, syntax.Why).With("field", "pattern")
	}
	return nil, contract.Errorf(contract.Invalid, "pattern stands for more than %d patterns, with all that its braces allow; use fewer braces, or several calls", glob.Most).With("field", "pattern")
}
