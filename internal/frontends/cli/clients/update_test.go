package clients

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestUpdate checks that an update keeps the fields that the user added to an entry, with their
// layout and comments.
func TestUpdate(t *testing.T) {
	command := []field{{"type", "stdio"}, {"command", "/new/remit"}, {"args", []string{"stdio"}}}
	address := []field{{"url", "http://new/mcp"}, {"headers", bearer("$T")}}
	for _, tc := range []struct {
		name         string
		fields       []field
		before, want string
	}{
		{
			"over lines", command,
			"{\n  \"s\": {\n    \"remit\": {\n      \"command\": \"/old/remit\", // mine\n      \"url\": \"gone\",\n      \"env\": {\"A\": \"1\"}\n    }\n  }\n}",
			"{\n  \"s\": {\n    \"remit\": {\n      \"command\": \"/new/remit\", // mine\n      \"env\": {\"A\": \"1\"},\n      \"type\": \"stdio\",\n      \"args\": [\"stdio\"]\n    }\n  }\n}",
		},
		{"on one line", command, `{"s": {"remit": {"command": "a", "disabled": true}}}`, `{"s": {"remit": {"command": "/new/remit", "disabled": true, "type": "stdio", "args": ["stdio"]}}}`},
		{"headers of their own", address, `{"s": {"remit": {"url": "a", "headers": {"X-Team": "1", "Authorization": "old"}}}}`, `{"s": {"remit": {"url": "http://new/mcp", "headers": {"X-Team": "1", "Authorization": "Bearer $T"}}}}`},
		{"no token any more", address[:1], `{"s": {"remit": {"url": "a", "headers": {"X-Team": "1", "Authorization": "old"}}}}`, `{"s": {"remit": {"url": "http://new/mcp", "headers": {"X-Team": "1"}}}}`},
		{"nor headers", address[:1], `{"s": {"remit": {"url": "a", "headers": {"Authorization": "old"}}}}`, `{"s": {"remit": {"url": "http://new/mcp"}}}`},
		{"as it was", address[:1], `{"s": {"remit": {"url" :"http://new/mcp", "b": 1}}}`, `{"s": {"remit": {"url" :"http://new/mcp", "b": 1}}}`},
		{
			"a table", command[1:],
			"[s.remit] # mine\ncommand = '/old/remit' # old\nurl = 'gone'\nenv_vars = [\"B\"]\n\n[s.remit.env]\nA = \"1\"\n",
			"[s.remit] # mine\ncommand = \"/new/remit\" # old\nenv_vars = [\"B\"]\nargs = [\"stdio\"]\n\n[s.remit.env]\nA = \"1\"\n",
		},
		{"a table without an end of its last line", command[1:], "[s.remit]\r\ncommand = 'a'", "[s.remit]\r\ncommand = \"/new/remit\"\r\nargs = [\"stdio\"]"},
	} {
		var in format = jsonFile{"s"}
		if tc.before[0] == '[' {
			in = tomlFile{"s"}
		}
		got, err := in.update([]byte(tc.before), "remit", tc.fields)
		if diff := cmp.Diff(tc.want, string(got)); err != nil || diff != "" {
			t.Errorf("%s: %v\n-want +got\n%s", tc.name, err, diff)
		}
	}
}

// TestAddedByHand checks that a second install keeps what the user added since the first, and fails
// where it could not keep it.
func TestAddedByHand(t *testing.T) {
	for _, c := range All() {
		file := filepath.Join(t.TempDir(), "file")
		write(t, file, existingOf(c))
		must(t, Absent)(c.Install(file, ours))
		added := strings.NewReplacer(`"command": "/opt/remit"`, `"env": {"A": "mine"}, "command": "/opt/remit"`, `command = "/opt/remit"`, "env = {A = \"mine\"}\ncommand = \"/opt/remit\"")
		write(t, file, added.Replace(read(t, file)))
		must(t, Same)(c.Install(file, ours))
		second := Server{Name: "remit", Command: "/elsewhere/remit"}
		change := must(t, Different)(c.Install(file, second))
		if got := read(t, file); change.Backup != "" || !strings.Contains(got, `"mine"`) || !strings.Contains(got, "/elsewhere/remit") || strings.Contains(got, "/opt/remit") {
			t.Errorf("%s keeps %q: %s", c.Name, change.Backup, got)
		}
		was := tree(t, filepath.Dir(file))
		_, err := c.Install(file, Server{Name: "remit", URL: "http://127.0.0.1:1/mcp"})
		if err == nil || c.Name != "claude-desktop" && !strings.Contains(err.Error(), "was not changed: the present entry remit has the fields env") {
			t.Errorf("%s: %v", c.Name, err)
		}
		if diff := cmp.Diff(was, tree(t, filepath.Dir(file))); diff != "" {
			t.Errorf("%s: %s", c.Name, diff)
		}
		must(t, Restored)(c.Remove(file, "remit"))
		if got := read(t, file); got != existingOf(c) {
			t.Errorf("%s: %q", c.Name, got)
		}
	}
}

// TestHostileFiles checks that a deeply nested or broken file yields an error with the position,
// and is not changed.
func TestHostileFiles(t *testing.T) {
	for _, c := range All() {
		for _, text := range []string{
			strings.Repeat("[", 1<<20), strings.Repeat(`{"a":`, 1<<20), "a = " + strings.Repeat("[", 1<<20), "a = " + strings.Repeat("{a=", 1<<18), "{\"a\": hunter2", "a = hunter2",
		} {
			file := filepath.Join(t.TempDir(), "file")
			write(t, file, text)
			_, err := c.Install(file, ours)
			if err == nil || !strings.Contains(err.Error(), "cannot be parsed at line 1, column ") || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%s, %.20q: %v", c.Name, text, err)
			}
			if diff := cmp.Diff(map[string]string{"file": text}, map[string]string{"file": read(t, file)}); diff != "" {
				t.Errorf("%s, %.20q was changed", c.Name, text)
			}
		}
	}
}
