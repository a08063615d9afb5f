package backup

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func noon() time.Time { return time.Date(2026, 1, 9, 12, 0, 0, 0, time.UTC) }

func silent(int64, int64) {}

// sample is the content of a small archive.
func sample() map[string]string {
	return map[string]string{
		"tables/tasks.jsonl": "{\"id\":1}\n{\"id\":2}\n", "memory/notes.md": "", "audit/2026-01-09.jsonl": "{}\n",
		"books/fs/books/b/lessons/a.md": strings.Repeat("lesson ", 50), "books/fs/books/b/lessons/b.md": strings.Repeat("lesson ", 50),
	}
}

// write writes an archive and returns its path.
func write(t testing.TB, name string, content map[string]string) string {
	t.Helper()
	w, err := Create(name, Header{Created: noon(), Program: "test"})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range slices.Sorted(maps.Keys(content)) {
		size := int64(len(content[path]))
		if strings.HasPrefix(path, Tables) {
			size = -1
		}
		e, err := w.Add(path, size, "", strings.NewReader(content[path]))
		if err != nil {
			t.Fatal(err)
		}
		e.Count, e.Modified = 7, noon()
	}
	path, _, err := w.Finish("tip")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// contents reads all entries of an archive.
func contents(t testing.TB, name string) map[string]string {
	t.Helper()
	a, err := Open(t.Context(), name, silent)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	err = a.Each(t.Context(), silent, func(e Entry, r io.Reader) error {
		text, err := io.ReadAll(r)
		found[e.Path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// kinds runs a test with the name of an archive in a file and in a folder.
func kinds(t *testing.T, run func(t *testing.T, name string)) {
	t.Helper()
	t.Run("file", func(t *testing.T) { run(t, filepath.Join(t.TempDir(), "a.tar.zst")) })
	t.Run("folder", func(t *testing.T) { run(t, filepath.Join(t.TempDir(), "a")+"/") })
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	kinds(t, func(t *testing.T, name string) {
		path := write(t, name, sample())
		if got := contents(t, path); !maps.Equal(got, sample()) {
			t.Errorf("read %q", got)
		}
		a, err := Open(t.Context(), name, silent)
		if err != nil {
			t.Fatal(err)
		}
		last := a.Manifest.Entries[len(a.Manifest.Entries)-1]
		if a.Header.Program != "test" || !a.Header.Created.Equal(noon()) || a.Manifest.Tip != "tip" || last.Count != 7 || !last.Modified.Equal(noon()) {
			t.Errorf("header %+v, manifest %+v", a.Header, a.Manifest)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("mode %v (%v)", info.Mode(), err)
		}
		for _, file := range filesIn(t, filepath.Dir(path)) {
			if strings.Contains(file, "part") || strings.Contains(file, ".remit-backup") {
				t.Errorf("%s was left", file)
			}
		}
	})
}

func filesIn(t testing.TB, folder string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// Each byte of each file of an archive is flipped, one at a time, and each file is cut and
// extended.
func TestEveryFlippedByteIsFound(t *testing.T) {
	kinds(t, func(t *testing.T, name string) {
		write(t, name, sample())
		n := 0
		for _, file := range filesIn(t, filepath.Dir(name)) {
			whole, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			check := func(what string, text []byte) {
				n++
				if err := os.WriteFile(file, text, 0o600); err != nil {
					t.Fatal(err)
				}
				if _, err := Open(t.Context(), name, silent); !errors.Is(err, ErrDamaged) {
					t.Errorf("%s, %s: %v", file, what, err)
				}
			}
			for i := range whole {
				text := bytes.Clone(whole)
				text[i] ^= 1 << (i % 8)
				check(fmt.Sprintf("byte %d", i), text)
			}
			check("cut", whole[:len(whole)-1])
			check("empty", nil)
			check("extended", append(bytes.Clone(whole), 0))
			check("doubled", append(bytes.Clone(whole), whole...))
			if err := os.WriteFile(file, whole, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Open(t.Context(), name, silent); err != nil || n < 500 {
			t.Errorf("%d changes; unchanged: %v", n, err)
		}
	})
}

// Files that were never archives are told from damaged ones.
func TestNoArchive(t *testing.T) {
	for _, text := range []string{"hello", strings.Repeat("A text. ", 100), "PK\x03\x04" + strings.Repeat("\x00", 200), "\x1f\x8b"} {
		name := filepath.Join(t.TempDir(), "a")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(t.Context(), name, silent); !errors.Is(err, ErrNoArchive) {
			t.Errorf("%.20q: %v", text, err)
		}
	}
}

// Equal contents are stored once, and each archive of a folder stays.
func TestFolderGrowsByWhatChanged(t *testing.T) {
	folder := t.TempDir()
	first := write(t, folder, sample())
	before := filesIn(t, filepath.Join(folder, objectsFolder))
	if len(before) != 5 { // header, table, empty file, records, and one for both lessons
		t.Errorf("%d objects: %v", len(before), before)
	}
	changed := sample()
	changed["memory/notes.md"] = "new\n"
	second := write(t, folder, changed)
	if after := filesIn(t, filepath.Join(folder, objectsFolder)); len(after) != len(before)+1 {
		t.Errorf("%d objects were added", len(after)-len(before))
	}
	if first == second || !maps.Equal(contents(t, first), sample()) || !maps.Equal(contents(t, folder), changed) {
		t.Error("an archive is not what was written")
	}
	w, err := Create(folder, Header{Created: noon()})
	if err != nil {
		t.Fatal(err)
	}
	hash := filepath.Base(before[0])[:64]
	for _, one := range []struct {
		hash   string
		unread int
	}{{hash, 1}, {strings.Repeat("0", 64), 0}, {"../../x", 0}} {
		r := strings.NewReader("x")
		if _, err := w.Add("memory/"+one.hash[:4], 1, one.hash, r); err != nil && !errors.Is(err, ErrDamaged) || err == nil && r.Len() != one.unread {
			t.Errorf("%s: %d bytes were not read (%v)", one.hash, r.Len(), err)
		}
	}
}

func TestNothingIsReplaced(t *testing.T) {
	folder := t.TempDir()
	name := filepath.Join(folder, "a")
	if err := os.WriteFile(name, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(name, Header{}); err == nil || !strings.Contains(err.Error(), "exists already") {
		t.Errorf("an existing file: %v", err)
	}
	if _, err := Create(folder, Header{}); err == nil || !strings.Contains(err.Error(), "is not a folder of archives") {
		t.Errorf("a folder with other files: %v", err)
	}
	w, err := Create(filepath.Join(folder, "b"), Header{})
	if err != nil {
		t.Fatal(err)
	}
	w.Discard()
	if left := filesIn(t, folder); len(left) != 1 {
		t.Errorf("left %v", left)
	}
	w, err = Create(filepath.Join(folder, "c"), Header{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Discard()
	if _, err := w.Add("memory/short", 5, "", strings.NewReader("1234")); err == nil {
		t.Error("an entry that is too short is accepted")
	}
}

// packed returns an archive file with this tar.
func packed(t testing.TB, text []byte) string {
	t.Helper()
	var out bytes.Buffer
	c, err := newCompressor(&out)
	if err == nil {
		_, err = c.Write(text)
	}
	if err == nil {
		err = c.Close()
	}
	name := filepath.Join(t.TempDir(), "a")
	if err = errors.Join(err, os.WriteFile(name, out.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	return name
}

// tarOf returns a tar with a valid manifest of some entries, and with other headers added.
func tarOf(t testing.TB, entries []tar.Header, text string) []byte {
	t.Helper()
	m := Manifest{Format: Format}
	header := `{"format":1}`
	all := append([]tar.Header{{Name: headerName}}, entries...)
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	put := func(h tar.Header, content string) Entry {
		h.Size = int64(len(content))
		if h.Typeflag == tar.TypeSymlink || h.Typeflag == tar.TypeLink || h.Typeflag == tar.TypeDir {
			h.Size, content = 0, ""
		}
		err := w.WriteHeader(&h)
		if err == nil {
			_, err = io.WriteString(w, content)
		}
		if err != nil {
			t.Fatal(err)
		}
		_, hash, _ := copyTo(io.Discard, strings.NewReader(content))
		return Entry{Path: h.Name, Size: h.Size, SHA256: hash}
	}
	for _, h := range all {
		content := text
		if h.Name == headerName {
			content = header
		}
		m.Entries = append(m.Entries, put(h, content))
	}
	list := []string{}
	for _, e := range m.Entries {
		list = append(list, fmt.Sprintf(`{"path":%q,"size":%d,"sha256":%q}`, e.Path, e.Size, e.SHA256))
	}
	put(tar.Header{Name: manifestName}, `{"format":1,"entries":[`+strings.Join(list, ",")+`],"tip":""}`)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// An archive whose hashes are right, but that somebody else has made.
func TestHostileArchivesAreRefused(t *testing.T) {
	if _, err := Open(t.Context(), packed(t, tarOf(t, []tar.Header{{Name: "memory/a"}}, "x")), silent); err != nil {
		t.Fatalf("a plain archive: %v", err)
	}
	for what, entries := range map[string][]tar.Header{
		"parent":        {{Name: "../a"}},
		"inner parent":  {{Name: "memory/../../a"}},
		"absolute":      {{Name: "/etc/passwd"}},
		"backslash":     {{Name: `memory\a`}},
		"drive":         {{Name: "C:/a"}},
		"control":       {{Name: "memory/a\x1b"}},
		"long":          {{Name: strings.Repeat("a/", 2000) + "a"}},
		"link":          {{Name: "memory/a", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}},
		"hard link":     {{Name: "memory/a", Typeflag: tar.TypeLink, Linkname: "header.json"}},
		"folder":        {{Name: "memory", Typeflag: tar.TypeDir}},
		"twice":         {{Name: "memory/a"}, {Name: "memory/a"}},
		"second header": {{Name: headerName}},
		"two manifests": {{Name: manifestName}},
	} {
		if _, err := Open(t.Context(), packed(t, tarOf(t, entries, "x")), silent); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", what, err)
		}
	}
	huge := tarOf(t, nil, "")
	if _, err := Open(t.Context(), packed(t, append(huge, "more"...)), silent); !errors.Is(err, ErrDamaged) {
		t.Errorf("more after the end: %v", err)
	}
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	if err := w.WriteHeader(&tar.Header{Name: "memory/a", Size: maxEntry + 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), packed(t, out.Bytes()), silent); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "has the size") {
		t.Errorf("an oversize entry: %v", err)
	}
}

func TestLinksInAFolderAreNotFollowed(t *testing.T) {
	folder := t.TempDir()
	write(t, folder, sample())
	file := filesIn(t, filepath.Join(folder, objectsFolder))[0]
	moved := filepath.Join(t.TempDir(), "x")
	if err := errors.Join(os.Rename(file, moved), os.Symlink(moved, file)); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), folder, silent); !errors.Is(err, ErrDamaged) {
		t.Errorf("a link: %v", err)
	}
}

func TestOpeningCanBeCancelled(t *testing.T) {
	kinds(t, func(t *testing.T, name string) {
		write(t, name, sample())
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := Open(ctx, name, silent); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	})
}

func TestKeys(t *testing.T) {
	keys := KeySet{"user": []byte("0123"), "seals": {0, 255}}
	text, err := keys.Encrypt("correct horse")
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecryptKeys(bytes.NewReader(text), "correct horse")
	if err != nil || !maps.EqualFunc(got, keys, bytes.Equal) || bytes.Contains(text, []byte("0123")) {
		t.Errorf("decrypted %v (%v)", got, err)
	}
	if _, err := DecryptKeys(bytes.NewReader(text), "wrong"); !errors.Is(err, ErrPassphrase) {
		t.Errorf("a wrong passphrase: %v", err)
	}
	if _, err := keys.Encrypt(""); err == nil {
		t.Error("an empty passphrase is accepted")
	}
}

// fuzzOpen opens an archive and reads all of it.
func fuzzOpen(t *testing.T, name string) {
	a, err := Open(t.Context(), name, silent)
	if err != nil {
		return
	}
	for _, e := range a.Manifest.Entries {
		if !filepath.IsLocal(filepath.FromSlash(e.Path)) {
			t.Errorf("the path %q leads elsewhere", e.Path)
		}
	}
	if err := a.Each(t.Context(), silent, func(_ Entry, r io.Reader) error { _, err := io.Copy(io.Discard, r); return err }); err != nil {
		t.Errorf("an archive that was checked: %v", err)
	}
}

// The bytes of the file are those of somebody else.
func FuzzFile(f *testing.F) {
	text, err := os.ReadFile(write(f, filepath.Join(f.TempDir(), "a"), sample()))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Fuzz(func(t *testing.T, text []byte) {
		name := filepath.Join(t.TempDir(), "a")
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
		fuzzOpen(t, name)
	})
}

// The check and the compression are right, but the tar is that of somebody else.
func FuzzTar(f *testing.F) {
	f.Add(tarOf(f, []tar.Header{{Name: "memory/a"}, {Name: "audit/b"}}, "x"))
	f.Fuzz(func(t *testing.T, text []byte) { fuzzOpen(t, packed(t, text)) })
}

// The manifest of a folder is that of somebody else.
func FuzzManifest(f *testing.F) {
	folder := f.TempDir()
	f.Add([]byte(`{"format":1,"entries":[],"tip":""}`))
	text, err := os.ReadFile(write(f, folder, sample()))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text[len(`{"manifest":`):bytes.LastIndex(text, []byte(`,"sha256"`))])
	f.Fuzz(func(t *testing.T, text []byte) {
		name := filepath.Join(folder, snapshotsFolder, "20270101T000000Z.json")
		if err := os.WriteFile(name, signedManifest(text), 0o600); err != nil {
			t.Fatal(err)
		}
		fuzzOpen(t, name)
	})
}
