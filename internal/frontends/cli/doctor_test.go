package cli

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var errNotYes = errors.New("say yes")

// checkedWorkspace is a workspace with checks of its own.
type checkedWorkspace struct {
	Workspace
	checks []Check
}

func (p checkedWorkspace) Checks(context.Context, bool) []Check { return p.checks }
func (checkedWorkspace) Close() error                           { return nil }

// findings runs doctor and returns its checks by name.
func (p *person) findings(t *testing.T, args ...string) (map[string]Check, int) {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if p.env["REMIT_ADDR"] == "" {
		p.env["REMIT_ADDR"] = free.Addr().String()
	}
	free.Close()
	got := p.types(t, append([]string{"doctor", "--json"}, args...)...)
	var report struct{ Checks []Check }
	if err := json.Unmarshal([]byte(got.out), &report); err != nil {
		t.Fatalf("%+v: %v", got, err)
	}
	found := map[string]Check{}
	for _, c := range report.Checks {
		if c.Status != StatusOK && c.Fix == "" {
			t.Errorf("no fix: %+v", c)
		}
		found[c.Name] = c
	}
	return found, got.code
}

func (p *person) isWell() {
	p.open = func(Settings) (Workspace, error) { return checkedWorkspace{}, nil }
}

func TestDoctorWell(t *testing.T) {
	p := newPerson(t)
	p.isWell()
	found, code := p.findings(t, "--strict")
	for _, name := range []string{"version", "clock", "configuration", "workspace", "data", "address", "clients"} {
		if found[name].Status != StatusOK {
			t.Errorf("%s: %+v", name, found[name])
		}
	}
	if code != ExitOK {
		t.Errorf("exit %d", code)
	}
	if left, err := os.ReadDir(p.root); err != nil || len(left) > 0 {
		t.Errorf("doctor leaves things behind: %v, %v", left, err)
	}
	if got := p.types(t, "doctor"); got.code != ExitOK || !strings.Contains(got.out, "\nNo problems found.\n") {
		t.Errorf("%+v", got)
	}
}

