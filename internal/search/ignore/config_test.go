package ignore

import (
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// loadText parses a configuration.
func loadText(text string) map[string]string {
	c := config{values: map[string]string{}, home: "/home", read: func(string) []byte { return []byte(text) }}
	c.load("/x", maxIncludeDepth) // disables includes
	return c.values
}

// TestConfigAgainstGit compares the last value of each key with git's.
func TestConfigAgainstGit(t *testing.T) {
	needGit(t)
	random := rand.New(rand.NewPCG(7, 8))
	home, dir := realDir(t), realDir(t)
	texts := slices.Clone(configs)
	parts := []string{"[core]", "\n", "\n", "a = b", "excludesFile = ", "ignoreCase", " ", "\t", "\"", "\\\"", "\\n", "\\t", "\\\\", "#", ";", "x y", "=", "\r\n", "\\\n", "[core \"s]\"]", "é", "\xff", "[x.y]", "\\x", "k-1 = 2", "-"}
	for range 60 {
		texts = append(texts, "[core]\n"+randomParts(random, parts, 10)+"\n")
	}
	same := 0
	for i, text := range texts {
		path := filepath.Join(dir, strconv.Itoa(i))
		write(t, path, text)
		out, err := tryGit(t, home, dir, nil, "config", "--no-includes", "-f", path, "--list", "-z")
		if err != nil {
			continue // git rejects the file
		}
		want := map[string]string{}
		for entry := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
			key, value, set := strings.Cut(entry, "\n")
			if !set {
				value = "true"
			}
			if strings.Count(key, ".") == 1 {
				want[key] = value
			}
		}
		got := loadText(text)
		maps.DeleteFunc(got, func(key, _ string) bool { return strings.Count(key, ".") != 1 || strings.Contains(key, "\"") })
		delete(want, "")
		if same++; !maps.Equal(got, want) {
			t.Errorf("%q says %q, want %q", text, got, want)
		}
	}
	if same < len(configs) {
		t.Errorf("git accepts only %d of %d", same, len(texts))
	}
}

// configs are handwritten files.
var configs = []string{
	"", "\n", "[core]\n", "[core]ignoreCase=true", "[core]\n\tignorecase\n", "[CORE]\nIgnoreCase = Yes\n", "[core]\r\n\ta = b\r\n", "\xef\xbb\xbf[core]\na=b\n",
	"[core]\na = b # c\nb = \"c # d\" ; e\nc = d  e  \n", "[core]\na = \"b\nb=c\"\n"[:9] + "\n", "[core]\na = b\\\n  c\n", "[core \"x\"]\na=b\n[core]\na=c\n", "# x\n; y\n[core] # z\na=b\n",
	"[core]\na = \"~/with space\"\n", "[core]\na =\n", "[core]\na = \"\"\n", "[core]\na = x \"\"\n", "[core]\na = \\\\x\\\"y\\\"\\tz\n", "[core]\na = b\na = c\n", "[core]\na=b [x]\n", "[core \"a\\\"]b\"]\nx=1\n[core]\ny=2\n",
}

func TestIncludes(t *testing.T) {
	files := map[string]string{
		"/home/.gitconfig": "[core]\na=1\nb=1\n[include]\npath = more/x\npath = ~/y\npath = /abs\npath = ~other/z\npath\n[includeIf \"gitdir:/\"]\npath=/never\n[core]\nb=2\n",
		"/home/more/x":     "[core]\na=x\nb=x\n[include]\npath=z\n",
		"/home/more/z":     "[core]\nz=z\n",
		"/home/y":          "[core]\ny=y\n[include]\npath=y\n", // includes itself
		"/abs":             "[core]\nabs=abs\n",
		"/never":           "[core]\na=never\n",
	}
	c := config{values: map[string]string{}, home: "/home", read: func(path string) []byte {
		if content, ok := files[filepath.ToSlash(path)]; ok {
			return []byte(content)
		}
		return nil
	}}
	c.load("/home/.gitconfig", 0)
	if c.files > 20 {
		t.Errorf("%d files were read", c.files)
	}
	delete(c.values, `includeif "gitdir:/".path`)
	want := map[string]string{"core.a": "x", "core.b": "2", "core.z": "z", "core.y": "y", "core.abs": "abs"}
	if filepath.Separator == '/' && !maps.Equal(c.values, want) {
		t.Errorf("the files say %q", c.values)
	}
}

// TestIncludesEnd checks that reading files that include each other ends.
func TestIncludesEnd(t *testing.T) {
	read := 0
	text := "[include]\n" + strings.Repeat("path = x\n", 100)
	c := config{values: map[string]string{}, read: func(string) []byte { read++; return []byte(text) }}
	if c.load("/x", 0); read > maxConfigFiles {
		t.Errorf("%d files were read", read)
	}
}

func TestParseBool(t *testing.T) {
	for value, want := range map[string]bool{"true": true, "Yes": true, "ON": true, "1": true, "-1": true, "0": false, "": false, "no": false, "off": false, "false": false, "maybe": false} {
		if parseBool(value) != want {
			t.Errorf("%q is true: %v", value, !want)
		}
	}
}

func FuzzConfig(f *testing.F) {
	for _, text := range configs {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for key := range loadText(text) {
			if key != strings.ToLower(key) {
				t.Errorf("%q has the key %q", text, key)
			}
		}
	})
}
