package books

import (
	"context"
	"errors"
	"io"
	"slices"
	"unicode/utf8"

	"remit/internal/contract"
)

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
