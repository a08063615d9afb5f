// Package workspace is the one room for paths a caller names: it resolves,
// judges and opens them beneath the root.
//
// A path is judged twice, as a name and as the place it leads to, and every
// question is answered relative to open folders, never by a host path. So what
// was judged is what is opened, however the tree changes meanwhile.
package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"remit/internal/contract"
)

// Root is the folder beneath which callers may name paths. It is safe for
// concurrent use, also with Close.
type Root struct {
	given  string // absolute, as the operator spelled it
	real   string // absolute, free of links
	hidden hidden
	dir    handle
}

// Open opens the folder. hidden are host paths (Remit's data folder, its
// configuration file) that no tool may reach, whether or not they lie beneath
// the root or exist yet; empty ones are ignored.
func Open(dir string, hidden ...string) (*Root, error) {
	given, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("locate root: %w", err)
	}
	real, err := filepath.EvalSymlinks(given)
	if err != nil {
		return nil, fmt.Errorf("resolve root: %w", err)
	}
	h, err := hide(hidden, given, real)
	if err != nil {
		return nil, err
	}
	opened, err := openHandle(real)
	if err != nil {
		return nil, fmt.Errorf("open root: %w", err)
	}
	return &Root{given: given, real: real, hidden: h, dir: opened}, nil
}

// Close lets go of the folder. Whatever is asked of r later fails.
func (r *Root) Close() error { return r.dir.Close() }

// Judge resolves name beneath the root and applies policy to the name as given
// and to what it resolves to; a path that policy refuses is Denied before
// anything tells whether it exists. Without a policy every path is Denied.
func (r *Root) Judge(name string, policy *contract.PathPolicy) (*File, error) {
	q := request{root: r, name: name, policy: policy}
	if why := malformed(name); why != "" {
		return nil, q.misnamed(why)
	}
	clean := path.Clean(name)
	if policy == nil || q.forbids(clean) || !policy.Allows(clean) {
		return nil, q.denied(nil)
	}
	resolved, err := q.resolve(clean)
	if err != nil {
		return nil, q.failed(err)
	}
	return &File{request: q, clean: clean, resolved: resolved}, nil
}

// The longest path that is looked at. To judge one by its patterns takes time
// that grows with the square of its steps, so nobody may choose their number:
// no caller by a name and no repository by a link.
const (
	maxLength = 4096
	maxSteps  = 128
)

// wellFormed tells whether name could be a path beneath a root on any system:
// of a sane length, relative, slash-separated, and without a step up.
func wellFormed(name string) bool { return malformed(name) == "" }

// malformed says why name could be no path beneath a root, if so. It looks at the
// text alone.
func malformed(name string) string {
	switch {
	case name == "":
		return "The path is empty"
	case len(name) > maxLength || strings.Count(name, "/") >= maxSteps:
		return "The path is too long"
	case name[0] == '/' || hasDrive(name):
		return "Absolute paths not allowed"
	case !utf8.ValidString(name) || strings.Contains(name, "\x00"):
		return "The path is not UTF-8 text"
	case strings.Contains(name, `\`):
		return "The path has a backslash; write / between folders"
	}
	for segment := range strings.SplitSeq(name, "/") {
		if segment == ".." {
			return "Path traversal not allowed"
		}
	}
	return ""
}

func hasDrive(name string) bool {
	if len(name) < 2 || name[1] != ':' {
		return false
	}
	letter := name[0] | 0x20
	return 'a' <= letter && letter <= 'z'
}

// request is one question about one path: who is told what, and by which rules.
type request struct {
	root   *Root
	name   string // as the caller gave it
	policy *contract.PathPolicy
}

// forbids tells whether a clean path is out of bounds, be it allowed or not. It
// looks at the text alone, so its answer says nothing about what exists.
func (q request) forbids(clean string) bool {
	plain := plainSpelling(clean)
	if q.root.hidden.covers(plain) || q.policy.Denies(clean) {
		return true
	}
	return plain != clean && q.policy.Denies(plain)
}

// File is a path that was judged and may be opened.
type File struct {
	request
	clean    string
	resolved string
}

// Name is the clean path as the caller named it.
func (f *File) Name() string { return f.clean }

// Resolved is where it leads inside the root, free of links.
func (f *File) Resolved() string { return f.resolved }

// ReadAll opens the judged path without following any link and returns its
// content: TooLarge if it is larger than the policy's Max, Invalid if it is a
// folder or not a regular file, NotFound if it is not there, Denied if the
// system refuses or the path has become a link since it was judged.
func (f *File) ReadAll() ([]byte, fs.FileInfo, error) {
	file, err := f.open()
	if err != nil {
		return nil, nil, f.failed(err)
	}
	defer file.Close() // only read: there is nothing to lose
	content, info, err := f.contentOf(file)
	if err != nil {
		return nil, nil, f.failed(err)
	}
	return content, info, nil
}

// OpenRead opens a file of ours for reading, if policy lets it through: the file
// itself, never what a link leads to. It fails as ReadAll does, whatever its size.
func (r *Root) OpenRead(name string, policy *contract.PathPolicy) (*os.File, error) {
	file, err := r.Judge(name, policy)
	if err != nil {
		return nil, err
	}
	if file.resolved != file.clean {
		return nil, file.denied(errors.New("the path leads through a link"))
	}
	opened, err := file.open()
	if err != nil {
		return nil, file.failed(err)
	}
	return opened, nil
}

// segments splits a path into its steps, leaving out those that lead nowhere.
func segments(p string) []string {
	steps := make([]string, 0, 1+strings.Count(p, "/"))
	for step := range strings.SplitSeq(p, "/") {
		if step != "" && step != "." {
			steps = append(steps, step)
		}
	}
	return steps
}

// isOurs tells whether name can be that of a file of ours.
func isOurs(name string) bool { return fs.ValidPath(name) && name != "." }
