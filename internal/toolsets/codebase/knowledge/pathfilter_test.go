package knowledge

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"remit/internal/search/chunk"
	"remit/internal/search/tree"
)

// denied sets a rule that was added after everything was indexed.
func denied(b *bench, o *Options) {
	rule := func(path string, folder bool) bool {
		return folder && path == "src/private" || path == "memory/secret.jsonl"
	}
	o.MemoryFolder = "memory"
	o.Skip = func() (func(string, bool) bool, error) { return rule, nil }
	o.Tree = func() (*tree.Tree, error) {
		return tree.Open(tree.Options{Root: b.root, Skip: rule, Env: func(string) (string, bool) { return "", false }})
	}
}

// indexed returns a bench where everything is indexed, including what is denied later.
func indexed(t *testing.T) *bench {
	b := newBench(t)
	b.write("src/private/auth/a.md", "# Launch codes\n\nThe launch codes are swordfish and trout.\n")
	b.write("src/private/auth/session:1.md", "# Launch codes\n\nThe swordfish of the session.\n")
	b.write("src/auth/b.md", "# Tractors\n\nTractors plough the fields all day.\n")
	b.memory.add("secret.jsonl", discoveryLine("rule", "auth", "2026-01-01", "the swordfish is never told"))
	x := b.open(func(o *Options) { o.MemoryFolder = "memory" })
	b.run(x)
	x.Close()
	b.memory.remove("secret.jsonl") // Memory leaves out what is denied
	return b
}

// hidesSwordfish checks that nothing denied is shown anywhere.
func hidesSwordfish(b *bench, x *Index) {
	b.t.Helper()
	for _, h := range b.search(x, Query{Text: "launch codes swordfish tractors"}).Hits {
		if strings.Contains(h.Content, "swordfish") {
			b.t.Errorf("%s is found: %s", h.Path, h.Content)
		}
	}
	overview, err := x.Overview(b.t.Context())
	if err != nil || len(overview.Newest) > 0 || len(overview.Types) > 0 {
		b.t.Errorf("%+v, %v", overview, err)
	}
	view, err := x.Module(b.t.Context(), "auth")
	if err != nil || len(view.Discoveries) > 0 || len(view.Files) != 1 || len(view.Docs) != 1 {
		b.t.Errorf("%+v, %v", view, err)
	}
}

// TestDeniedAfterwards: denied content is hidden from the first search on, before the files were
// examined.
func TestDeniedAfterwards(t *testing.T) {
	b := indexed(t)
	looking, proceed := make(chan struct{}), make(chan struct{})
	x := b.open(func(o *Options) {
		denied(b, o)
		open := o.Tree
		o.Tree = func() (*tree.Tree, error) {
			close(looking)
			<-proceed
			return open()
		}
	})
	x.limits.longest, x.limits.first, x.limits.fresh, x.limits.busy = 0, 0, 0, 0
	x.join()
	<-looking
	hidesSwordfish(b, x)
	close(proceed)
	x.Close()
	x = b.open(func(o *Options) { denied(b, o) })
	b.run(x)
	hidesSwordfish(b, x)
	if paths := b.store.paths(); !slices.Equal(paths, []string{"src/auth/b.md"}) {
		t.Errorf("%q is kept", paths)
	}
	b.sound(x)
}

// TestDeniedWhileNothingCanBeRead: denied content is hidden even if neither files nor memory can be
// read.
func TestDeniedWhileNothingCanBeRead(t *testing.T) {
	b := indexed(t)
	x := b.open(func(o *Options) {
		denied(b, o)
		o.Memory = brokenMemory{}
		o.Tree = func() (*tree.Tree, error) { return nil, errors.New("no files") }
	})
	hidesSwordfish(b, x)
	b.sound(x)
}

type brokenMemory struct{ Memory }

func (brokenMemory) Stamps(context.Context) (map[string]string, error) {
	return nil, errors.New("no memory")
}

// TestDeniedFromOthers: denied content is hidden that another process without the rule puts into
// the store.
func TestDeniedFromOthers(t *testing.T) {
	b := indexed(t)
	x := b.open(func(o *Options) { denied(b, o) })
	hidesSwordfish(b, x)
	s := Source{Path: "src/private/new.md", Chunks: []Chunk{{Chunk: chunk.Chunk{Source: chunk.Docs, Module: "auth", Text: "another swordfish"}}}}
	if _, err := b.store.Replace(t.Context(), []Source{s}); err != nil {
		t.Fatal(err)
	}
	hidesSwordfish(b, x)
}

// TestUnknownRule: nothing is shown until the rule is known.
func TestUnknownRule(t *testing.T) {
	b := indexed(t)
	unknown := errors.New("no rule")
	x := b.open(func(o *Options) {
		o.Skip = func() (func(string, bool) bool, error) { return nil, unknown }
	})
	if a, err := x.Search(t.Context(), Query{Text: "swordfish"}); !errors.Is(err, unknown) {
		t.Errorf("%+v, %v", a, err)
	}
}

// readOnly is a store that accepts no changes.
type readOnly struct{ Store }

func (readOnly) Replace(context.Context, []Source) (int64, error) { return 0, errors.New("read only") }

// TestAbsent: deleted files are shown nowhere, even if they cannot be removed from the store.
func TestAbsent(t *testing.T) {
	b := indexed(t)
	x := b.open(func(o *Options) {
		denied(b, o)
		o.Skip = nil
		o.Memory = nil
		o.Open = func(context.Context) (Store, error) { return readOnly{b.store}, nil }
	})
	b.search(x, Query{Text: "tractors"})
	x.catalog.setFile("memory:secret.jsonl", nil) // not the subject of this test
	hidesSwordfish(b, x)
}
