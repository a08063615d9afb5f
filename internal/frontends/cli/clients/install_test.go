package clients

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// existing has a carefully formatted file for each language.
var existing = map[string]string{
	"json": "// my servers\r\n{\r\n\t\"theme\": \"dark\", // at night\r\n\t\"KEY\": {\r\n\t\t\"a\": {\"command\": \"a\"},\r\n\t},\r\n}",
	"toml": "model = \"o3\" # best\n\n[mcp_servers.a]\ncommand = 'a'\n\n[tui]\nx = \"\"\"\n[mcp_servers.remit]\n\"\"\"",
}

func existingOf(c *Client) string {
	text := existing[c.Language()]
	if file, ok := c.in.(jsonFile); ok {
		text = strings.ReplaceAll(text, "KEY", file.key)
	}
	return text
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// tree returns the modes and texts of all files in a folder.
func tree(t *testing.T, folder string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		found[path] = info.Mode().String()
		if info.Mode().IsRegular() {
			found[path] += " " + read(t, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func must(t *testing.T, want PriorState) func(Change, error) Change {
	return func(got Change, err error) Change {
		t.Helper()
		if err != nil || got.Prior != want {
			t.Fatalf("%+v, %v; want %s", got, err, want)
		}
		return got
	}
}

// TestInstallAndRemove installs into and removes from an existing file, an empty file and a missing
// file of each client.
func TestInstallAndRemove(t *testing.T) {
	for _, c := range All() {
		for _, before := range []string{existingOf(c), "", "\ufeff", "none"} {
			home := t.TempDir()
			file := c.File(System{OS: runtime.GOOS, Home: home, Env: unset})
			if before != "none" {
				write(t, file, before)
			}
			was := tree(t, home)
			must(t, Absent)(c.Plan(file, ours))
			if diff := cmp.Diff(was, tree(t, home)); diff != "" {
				t.Errorf("%s: a plan changes: %s", c.Name, diff)
			}
			change := must(t, Absent)(c.Install(file, ours))
			if before != "none" && read(t, change.Backup) != before {
				t.Errorf("%s: the backup is %q", c.Name, read(t, change.Backup))
			}
			entry, found, err := c.Installed(file, "remit")
			if err != nil || !found || entry.Command != ours.Command {
				t.Errorf("%s: %+v, %v, %v", c.Name, entry, found, err)
			}
			must(t, Same)(c.Install(file, ours))
			must(t, Different)(c.Install(file, Server{Name: "remit", Command: "/elsewhere/remit"}))
			must(t, Restored)(c.Remove(file, "remit"))
			if diff := cmp.Diff(was, tree(t, home)); diff != "" {
				t.Errorf("%s with %q: it is not as it was: %s", c.Name, before, diff)
			}
			must(t, Absent)(c.Remove(file, "remit"))
		}
	}
}

// TestReformatted checks that a file which the client wrote in another layout is not written again.
func TestReformatted(t *testing.T) {
	for _, c := range All() {
		if c.Language() != "json" {
			continue
		}
		file := filepath.Join(t.TempDir(), "file")
		must(t, Absent)(c.Install(file, ours))
		raw, _, err := c.in.get([]byte(read(t, file)), "remit")
		if err != nil {
			t.Fatal(err)
		}
		var spread bytes.Buffer
		if err := json.Indent(&spread, raw, "\t", "\t"); err != nil {
			t.Fatal(err)
		}
		write(t, file, strings.Replace(read(t, file), string(raw), spread.String(), 1))
		was := tree(t, filepath.Dir(file))
		must(t, Same)(c.Install(file, ours))
		if diff := cmp.Diff(was, tree(t, filepath.Dir(file))); diff != "" {
			t.Errorf("%s: %s", c.Name, diff)
		}
	}
}

// TestOthersChange checks that Remove keeps changes by others.
func TestOthersChange(t *testing.T) {
	for _, c := range All() {
		file := filepath.Join(t.TempDir(), "new", "file")
		if c.Language() == "toml" {
			must(t, Absent)(c.Install(file, ours))
			write(t, file, "model = \"o4\"\n"+read(t, file)+"[b]\n")
			must(t, Removed)(c.Remove(file, "remit"))
			if got := read(t, file); got != "model = \"o4\"\n[b]\n" {
				t.Errorf("%s leaves %q", c.Name, got)
			}
			continue
		}
		must(t, Absent)(c.Install(file, ours))
		write(t, file, strings.Replace(read(t, file), "{", "{\n  \"theme\": \"dark\",", 1))
		must(t, Removed)(c.Remove(file, "remit"))
		if got := read(t, file); got != "{\n  \"theme\": \"dark\"\n}\n" {
			t.Errorf("%s leaves %q", c.Name, got)
		}
		if left := tree(t, filepath.Dir(file)); len(left) != 2 {
			t.Errorf("%s leaves things behind: %v", c.Name, left)
		}
	}
}

// TestEarlierEntry checks that Remove restores an entry of Remit from before the first Install.
func TestEarlierEntry(t *testing.T) {
	c := Find("cursor")
	file := filepath.Join(t.TempDir(), "mcp.json")
	before := "{\"mcpServers\": {\"remit\": {\"command\": \"remit\", \"args\": [\"stdio\"]}}}"
	write(t, file, before)
	must(t, Different)(c.Install(file, ours))
	write(t, file, strings.Replace(read(t, file), "{", "{\"a\": 1, ", 1))
	must(t, Removed)(c.Remove(file, "remit"))
	if got, want := read(t, file), strings.Replace(before, "{", "{\"a\": 1, ", 1); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestForeignEntry checks that an entry of that name that is not Remit's is never changed.
func TestForeignEntry(t *testing.T) {
	for _, c := range All() {
		before := map[string]string{"json": `{"KEY": {"remit": {"command": "/opt/other", "args": ["x"]}}}`, "toml": "[mcp_servers.remit]\ncommand = '/opt/other'\n"}[c.Language()]
		if in, ok := c.in.(jsonFile); ok {
			before = strings.ReplaceAll(before, "KEY", in.key)
		}
		file := filepath.Join(t.TempDir(), "file")
		write(t, file, before)
		was := tree(t, filepath.Dir(file))
		_, planned := c.Plan(file, ours)
		_, installed := c.Install(file, ours)
		_, removed := c.Remove(file, "remit")
		for _, err := range []error{planned, installed, removed} {
			if err == nil || !strings.Contains(err.Error(), "was not changed: its server remit is not Remit (it starts /opt/other); choose another name with --name") {
				t.Errorf("%s: %v", c.Name, err)
			}
		}
		if diff := cmp.Diff(was, tree(t, filepath.Dir(file))); diff != "" {
			t.Errorf("%s: %s", c.Name, diff)
		}
		second := ours
		second.Name = "second"
		must(t, Absent)(c.Install(file, second))
		must(t, Restored)(c.Remove(file, "second"))
		if diff := cmp.Diff(was, tree(t, filepath.Dir(file))); diff != "" {
			t.Errorf("%s: %s", c.Name, diff)
		}
	}
}

// TestEditedBetween checks that changes after an install are kept, even with another install before
// the removal.
func TestEditedBetween(t *testing.T) {
	for _, c := range All() {
		file := filepath.Join(t.TempDir(), "file")
		write(t, file, existingOf(c))
		must(t, Absent)(c.Install(file, ours))
		edit := func(text string) string {
			return strings.NewReplacer("dark", "light", `"o3"`, `"o4"`, "at night", "by day", "# best", "# good").Replace(text)
		}
		write(t, file, edit(read(t, file)))
		must(t, Different)(c.Install(file, Server{Name: "remit", Command: "/elsewhere/remit"}))
		must(t, Removed)(c.Remove(file, "remit"))
		if diff := cmp.Diff(strings.TrimRight(edit(existingOf(c)), "\n"), strings.TrimRight(read(t, file), "\n")); diff != "" || edit(existingOf(c)) == existingOf(c) {
			t.Errorf("%s: -want +got\n%s", c.Name, diff)
		}
		if left := tree(t, filepath.Dir(file)); len(left) != 2 {
			t.Errorf("%s leaves things behind: %v", c.Name, left)
		}
	}
}

// TestReadOnly checks that a read-only file is not changed.
func TestReadOnly(t *testing.T) {
	c := Find("claude-code")
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "{}")
	must(t, Absent)(c.Install(file, ours))
	if err := os.Chmod(file, 0o444); err != nil {
		t.Fatal(err)
	}
	was := tree(t, filepath.Dir(file))
	must(t, Same)(c.Install(file, ours))
	_, installed := c.Install(file, Server{Name: "remit", Command: "/elsewhere/remit"})
	_, removed := c.Remove(file, "remit")
	for _, err := range []error{installed, removed} {
		if err == nil || !strings.Contains(err.Error(), "is read-only and was not changed; make it writable") {
			t.Error(err)
		}
	}
	if diff := cmp.Diff(was, tree(t, filepath.Dir(file))); diff != "" {
		t.Error(diff)
	}
}

// TestTwoServers checks that two servers can be removed in either order.
func TestTwoServers(t *testing.T) {
	c := Find("vscode")
	second := Server{Name: "second", URL: "http://127.0.0.1:1/mcp"}
	for _, order := range [][]string{{"remit", "second"}, {"second", "remit"}} {
		file := filepath.Join(t.TempDir(), "mcp.json")
		write(t, file, existingOf(c))
		must(t, Absent)(c.Install(file, ours))
		must(t, Absent)(c.Install(file, second))
		for _, name := range order {
			if _, err := c.Remove(file, name); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(existingOf(c), read(t, file)); diff != "" {
			t.Errorf("%v: %s", order, diff)
		}
		if left := tree(t, filepath.Dir(file)); len(left) != 2 {
			t.Errorf("%v leaves things behind: %v", order, left)
		}
	}
}

func TestLinksAreFollowed(t *testing.T) {
	folder := t.TempDir()
	real, link := filepath.Join(folder, "dotfiles", "cursor.json"), filepath.Join(folder, "mcp.json")
	write(t, real, "{}")
	if err := os.Symlink(real, link); err != nil {
		t.Skip(err)
	}
	c := Find("cursor")
	if change := must(t, Absent)(c.Install(link, ours)); filepath.Base(change.File) != "cursor.json" {
		t.Errorf("it changed %s", change.File)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the file is no longer a link: %v", err)
	}
	must(t, Restored)(c.Remove(link, "remit"))
	if got := read(t, real); got != "{}" {
		t.Errorf("got %q", got)
	}
	if err := os.Remove(real); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Install(link, ours); err == nil || !strings.Contains(err.Error(), "is a broken symbolic link") {
		t.Errorf("a broken link: %v", err)
	}
}

// TestNotChanged checks that a file is not changed if it cannot be parsed, is locked, or changes at
// the same time.
func TestNotChanged(t *testing.T) {
	c := Find("cursor")
	file := filepath.Join(t.TempDir(), "mcp.json")
	write(t, file, "{\n  oops\n}")
	was := tree(t, filepath.Dir(file))
	_, err := c.Install(file, ours)
	if err == nil || !strings.Contains(err.Error(), "mcp.json was not changed, because it cannot be parsed at line 2, column 3") {
		t.Errorf("install: %v", err)
	}
	if _, err := c.Remove(file, "remit"); err == nil || !strings.Contains(err.Error(), "line 2, column 3") {
		t.Errorf("remove: %v", err)
	}
	if diff := cmp.Diff(was, tree(t, filepath.Dir(file))); diff != "" {
		t.Error(diff)
	}
	write(t, file, "{}")
	if err := os.Mkdir(file+".lock", 0o755); err != nil {
		t.Fatal(err)
	}
	was = tree(t, filepath.Dir(file))
	if _, err := c.Install(file, ours); err == nil || !strings.Contains(err.Error(), "is locked") {
		t.Errorf("install: %v", err)
	}
	if diff := cmp.Diff(was, tree(t, filepath.Dir(file))); diff != "" {
		t.Error(diff)
	}
	k, err := c.open(file, "remit")
	if err != nil {
		t.Fatal(err)
	}
	write(t, file, "{ }")
	was = tree(t, filepath.Dir(file))
	if err := k.replace([]byte("lost")); err == nil || !strings.Contains(err.Error(), "changed by another program") {
		t.Errorf("replace: %v", err)
	}
	if diff := cmp.Diff(was, tree(t, filepath.Dir(file))); diff != "" {
		t.Error(diff)
	}
	if undo, err := k.writeBackup(nil, Absent); err != nil || undo() != nil {
		t.Errorf("undo of the backup: %v", err)
	}
	if diff := cmp.Diff(was, tree(t, filepath.Dir(file))); diff != "" {
		t.Error(diff)
	}
	if _, err := c.Install(filepath.Dir(file), ours); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a folder: %v", err)
	}
}
