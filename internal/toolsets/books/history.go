package books

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strings"
)

// The history of a book is beside the books, in the store that the book is in:
//
//	.history/{book}/log/{path}/{id}.{by}.json   a line of the history of a file
//	.history/{book}/objects/{sha256}            what was replaced or deleted
const historyPrefix = ".history/"

// longestBy is how long a name in a key may get; a longer one is in the line alone.
const longestBy = 120

func keptKey(book, hash string) string { return historyPrefix + book + "/objects/" + hash }

func logPrefix(book, beneath string) string { return historyPrefix + book + "/log/" + beneath }

func logKey(book, path, id, by string) string {
	return logPrefix(book, path) + "/" + id + "." + escapeName(by) + ".json"
}

// escapeName spells a name in letters that a key may have. It gives "" for one that is
// too long.
func escapeName(name string) string {
	var out strings.Builder
	for _, b := range []byte(name) {
		if b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '-' {
			out.WriteByte(b)
		} else {
			fmt.Fprintf(&out, "_%02x", b)
		}
	}
	if out.Len() > longestBy {
		return ""
	}
	return out.String()
}

// unescapeName is false for what escapeName did not give, and for "".
func unescapeName(text string) (name string, ok bool) {
	name, err := url.PathUnescape(strings.ReplaceAll(text, "_", "%")) // no key has a %
	return name, err == nil && text != ""
}

// line is what the key of a line of the history tells.
type line struct {
	key, path, id string
	by            string // "" if only the line itself tells
}

// parseLine is false for a key that is no line of the history of the book.
func parseLine(book, key string) (line, bool) {
	rest, ok := strings.CutPrefix(key, logPrefix(book, ""))
	at := strings.LastIndexByte(rest, '/')
	if !ok || at < 0 {
		return line{}, false
	}
	parts := strings.Split(rest[at+1:], ".")
	if len(parts) != 3 || len(parts[0]) <= len(idForm) || parts[2] != "json" {
		return line{}, false
	}
	by, _ := unescapeName(parts[1])
	return line{key: key, path: rest[:at], id: parts[0], by: by}, true
}

// lines lists the history of the files beneath a folder of a book, or of one file, by
// path, and the oldest first.
func (l *Library) lines(ctx context.Context, h home, beneath string) ([]line, error) {
	var found []line
	for object, err := range h.store.List(ctx, logPrefix(h.book.ID, beneath)) {
		if err != nil {
			return nil, failure(ctx, err)
		}
		if one, ok := parseLine(h.book.ID, object.Key); ok {
			found = append(found, one)
		}
	}
	return found, nil
}

// entryAt reads a line of the history.
func (l *Library) entryAt(ctx context.Context, h home, at line) (entry, error) {
	body, err := h.store.Open(ctx, at.key)
	if err != nil {
		return entry{}, failureAt(ctx, at.key, err)
	}
	defer func() { _ = body.Close() }()
	data, err := io.ReadAll(io.LimitReader(body, 64<<10))
	if err != nil {
		return entry{}, failure(ctx, fmt.Errorf("read the history: %w", err))
	}
	e := entry{ID: at.id, Path: at.path}
	if err := json.Unmarshal(data, &e); err != nil {
		return entry{}, failure(ctx, fmt.Errorf("read the history: %s: %w", at.key, err))
	}
	return e, nil
}
