package books

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"remit/internal/contract"
)

// Change is one line of a book's history.
type Change struct {
	Version string `json:"version,omitempty"` // names it
	At      string `json:"at"`                // RFC 3339, in UTC
	By      string `json:"by"`
	Action  string `json:"action"`        // what was done: write, delete, upload, import, restore
	Path    string `json:"path"`          // in the book
	Old     string `json:"old,omitempty"` // SHA-256 of the content before; "" for none, or if it is not known
	New     string `json:"new,omitempty"` // and after
	Size    int64  `json:"size"`          // of the content after
}

// History gives the changes of a file, of all files in a folder, or of a whole book if
// the path is empty. The newest is first; there are at most so many, 0 is all.
func (l *Library) History(ctx context.Context, bookID, path string, most int) ([]Change, error) {
	path = strings.TrimSuffix(path, "/")
	if err := checkNames(bookID, path); err != nil {
		return nil, err
	}
	h, err := l.place(ctx, bookID)
	if err != nil {
		return nil, err
	}
	lines, err := l.linesOf(ctx, h, path)
	if err != nil {
		return nil, err
	}
	if most > 0 && len(lines) > most {
		lines = lines[:most]
	}
	changes := make([]Change, len(lines))
	err = inParallel(ctx, peopleAtOnce, len(lines), func(ctx context.Context, i int) error {
		e, err := l.entryAt(ctx, h, lines[i])
		changes[i] = changeOf(e)
		return err
	})
	return changes, err
}

// checkNames refuses what is no id of a book, and no path in one; "" is the whole book.
func checkNames(bookID, path string) error {
	if err := checkID(bookID); err != nil || path == "" {
		return err
	}
	return checkFile(path)
}

// linesOf lists the history beneath a path, the newest first. If there is none, there
// has to be something at the path at least.
func (l *Library) linesOf(ctx context.Context, h home, path string) ([]line, error) {
	lines, err := l.lines(ctx, h, path)
	if err != nil {
		return nil, err
	}
	lines = slices.DeleteFunc(lines, func(at line) bool {
		return path != "" && at.path != path && !strings.HasPrefix(at.path, path+"/")
	})
	slices.SortStableFunc(lines, func(a, b line) int { return strings.Compare(b.id, a.id) })
	if len(lines) > 0 {
		return lines, nil
	}
	for _, err := range h.store.List(ctx, h.key(path)) {
		return nil, failure(ctx, err)
	}
	if path == "" && h.registered {
		return nil, nil
	}
	return nil, l.missing(ctx, h, path)
}

func changeOf(e entry) Change {
	return Change{
		Version: e.ID, At: e.At.UTC().Format(time.RFC3339), By: e.By, Action: e.Op, Path: e.Path, Old: e.Old, New: e.New, Size: e.Size,
	}
}

// Restore brings an earlier version of a file back. The version is one of the history,
// which stands for what was there after it, or the beginning of a hash; "" is the
// version before the current one, or the last one of a file that is deleted. Restoring
// is a change like any other, so that it can be undone.
func (l *Library) Restore(ctx context.Context, bookID, path, version, by string) (Change, error) {
	if err := errors.Join(checkID(bookID), checkFile(path)); err != nil {
		return Change{}, err
	}
	h, err := l.writable(ctx, bookID)
	if err != nil {
		return Change{}, err
	}
	p, err := l.pastOf(ctx, h, path)
	if err != nil {
		return Change{}, err
	}
	hash, err := p.pick(version)
	if err != nil {
		return Change{}, err
	}
	c, err := l.kept(ctx, h, hash)
	if err != nil {
		return Change{}, err
	}
	done, err := l.write(ctx, h, path, c, edit{by: by, op: opRestore, expected: p.now})
	if err != nil {
		return Change{}, err
	}
	return Change{
		At: done.Modified.UTC().Format(time.RFC3339), By: by, Action: opRestore, Path: path, Old: p.now, New: hash, Size: done.Size,
	}, nil
}

// past is what a file was before.
type past struct {
	path    string
	now     string  // the hash of what is there; "" if nothing is
	entries []entry // the newest first
}

func (l *Library) pastOf(ctx context.Context, h home, path string) (past, error) {
	p := past{path: path}
	lines, err := l.linesOf(ctx, h, path)
	if err != nil {
		return p, err
	}
	lines = slices.DeleteFunc(lines, func(at line) bool { return at.path != path })
	p.entries = make([]entry, len(lines))
	err = inParallel(ctx, peopleAtOnce, len(lines), func(ctx context.Context, i int) (err error) {
		p.entries[i], err = l.entryAt(ctx, h, lines[i])
		return err
	})
	if err != nil {
		return p, err
	}
	live, err := current(ctx, h.store, h.key(path))
	p.now = live.Hash
	return p, failureAt(ctx, h.key(path), err)
}

