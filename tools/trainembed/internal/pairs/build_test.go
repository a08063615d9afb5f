package pairs

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"remit/tools/trainembed/internal/extract"
	"remit/tools/trainembed/internal/fetch"
)

// archive writes an npm package with these files, by name, to a cache.
func archive(t *testing.T, cache, name string, files ...[2]string) fetch.Package {
	t.Helper()
	p := fetch.Package{Kind: fetch.Npm, Name: name, Version: "1.0.0"}
	if err := os.MkdirAll(filepath.Dir(p.Path(cache)), 0o755); err != nil {
		t.Fatal(err)
	}
	disk, err := os.Create(p.Path(cache))
	if err != nil {
		t.Fatal(err)
	}
	packed := gzip.NewWriter(disk)
	out := tar.NewWriter(packed)
	for _, file := range append(files, [2]string{"package.json", `{"name":"x","license":"MIT"}`}) {
		header := tar.Header{Name: "package/" + file[0], Size: int64(len(file[1])), Mode: 0o644, Typeflag: tar.TypeReg}
		if err := out.WriteHeader(&header); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Write([]byte(file[1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(out.Close(), packed.Close(), disk.Close()); err != nil {
		t.Fatal(err)
	}
	return p
}

// build runs Build and returns the lines that it wrote.
func build(t *testing.T, o Options) (Stats, []Pair) {
	t.Helper()
	o.Out = filepath.Join(t.TempDir(), "pairs.jsonl.gz")
	stats, err := Build(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	var all []Pair
	for pair, err := range Read(o.Out) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, pair)
	}
	return stats, all
}

const (
	retries = "# Sending again\nA request that fails is sent again after a pause, which doubles each time up to a minute.\n"
	caching = "# What is kept\nOld entries are thrown away when the memory for them is full, the least used ones first.\n"
)

func TestBuild(t *testing.T) {
	cache := t.TempDir()
	first := archive(t, cache, "first", [2]string{"b.md", caching}, [2]string{"a.md", retries}, [2]string{"c.md", retries})
	second := archive(t, cache, "@other/second", [2]string{"a.md", retries}, [2]string{"LICENSE.md", caching},
		[2]string{"fr.md", "# Mémoire\nLes plus vieilles données sont jetées quand il ne reste plus assez de mémoire pour les garder toutes.\n"},
		[2]string{"a.js", "/** Doubles the pause between two calls. */\nfunction backoff(pause, limit) { return Math.min(2 * pause, limit); }\n"})
	stats, got := build(t, Options{Cache: cache, Packages: []fetch.Package{first, second, first}})
	want := []Pair{
		{"doc", "npm:first", "Sending again", "A request that fails is sent again after a pause, which doubles each time up to a minute."},
		{"doc", "npm:first", "What is kept", "Old entries are thrown away when the memory for them is full, the least used ones first."},
		{"js", "npm:@other/second", "Doubles the pause between two calls.", "function backoff(pause, limit) { return Math.min(2 * pause, limit); }"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if stats.Pairs != 3 || stats.Sources != 2 || stats.Repeated != 2 || stats.Kinds["doc"] != 2 || stats.Counts["npm:first"] != 2 {
		t.Errorf("counted %+v", stats)
	}
}

func TestBuildLeavesEvaluationOut(t *testing.T) {
	cache := t.TempDir()
	p := archive(t, cache, "first", [2]string{"a.md", retries}, [2]string{"b.md", caching})
	for name, set := range map[string]string{
		"equal question": `{"kind":"q","text":"sending AGAIN?"}`,
		"equal sentence": `{"kind":"d","text":"A thing. A request that fails is sent again after a pause, which doubles each time up to a minute! Another."}`,
		"twelve words":   `{"kind":"d","text":"one request that fails is sent again after a pause, which doubles each hour"}`,
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "set.jsonl")
			if err := os.WriteFile(path, []byte(set+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			stats, got := build(t, Options{Cache: cache, Packages: []fetch.Package{p}, Eval: []string{path}})
			if len(got) != 1 || got[0].A != "What is kept" || stats.Held != 1 {
				t.Errorf("held %d, got %v", stats.Held, got)
			}
		})
	}
}

func TestBuildIsTheSameEveryTime(t *testing.T) {
	cache := t.TempDir()
	var packages []fetch.Package
	for i := range 40 {
		var files [][2]string
		for j := range 1 + i%7 {
			text := strings.ReplaceAll(retries+caching, "a minute", fmt.Sprintf("%d or %s minutes", j, strings.Repeat("x", i+1)))
			files = append(files, [2]string{fmt.Sprintf("%d.md", j), text})
		}
		packages = append(packages, archive(t, cache, fmt.Sprintf("p%d", i), files...))
	}
	var first []byte
	for _, workers := range []int{1, 2, 7} {
		out := filepath.Join(t.TempDir(), "pairs.jsonl.gz")
		if _, err := Build(t.Context(), Options{Cache: cache, Packages: packages, Out: out, Workers: workers}); err != nil {
			t.Fatal(err)
		}
		bytes, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = bytes
		}
		if string(first) != string(bytes) {
			t.Errorf("%d workers give other bytes than one", workers)
		}
	}
}

func TestBuildFails(t *testing.T) {
	cache := t.TempDir()
	there := archive(t, cache, "there", [2]string{"a.md", retries})
	gone := fetch.Package{Kind: fetch.Npm, Name: "gone", Version: "1.0.0"}
	out := filepath.Join(t.TempDir(), "pairs.jsonl.gz")
	o := Options{Cache: cache, Packages: []fetch.Package{gone, there}, Out: out}
	if _, err := Build(t.Context(), o); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "npm:gone: fetch its archive first") {
		t.Errorf("a package that is not there: %v", err)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if _, err := Build(stopped, Options{Cache: cache, Packages: []fetch.Package{there}, Out: out}); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
	if _, err := Build(t.Context(), Options{Cache: cache, Packages: []fetch.Package{there}, Out: strings.TrimSuffix(out, ".gz")}); err == nil || !strings.Contains(err.Error(), "name the file pairs.jsonl.gz") {
		t.Errorf("a name that Read would take for an unpacked file: %v", err)
	}
	if left, err := os.ReadDir(filepath.Dir(out)); err != nil || len(left) > 0 {
		t.Errorf("a failure leaves %v, %v", left, err)
	}
}

func TestReadFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pairs.jsonl")
	if err := os.WriteFile(path, []byte("{\"k\":\"go\",\"a\":\"x\"}\n{"), 0o600); err != nil {
		t.Fatal(err)
	}
	var kinds []string
	var failed error
	for pair, err := range Read(path) {
		kinds, failed = append(kinds, pair.Kind), err
	}
	if len(kinds) != 2 || kinds[0] != "go" || failed == nil {
		t.Errorf("got %v, %v", kinds, failed)
	}
	for range Read(path) {
		break
	}
}

func TestGood(t *testing.T) {
	prose := "The server keeps what it was asked for, so that it need not be made again."
	for _, example := range []struct {
		name string
		pair extract.Pair
		want bool
	}{
		{"prose", extract.Pair{Kind: "doc", A: "What is kept", B: prose}, true},
		{"one word", extract.Pair{Kind: "doc", A: "Cache", B: prose}, false},
		{"one word with synonyms", extract.Pair{Kind: "syn", A: "cache", B: "store, memory, hoard, stash"}, true},
		{"short answer", extract.Pair{Kind: "go", A: "returns the size", B: "func size"}, false},
		{"foreign", extract.Pair{Kind: "doc", A: "What is kept", B: "サーバーは要求されたものを保持します the a of to"}, false},
		{"other language", extract.Pair{Kind: "doc", A: "Le cache", B: "Le serveur garde ce qui lui a demandé pour ne pas le refaire encore une fois"}, false},
		{"licence", extract.Pair{Kind: "doc", A: "What is given", B: "Permission is hereby granted, free of charge, to any person"}, false},
		{"numbers", extract.Pair{Kind: "py", A: "Table of the values", B: "def table(a, b): return [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17]"}, false},
	} {
		if got := good(example.pair); got != example.want {
			t.Errorf("%s: %v", example.name, got)
		}
	}
}

func TestSample(t *testing.T) {
	var all []extract.Pair
	for i := range 40_000 {
		all = append(all, extract.Pair{Kind: []string{"py", "prop", "lead", "py"}[i%4], A: strconv.Itoa(i)})
	}
	counts := map[string]int{}
	last := -1
	for _, pair := range sample(all) {
		counts[pair.Kind]++
		if at, err := strconv.Atoi(pair.A); err != nil || at <= last || at > last+8 {
			t.Fatalf("%s follows %d: %v", pair.A, last, err)
		} else {
			last = at
		}
	}
	if want := map[string]int{"py": 4500, "prop": 150, "lead": 6000}; !cmp.Equal(want, counts) {
		t.Errorf("got %v", counts)
	}
}
