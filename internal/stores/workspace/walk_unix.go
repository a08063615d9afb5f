//go:build unix

package workspace

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// maxLinks is the maximum number of links that one name may lead through, as in Linux.
const maxLinks = 40

// walk resolves a name one element and one link at a time, as the kernel would. Unlike the kernel,
// it applies the path rules before every step that leaves the caller's own path.
type walk struct {
	request
	secrets []identity // hidden files and folders, recognized under any name
	dirs    []int      // the open folders on the way, the root first
	at      []string   // the path of the last of dirs, free of links
	todo    []string   // the remaining elements; ".." comes only from a link
	links   int
}

// resolve returns the link-free path within the root that a clean path leads to.
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
	err := q.root.dir().lend(func(root int) (err error) {
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

// take makes one step: up, down, or through a link.
func (w *walk) take(step string) error {
	if step == ".." {
		return w.up()
	}
	// As long as there was no link, the whole path was checked before the walk began.
	if w.links > 0 {
		if err := w.forbids(joined(w.at, step), len(w.todo) > 0); err != nil {
			return fmt.Errorf("follow a link: %w", err)
		}
	}
	here, err := statAt(w.dirs[len(w.dirs)-1], step)
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

// up handles ".." in the target of a link: it goes to the parent of the current folder. That is the
// parent of the real folder, even if a link led to it.
func (w *walk) up() error {
	if len(w.at) == 0 {
		return w.denied(errors.New("a link leaves the root"))
	}
	w.backTo(len(w.at) - 1)
	return nil
}

// backTo closes folders until depth folders below the root remain open.
func (w *walk) backTo(depth int) {
	for _, dir := range w.dirs[depth+1:] {
		release(dir, w.dirs[0])
	}
	w.dirs, w.at = w.dirs[:depth+1], w.at[:depth]
}

// follow replaces a link by its target and checks the resulting path, before a step could reveal
// whether anything exists there.
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
	if err := w.forbids(joined(w.at, w.todo...), false); err != nil {
		return fmt.Errorf("follow a link: %w", err)
	}
	return nil
}

// inside returns the path elements from the root to an absolute path within it.
func (r *Root) inside(steps []string) ([]string, bool) {
	for _, spelling := range []string{r.real, r.given} {
		base := segments(spelling)
		if len(steps) >= len(base) && slices.Equal(steps[:len(base)], base) {
			return steps[len(base):], true
		}
	}
	return nil, false
}

// joined returns the clean path of the elements in at and more, or "." if there are none.
func joined(at []string, more ...string) string {
	return path.Clean(strings.Join(slices.Concat(at, more), "/"))
}
