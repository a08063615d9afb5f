package clients

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestInProject installs into and removes from the file of a project. The file is as it was before,
// and nothing is left beside it.
func TestInProject(t *testing.T) {
	server := Server{Name: "remit", Command: "remit", Args: []string{"stdio"}}
	for _, c := range All() {
		own := c.InProject()
		if (own == nil) != c.NeedsRoot {
			t.Errorf("%s has a file in a project: %v", c.Name, own != nil)
		}
		if own == nil {
			continue
		}
		for _, before := range []string{existingOf(c) + "\n", "none"} {
			project := t.TempDir()
			file := own.File(System{OS: runtime.GOOS, Project: project, Env: unset})
			if before != "none" {
				write(t, file, before)
			}
			was := tree(t, project)
			change := must(t, Absent)(own.Install(file, server))
			if change.Backup != "" || change.Old != "" || change.New == "" {
				t.Errorf("%s: %+v", c.Name, change)
			}
			if info, err := os.Stat(file); err != nil || before == "none" && info.Mode().Perm() != 0o644 {
				t.Errorf("%s: %v, %v", c.Name, info, err)
			}
			found, err := own.Entries(file)
			if diff := cmp.Diff([]Found{{"remit", Entry{Command: "remit"}}}, found, cmp.AllowUnexported(Entry{})); err != nil || diff != "" {
				t.Errorf("%s: %v\n%s", c.Name, err, diff)
			}
			must(t, Same)(own.Install(file, server))
			change = must(t, Different)(own.Install(file, Server{Name: "remit", Command: "remit", Args: []string{"stdio", "--root", "."}}))
			if change.Old == "" || change.Old == change.New {
				t.Errorf("%s: %+v", c.Name, change)
			}
			if entry, _, err := own.Installed(file, "remit"); err != nil || entry.Root != "." {
				t.Errorf("%s: %+v, %v", c.Name, entry, err)
			}
			must(t, map[bool]PriorState{true: Deleted, false: Removed}[before == "none"])(own.Remove(file, "remit"))
			if diff := cmp.Diff(was, tree(t, project)); diff != "" {
				t.Errorf("%s with %q: it is not as it was: %s", c.Name, before, diff)
			}
		}
	}
}

// TestEntries checks which entries are Remit's.
func TestEntries(t *testing.T) {
	for name, text := range map[string]string{
		"cursor": `{"mcpServers": {"a": {"command": "/bin/remit"}, "b": {"command": "other"}, "remit": {"url": "http://x/mcp"}, "c": 1}}`,
		"codex":  "[mcp_servers.a]\ncommand = '/bin/remit'\n[mcp_servers.b]\ncommand = 'other'\n[mcp_servers.remit]\nurl = 'http://x/mcp'\n[mcp_servers.remit.env]\nX = 'y'\n",
	} {
		file := filepath.Join(t.TempDir(), "file")
		write(t, file, text)
		found, err := Find(name).Entries(file)
		if err != nil || len(found) != 2 || found[0].Name != "a" || found[1].Name != "remit" || found[1].URL != "http://x/mcp" {
			t.Errorf("%s: %+v, %v", name, found, err)
		}
		write(t, file, "{")
		if found, err := Find(name).Entries(file); err == nil {
			t.Errorf("%s: %+v", name, found)
		}
	}
}
