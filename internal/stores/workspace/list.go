package workspace

import (
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"remit/internal/contract"
)

// maxEntries limits how many entries of a folder are read. A list helps to find a name; it is not
// guaranteed to be complete.
const maxEntries = 10_000

// child is a regular file or a folder in a folder.
type child struct {
	name   string
	folder bool
}

// List returns the paths that policy allows a caller to read in a folder ("." is the root), sorted:
// files by their path within the root, and folders that may hold such files with a slash at the
// end. It returns only names that begin with begins, ignoring letter case. It omits links, so that
// no name in the list leads to another place. A folder that policy refuses is Denied, whether or
// not it exists.
func (r *Root) List(folder, begins string, policy *contract.PathPolicy) ([]string, error) {
	q := request{root: r, name: folder, policy: policy}
	if policy == nil || !wellFormed(folder) {
		return nil, q.denied(nil)
	}
	clean := path.Clean(folder)
	if err := q.forbids(clean, true); err != nil {
		return nil, err
	}
	if !q.mayHold(clean) {
		return nil, q.denied(nil)
	}
	children, err := q.children(clean, func(name string) bool { return beginsWith(name, begins) })
	if err != nil {
		return nil, q.failed(err)
	}
	var names []string
	for _, c := range children {
		if name, ok := q.listed(path.Join(clean, c.name), c.folder); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

func beginsWith(name, begins string) bool {
	return len(name) >= len(begins) && strings.EqualFold(name[:len(begins)], begins)
}

// listed returns a path in the form of a list entry, if it may be listed.
func (q request) listed(name string, folder bool) (string, bool) {
	switch {
	case !wellFormed(name) || q.forbids(name, folder) != nil:
		return "", false
	case folder:
		return name + "/", q.mayHold(name)
	default:
		return name, q.policy.Allows(name)
	}
}

// mayHold reports whether a path inside a folder could be allowed.
func (q request) mayHold(folder string) bool {
	if len(q.policy.Allow) == 0 {
		return true
	}
	return slices.ContainsFunc(q.policy.Allow, func(pattern string) bool {
		return leadsBelow(segments(pattern), segments(folder))
	})
}

// leadsBelow reports whether a pattern could match a path inside a folder.
func leadsBelow(pattern, folder []string) bool {
	for i, step := range folder {
		switch {
		case i >= len(pattern):
			return false
		case pattern[i] == "**":
			return true
		case !doublestar.MatchUnvalidated(pattern[i], step):
			return false
		}
	}
	return len(pattern) > len(folder)
}