// pick finds the hash that a version stands for.
func (p *past) pick(version string) (string, error) {
	if version == "" {
		at := p.latest()
		for _, e := range slices.Concat(p.entries[at:], p.entries[:at]) {
			if e.Old != "" && e.Old != p.now {
				return e.Old, nil
			}
		}
		return "", contract.Errorf(contract.NotFound, "%s has no earlier version", p.path).With("path", p.path)
	}
	found := p.matching(strings.ToLower(version))
	switch {
	case len(found) == 0:
		return "", contract.Errorf(contract.NotFound, "%s has no version %q; its log shows those that there are", p.path, version).With("path", p.path)
	case len(found) > 1:
		return "", contract.Errorf(contract.Invalid, "%q begins %d versions of %s; give more of it", version, len(found), p.path).With("path", p.path)
	case found[0] == "":
		return "", contract.Errorf(contract.Invalid, "In version %q %s was deleted; name the one before it", version, p.path).With("path", p.path)
	case found[0] == p.now:
		return "", contract.Errorf(contract.Invalid, "%s has that content now", p.path).With("path", p.path)
	}
	return found[0], nil
}

// latest is where the change is that made the file what it is. It need not be the first:
// the clocks of servers differ, and some take longer for a change than others.
func (p *past) latest() int {
	return max(0, slices.IndexFunc(p.entries, func(e entry) bool { return e.New == p.now && (p.now != "" || e.Op == opDelete) }))
}

// matching lists the hashes that the beginning of an id or of a hash stands for.
func (p *past) matching(version string) []string {
	var found []string
	add := func(name, hash string) {
		if strings.HasPrefix(strings.ToLower(name), version) && !slices.Contains(found, hash) {
			found = append(found, hash)
		}
	}
	for i, e := range p.entries {
		after := p.after(i)
		add(e.ID, after)
		for _, hash := range []string{e.Old, after} {
			if hash != "" {
				add(hash, hash)
			}
		}
	}
	return found
}

// after is the hash of what was there after a change; "" if nothing was.
func (p *past) after(i int) string {
	e := &p.entries[i]
	switch {
	case e.New != "" || e.Op == opDelete:
		return e.New
	case i > 0: // an upload past us: what came of it was seen later
		return p.entries[i-1].Old
	default:
		return p.now
	}
}

// kept opens what was replaced or deleted.
func (l *Library) kept(ctx context.Context, h home, hash string) (content, error) {
	key := keptKey(h.book.ID, hash)
	object, err := h.store.Stat(ctx, key)
	if errors.Is(err, ErrNotFound) {
		return content{}, contract.Errorf(contract.NotFound, "The content with the hash %.12s is not kept", hash).Because(err)
	}
	open := func() (io.ReadCloser, error) {
		body, err := h.store.Open(ctx, key)
		if err != nil {
			return nil, fmt.Errorf("open what was kept: %w", err)
		}
		return &unspoilt{body, sha256.New(), hash}, nil
	}
	return content{size: object.Size, hash: hash, open: open}, failureAt(ctx, key, err)
}

// unspoilt fails at the end of what was kept if it does not have its hash any more, so
// that it is not stored.
type unspoilt struct {
	io.ReadCloser
	sum  hash.Hash
	want string
}

func (u *unspoilt) Read(p []byte) (int, error) {
	n, err := u.ReadCloser.Read(p)
	u.sum.Write(p[:n])
	if errors.Is(err, io.EOF) && hex.EncodeToString(u.sum.Sum(nil)) != u.want {
		return n, contract.Errorf(contract.Unavailable, "What the history keeps with the hash %.12s is damaged, so it was not restored", u.want)
	}
	return n, err
}

// Changed gives a change of a file by its version, with the text before and the one
// after it; "" is that of a file which was not there.
func (l *Library) Changed(ctx context.Context, bookID, path, version string) (before, after string, c Change, err error) {
	if err := errors.Join(checkID(bookID), checkFile(path)); err != nil {
		return "", "", c, err
	}
	h, err := l.place(ctx, bookID)
	if err != nil {
		return "", "", c, err
	}
	p, err := l.pastOf(ctx, h, path)
	if err != nil {
		return "", "", c, err
	}
	at := slices.IndexFunc(p.entries, func(e entry) bool { return e.ID == version })
	if at < 0 {
		return "", "", c, contract.Errorf(contract.NotFound, "%s has no version %q; its history shows those that there are", path, version).With("path", path)
	}
	if before, err = l.textOf(ctx, h, &p, p.entries[at].Old); err == nil {
		after, err = l.textOf(ctx, h, &p, p.after(at))
	}
	return before, after, changeOf(p.entries[at]), err
}

// textOf reads the text that a file was when it had a hash.
func (l *Library) textOf(ctx context.Context, h home, p *past, hash string) (string, error) {
	if hash == "" {
		return "", nil
	}
	if hash == p.now {
		now, err := l.read(ctx, h.book.ID, p.path)
		return now.text, err
	}
	c, err := l.kept(ctx, h, hash)
	if err != nil {
		return "", err
	}
	if c.size > mostRead {
		return "", contract.Errorf(contract.TooLarge, "That version of %s has %d bytes; at most %d can be read as text", p.path, c.size, mostRead).With("path", p.path)
	}
	body, err := c.open()
	if err != nil {
		return "", failure(ctx, err)
	}
	defer func() { _ = body.Close() }()
	data, err := io.ReadAll(body)
	if err != nil {
		return "", failure(ctx, err)
	}
	if !utf8.Valid(data) {
		return "", contract.Errorf(contract.Invalid, "That version of %s is no text", p.path).With("path", p.path)
	}
	return string(data), nil
}
