package books

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"remit/internal/engine/audit"
)

// HistoryLines returns the keys of all lines of the histories, by the name of their store.
func (l *Library) HistoryLines(ctx context.Context) (lines map[string][]string, err error) {
	stores, err := l.stores(ctx)
	if err != nil {
		return nil, err
	}
	lines = map[string][]string{}
	for _, store := range []Store{stores.Main, stores.Other} {
		if store == nil {
			continue
		}
		for object, err := range store.List(ctx, historyPrefix) {
			if err != nil {
				return nil, failure(ctx, err)
			}
			book, _, _ := strings.Cut(strings.TrimPrefix(object.Key, historyPrefix), "/")
			if _, isLine := parseLine(book, object.Key); isLine {
				lines[store.Name()] = append(lines[store.Name()], object.Key)
			}
		}
	}
	return lines, nil
}

// Prove compares the books with the changes of them that were recorded. lines are those of
// HistoryLines from before the records were read. report gets how many files were compared.
func (l *Library) Prove(
	ctx context.Context, lines map[string][]string, changes []*audit.Announced, report func(done, total int),
) (c audit.Comparison, err error) {
	known, files := map[[2]string]*audit.Announced{}, map[[2]string]*provedFile{}
	entries := map[string]*audit.Announced{} // the last change of each book's entry in the registry
	for _, a := range changes {
		if strings.HasSuffix(a.Path, "/") {
			if a.Line == registryKey && (a.State == audit.Made || !a.Call.Settled) {
				entries[a.Path] = a
			}
			continue
		}
		known[[2]string{a.Store, a.Line}] = a
		if a.State == audit.Made || !a.Call.Settled {
			at := [2]string{a.Store, a.Path}
			if files[at] == nil {
				files[at] = &provedFile{stored: map[string]int{}}
			}
			files[at].add(a)
		}
	}
	first := slices.MinFunc(changes, func(a, b *audit.Announced) int { return a.Call.Time.Compare(b.Call.Time) }).Call.Time
	for store, keys := range lines {
		for _, key := range keys {
			a := known[[2]string{store, key}]
			switch {
			case a == nil && timeOf(key).After(first):
				c.Problems = append(c.Problems, fmt.Sprintf("%s: this line of the history has no record", key))
			case a != nil && a.State == audit.NotMade:
				c.Problems = append(c.Problems, fmt.Sprintf("%s: this line of the history names a change that was not made", key))
			}
		}
	}
	if err := l.proveLines(ctx, &c, known); err != nil {
		return c, err
	}
	done := 0
	for _, file := range files {
		done++
		report(done, len(files))
		if err := l.proveContent(ctx, &c, file); err != nil {
			return c, err
		}
	}
	slices.Sort(c.Problems)
	err = l.proveEntries(ctx, &c, entries)
	return c, err
}

// proveEntries notes the entries of the registry that are not what the last change has stored.
// People may edit the registry, so that is no problem.
func (l *Library) proveEntries(ctx context.Context, c *audit.Comparison, entries map[string]*audit.Announced) error {
	for path, a := range entries {
		h, _, err := l.locateChange(ctx, &a.Change)
		if err != nil {
			return err
		}
		now := ""
		if h.registered {
			now = entryDigest(&h.book)
		}
		if a.State == audit.Made && now != a.New {
			c.Notes = append(c.Notes, fmt.Sprintf("%s: the entry of %s was changed by hand after call %s at %s", registryKey, path, a.Call.ID,
				a.Call.Time.Format(time.RFC3339)))
		}
	}
	return nil
}

// proveLines checks that the history has a line of each change that was made.
func (l *Library) proveLines(ctx context.Context, c *audit.Comparison, known map[[2]string]*audit.Announced) error {
	now, err := l.HistoryLines(ctx)
	if err != nil {
		return err
	}
	exists := map[[2]string]bool{}
	for store, keys := range now {
		for _, key := range keys {
			exists[[2]string{store, key}] = true
		}
	}
	for at, a := range known {
		if a.State == audit.Made && !exists[at] {
			c.Problems = append(c.Problems, fmt.Sprintf("%s: the history has no line of call %s at %s", a.Path, a.Call.ID,
				a.Call.Time.Format(time.RFC3339)))
		}
	}
	return nil
}

// provedFile is what the records say about a file.
type provedFile struct {
	last *audit.Announced
	// How much more often a content was stored than replaced, by its hash: 1 for what is there now,
	// also if two processes have announced their changes in another order than they made them.
	stored map[string]int
}

func (f *provedFile) add(a *audit.Announced) {
	f.last = a
	if a.State == audit.Made {
		f.stored[a.New]++
		f.stored[a.Old]--
	}
}

// proveContent checks that a file has the content that its last change has stored.
func (l *Library) proveContent(ctx context.Context, c *audit.Comparison, f *provedFile) error {
	a := f.last
	if a.State != audit.Made {
		return nil // it is being changed
	}
	h, path, err := l.locateChange(ctx, &a.Change)
	if err != nil {
		return err
	}
	now, err := current(ctx, h.store, h.key(path))
	if err == nil && now.Hash != a.New && f.stored[now.Hash] <= 0 {
		c.Problems = append(c.Problems, fmt.Sprintf("%s: its content is not what call %s at %s has stored (SHA-256 %.12s, not %.12s)",
			a.Path, a.Call.ID, a.Call.Time.Format(time.RFC3339), orNone(now.Hash), orNone(a.New)))
	}
	return failure(ctx, err)
}

func orNone(hash string) string {
	if hash == "" {
		return "none"
	}
	return hash
}

// timeOf returns when a line of a history was made; the zero time for another key.
func timeOf(key string) time.Time {
	id := key[strings.LastIndexByte(key, '/')+1:]
	at, _ := time.Parse(idForm, id[:min(len(id), len(idForm))]) // the zero time if it is none
	return at
}
