package books

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"

	"remit/internal/contract"
	"remit/internal/engine/audit"
)

// entryChange replaces the entry of a book in the registry.
type entryChange struct {
	from, to *Book // nil if there is no entry before or after the change
}

func (c *entryChange) bookID() string {
	if c.from != nil {
		return c.from.ID
	}
	return c.to.ID
}

// op returns how records name the change.
func (c *entryChange) op() string {
	switch {
	case c.from == nil:
		return opRegister
	case c.to == nil:
		return opUnregister
	}
	return opEdit
}

// entryDigest returns the digest of an entry of the registry, or "" if it is nil. The store is not
// part of it, because books can be moved to another one.
func entryDigest(b *Book) string {
	if b == nil {
		return ""
	}
	text, _ := json.Marshal([]string{b.ID, b.Title, b.Created, b.Status}) // texts can be encoded
	return hashOf(text)
}

// changeEntries changes entries of the registry with one conditional write. plan returns the
// changes of a registry; it may run several times. changeEntries writes nothing if there are none.
func (l *Library) changeEntries(ctx context.Context, plan func(known *list) ([]entryChange, error)) error {
	stores, err := l.stores(ctx)
	if err != nil {
		return err
	}
	return l.retry(ctx, registryKey, func() error {
		known, err := l.registry.fresh(ctx, l, stores.Main)
		if err != nil {
			return err
		}
		changes, err := plan(known)
		if err != nil || len(changes) == 0 {
			return err
		}
		text := known.text
		for i := range changes {
			if text, err = changeEntry(text, &changes[i]); err != nil {
				return err
			}
		}
		if len(text) > maxRegistry {
			return contract.Errorf(contract.Unavailable, "The book %s cannot be added: registry.yaml would have more than %d bytes",
				changes[0].bookID(), maxRegistry).With("path", registryKey)
		}
		return putRegistry(ctx, stores.Main, known.text, text, changes)
	})
}

// putRegistry announces the changes of entries, and replaces the registry.
func putRegistry(ctx context.Context, store Store, old, text []byte, changes []entryChange) error {
	var steps []*audit.Step
	report := func(state audit.State) {
		for _, step := range steps {
			step.Report(state)
		}
	}
	for i := range changes {
		c := &changes[i]
		step, err := audit.EffectFrom(ctx).Begin(ctx, audit.Change{
			Store: store.Name(), Op: c.op(), Path: Key(c.bookID(), ""), Size: int64(len(text)), Old: entryDigest(c.from), New: entryDigest(c.to),
			Line: registryKey, End: endOf(ctx, store),
		})
		if err != nil {
			report(audit.NotMade)
			return err
		}
		steps = append(steps, step)
	}
	_, _, err := store.Put(ctx, registryKey, bytes.NewReader(text), int64(len(text)), condOf(hashOf(old)))
	switch {
	case err == nil:
		report(audit.Made)
	case errors.Is(err, ErrConflict) || errors.Is(err, ErrPathConflict):
		report(audit.NotMade)
	}
	if errors.Is(err, ErrPathConflict) {
		return contract.Errorf(contract.Unavailable, "%s is a folder or a link, so books cannot be listed or added; "+
			"replace it with a file first", registryKey).With("path", registryKey)
	}
	return err
}

// changeEntry changes an entry in the text of a registry and leaves the rest unchanged.
func changeEntry(text []byte, c *entryChange) ([]byte, error) {
	if c.from == nil {
		return appendBook(text, c.to)
	}
	want, broken, err := parseRegistry(text)
	if err != nil {
		return nil, brokenRegistry(err)
	}
	at := slices.Index(want, *c.from)
	lines := strings.ReplaceAll(string(text), "\r\n", "\n") // the parser miscounts others
	changed, ok := "", at >= 0
	switch {
	case !ok:
	case c.to == nil:
		want = slices.Delete(want, at, at+1)
		changed, ok = removeEntry(lines, c.from.ID)
	default:
		want[at] = *c.to
		changed, ok = editEntry(lines, c.from, c.to)
	}
	if lines != string(text) {
		ok = ok && strings.ReplaceAll(lines, "\n", "\r\n") == string(text)
		changed = strings.ReplaceAll(changed, "\n", "\r\n")
	}
	if ok {
		after, stillBroken, err := parseRegistry([]byte(changed))
		ok = err == nil && slices.Equal(after, want) && len(stillBroken) == len(broken)
	}
	if !ok {
		return nil, contract.Errorf(contract.Unavailable, "The entry of the book %s cannot be changed in registry.yaml in its current form; "+
			"change it there by hand", c.from.ID).With("path", registryKey)
	}
	return []byte(changed), nil
}

// entryOf returns the fields of the first valid entry of a book, or nil.
func entryOf(text, bookID string) []*ast.MappingValueNode {
	entries, _ := entriesOf([]byte(text)) // none if it cannot be parsed
	for _, node := range entries {
		if book, err := bookOf(node); err == nil && book.ID == bookID {
			return pairsOf(node)
		}
	}
	return nil
}

// editEntry replaces the values of an entry that differ. The caller must parse the result to verify
// it.
func editEntry(text string, from, to *Book) (changed string, ok bool) {
	id := from.ID
	for _, field := range []struct{ name, from, to, written string }{
		{"title", from.Title, to.Title, strconv.Quote(to.Title)},
		{"status", from.Status, to.Status, to.Status},
		{"book_id", from.ID, to.ID, quoted(to.ID)},
	} {
		if field.from == field.to {
			continue
		}
		value := valueOf(entryOf(text, id), field.name)
		if value == nil {
			return "", false
		}
		token := value.GetToken()
		at := offsetOf(text, token.Position.Line, token.Position.Column)
		old := strings.TrimSpace(token.Origin)
		if at < 0 || old == "" || !strings.HasPrefix(text[at:], old) {
			return "", false
		}
		text = text[:at] + field.written + text[at+len(old):]
	}
	return text, true
}

// offsetOf returns the offset of a line and a column in characters, both counted from 1, or -1.
func offsetOf(text string, line, column int) int {
	at := 0
	for ; line > 1; line-- {
		next := strings.IndexByte(text[at:], '\n')
		if next < 0 {
			return -1
		}
		at += next + 1
	}
	for ; column > 1; column-- {
		_, size := utf8.DecodeRuneInString(text[at:])
		if size == 0 {
			return -1
		}
		at += size
	}
	return at
}

// removeEntry removes the lines of an entry. The comments before it and after it stay. The caller
// must parse the result to verify it.
func removeEntry(text, bookID string) (changed string, ok bool) {
	pairs := entryOf(text, bookID)
	if len(pairs) == 0 {
		return "", false
	}
	lines := strings.SplitAfter(text, "\n")
	isItem := func(line string) bool { return strings.HasPrefix(strings.TrimSpace(line)+" ", "- ") }
	first := pairs[0].Key.GetToken().Position.Line - 1
	for first >= 0 && !isItem(lines[first]) {
		first--
	}
	if first < 0 {
		return "", false
	}
	indent := strings.IndexByte(lines[first], '-')
	end := first + 1
	for i := end; i < len(lines); i++ {
		content := strings.TrimLeft(lines[i], " ")
		if strings.TrimSpace(content) == "" || content[0] == '#' {
			continue
		}
		if len(lines[i])-len(content) <= indent {
			break
		}
		end = i + 1
	}
	return strings.Join(slices.Delete(lines, first, end), ""), true
}
