package fetch

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	mit = "Permission is hereby granted, free of charge, to any person obtaining a copy"
	gpl = "under the terms of the GNU General Public License"
)

// entry is a file of a small archive, in the order given.
type entry struct{ name, text string }

func put(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
}

func putTgz(t *testing.T, path string, entries ...entry) {
	t.Helper()
	var out bytes.Buffer
	packed := gzip.NewWriter(&out)
	files := tar.NewWriter(packed)
	for _, e := range entries {
		header := &tar.Header{Name: e.name, Mode: 0o644, Size: int64(len(e.text)), Typeflag: tar.TypeReg}
		if err := files.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := files.Write([]byte(e.text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := files.Close(); err != nil {
		t.Fatal(err)
	}
	if err := packed.Close(); err != nil {
		t.Fatal(err)
	}
	put(t, path, out.Bytes())
}

func putZip(t *testing.T, path string, entries ...entry) {
	t.Helper()
	var out bytes.Buffer
	files := zip.NewWriter(&out)
	for _, e := range entries {
		file, err := files.Create(e.name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.Write([]byte(e.text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := files.Close(); err != nil {
		t.Fatal(err)
	}
	put(t, path, out.Bytes())
}

// putDeb builds a package with dpkg-deb. A text that starts with -> makes a link.
func putDeb(t *testing.T, cache string, p Package, entries ...entry) {
	t.Helper()
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		t.Skip("no dpkg-deb")
	}
	root := t.TempDir()
	control := "Package: " + p.Name + "\nVersion: " + p.Version + "\nArchitecture: " + p.Arch + "\nMaintainer: A <a@example.org>\nDescription: x\n"
	put(t, filepath.Join(root, "DEBIAN/control"), []byte(control))
	for _, e := range entries {
		path := filepath.Join(root, e.name)
		target, isLink := strings.CutPrefix(e.text, "->")
		if !isLink {
			put(t, path, []byte(e.text))
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, path); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Dir(p.Path(cache)), 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("dpkg-deb", "--build", "-Znone", "--root-owner-group", root, p.Path(cache)).CombinedOutput(); err != nil {
		t.Fatalf("dpkg-deb: %v: %s", err, out)
	}
}

// contents opens a package and returns its files as "name: text", in their order.
func contents(t *testing.T, cache string, p Package) []string {
	t.Helper()
	archive, err := Open(cache, p)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := archive.Close(); err != nil {
			t.Error(err)
		}
	}()
	var all []string
	for file := range archive.Files() {
		text, err := file.Read()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, file.Name+": "+string(text))
	}
	return all
}

func TestOpenNpm(t *testing.T) {
	cache := t.TempDir()
	p := Package{Kind: Npm, Name: "@a/b", Version: "1.0.0"}
	putTgz(
		t, p.Path(cache), entry{"package/z.js", "z"}, entry{"package/package.json", `{"license":"MIT"}`},
		entry{"package/lib/" + strings.Repeat("long", 60) + ".js", "deep"}, entry{"package/a.js", "old"}, entry{"package/a.js", "new"},
		entry{"package/../../evil.js", "evil"}, entry{"package/node_modules/c/package.json", `{"license":"GPL-3.0"}`},
		entry{"package/node_modules/c/c.js", "c"}, entry{"package/header.js", "// " + gpl + "\n"},
	)
	want := []string{
		"a.js: new", "header.js: ", "lib/" + strings.Repeat("long", 60) + ".js: deep", `package.json: {"license":"MIT"}`, "z.js: z",
	}
	if diff := cmp.Diff(want, contents(t, cache, p)); diff != "" {
		t.Error(diff)
	}
}

func TestOpenGo(t *testing.T) {
	cache := t.TempDir()
	p := Package{Kind: Go, Name: "example.org/A", Version: "v1.2.3"}
	root := "example.org/A@v1.2.3/"
	putZip(
		t, p.Path(cache), entry{root + "b/b.go", "package b"}, entry{root + "LICENSE", mit}, entry{root + "a.go", "package a"},
		entry{root + "gpl/LICENSE", gpl}, entry{root + "gpl/x.go", "package gpl"}, entry{root + "b.go", ""},
	)
	want := []string{"LICENSE: " + mit, "a.go: package a", "b.go: ", "b/b.go: package b"}
	if diff := cmp.Diff(want, contents(t, cache, p)); diff != "" {
		t.Error(diff)
	}
}

func TestOpenDeb(t *testing.T) {
	cache := t.TempDir()
	p := Package{Kind: Deb, Name: "thing", Version: "1:1.0-1", Arch: "all"}
	const copyright = "Files: *\nLicense: Expat\n\nFiles: bad/*\nLicense: GPL-2\n"
	putDeb(t, cache, p, entry{"usr/share/doc/thing/copyright", copyright}, entry{"usr/lib/bad/x.py", "x"}, entry{"usr/lib/a.py", "a"})
	want := []string{"usr/lib/a.py: a", "usr/share/doc/thing/copyright: " + copyright}
	if diff := cmp.Diff(want, contents(t, cache, p)); diff != "" {
		t.Error(diff)
	}

	linked := Package{Kind: Deb, Name: "thing-doc", Version: p.Version, Arch: "all"}
	putDeb(t, cache, linked, entry{"usr/share/doc/thing-doc", "->thing"}, entry{"usr/lib/d.py", "d"})
	if diff := cmp.Diff([]string{"usr/lib/d.py: d"}, contents(t, cache, linked)); diff != "" {
		t.Error(diff)
	}

	lost := Package{Kind: Deb, Name: "thing-lost", Version: p.Version, Arch: "all"}
	putDeb(t, cache, lost, entry{"usr/share/doc/thing-lost", "->elsewhere"})
	if _, err := Open(cache, lost); err == nil || !strings.Contains(err.Error(), "copyright file is in deb:elsewhere 1:1.0-1") {
		t.Errorf("a link to a package that is not there: %v", err)
	}
}

func TestOpenBroken(t *testing.T) {
	cache := t.TempDir()
	for _, p := range []Package{{Kind: Npm, Name: "a", Version: "1"}, {Kind: Go, Name: "a", Version: "v1"}, {Kind: Deb, Name: "a", Version: "1", Arch: "all"}} {
		if _, err := Open(cache, p); err == nil {
			t.Errorf("%s: a missing archive opens", p.ID())
		}
		put(t, p.Path(cache), []byte("no archive"))
		if _, err := Open(cache, p); err == nil || !strings.Contains(err.Error(), p.ID()) {
			t.Errorf("%s: a broken archive: %v", p.ID(), err)
		}
	}
}

func TestSurvey(t *testing.T) {
	cache := t.TempDir()
	free, bound := Package{Kind: Npm, Name: "free", Version: "1.0.0"}, Package{Kind: Npm, Name: "bound", Version: "1.0.0"}
	mute, gone := Package{Kind: Npm, Name: "mute", Version: "1.0.0"}, Package{Kind: Npm, Name: "gone", Version: "1.0.0"}
	putTgz(t, free.Path(cache), entry{"package/package.json", `{"license":"ISC"}`})
	putTgz(t, bound.Path(cache), entry{"package/package.json", `{"license":"GPL-3.0"}`})
	putTgz(t, mute.Path(cache), entry{"package/package.json", `{}`})
	kept, dropped, err := Survey(context.Background(), cache, []Package{gone, free, mute, bound})
	if err != nil {
		t.Fatal(err)
	}
	free.Licence = "ISC"
	free.SHA256, _ = sumOf(free.Path(cache))
	if diff := cmp.Diff([]Package{free}, kept); diff != "" {
		t.Error(diff)
	}
	var reasons []string
	for _, d := range dropped {
		reasons = append(reasons, d.Package.Name+": "+d.Reason)
	}
	want := []string{"gone: not downloaded", "mute: no licence that is understood: ", "bound: not permissive: GPL-3.0"}
	if diff := cmp.Diff(want, reasons); diff != "" {
		t.Error(diff)
	}
}
