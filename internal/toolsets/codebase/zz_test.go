package codebase

import (
	"context"
	"testing"
	"time"

	"remit/internal/contract/jsontree"
	"remit/internal/search/corpus"
	"remit/internal/search/tree"
)

func BenchmarkGrep(b *testing.B) {
	tr, err := tree.Open(tree.Options{Root: "/tmp/r6/t500", Env: func(string) (string, bool) { return "", false }})
	if err != nil {
		b.Fatal(err)
	}
	c := corpus.New(tr, corpus.Options{})
	defer tr.Close()
	defer c.Close()
	t := &Tools{Corpus: func() (*corpus.Corpus, error) { return c, nil }, Now: time.Now}
	for _, p := range []string{"func", "errServerClosedIdle", "no such words anywhere", "return"} {
		in := GrepIn{Pattern: p, CaseSensitive: true, Limit: 50, Context: 2, Output: "matches"}
		ctx, cancel := context.WithTimeout(context.Background(), 300*time.Second)
		t.Grep(ctx, in)
		time.Sleep(300 * time.Millisecond)
		b.Run(p, func(b *testing.B) {
			for b.Loop() {
				ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
				out, err := t.Grep(ctx, in)
				cancel()
				if err != nil {
					b.Fatal(err)
				}
				_ = out
			}
		})
		b.Run(p+"/json", func(b *testing.B) {
			out, _ := t.Grep(ctx, in)
			for b.Loop() {
				v, _ := jsontree.Of(out)
				_ = v.Append(nil)
			}
		})
		cancel()
	}
}
