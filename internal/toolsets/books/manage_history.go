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

// Change is one record of a book's history.
type Change struct {
	Version string `json:"version,omitempty"` // the id of the change
	At      string `json:"at"`                // RFC 3339, in UTC
	By      string `json:"by"`
	Action  string `json:"action"` // write, delete, upload, import, restore, remove or rename
	Path    string `json:"path"`   // in the book
	// SHA-256 of the content before; "" if there was none or it is unknown.
	Old  string `json:"old,omitempty"`
	New  string `json:"new,omitempty"` // SHA-256 of the content after
	Size int64  `json:"size"`          // of the content after the change
}

// History returns the changes of a file, of all files in a folder, or of a whole book if path is
// empty. It returns at most limit changes, the newest first; a limit of 0 means all.
func (l *Library) History(ctx context.Context, bookID, path string, limit int) ([]Change, error) {
	path = strings.TrimSuffix(path, "/")
	if err := checkNames(bookID, path); err != nil {
		return nil, err
	}
	h, err := l.locate(ctx, bookID)
	if err != nil {
		return nil, err
	}
	lines, err := l.linesOf(ctx, h, path)
	if err != nil {
		return nil, err
	}
	if limit > 0 && len(lines) > limit {
		lines = lines[:limit]
	}
	changes := make([]Change, len(lines))
	err = inParallel(ctx, maxParallel, len(lines), func(ctx context.Context, i int) error {
		e, err := l.entryAt(ctx, h, lines[i])
		changes[i] = changeOf(e)
		return err
	})
	return changes, err
}

// checkNames refuses an invalid book id and an invalid path in a book. The path "" means the whole
// book.
func checkNames(bookID, path string) error {
	if err := checkID(bookID); err != nil || path == "" {
		return err
	}
	return checkFile(path)
}

// linesOf lists the history below a path, the newest first. It returns an error if there is neither
// a history nor a file.
func (l *Library) linesOf(ctx context.Context, h location, path string) ([]line, error) {
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

// Restore restores an earlier version of a file. version is the id of a change, meaning the content
// after it, or the beginning of a hash. "" means the version before the current one, or the last
// version of a deleted file. A restore is recorded like any other change, so it can be undone.
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
	c, err := l.earlier(ctx, h, p, version)
	if err != nil {
		return Change{}, err
	}
	done, err := l.write(ctx, h, path, c, edit{by: by, op: opRestore, expected: p.now})
	if err != nil {
		return Change{}, err
	}
	return Change{
		At: done.Modified.UTC().Format(time.RFC3339), By: by, Action: opRestore, Path: path, Old: p.now, New: c.hash, Size: done.Size,
	}, nil
}

// earlier returns an earlier version of a file. It also searches the history from before the book
// was renamed, which is that of the old id.
func (l *Library) earlier(ctx context.Context, h location, p past, version string) (content, error) {
	hash, missing := p.pick(version)
	if missing == nil {
		return l.kept(ctx, h, hash)
	}
	i := slices.IndexFunc(p.entries, func(e entry) bool {
		return e.Op == opRename && e.New != "" && e.Book != nil && e.Book.ID != h.book.ID
	})
	if i < 0 || contract.AsError(missing).Kind != contract.NotFound {
		return content{}, missing
	}
	renamed := p.entries[i]
	h.book.ID = renamed.Book.ID
	before, err := l.pastOf(ctx, h, p.path)
	if err != nil {
		return content{}, missing // the old id has no history
	}
	// Later changes are those of another book.
	before.now = p.now
	before.entries = slices.DeleteFunc(before.entries, func(e entry) bool { return e.ID >= renamed.ID })
	c, err := l.earlier(ctx, h, before, version)
	if err != nil && contract.AsError(err).Kind == contract.NotFound {
		err = missing
	}
	return c, err
}

// past is the history of a file.
type past struct {
	path    string
	now     string  // the hash of the current content; "" if the file does not exist
	entries []entry // the newest first
}

