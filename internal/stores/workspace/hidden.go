package workspace

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// hidden is what no tool may reach, whatever its policy says. It is known by
// name, so that it is refused before it exists, and by host path, so that it is
// recognized when it is reached by another name: a hard link, a bind mount, a
// link made later.
type hidden struct {
	names []string // beneath the root, lower case
	hosts []string
}

// hide works out what the host paths are called beneath a root that has two
// spellings.
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

// covers tells whether a clean path in plain spelling is hidden or lies within
// something hidden. Letter case does not count, because on many disks it does not.
func (h *hidden) covers(plain string) bool {
	lower := strings.ToLower(plain)
	return slices.ContainsFunc(h.names, func(name string) bool {
		rest, ok := strings.CutPrefix(lower, name)
		return ok && (rest == "" || rest[0] == '/')
	})
}

// beneath gives the slash-separated path that leads from folder to host, if
// host is the folder or lies in it.
func beneath(folder, host string) (string, bool) {
	name, err := filepath.Rel(folder, host)
	if err != nil || !filepath.IsLocal(name) {
		return "", false
	}
	return filepath.ToSlash(name), true
}

// RealPath gives the one name of a host path that may be reached by several: it follows the
// links in as much of it as exists.
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
