package workspace

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// hidden holds the paths that no tool may reach, whatever its policy says. They are matched by
// name, so that they are denied before they exist, and by identity of the host path, so that they
// are also recognized under another name: a hard link, a bind mount, or a link created later.
type hidden struct {
	names []string // within the root, lower case
	hosts []string
}

// hide finds the names of host paths within a root that has two spellings.
func hide(paths []string, given, real string) (hidden, error) {
	var h hidden
	for _, p := range paths {
		if p == "" {
			continue
		}
		abs, err := filepath.Abs(p)
		if err != nil {
			return hidden{}, fmt.Errorf("locate hidden path: %w", err)
		}
		h.hosts = append(h.hosts, abs)
		for _, spelling := range []string{abs, RealPath(abs)} {
			if _, holds := beneath(spelling, real); holds {
				return hidden{}, fmt.Errorf("hide %s: the root %s lies within it", p, real)
			}
			h.add(spelling, given)
			h.add(spelling, real)
		}
	}
	return h, nil
}

func (h *hidden) add(host, root string) {
	if name, ok := beneath(root, host); ok {
		h.names = append(h.names, strings.ToLower(plainSpelling(name)))
	}
}

// covers reports whether a clean path in plain spelling is hidden or inside a hidden folder. It
// ignores letter case, because many file systems do.
func (h *hidden) covers(plain string) bool {
	lower := strings.ToLower(plain)
	return slices.ContainsFunc(h.names, func(name string) bool {
		rest, ok := strings.CutPrefix(lower, name)
		return ok && (rest == "" || rest[0] == '/')
	})
}

// beneath returns the slash-separated path from folder to host, if host is the folder or inside it.
func beneath(folder, host string) (string, bool) {
	name, err := filepath.Rel(folder, host)
	if err != nil || !filepath.IsLocal(name) {
		return "", false
	}
	return filepath.ToSlash(name), true
}

// RealPath returns the canonical name of a host path: it resolves the links in the part of the path
// that exists.
func RealPath(host string) string {
	resolved, err := filepath.EvalSymlinks(host)
	if err == nil {
		return resolved
	}
	parent := filepath.Dir(host)
	if parent == host {
		return host
	}
	return filepath.Join(RealPath(parent), filepath.Base(host))
}
