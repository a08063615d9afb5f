package contract

import (
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// PathPolicy says which paths one argument may name. Patterns are globs over
// slash-separated paths beneath the workspace root.
type PathPolicy struct {
	Arg   string   `json:"arg" yaml:"arg"`
	Allow []string `json:"allow,omitempty" yaml:"allow"` // none means every path
	Deny  []string `json:"deny,omitempty" yaml:"deny"`
	Max   Bytes    `json:"max,omitempty" yaml:"max"` // size of the file, 0 means no limit
}

// Allows tells whether the clean path matches an allow pattern.
func (p *PathPolicy) Allows(clean string) bool {
	return len(p.Allow) == 0 || matchesAny(p.Allow, clean)
}

// Denies tells whether the clean path, or a folder above it, matches a deny
// pattern. Letter case does not count, because on many disks it does not.
func (p *PathPolicy) Denies(clean string) bool {
	lower := strings.ToLower(clean)
	for at := lower; at != ""; at = at[:max(strings.LastIndexByte(at, '/'), 0)] {
		if matchesAny(p.Deny, at) {
			return true
		}
	}
	return false
}

func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return doublestar.MatchUnvalidated(pattern, name) })
}
