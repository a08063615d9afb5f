//go:build unix

package workspace

import (
	"errors"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// maxLinks is how many links one name may lead through, as in Linux.
const maxLinks = 40

// walk finds out where a name leads, a step at a time and link by link, as the
// kernel would, but asks the rules before every step off the caller's own path.
type walk struct {
	request
	secrets []identity // hidden things, by whatever name they are met
	dirs    []int      // the folders entered and still open, the root first
	at      []string   // where the last of dirs is, free of links
	todo    []string   // the steps that are left; ".." only out of a link
	links   int
}

// resolve gives the link-free path that a clean path leads to inside the root.
func (q request) resolve(clean string) (string, error) {
	todo := segments(clean)
	w := walk{
		request: q,
		secrets: q.root.hidden.identities(),
		dirs:    make([]int, 0, 1+len(todo)),
		at:      make([]string, 0, len(todo)),
		todo:    todo,
	}
	resolved := ""
	err := q.root.dir.lend(func(root int) (err error) {
		w.dirs = append(w.dirs, root)
		defer w.backTo(0)
		resolved, err = w.run()
		return err
	})
	return resolved, err
}

func (w *walk) run() (string, error) {
	for len(w.todo) > 0 {
		step := w.todo[0]
		w.todo = w.todo[1:]
		if err := w.take(step); err != nil {
			return "", err
		}
	}
	return joined(w.at), nil
}

// take makes one step: up, down, or along a link.
func (w *walk) take(step string) error {
	if step == ".." {
		return w.up()
	}
	// Without a link, the whole path was judged before the walk began.
	if w.links > 0 && w.forbids(joined(w.at, step)) {
		return w.denied(errors.New("a link leads through a denied path"))
	}
	here, err := lookAt(w.dirs[len(w.dirs)-1], step)
	switch {
	case err != nil:
		return err
	case slices.Contains(w.secrets, here.identity):
		return w.denied(errors.New("the path leads to a hidden one"))
	case here.isLink():
		return w.follow(step)
	case len(w.todo) == 0:
		w.at = append(w.at, step)
		return nil
	case here.isFolder():
		return w.enter(step)
	default:
		return w.notFound(unix.ENOTDIR)
	}
}

func (w *walk) enter(step string) error {
	dir, err := openIn(w.dirs[len(w.dirs)-1], step, searchOnly, 0)
	if err != nil {
		return err
	}
	w.dirs = append(w.dirs, dir)
	w.at = append(w.at, step)
	return nil
}

// up goes back to the folder by which the walk came, which is what ".." means
// behind a link: the parent of the place, not of its name.
func (w *walk) up() error {
	if len(w.at) == 0 {
		return w.denied(errors.New("a link leaves the root"))
	}
	w.backTo(len(w.at) - 1)
	return nil
}

// backTo leaves folders until depth many beneath the root are left.
func (w *walk) backTo(depth int) {
	for _, dir := range w.dirs[depth+1:] {
		release(dir, w.dirs[0])
	}
	w.dirs, w.at = w.dirs[:depth+1], w.at[:depth]
}

// follow puts the target of a link in its place and judges the path that comes
// of it, before a step tells whether anything is there.
func (w *walk) follow(link string) error {
	if w.links++; w.links > maxLinks {
		return w.notFound(errors.New("too many links"))
	}
	target, err := readLink(w.dirs[len(w.dirs)-1], link)
	if err != nil {
		return err
	}
	steps := segments(target)
	if path.IsAbs(target) {
		inside, ok := w.root.inside(steps)
		if !ok {
			return w.denied(errors.New("a link leaves the root"))
		}
		w.backTo(0)
		steps = inside
	}
	w.todo = slices.Concat(steps, w.todo)
	if len(w.at)+len(w.todo) > maxSteps {
		return w.notFound(errors.New("links make the path too long"))
	}
	if w.forbids(joined(w.at, w.todo...)) {
		return w.denied(errors.New("a link leads to a denied path"))
	}
	return nil
}

// inside gives the steps that lead from the root to an absolute place in it.
func (r *Root) inside(steps []string) ([]string, bool) {
	for _, spelling := range []string{r.real, r.given} {
		base := segments(spelling)
		if len(steps) >= len(base) && slices.Equal(steps[:len(base)], base) {
			return steps[len(base):], true
		}
	}
	return nil, false
}

// joined gives the clean path of steps taken and steps to take; of none, ".".
func joined(at []string, more ...string) string {
	return path.Clean(strings.Join(slices.Concat(at, more), "/"))
}