func (l *Library) pastOf(ctx context.Context, h location, path string) (past, error) {
	p := past{path: path}
	lines, err := l.linesOf(ctx, h, path)
	if err != nil {
		return p, err
	}
	lines = slices.DeleteFunc(lines, func(at line) bool { return at.path != path })
	p.entries = make([]entry, len(lines))
	err = inParallel(ctx, maxParallel, len(lines), func(ctx context.Context, i int) (err error) {
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

// pick returns the hash that a version refers to.
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
		return "", contract.Errorf(contract.NotFound, "%s has no version %q; its log lists the versions", p.path, version).With("path", p.path)
	case len(found) > 1:
		return "", contract.Errorf(contract.Invalid, "%q is the beginning of %d versions of %s; give more characters", version, len(found), p.path).With("path", p.path)
	case found[0] == "":
		return "", contract.Errorf(contract.Invalid, "In version %q %s was deleted; name the version before it", version, p.path).With("path", p.path)
	case found[0] == p.now:
		return "", contract.Errorf(contract.Invalid, "%s already has that content", p.path).With("path", p.path)
	}
	return found[0], nil
}

// latest returns the index of the change that produced the current content. It need not be the
// first: servers' clocks differ, and changes take different times.
func (p *past) latest() int {
	return max(0, slices.IndexFunc(p.entries, func(e entry) bool { return e.New == p.now && (p.now != "" || deletes(e.Op)) }))
}

// matching returns the hashes that a prefix of an id or of a hash refers to.
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

// after returns the hash of the content after change i; "" if the file did not exist then.
func (p *past) after(i int) string {
	e := &p.entries[i]
	switch {
	case e.New != "" || deletes(e.Op):
		return e.New
	case i > 0: // a direct upload to the store: the next change recorded the result
		return p.entries[i-1].Old
	default:
		return p.now
	}
}

// kept opens content that was replaced or deleted.
func (l *Library) kept(ctx context.Context, h location, hash string) (content, error) {
	key := keptKey(h.book.ID, hash)
	object, err := h.store.Stat(ctx, key)
	if errors.Is(err, ErrNotFound) {
		return content{}, contract.Errorf(contract.NotFound, "No stored version has the hash %.12s", hash).Because(err)
	}
	open := func() (io.ReadCloser, error) {
		body, err := h.store.Open(ctx, key)
		if err != nil {
			return nil, fmt.Errorf("open stored content: %w", err)
		}
		return &verified{body, sha256.New(), hash, contract.Errorf(contract.Unavailable,
			"The history's copy of the content with the hash %.12s is damaged, so it was not restored", hash)}, nil
	}
	return content{size: object.Size, hash: hash, open: open}, failureAt(ctx, key, err)
}

// verified returns an error at the end of content that does not have its hash any more, so that
// damaged or changed content is not stored.
type verified struct {
	io.ReadCloser
	sum  hash.Hash
	want string
	err  error
}

func (u *verified) Read(p []byte) (int, error) {
	n, err := u.ReadCloser.Read(p)
	u.sum.Write(p[:n])
	if errors.Is(err, io.EOF) && hex.EncodeToString(u.sum.Sum(nil)) != u.want {
		return n, u.err
	}
	return n, err
}

// ChangeTexts returns a change of a file by its version, with the texts before and after it. The
// text is "" where the file did not exist.
func (l *Library) ChangeTexts(ctx context.Context, bookID, path, version string) (before, after string, c Change, err error) {
	if err := errors.Join(checkID(bookID), checkFile(path)); err != nil {
		return "", "", c, err
	}
	h, err := l.locate(ctx, bookID)
	if err != nil {
		return "", "", c, err
	}
	p, err := l.pastOf(ctx, h, path)
	if err != nil {
		return "", "", c, err
	}
	at := slices.IndexFunc(p.entries, func(e entry) bool { return e.ID == version })
	if at < 0 {
		return "", "", c, contract.Errorf(contract.NotFound, "%s has no version %q; its history lists the versions", path, version).With("path", path)
	}
	if before, err = l.textOf(ctx, h, &p, p.entries[at].Old); err == nil {
		after, err = l.textOf(ctx, h, &p, p.after(at))
	}
	return before, after, changeOf(p.entries[at]), err
}

// textOf returns the text of a file at the time it had a hash.
func (l *Library) textOf(ctx context.Context, h location, p *past, hash string) (string, error) {
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
	if c.size > maxRead {
		return "", contract.Errorf(contract.TooLarge, "That version of %s has %d bytes; at most %d can be read as text", p.path, c.size, maxRead).With("path", p.path)
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
		return "", contract.Errorf(contract.Invalid, "That version of %s is not text, so it cannot be shown", p.path).With("path", p.path)
	}
	return string(data), nil
}
