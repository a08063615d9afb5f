// Package workspace resolves, checks and opens the paths that callers name within the root folder.
// All such paths go through this package. It does not know tools or contracts, except for path
// policies.
//
// A path is checked twice, as a name and as the place it leads to, and all checks are relative to
// open folders, never to a host path. So the file that was checked is the file that is opened, even
// if the tree changes meanwhile.
package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"remit/internal/contract"
)

// Root is the folder within which callers may name paths. It is safe for concurrent use, including
// Close.
type Root struct {
	given  string // absolute, as the operator spelled it
	real   string // absolute, free of links
	hidden hidden
	at     atomic.Pointer[place]

	// Follows, if not nil, reports whether Check may go on with the folder that the path leads to
	// now. It must be set before the root is used.
	Follows func() bool
}

// place is the folder that a root uses.
type place struct {
	dir  handle
	info fs.FileInfo
}

func openPlace(path string) (*place, error) {
	opened, err := openHandle(path)
	if err != nil {
		return nil, fmt.Errorf("open root: %w", err)
	}
	info, err := statHandle(opened)
	if err != nil {
		return nil, fmt.Errorf("open root: %w", errors.Join(err, opened.Close()))
	}
	return &place{opened, info}, nil
}

func (r *Root) dir() handle { return r.at.Load().dir }

// Open opens the root folder. hidden lists host paths, such as Remit's data folder and its
// configuration file, that no tool may reach, whether or not they are within the root or exist yet.
// Empty ones are ignored.
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
	opened, err := openPlace(real)
	if err != nil {
		return nil, err
	}
	r := &Root{given: given, real: real, hidden: h}
	r.at.Store(opened)
	return r, nil
}

// Check returns an error if the path of the root does not lead to the folder that was opened: it
// was moved, deleted or replaced, or its volume was unmounted.
func (r *Root) Check() error {
	used := r.at.Load()
	now, err := os.Stat(r.real)
	if err == nil && os.SameFile(now, used.info) {
		return nil
	}
	if err == nil && r.Follows != nil && r.Follows() {
		return r.follow(used)
	}
	return contract.Errorf(contract.Unavailable, "The folder of the workspace was moved, deleted or replaced, or its volume is not "+
		"mounted; put it back, or restart the server to go on with what is there now").Because(err)
}

// follow goes on with the folder that the path leads to now.
func (r *Root) follow(used *place) error {
	opened, err := openPlace(r.real)
	if err != nil {
		return contract.Errorf(contract.Unavailable, "The folder of the workspace cannot be opened; try again").Because(err)
	}
	if !r.at.CompareAndSwap(used, opened) {
		return opened.dir.Close() // another call was first
	}
	return used.dir.Close()
}

// Path returns the host path of a slash-separated path within the root.
func (r *Root) Path(name string) string { return filepath.Join(r.real, filepath.FromSlash(name)) }

// Close closes the folder. Later calls of the methods of r fail.
func (r *Root) Close() error { return r.dir().Close() }

// Within returns the slash-separated path of a host path within the root, and false if it is not
// inside of the root.
func (r *Root) Within(host string) (name string, ok bool) {
	if name, ok = beneath(r.given, host); !ok {
		name, ok = beneath(r.real, host)
	}
	return name, ok && name != "."
}

// CheckPath resolves name within the root and applies policy to the name as given and to the path
// that it resolves to. A path that policy refuses is Denied, whether or not it exists. Without a
// policy, every path is Denied.
func (r *Root) CheckPath(name string, policy *contract.PathPolicy) (*File, error) {
	q := request{root: r, name: name, policy: policy}
	if why := malformed(name); why != "" {
		return nil, q.notAllowed().With("details", why)
	}
	clean := path.Clean(name)
	if policy == nil {
		return nil, q.denied(nil)
	}
	if err := q.forbids(clean, false); err != nil {
		return nil, err
	}
	if !policy.Allows(clean) {
		return nil, q.notAllowed()
	}
	resolved, err := q.resolve(clean)
	if err != nil {
		return nil, q.failed(err)
	}
	return &File{request: q, clean: clean, resolved: resolved}, nil
}

// Limits for a path. Matching a path with patterns takes time that grows with the square of its
// elements, so neither a caller's name nor a repository's link may choose their number freely.
const (
	maxLength = 4096
	maxSteps  = 128
)

// wellFormed reports whether name could be a path within a root on any system: not too long,
// relative, slash-separated, and without "..".
func wellFormed(name string) bool { return malformed(name) == "" }

// malformed returns the reason why name cannot be a path within a root, or "". It checks only the
// text.
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

// request is an operation on one path with its policy. Its methods create the errors for the
// caller.
type request struct {
	root   *Root
	name   string // as the caller gave it
	policy *contract.PathPolicy
}

// forbids returns an error that names the rule if a clean path is denied, even if it is allowed as
// well. It checks only the text, so its result does not reveal what exists.
func (q request) forbids(clean string, folder bool) error {
	plain := plainSpelling(clean)
	if q.root.hidden.covers(plain) {
		return q.denied(nil)
	}
	rule := q.policy.Rule(clean, folder)
	if rule == "" && plain != clean {
		rule = q.policy.Rule(plain, folder)
	}
	if rule == "" {
		return nil
	}
	return q.denied(nil).With("rule", rule)
}

// File is a path that was checked and may be opened.
type File struct {
	request
	clean    string
	resolved string
}

// Name returns the clean path as the caller named it.
func (f *File) Name() string { return f.clean }

// Resolved returns the link-free path within the root that Name leads to.
func (f *File) Resolved() string { return f.resolved }

// ReadAll opens the checked path without following any link and returns its content. The error is
// TooLarge if the file is larger than the policy's Max, Invalid if it is a folder or not a regular
// file, NotFound if it does not exist, and Denied if the system refuses access or the path has
// become a link since it was checked.
func (f *File) ReadAll() ([]byte, fs.FileInfo, error) {
	file, err := f.open()
	if err != nil {
		return nil, nil, f.failed(err)
	}
	defer file.Close() // only read, so there is nothing to lose
	content, info, err := f.contentOf(file)
	if err != nil {
		return nil, nil, f.failed(err)
	}
	return content, info, nil
}

// Open opens the checked path without following any link, whatever the size of the file. It returns
// the same errors as ReadAll, except TooLarge.
func (f *File) Open() (io.ReadCloser, fs.FileInfo, error) {
	file, err := f.open()
	if err != nil {
		return nil, nil, f.failed(err)
	}
	info, err := file.Stat()
	if err != nil {
		return nil, nil, f.failed(errors.Join(err, file.Close()))
	}
	return file, info, nil
}

// OpenRead opens one of Remit's own files for reading, if policy allows it: the file itself, never
// the target of a link. It returns the same errors as ReadAll, except TooLarge.
func (r *Root) OpenRead(name string, policy *contract.PathPolicy) (*os.File, error) {
	file, err := r.CheckPath(name, policy)
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

// segments splits a path into its elements, without empty ones and ".".
func segments(p string) []string {
	steps := make([]string, 0, 1+strings.Count(p, "/"))
	for step := range strings.SplitSeq(p, "/") {
		if step != "" && step != "." {
			steps = append(steps, step)
		}
	}
	return steps
}

// isOurs reports whether name is valid for one of Remit's own files.
func isOurs(name string) bool { return fs.ValidPath(name) && name != "." }
