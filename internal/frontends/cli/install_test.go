package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"remit/internal/contract"
)

// result is the outcome of a command line.
type result struct {
	code        int
	out, errOut string
}

// person runs command lines in a home folder and a workspace of their own.
type person struct {
	home, root string
	env        map[string]string
	open       func(Settings) (Workspace, error)
}

func newPerson(t *testing.T) *person {
	t.Helper()
	p := &person{home: t.TempDir(), root: t.TempDir()}
	p.env = map[string]string{"HOME": p.home, "USERPROFILE": p.home}
	p.open = func(Settings) (Workspace, error) { return nil, errors.New("it cannot be opened") }
	return p
}

func (p *person) types(t *testing.T, args ...string) result {
	t.Helper()
	var out, errOut bytes.Buffer
	program := &Program{
		Version: "1.2.3",
		Open: func(_ context.Context, s Settings, _ *slog.Logger) (Workspace, error) {
			return p.open(s)
		},
		Catalog: func(...string) ([]*contract.Set, error) {
			var sets []*contract.Set
			for _, name := range []string{"booster", "learning-os", "tasks"} {
				set := &contract.Set{Name: name, Title: strings.ToUpper(name)}
				tool := "hello"
				if name == "tasks" {
					tool = "add_task"
				}
				set.Contracts = []*contract.Contract{{Name: tool}}
				sets = append(sets, set)
			}
			return sets, nil
		},
		Logger: func(io.Writer, LogOptions) (*slog.Logger, error) { return slog.New(slog.DiscardHandler), nil },
		Now:    time.Now, Args: append(args, "--root", p.root),
		Env:   func(name string) (string, bool) { value, ok := p.env[name]; return value, ok },
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errOut,
	}
	code := program.Main(t.Context())
	return result{code, out.String(), errOut.String()}
}

// TestOwnPath checks that the temporary program of go run is rejected in any folder.
func TestOwnPath(t *testing.T) {
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"bin/remit": true, "go-build123/b001/exe/remit": false, ".cache/go-build/ab/cd-d/remit": false, "my-go-build/remit": true} {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o755)); err != nil {
			t.Fatal(err)
		}
		got, err := ownPath(func() (string, error) { return path, nil })
		if (err == nil) != want || want && got != path {
			t.Errorf("%s: %s, %v", name, got, err)
		}
		if err != nil && !strings.Contains(err.Error(), "go build -o bin/remit ./cmd/remit") {
			t.Errorf("%s: no next step: %v", name, err)
		}
	}
}

// TestInstallByURL tests installs with --url: a client could not start the test program. The e2e
// scripts test the other installs.
func TestInstallByURL(t *testing.T) {
	p := newPerson(t)
	file := filepath.Join(p.home, ".cursor", "mcp.json")
	got := p.types(t, "install", "cursor", "--user", "--url", "http://127.0.0.1:8722/mcp", "--print")
	if got.code != ExitOK || !strings.Contains(got.out, file+" (would be created):\n\n{\n") || !strings.Contains(got.out, "cursor://anysphere.cursor-deeplink/mcp/install?name=remit&config=") {
		t.Errorf("print: %+v", got)
	}
	if _, err := os.Stat(filepath.Dir(file)); err == nil {
		t.Error("print makes a folder")
	}
	if got := p.types(t, "install", "cursor", "--user", "--url", "http://127.0.0.1:8722/mcp", "--token-env", "T"); got.code != ExitOK || !strings.Contains(got.out, "Cursor is connected: remit was added to "+file) {
		t.Errorf("install: %+v", got)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := "{\n  \"mcpServers\": {\n    \"remit\": {\n      \"url\": \"http://127.0.0.1:8722/mcp\",\n      \"headers\": {\"Authorization\": \"Bearer ${env:T}\"}\n    }\n  }\n}\n"
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Error(diff)
	}
	if got := p.types(t, "install", "cursor", "--user", "--url", "http://127.0.0.1:8722/mcp"); got.code != ExitOK || !strings.Contains(got.out, "remit was replaced in "+file) || strings.Contains(got.out, "kept in") {
		t.Errorf("another: %+v", got)
	}
	if got := p.types(t, "uninstall", "cursor", "--user"); got.code != ExitOK || !strings.Contains(got.out, "as it was before") {
		t.Errorf("remove: %+v", got)
	}
	if got := p.types(t, "uninstall", "cursor", "--user"); got.code != ExitOK || !strings.Contains(got.out, "not connected: there is no remit in "+file) {
		t.Errorf("remove again: %+v", got)
	}
}

