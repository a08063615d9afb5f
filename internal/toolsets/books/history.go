package books

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
)

// The history of a book is stored in the same store as the book:
//
//	.history/{book}/log/{path}/{id}.{by}.json   one record of a file's history
//	.history/{book}/objects/{sha256}            content that was replaced or deleted
const historyPrefix = ".history/"

// maxBy is the maximum length of a principal in a key. A longer one is only in the record.
const maxBy = 120

func keptKey(book, hash string) string { return historyPrefix + book + "/objects/" + hash }

func logPrefix(book, beneath string) string { return historyPrefix + book + "/log/" + beneath }

func logKey(book, path, id, by string) string {
	return logPrefix(book, path) + "/" + id + "." + escapeName(by) + ".json"
}

// escapeName encodes a principal in the characters that a key may contain. It returns "" for one
// that is too long.
func escapeName(name string) string {
	var out strings.Builder
	for _, b := range []byte(name) {
		if b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '-' {
			out.WriteByte(b)
		} else {
			fmt.Fprintf(&out, "_%02x", b)
		}
	}
	if out.Len() > maxBy {
		return ""
	}
	return out.String()
}

// unescapeName reverses escapeName. It returns false for "" and for texts that escapeName did not
// produce.
func unescapeName(text string) (name string, ok bool) {
	name, err := url.PathUnescape(strings.ReplaceAll(text, "_", "%")) // no key contains a %
	return name, err == nil && text != ""
}

// line is a history record as far as its key describes it.
type line struct {
	key, path, id string
	by            string // "" if only the record itself contains it
}

// parseLine parses the key of a history record. It returns false for any other key.
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

// ParseChange parses the keys that an audit record has of a change: of the file, and of the record
// in its history. It returns false if they are not those of a file of a book.
func ParseChange(key, line string) (book, path, version string, ok bool) {
	book, path, ok = splitKey(key)
	if !ok {
		return "", "", "", false
	}
	recorded, ok := parseLine(book, line)
	return book, path, recorded.id, ok && recorded.path == path
}

// lines lists the history of a file, or of the files below a folder of a book, ordered by path and
// the oldest first.
func (l *Library) lines(ctx context.Context, h location, beneath string) ([]line, error) {
	var found []line
	for object, err := range h.store.List(ctx, logPrefix(h.book.ID, beneath)) {
		if err != nil {
			return nil, failure(ctx, err)
		}
		if one, ok := parseLine(h.book.ID, object.Key); ok && l.Secrets.Rule(one.path, false) == "" {
			found = append(found, one)
		}
	}
	return found, nil
}

// entryAt reads a history record.
func (l *Library) entryAt(ctx context.Context, h location, at line) (entry, error) {
	e, err := readEntry(ctx, h.store, at.key)
	if err != nil {
		return entry{}, failureAt(ctx, at.key, err)
	}
	e.ID, e.Path = at.id, at.path
	return e, nil
}

// readEntry reads a history record without what its key says.
func readEntry(ctx context.Context, store Store, key string) (e entry, err error) {
	body, err := store.Open(ctx, key)
	if err != nil {
		return e, err
	}
	data, err := io.ReadAll(io.LimitReader(body, 64<<10))
	if err = errors.Join(err, body.Close()); err == nil {
		err = json.Unmarshal(data, &e)
	}
	if err != nil {
		return entry{}, fmt.Errorf("read history record: %w", err)
	}
	return e, nil
}