// TestDoctorFinds checks that doctor reports each problem with its fix and the right status.
func TestDoctorFinds(t *testing.T) {
	for _, tc := range []struct {
		name, check, found string
		status             Status
		make               func(t *testing.T, p *person)
	}{
		{"a workspace that does not open", "opening", "it cannot be opened", StatusFail, func(_ *testing.T, p *person) {
			p.open = func(Settings) (Workspace, error) { return nil, errors.New("it cannot be opened") }
		}},
		{"what the workspace finds", "books", "gone", StatusFail, func(_ *testing.T, p *person) {
			p.open = func(Settings) (Workspace, error) {
				return checkedWorkspace{checks: []Check{{"books", StatusFail, "gone", "bring them back"}}}, nil
			}
		}},
		{"a broken file", "configuration", `unknown key "aprove"`, StatusFail, func(t *testing.T, p *person) {
			put(t, p.root, "remit.yaml", "aprove: ask\n")
		}},
		{"a file that loosens", "configuration", "so these entries are not in force: approve: auto", StatusWarn, func(t *testing.T, p *person) {
			put(t, p.root, "remit.yaml", "approve: auto\n")
		}},
		{"a data folder that is a file", "data", "is not a folder", StatusFail, func(t *testing.T, p *person) {
			put(t, p.root, ".remit", "")
		}},
		{"a data folder that cannot be made", "data", "does not exist and cannot be created: ", StatusFail, func(t *testing.T, p *person) {
			if err := os.Symlink("nowhere", filepath.Join(p.home, "gone")); err != nil {
				t.Skip(err)
			}
			p.env["REMIT_DATA"] = filepath.Join(p.home, "gone", "deep", "data")
		}},
		{"a data folder that is a link", "data", "is a symbolic link", StatusFail, func(t *testing.T, p *person) {
			if err := os.Symlink(t.TempDir(), filepath.Join(p.root, ".remit")); err != nil {
				t.Skip(err)
			}
		}},
		{"a data folder for all", "data mode", "has mode 755", StatusWarn, func(t *testing.T, p *person) {
			if runtime.GOOS == "windows" {
				t.Skip("modes are not those of Windows")
			}
			put(t, p.root, ".remit/.gitignore", "*\n")
			if err := os.Chmod(filepath.Join(p.root, ".remit"), 0o755); err != nil {
				t.Fatal(err)
			}
		}},
		{"data that git takes along", "git", "git may commit your data", StatusWarn, func(t *testing.T, p *person) {
			put(t, p.root, ".git/HEAD", "")
			put(t, p.root, ".remit/.gitignore", "*.db\n")
		}},
		{"another server", "address", "the program that listens there is not Remit", StatusFail, func(t *testing.T, p *person) {
			p.served(t, `{"status":"ok"}`)
		}},
		{"an older server", "address", "Remit 1.0.0 serves", StatusWarn, func(t *testing.T, p *person) {
			p.served(t, `{"status":"ok","version":"1.0.0","checks":{}}`)
		}},
		{"a server that fails", "address", "with status failing", StatusWarn, func(t *testing.T, p *person) {
			p.served(t, `{"status":"failing","version":"1.2.3","checks":{"database":"failed"}}`)
		}},
		{"a client that starts nothing", "client cursor", "/gone/remit, which does not exist", StatusFail, func(t *testing.T, p *person) {
			put(t, p.home, ".cursor/mcp.json", `{"mcpServers": {"remit": {"command": "/gone/remit"}}}`)
		}},
		{"a client that starts whatever", "client codex", "not an absolute path", StatusWarn, func(t *testing.T, p *person) {
			put(t, p.home, ".codex/config.toml", "[mcp_servers.remit]\ncommand = 'remit'\n")
		}},
		{"a client that starts another version", "client gemini", `which is "0.0.1", not remit 1.2.3`, StatusWarn, func(t *testing.T, p *person) {
			if runtime.GOOS == "windows" {
				t.Skip("it takes a shell")
			}
			old := put(t, p.home, "old/remit", "#!/bin/sh\necho remit 0.0.1\n")
			put(t, p.home, ".gemini/settings.json", `{"mcpServers": {"remit": {"command": "`+old+`"}}}`)
		}},
		{"a client with a broken file", "client zed", "line 1, column 2", StatusWarn, func(t *testing.T, p *person) {
			put(t, p.home, ".config/zed/settings.json", `{oops}`)
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newPerson(t)
			p.isWell()
			tc.make(t, p)
			found, code := p.findings(t)
			if got := found[tc.check]; got.Status != tc.status || !strings.Contains(got.Finding, tc.found) {
				t.Errorf("%+v", got)
			}
			if want := map[Status]int{StatusFail: ExitFailed, StatusWarn: ExitOK}[tc.status]; code != want {
				t.Errorf("exit %d, want %d", code, want)
			}
			if _, code := p.findings(t, "--strict"); code != ExitFailed {
				t.Errorf("exit %d with --strict", code)
			}
			if got := p.types(t, "doctor"); !strings.Contains(got.out, "What to do:\n") || !strings.Contains(got.out, "- "+tc.check+": ") {
				t.Errorf("the table: %s", got.out)
			}
		})
	}
}

// served starts a server at the address of serve.
func (p *person) served(t *testing.T, health string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(health))
	}))
	t.Cleanup(server.Close)
	p.env["REMIT_ADDR"] = strings.TrimPrefix(server.URL, "http://")
}

func TestDoctorServed(t *testing.T) {
	p := newPerson(t)
	p.isWell()
	p.served(t, `{"status":"ok","version":"1.2.3","checks":{"database":"ok"}}`)
	if found, code := p.findings(t, "--strict"); found["address"].Finding != "Remit serves "+p.env["REMIT_ADDR"] || code != ExitOK {
		t.Errorf("%+v", found["address"])
	}
}

func TestWrapped(t *testing.T) {
	if diff := cmp.Diff([]string{"aaaa bbbb cccc dddd", "eeee"}, wrapped("aaaa bbbb  cccc dddd eeee", 20)); diff != "" {
		t.Error(diff)
	}
	if got := wrapped("a  b", 0); len(got) != 1 {
		t.Errorf("%q", got)
	}
}

// put writes an executable file.
func put(t *testing.T, folder, name, text string) string {
	t.Helper()
	path := filepath.Join(folder, filepath.FromSlash(name))
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o700)); err != nil {
		t.Fatal(err)
	}
	return path
}