// TestInstallToken checks that a token that must be written to the file is required and not
// printed.
func TestInstallToken(t *testing.T) {
	p := newPerson(t)
	args := []string{"install", "zed", "--user", "--url", "https://remit.example/mcp", "--token-env", "T"}
	if got := p.types(t, args...); got.code != ExitFailed || !strings.Contains(got.errOut, "set T to the token") {
		t.Errorf("without a token: %+v", got)
	}
	p.env["T"] = "s3cret"
	if got := p.types(t, append(args, "--print")...); got.code != ExitOK || strings.Contains(got.out, "s3cret") || !strings.Contains(got.out, "Bearer ***") {
		t.Errorf("print: %+v", got)
	}
	if got := p.types(t, args...); got.code != ExitOK || strings.Contains(got.out+got.errOut, "s3cret") {
		t.Errorf("install: %+v", got)
	}
	if text, _ := os.ReadFile(filepath.Join(p.home, ".config", "zed", "settings.json")); !strings.Contains(string(text), "Bearer s3cret") {
		t.Errorf("the file holds %s", text)
	}
}

func TestInstallRefuses(t *testing.T) {
	p := newPerson(t)
	for _, tc := range []struct {
		want string
		args []string
	}{
		{"name one client: claude-code, claude-desktop, cursor", nil},
		{`unknown client "curser"; did you mean "cursor"?`, []string{"curser"}},
		{`unknown client "xyzzy"; use one of claude-code`, []string{"xyzzy"}},
		{"must be a URL such as", []string{"cursor", "--url", "127.0.0.1:8722"}},
		{"must be a URL such as", []string{"cursor", "--url", "http://ada:pw@127.0.0.1/mcp"}},
		{"the MCP endpoint is http://127.0.0.1:8722/mcp", []string{"cursor", "--url", "http://127.0.0.1:8722/"}},
		{"--token-env needs --url", []string{"cursor", "--token-env", "T"}},
		{"not the token itself", []string{"cursor", "--url", "http://127.0.0.1/mcp", "--token-env", "rmt_x-y"}},
		{"--toolsets has no effect with --url", []string{"cursor", "--url", "http://127.0.0.1/mcp", "--toolsets", "tasks"}},
		{"set REMIT_DATABASE in the environment of the client instead", []string{"cursor", "--database", "postgres://ada:pw@db/remit"}},
		{"--remove can only be combined with --name and --user", []string{"cursor", "--remove", "--print"}},
		{"use up to 64 letters", []string{"cursor", "--url", "http://127.0.0.1/mcp", "--name", "a b"}},
		{"supports only servers that it starts itself", []string{"claude-desktop", "--url", "http://127.0.0.1/mcp"}},
		{"build it first: go build", []string{"cursor"}},
	} {
		got := p.types(t, append([]string{"install"}, tc.args...)...)
		if got.code == ExitOK || !strings.Contains(got.errOut, tc.want) || strings.Contains(got.errOut, ":pw@") {
			t.Errorf("%v: exit %d, %s", tc.args, got.code, got.errOut)
		}
	}
	if left, err := os.ReadDir(p.home); err != nil || len(left) > 0 {
		t.Errorf("something was made: %v, %v", left, err)
	}
}

// TestPassedOn checks that given settings are passed to the server that the client starts.
func TestPassedOn(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	root := (&Program{Env: func(string) (string, bool) { return "", false }}).command()
	if err := root.ParseFlags([]string{"--root", "x", "--toolsets", "tasks", "--read-only", "--data", "d", "--books", "file://b", "--database", "sqlite://DATA/r.db"}); err != nil {
		t.Fatal(err)
	}
	got, err := forwardedFlags(root.Flags(), absolutePath)
	want := []string{"--data", filepath.Join(here, "d"), "--toolsets", "tasks", "--read-only=true", "--database", "sqlite://DATA/r.db", "--books", "file://" + filepath.Join(here, "b")}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}
