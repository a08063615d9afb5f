package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"remit/internal/contract"
	"remit/internal/contract/catalog"
)

func source() fs.FS { return os.DirFS(filepath.Join(repository, sourceFolder)) }

func sourceSets(t *testing.T) []*contract.Set {
	t.Helper()
	sets, err := contract.LoadAll(source())
	if err != nil {
		t.Fatal(err)
	}
	return sets
}

// checkFiles compares the generated files with those of the repository.
func checkFiles(t *testing.T, files map[string][]byte) {
	t.Helper()
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(repository, name))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(got), string(want)); diff != "" {
			t.Errorf("%s is stale; run go generate ./...\n%s", name, diff)
		}
	}
}

// TestVersionGate: the version of a changed contract was raised enough. It is separate from
// TestContractsUpToDate, so that its message appears whether or not go generate was run.
func TestVersionGate(t *testing.T) {
	old, err := published(t.Context(), repository)
	if err != nil {
		t.Fatal(err)
	}
	if err := gate(old, sourceSets(t)); err != nil {
		t.Errorf("a contract changed more than its version says:\n%v", err)
	}
}

// TestPublished: without git the base is the file itself.
func TestPublished(t *testing.T) {
	t.Setenv("PATH", "")
	dir := t.TempDir()
	if _, err := published(t.Context(), dir); err == nil {
		t.Error("a missing catalog must be an error")
	}
	if err := os.MkdirAll(filepath.Join(dir, catalogFolder), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{catalogFile, hiddenFile} {
		if err := os.WriteFile(filepath.Join(dir, file), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if sets, err := published(t.Context(), dir); err != nil || sets != nil {
		t.Errorf("an empty catalog gives %v, %v", sets, err)
	}
	built, files, err := build(source())
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{catalogFile, hiddenFile} {
		if err := os.WriteFile(filepath.Join(dir, file), files[file], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	sets, err := published(t.Context(), dir)
	if err != nil || len(contract.Review(sets, sourceSets(t))) != 0 || len(sets) != len(built) {
		t.Errorf("the catalog gives %v, %v", sets, err)
	}
}

// TestContractsUpToDate: the generated files match the contract files.
func TestContractsUpToDate(t *testing.T) {
	_, files, err := build(source())
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 3 {
		t.Errorf("%d files are generated", len(files))
	}
	checkFiles(t, files)
	sets, err := catalog.Load()
	if err != nil {
		t.Fatalf("%v; run go generate ./...", err)
	}
	compiled, err := encode(sets)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(compiled, files[catalogFile]) {
		t.Error("the compiled catalog differs from the files; run go generate ./...")
	}
}

// copied returns the contract files in memory, so that a test can change them.
func copied(t *testing.T, tree fs.FS) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{}
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(name, ".yaml") {
			return err
		}
		data, err := fs.ReadFile(tree, name)
		files[name] = &fstest.MapFile{Data: data}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestBuildRefuses: build returns an error if lint finds a problem.
func TestBuildRefuses(t *testing.T) {
	files := copied(t, source())
	hello := files["learning/contracts/booster/hello.yaml"]
	hello.Data = []byte(strings.Replace(string(hello.Data), "title: Say hello\n", "", 1))
	if _, _, err := build(files); err == nil || err.Error() != "booster/hello: title: is missing" {
		t.Errorf("build = %v", err)
	}
	hello.Data = []byte("name: [")
	if _, _, err := build(files); err == nil || !strings.Contains(err.Error(), "booster/hello.yaml") {
		t.Errorf("build = %v", err)
	}
}

// TestRoundTrip: decoding a catalog returns the same contracts, including digests.
func TestRoundTrip(t *testing.T) {
	want := sourceSets(t)
	data, err := encode(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := catalog.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	if len(contract.Review(want, got)) != 0 || len(contract.Review(got, want)) != 0 {
		t.Errorf("they differ: %v", contract.Review(want, got))
	}
	for i, set := range want {
		if set.Instructions != got[i].Instructions || set.Description != got[i].Description || set.Title != got[i].Title {
			t.Errorf("set %s lost its texts", set.Name)
		}
		for j, c := range set.Contracts {
			other := got[i].Contracts[j]
			if c.Digest != other.Digest || c.Set != other.Set || c.Shape != other.Shape || c.Version != other.Version {
				t.Errorf("%s/%s became %s/%s %s", c.Set, c.Name, other.Set, other.Name, other.Digest)
			}
		}
	}
	if !bytes.HasPrefix(data, []byte("{\n  \"note\": \"Code generated")) {
		t.Error("a generated file must say so at its beginning")
	}
}

// TestGate: the error has one line for each tool, which names the rule and the version to use.
func TestGate(t *testing.T) {
	const noteTool = "name: add_note\ntitle: Add a note\nversion: 1.2.3\ninput: {type: object, properties: {kind: {type: string, enum: [idea, task], default: idea}}}\n"
	change := func(text string, pairs ...string) []byte { return []byte(strings.NewReplacer(pairs...).Replace(text)) }
	setOf := func(tools ...[]byte) []*contract.Set {
		files := fstest.MapFS{"_set.yaml": {Data: contract.DraftSet("demo")}}
		for i, tool := range tools {
			files[string(rune('a'+i))+".yaml"] = &fstest.MapFile{Data: tool}
		}
		set, err := contract.Load(files, ".")
		if err != nil {
			t.Fatal(err)
		}
		return []*contract.Set{set}
	}
	one, other := []byte(noteTool), change(noteTool, "add_note", "second")
	for _, tc := range []struct {
		name         string
		old, updated []*contract.Set
		want         []string
	}{
		{"nothing", setOf(one), setOf(one), nil},
		{"a version raised for nothing", setOf(one), setOf(change(noteTool, "1.2.3", "2.0.0")), nil},
		{"enough", setOf(one), setOf(change(noteTool, "idea, task", "idea", "1.2.3", "2.0.0")), nil},
		{"the first catalog", nil, setOf(one), nil},
		{"a tool added", setOf(one), setOf(one, other), nil},
		{"a title", setOf(one), setOf(change(noteTool, "Add a note", "Add one")), []string{
			"demo/add_note: title: it was changed, with no breaking change to parameters or response. That takes a PATCH bump: raise the version from 1.2.3 to at least 1.2.4",
		}},
		{"a version that goes back", setOf(change(noteTool, "1.2.3", "2.0.0")), setOf(change(noteTool, "1.2.3", "1.9.9")), []string{
			"demo/add_note: version: it went back from 2.0.0 to 1.9.9, so callers cannot tell which is newer. That takes a PATCH bump: raise the version from 2.0.0 to at least 2.0.1",
		}},
		{"a tool removed", setOf(one, other), setOf(one), []string{
			"demo/second: tool: it was removed, which breaks every caller. No version bump covers that: keep the tool, or move its callers to another tool first",
		}},
		{"a set removed", setOf(one), nil, []string{
			"demo/add_note: tool: it was removed, which breaks every caller. No version bump covers that: keep the tool, or move its callers to another tool first",
		}},
		{"two tools", setOf(one, other), setOf(change(noteTool, "default: idea", "default: task"), change(noteTool, "add_note", "second", "idea, task", "idea")), []string{
			`demo/add_note: input.kind: default went from "idea" to "task", which changes what an absent argument means. That takes a MINOR bump: raise the version from 1.2.3 to at least 1.3.0`,
			`demo/second: input.kind: enum went from ["idea","task"] to ["idea"], a breaking change to the parameters. That takes a MAJOR bump: raise the version from 1.2.3 to at least 2.0.0`,
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got []string
			if err := gate(tc.old, tc.updated); err != nil {
				got = strings.Split(err.Error(), "\n")
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
