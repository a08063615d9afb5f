package bookstest

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"remit/internal/toolsets/books"
)

// randomOperations runs random operations on a few keys that conflict with each other, and compares
// the store with a map.
func randomOperations(t *testing.T, s books.Store) {
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		run++ // each run has its own book
		m := &model{T: rt, t: t, store: s, prefix: fmt.Sprintf("books/%d/", run), kept: map[string]string{}}
		for range rapid.IntRange(1, 15).Draw(rt, "steps") {
			m.step()
		}
		m.compare("")
	})
}

// model is the expected content of a book.
type model struct {
	*rapid.T
	t      *testing.T
	store  books.Store
	prefix string
	kept   map[string]string
}

func (m *model) drawKey(label string) string {
	return m.prefix + rapid.SampledFrom([]string{"a", "a/b", "a/b/c", "a-b", "a.b/c", "b"}).Draw(m.T, label)
}

func (m *model) drawContent() string {
	return rapid.SampledFrom([]string{"", "x", "y", "some more"}).Draw(m.T, "content")
}

// drawCond draws a condition that may or may not hold for a key.
func (m *model) drawCond(key string) books.Cond {
	switch rapid.SampledFrom([]string{"none", "absent", "right", "any"}).Draw(m.T, "condition") {
	case "absent":
		return books.Cond{Absent: true}
	case "right":
		return books.Cond{Hash: HashOf(m.kept[key])}
	case "any":
		return books.Cond{Hash: HashOf(m.drawContent())}
	default:
		return books.Cond{}
	}
}

// step applies one random operation to the store and to the model.
func (m *model) step() {
	key := m.drawKey("key")
	switch rapid.SampledFrom([]string{"put", "put", "put", "delete", "delete", "copy", "get", "list"}).Draw(m.T, "act") {
	case "put":
		m.put(key, m.drawContent(), m.drawCond(key))
	case "delete":
		m.delete(key, m.drawCond(key))
	case "copy":
		m.copy(key, m.drawKey("to"), HashOf(m.drawContent()))
	case "get":
		m.get(key)
	case "list":
		m.compare(rapid.SampledFrom([]string{"", "a", "a/", "a/b", "a.b", "c"}).Draw(m.T, "prefix"))
	}
}

// refusal returns the expected error of a write under a condition, or nil.
func (m *model) refusal(key string, c books.Cond) error {
	content, there := m.kept[key]
	switch {
	case there && (c.Absent || c.Hash != "" && c.Hash != HashOf(content)):
		return &books.ConflictError{Actual: HashOf(content)}
	case !there && c.Hash != "":
		return &books.ConflictError{}
	default:
		return nil
	}
}

// taken returns books.ErrPathConflict if a new key is a parent path of an existing key or below
// one, and nil otherwise.
func (m *model) taken(key string) error {
	if _, there := m.kept[key]; there {
		return nil
	}
	for other := range m.kept {
		if strings.HasPrefix(other, key+"/") || strings.HasPrefix(key, other+"/") {
			return books.ErrPathConflict
		}
	}
	return nil
}

func (m *model) put(key, content string, c books.Cond) {
	want := m.refusal(key, c)
	if want == nil {
		want = m.taken(key)
	}
	stored, created, err := putIf(m.t, m.store, key, content, c)
	m.same("put "+key, err, want)
	if want != nil {
		return
	}
	_, there := m.kept[key]
	if created == there || stored.Hash != HashOf(content) || stored.Size != int64(len(content)) {
		m.Fatalf("put %s: %+v, created %v", key, stored, created)
	}
	m.kept[key] = content
}

func (m *model) delete(key string, c books.Cond) {
	want := m.refusal(key, c)
	existed, err := m.store.Delete(m.t.Context(), key, c)
	m.same("delete "+key, err, want)
	if _, there := m.kept[key]; want == nil && existed != there {
		m.Fatalf("delete %s: existed %v", key, existed)
	}
	if want == nil {
		delete(m.kept, key)
	}
}

func (m *model) copy(from, to, hash string) {
	content, there := m.kept[from]
	want := m.taken(to)
	if !there {
		want = &books.ConflictError{}
	} else if HashOf(content) != hash && want == nil { // if both fail, either error is accepted
		want = &books.ConflictError{Actual: HashOf(content)}
	}
	err := m.store.Copy(m.t.Context(), from, to, hash)
	if errors.Is(want, books.ErrPathConflict) && HashOf(content) != hash && errors.Is(err, books.ErrConflict) {
		return
	}
	m.same("copy "+from+" to "+to, err, want)
	if _, stays := m.kept[to]; want == nil && !stays {
		m.kept[to] = content
	}
}

// same compares the kinds of two errors, and the hash of a conflict.
func (m *model) same(act string, err, want error) {
	var got, wanted *books.ConflictError
	ok := errors.Is(err, want)
	if errors.As(want, &wanted) {
		ok = errors.As(err, &got) && got.Actual == wanted.Actual
	}
	if !ok {
		m.Fatalf("%s: error %v, want %v", act, err, want)
	}
}

func (m *model) get(key string) {
	want, there := m.kept[key]
	body, err := m.store.Open(m.t.Context(), key)
	if !there {
		m.same("open "+key, err, books.ErrNotFound)
		return
	}
	if err != nil {
		m.Fatalf("open %s: %v", key, err)
	}
	got, err := io.ReadAll(body)
	if err = errors.Join(err, body.Close()); err != nil || string(got) != want {
		m.Fatalf("%s holds %q, want %q, error %v", key, got, want, err)
	}
}

func (m *model) compare(prefix string) {
	var want []string
	for _, key := range slices.Sorted(maps.Keys(m.kept)) {
		if strings.HasPrefix(key, m.prefix+prefix) {
			want = append(want, key)
			m.get(key)
		}
	}
	if got := keys(m.t, m.store, m.prefix+prefix); !slices.Equal(got, want) {
		m.Fatalf("%q lists %q, want %q", m.prefix+prefix, got, want)
	}
}
