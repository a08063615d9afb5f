package app

import (
	"bufio"
	"encoding/json"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// scriptedClient is a client of "remit stdio", started in a home folder without a project.
type scriptedClient struct {
	t      *testing.T
	top    string // has the folders home, keys, project and other
	to     *io.PipeWriter
	from   *bufio.Scanner
	stderr lockedBuffer // of more than one logger
	ended  chan int
}

func (c *scriptedClient) start(env map[string]string, args ...string) {
	c.t.Chdir(filepath.Join(c.top, "home"))
	in, to := io.Pipe()
	from, out := io.Pipe()
	c.to, c.from, c.ended = to, bufio.NewScanner(from), make(chan int, 1)
	c.from.Buffer(nil, 1<<20)
	home := filepath.Join(c.top, "home")
	defaults := map[string]string{
		"HOME": home, "USERPROFILE": home, "REMIT_KEYS": filepath.Join(c.top, "keys"), "REMIT_LOG_LEVEL": "info", "REMIT_DEADLINE_FACTOR": "100",
	}
	lookup := func(name string) (string, bool) {
		if value, ok := env[name]; ok {
			return value, true
		}
		value, ok := defaults[name]
		return value, ok
	}
	go func() {
		code := Main(append([]string{"stdio"}, args...), lookup, in, out, &c.stderr)
		_ = out.Close()
		c.ended <- code
	}()
}

func (c *scriptedClient) send(lines ...string) {
	c.t.Helper()
	for _, line := range lines {
		if _, err := io.WriteString(c.to, line+"\n"); err != nil {
			c.t.Fatal(err)
		}
	}
}

// next returns the next message that is no notification.
func (c *scriptedClient) next() (m struct {
	ID     json.RawMessage
	Method string
	Result json.RawMessage
},
) {
	c.t.Helper()
	for c.from.Scan() {
		if err := json.Unmarshal(c.from.Bytes(), &m); err != nil {
			c.t.Fatal(err)
		}
		if m.ID != nil {
			return m
		}
	}
	c.t.Fatal("the server ended: ", <-c.ended, c.stderr.take())
	return m
}

// end ends the session and returns the log.
func (c *scriptedClient) end() string {
	c.t.Helper()
	_ = c.to.Close()
	for c.from.Scan() { // the server may send notifications
	}
	<-c.ended
	return c.stderr.take()
}

const (
	readMark  = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"read_repo_file","arguments":{"path":"README.md"}}}`
	helloHead = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"c","version":"1"},"capabilities":`
	hasRoots  = `{"roots":{"listChanged":true}}`
)

func newScriptedClient(t *testing.T) *scriptedClient {
	c := &scriptedClient{t: t, top: t.TempDir()}
	for _, name := range []string{"home", "a project", "other"} {
		folder := filepath.Join(c.top, name)
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "README.md"), []byte("this is "+name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// uri returns the file URI of a folder of the test.
func (c *scriptedClient) uri(name string) string {
	slashed := filepath.ToSlash(filepath.Join(c.top, name))
	return (&url.URL{Scheme: "file", Path: "/" + strings.TrimPrefix(slashed, "/")}).String()
}

// TestStdioRoots checks in which folder a session works that was started in no workspace.
func TestStdioRoots(t *testing.T) {
	const changed = `{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`
	for _, tc := range []struct {
		name, capabilities string
		answer             func(c *scriptedClient) string // "" if the client must not be asked
		flags              func(c *scriptedClient) []string
		works, logs        string
	}{
		{name: "root", capabilities: hasRoots, works: "a project", logs: "the client named the folder of this session", answer: func(c *scriptedClient) string {
			return `"result":{"roots":[{"uri":"` + c.uri("gone") + `"},{"uri":"` + c.uri("a project") + `"},{"uri":"` + c.uri("other") + `"}]}`
		}},
		{
			name: "no roots", capabilities: hasRoots, works: "home", logs: "the client has no roots",
			answer: func(*scriptedClient) string { return `"result":{"roots":[]}` },
		},
		{
			name: "error", capabilities: hasRoots, works: "home", logs: "answered roots/list with an error",
			answer: func(*scriptedClient) string { return `"error":{"code":-32601,"message":"no"}` },
		},
		{name: "client without roots", capabilities: `{}`, works: "home"},
		{
			name: "explicit root", capabilities: hasRoots, works: "other",
			flags: func(c *scriptedClient) []string { return []string{"--root", filepath.Join(c.top, "other")} },
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newScriptedClient(t)
			var args []string
			if tc.flags != nil {
				args = tc.flags(c)
			}
			c.start(nil, args...)
			c.send(helloHead + tc.capabilities + "}}")
			if m := c.next(); string(m.ID) != "1" || !strings.Contains(string(m.Result), `"instructions"`) {
				t.Fatalf("%+v", m)
			}
			c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, readMark)
			if tc.answer != nil {
				m := c.next()
				if m.Method != "roots/list" {
					t.Fatalf("%+v", m)
				}
				c.send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,` + tc.answer(c) + "}")
			}
			if m := c.next(); string(m.ID) != "2" || !strings.Contains(string(m.Result), "this is "+tc.works) {
				t.Errorf("%s %s", m.ID, m.Result)
			}
			c.send(changed)
			log := c.end()
			if !strings.Contains(log, tc.logs) || !strings.Contains(log, "the client changed its roots; this session stays in its workspace") {
				t.Errorf("the log is %s", log)
			}
			if _, err := os.Stat(filepath.Join(c.top, "home", ".remit")); (err == nil) != (tc.works == "home") {
				t.Errorf("data in the folder that the server was started in: %v", err)
			}
		})
	}
}

// TestStdioRootRefused checks that a root is refused like --root, and that its file restricts.
func TestStdioRootRefused(t *testing.T) {
	for _, tc := range []struct{ name, config, env, want string }{
		{"invalid file", "no_such_key: 1\n", "keys", "no_such_key"},
		{"key folder", "", "a project/keys", "overlap"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newScriptedClient(t)
			if err := os.WriteFile(filepath.Join(c.top, "a project", "remit.yaml"), []byte(tc.config), 0o644); err != nil {
				t.Fatal(err)
			}
			c.start(map[string]string{"REMIT_KEYS": filepath.Join(c.top, tc.env)})
			c.send(helloHead + hasRoots + "}}")
			c.next()
			c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
			c.send(`{"jsonrpc":"2.0","id":` + string(c.next().ID) + `,"result":{"roots":[{"uri":"` + c.uri("a project") + `"},{"uri":"` + c.uri("other") + `"}]}}`)
			code := <-c.ended
			if said := c.stderr.take(); code != 2 || !strings.Contains(said, tc.want) {
				t.Errorf("%d: %s", code, said)
			}
		})
	}
}
