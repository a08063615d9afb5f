package cli

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"remit/internal/contract"
	"remit/internal/visible"
)

// parsed parses a configuration file with this text.
func parsed(t testing.TB, text string) (configFile, error) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "remit.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := readConfig(name, false)
	if err != nil {
		err = &shortened{strings.ReplaceAll(err.Error(), filepath.Dir(name)+string(filepath.Separator), "")}
	}
	return file, err
}

type shortened struct{ string }

func (s *shortened) Error() string { return s.string }

// TestBrokenConfig checks that errors give the position, the key and the next step.
func TestBrokenConfig(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"unknown key", "# mine\naprove: auto\n", `remit.yaml:2:1: unknown key "aprove"; did you mean "approve"?`},
		{"unknown key, none near", "zzzzzzzzzz: 1\n", `remit.yaml:1:1: unknown key "zzzzzzzzzz"; known keys are data, `},
		{"unknown key with a dash", "rate-limit: off\n", `remit.yaml:1:1: unknown key "rate_limit"; did you mean "rate_limits"?`},
		{"unknown key in quotes", "'aprove': auto\n", `remit.yaml:1:1: unknown key "aprove"; did you mean "approve"?`},
		{"a key that is a number", "7: x\n", `remit.yaml:1:1: unknown key "7"; known keys are `},
		{"a key of control characters", "\"a\\e[31m\": x\n", `remit.yaml:1:1: key "a\x1b[31m" has characters that cannot be seen; remove them`},
		{"a tool with a hidden character", "tools:\n  \"hel\\u200blo\": {hide: true}\n", `remit.yaml:2:3: key "hel\u200blo" has characters that cannot be seen; remove them`},
		{"a setting that reads backwards", "data: \u202etupni\n", `remit.yaml:1:1: data: "\u202etupni" has characters that cannot be seen; remove them`},
		{"a setting with a zero", "data: \"a\\0b\"\n", `remit.yaml:1:1: data: "a\x00b" has characters that cannot be seen; remove them`},
		{"a setting of two lines", "data: \"a\\nb\"\n", `remit.yaml:1:1: data: "a\nb" has characters that cannot be seen; remove them`},
		{"a blank letter in a list", "toolsets: [tasks, \"books\u3164\"]\n", `remit.yaml:1:1: toolsets: "books\u3164" has characters that cannot be seen; remove them`},
		{"a title with an escape", "tools:\n  hello: {title: \"\\e]52;c;x\\a\"}\n", `remit.yaml:2:11: tools.hello.title: "\x1b]52;c;x\a" has characters that cannot be seen; remove them`},
		{"a title of two lines", "tools:\n  hello:\n    title: |\n      a\n      b\n", `remit.yaml:3:5: tools.hello.title: "a\nb" has characters that cannot be seen; remove them`},
		{"a description with tags", "tools:\n  hello: {description: \"Approve\\U000e0041\"}\n", `remit.yaml:2:11: tools.hello.description: "Approve\udb40\udc41" has characters that cannot be seen; remove them`},
		{"a pattern without width", "tools:\n  read_file: {deny: [\"a\\u2060\"]}\n", `remit.yaml:2:15: tools.read_file.deny: "a\u2060" has characters that cannot be seen; remove them`},
		{"a long hidden value", "data: \"\\e" + strings.Repeat("x", 200) + "\"\n", `remit.yaml:1:1: data: "\x1b` + strings.Repeat("x", 79) + `..." has characters`},
		{"a long key", strings.Repeat("k", 200) + ": x\n", `remit.yaml:1:1: unknown key "` + strings.Repeat("k", 80) + `..."; known keys are `},
		{"percent signs", "tools:\n  \"%s%d\":\n    x%q: 1\n", `remit.yaml:3:5: unknown key "tools.%s%d.x%q"; known keys are hide, `},
		{"percent signs in a path", "tools: {\"%s%d\": 1}\n", `remit.yaml:1:17: tools.%s%d: must be keys with values`},
		{"only by flag", "approve: ask\nroot: /\n", `remit.yaml:2:1: root cannot be set in the file itself; use --root`},
		{"a key of a tool", "tools:\n  hello:\n    rte: 10/min\n", `remit.yaml:3:5: unknown key "tools.hello.rte"; did you mean "rate"?`},
		{"a key of a tool, in one line", "tools: {hello: {hidden: true}}\n", `remit.yaml:1:17: unknown key "tools.hello.hidden"; did you mean "hide"?`},
		{"a mapping for a value", "approve:\n  mode: ask\n", `remit.yaml:1:1: approve: must be a single value`},
		{"no value", "approve:\nwatch: on\n", `remit.yaml:1:1: approve: has no value; write one, or remove the key`},
		{"a list within a list", "toolsets:\n- tasks\n- [books]\n", `remit.yaml:1:1: toolsets: must be a single value`},
		{"rules of the wrong type", "approve: ask\ntools: none\n", `remit.yaml:2:8: tools: must be keys with values, such as "approve: ask", one per line`},
		{"a rule of the wrong type", "tools:\n  hello: hide\n", `remit.yaml:2:10: tools.hello: must be keys with values`},
		{"approval false", "tools:\n  write_memory_entry: {approval: false}\n", `remit.yaml:2:24: tools.write_memory_entry.approval: false has no effect, because rules can only make contracts stricter; write true, or remove the key`},
		{"approval no", "tools:\n  hello: {approval: no}\n", `remit.yaml:2:11: tools.hello.approval: must be true or false`},
		{"hide 1", "tools:\n  hello: {hide: 1}\n", `remit.yaml:2:11: tools.hello.hide: must be true or false`},
		{"a rate", "tools:\n  hello: {rate: fast}\n", `remit.yaml:2:11: tools.hello.rate: "fast" is not a rate; write it like 100/min, 10/s or 1000/h`},
		{"a deadline", "tools:\n  hello: {deadline: 5}\n", `remit.yaml:2:11: tools.hello.deadline: "5" is not a duration; write it like 100ms, 5s or 1h`},
		{"a size", "tools:\n  hello: {request: 5K}\n", `remit.yaml:2:11: tools.hello.request: "5K" is not a size; write it like 10KiB or 1MiB`},
		{"deny", "tools:\n  read_file: {deny: secret}\n", `remit.yaml:2:15: tools.read_file.deny: must be a list of patterns, such as ["**/drafts/**"]`},
		{"a pattern", "tools:\n  read_file:\n    deny:\n    - {a: b}\n", `remit.yaml:3:5: tools.read_file.deny: must be a single value`},
		{"twice", "approve: ask\nwatch: on\napprove: deny\n", `remit.yaml:3:1: key "approve" is already set on line 1; remove one of them`},
		{"twice, in two spellings", "read_only: true\nread-only: false\n", `remit.yaml:2:1: key "read_only" is already set on line 1; remove one of them`},
		{"a tool twice", "tools:\n  hello: {hide: true}\n  hello: {hide: false}\n", `remit.yaml:3:3: key "tools.hello" is already set on line 2; remove one of them`},
		{"a rule twice", "tools:\n  hello: {hide: true, hide: false}\n", `remit.yaml:2:23: key "tools.hello.hide" is already set on line 2; remove one of them`},
		{"a tab", "tools:\n\thello: {hide: true}\n", `remit.yaml:2:1: YAML does not allow a tab here; indent with spaces`},
		{"a tab at the start", "\tapprove: ask\n", `remit.yaml:1:1: YAML does not allow a tab here; indent with spaces`},
		{"an open list", "watch: on\ntoolsets: [tasks\n", `remit.yaml:2:11: is not valid YAML: sequence end token ']' not found`},
		{"an open quote", "approve: 'ask\n", `remit.yaml:1:10: is not valid YAML: could not find end character of single-quoted text`},
		{"a colon too many", "approve: ask: deny\n", `remit.yaml:1:10: is not valid YAML: mapping value is not allowed in this context`},
		{"words", "hunter2\n", `remit.yaml:1:1: must be keys with values, such as "approve: ask", one per line`},
		{"a list", "- hunter2\n", `remit.yaml:1:1: must be keys with values`},
		{"a second document", "approve: ask\n---\nwatch: hunter2\n", `remit.yaml:3:6: a second YAML document begins here; put all settings into one document`},
		{"an anchor", "approve: &a hunter2\nwatch: *a\n", `remit.yaml:1:1: approve: anchors and tags are not supported; write the value itself`},
		{"a tag", "approve: !!str hunter2\n", `remit.yaml:1:1: approve: anchors and tags are not supported; write the value itself`},
		{"merging", "<<: {approve: hunter2}\n", `remit.yaml:1:1: a key must be a plain word; anchors, tags and merge keys are not supported`},
		{"what quotes the file", "approve: |hunter2\n  x\n", `remit.yaml:1:10: is not valid YAML; check this line and the one before`},
		{"not UTF-8", "approve: \xff\n", `remit.yaml:1:10: invalid character; remove it, or save the file as UTF-8`},
		{"UTF-16", "\xff\xfea\x00p\x00", `remit.yaml:1:1: invalid character`},
		{"a NUL", "watch: on\r\nappröve: ask\x00\n", `remit.yaml:2:13: invalid character`},
		{"lists of lists in a line", strings.Repeat("- ", 30_000), `read the configuration: remit.yaml is nested too deeply`},
		{"keys and lists in turn", strings.Repeat("a:\n-\n", 10_000), `read the configuration: remit.yaml is nested too deeply`},
		{"keys of keys in a line", strings.Repeat("?\t", 30_000), `read the configuration: remit.yaml is nested too deeply`},
		{"anchors in a line", "approve: " + strings.Repeat("&a ", 20_000), `read the configuration: remit.yaml has a line with too many keys, anchors or tags; break it into several lines`},
		{"too large", "# " + strings.Repeat("x", 64<<10), `read the configuration: remit.yaml is larger than the allowed 65536 bytes`},
		{"a deadline of nothing", "tools:\n  hello: {deadline: 0s}\n", `remit.yaml:2:11: tools.hello.deadline: "0s" must be greater than zero`},
		{"a size of nothing", "tools:\n  hello: {request: 0B}\n", `remit.yaml:2:11: tools.hello.request: "0B" must be greater than zero`},
		{"no words", "tools:\n  hello: {title: ' '}\n", `remit.yaml:2:11: tools.hello.title: is empty, which changes nothing; write a value, or remove the key`},
		{"no description", "tools:\n  hello: {description: ''}\n", `remit.yaml:2:11: tools.hello.description: is empty, which changes nothing`},
		{"no pattern", "tools:\n  read_file: {deny: []}\n", `remit.yaml:2:15: tools.read_file.deny: is empty, which changes nothing`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := parsed(t, tc.text)
			if err == nil || !strings.HasPrefix(err.Error(), tc.want) {
				t.Fatalf("got  %v\nwant %s", err, tc.want)
			}
			if strings.Contains(err.Error(), "hunter2") || strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("the error quotes the file: %v", err)
			}
		})
	}
}

// TestConfigFile checks the values that were read and their positions.
func TestConfigFile(t *testing.T) {
	file, err := parsed(t, "\ufeff# mine\r\napprove: deny\r\nread-only: True\r\ntoolsets: [tasks, books]\r\ncode_memory: |\r\n  1GiB\r\n"+
		"tools:\r\n  hello:\r\n    rate: 10/min\r\n    deny:\r\n    - a\r\n    - \"**/b\"\r\n  # not this: {hide: true}\r\n"+
		"  add_task: {hide: true, title: 5, description: \"more\\n⚠\ufe0f\", deadline: 1s, request: 1KiB, approval: true}\r\n  list_tasks:\r\n")
	if err != nil {
		t.Fatal(err)
	}
	settings := map[string]string{"approve": "deny", "read_only": "true", "toolsets": "tasks,books", "code_memory": "1GiB"}
	if diff := cmp.Diff(settings, file.settings); diff != "" {
		t.Error(diff)
	}
	rules := map[string]contract.Tightening{
		"hello":      {Rate: contract.Rate{Requests: 10, Per: time.Minute}, Deny: []string{"a", "**/b"}},
		"add_task":   {Hide: true, Title: "5", Description: "more\n⚠\ufe0f", Deadline: contract.Duration(time.Second), Request: 1 << 10, Approval: true},
		"list_tasks": {},
	}
	if diff := cmp.Diff(rules, file.tools); diff != "" {
		t.Error(diff)
	}
	if file, err := parsed(t, "tools: {read_file: {deny: ['', ' ']}}\n"); err != nil || len(file.tools["read_file"].Deny) != 2 {
		t.Errorf("patterns: %+v, %v", file.tools, err)
	}
	for key, want := range map[string]string{
		"approve": ":2:1", "read_only": ":3:1", "tools": ":7:1", "tools.hello": ":8:3", "tools.hello.rate": ":9:5", "tools.add_task.title": ":14:26",
		"watch": "", "tools.nobody": "",
	} {
		if got := file.position(key); got != file.name+want {
			t.Errorf("position of %s: %s, want %s", key, got, file.name+want)
		}
	}
	for _, nothing := range []string{"", "\n", "# nothing\n", "---\n", "tools:\n", "null\n", "{}"} {
		if file, err := parsed(t, nothing); err != nil || len(file.settings)+len(file.tools) > 0 {
			t.Errorf("%q: %+v, %v", nothing, file, err)
		}
	}
}

// TestConfigStaysWithin checks that a file in the workspace can neither send data outside the
// workspace nor set whom to trust.
func TestConfigStaysWithin(t *testing.T) {
	file := configFile{name: "remit.yaml", settings: map[string]string{"data": "state", "books": "file://shelf"}}
	if err := file.checkWithin("/work"); err != nil {
		t.Error(err)
	}
	for _, key := range []string{"identity", "oidc_issuer", "oidc_audience", "oidc_user", "webhook", "webhook_format", "tls_cert", "tls_key", "behind_proxy", "keys"} {
		for _, value := range []string{"inside/it", "https://elsewhere.example", ""} {
			file := configFile{name: "remit.yaml", settings: map[string]string{key: value}}
			err := file.checkOperatorOnly()
			want := "remit.yaml: " + key + " cannot be set by a file in the workspace; use --" + strings.ReplaceAll(key, "_", "-") + " or REMIT_" + strings.ToUpper(key) + ", or name this file with --config"
			if err == nil || err.Error() != want {
				t.Errorf("%s: %q: %v", key, value, err)
			}
		}
	}
	file, err := parsed(t, "approve: ask\ndata: ../victim\n")
	if err != nil {
		t.Fatal(err)
	}
	if err := file.checkWithin(filepath.Dir(file.name)); err == nil || !strings.HasPrefix(err.Error(), file.name+":2:1: data points outside the workspace; set it with --data") {
		t.Error(err)
	}
}

// TestRuleKeys checks that rules have the keys of contract.Tightening.
func TestRuleKeys(t *testing.T) {
	var tags []string
	for field := range reflect.TypeFor[contract.Tightening]().Fields() {
		tags = append(tags, field.Tag.Get("yaml"))
	}
	if diff := cmp.Diff(tags, ruleKeys()); diff != "" {
		t.Error(diff)
	}
}

// FuzzConfigFile checks that no file causes a panic, and that each error has a position and fits on
// one line.
func FuzzConfigFile(f *testing.F) {
	for _, text := range []string{
		"approve: deny\n", "tools:\n  hello: {rate: 10/min, deny: [a]}\n", "a: b\n---\nc: d\n...\n", "%YAML 1.2\n---\n? a\n: b\n", "<<: *a\n", "a: &x !t |\n  b\n",
		"\tx: 1", "x: {a: [b, {c: d}]}\n", "- - -\n", "\"\\x41\": 1\n", "~: ~\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4<<10 {
			return
		}
		name := filepath.Join(t.TempDir(), "remit.yaml")
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := readConfig(name, true)
		if err != nil {
			if words := err.Error(); !strings.Contains(words, name) || strings.ContainsAny(words, "\n\r\x1b\x00") {
				t.Errorf("%q: %q", data, words)
			}
			return
		}
		for key := range file.settings {
			if !slices.Contains(settingKeys(), key) || file.position(key) == name {
				t.Errorf("%q: %s at %s", data, key, file.position(key))
			}
		}
		for tool := range file.tools {
			if file.position("tools."+tool) == name {
				t.Errorf("%q: %s has no position", data, tool)
			}
		}
	})
}

// TestWrongValues checks that errors about values give the position and the nearest valid value.
func TestWrongValues(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"# mine\napprove: atuo\n", `remit.yaml:2:1: approve: "atuo" must be ask, auto or deny; did you mean "auto"?`},
		{"approve: perhaps\n", `remit.yaml:1:1: approve: "perhaps" must be ask, auto or deny`},
		{"log_level: wran\n", `remit.yaml:1:1: log_level: "wran" must be debug, info, warn or error; did you mean "warn"?`},
		{"watch: on\nrate-limits: false\n", `remit.yaml:2:1: rate_limits: "false" must be on or off`},
		{"read_only: yes\n", `remit.yaml:1:1: read_only: "yes" must be true or false`},
		{"code_memory: lots\n", `remit.yaml:1:1: code_memory: "lots" is not a size; write it like 10KiB or 1MiB`},
		{"toolsets: []\n", `remit.yaml:1:1: toolsets: name at least one toolset`},
		{"addr: nowhere\n", `remit.yaml:1:1: addr: "nowhere" must be a host and a port, such as 127.0.0.1:8722`},
		{"books: shelf\n", `remit.yaml:1:1: books: "shelf" must be file://FOLDER or s3://BUCKET/PREFIX`},
		{"data: ../victim\n", `remit.yaml:1:1: data points outside the workspace; set it with --data or REMIT_DATA instead`},
	} {
		_, err := settled(t, tc.text)
		if err == nil || err.Error() != tc.want {
			t.Errorf("%q:\ngot  %v\nwant %s", tc.text, err, tc.want)
		}
	}
}

// TestPlaced checks the positions in errors that are found only when the tools are known.
func TestPlaced(t *testing.T) {
	settings, err := settled(t, "toolsets: [taks]\ntools:\n  helo:\n    hide: true\n  hello:\n    rate: 9/s\n")
	if err != nil {
		t.Fatal(err)
	}
	wrong := func(key string) error { return &contract.SettingError{Key: key, Err: errors.New("no")} }
	other := errors.New("the disk is full")
	for _, tc := range []struct {
		err  error
		want string
	}{
		{wrong("toolsets"), "FILE:1:1: toolsets: no"},
		{wrong("database"), "database (from default): no"},
		{wrong("tools.helo"), "FILE:3:3: tools.helo: no"},
		{errors.Join(wrong("tools.hello.rate"), wrong("tools.helo")), "FILE:6:5: tools.hello.rate: no\nFILE:3:3: tools.helo: no"},
		{other, other.Error()},
	} {
		got := settings.locate(tc.err)
		if words := strings.ReplaceAll(got.Error(), settings.Config, "FILE"); words != tc.want {
			t.Errorf("got  %s\nwant %s", words, tc.want)
		}
		var usage usageError
		if errors.As(got, &usage) == errors.Is(got, other) {
			t.Errorf("%v ends with the wrong exit code", got)
		}
	}
}

// TestHiddenCharacters checks that flags and variables are checked like the words of the file.
func TestHiddenCharacters(t *testing.T) {
	for _, s := range settingsTable {
		flags := pflag.NewFlagSet("remit", pflag.ContinueOnError)
		addSettingFlags(flags)
		variable := func(name string) (string, bool) { return "a\u202eb", name == s.variable() }
		want := s.variable() + `: "a\u202eb" has characters that cannot be seen; remove them`
		if _, err := (&Program{Env: variable}).resolve(&resolver{flags: flags, env: variable}); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
		if s.fallback == "false" {
			continue // its flag takes no words
		}
		for _, hidden := range []string{"a\u3164", "a\x1b[31m", "a\nb", "a\x00", "\U000e0041", "a\xff"} {
			if err := flags.Set(s.flag(), hidden); err != nil {
				t.Fatal(err)
			}
			want := "--" + s.flag() + `: "` + visible.Line(hidden) + `" has characters that cannot be seen; remove them`
			empty := func(string) (string, bool) { return "", false }
			if _, err := (&Program{Env: empty}).resolve(&resolver{flags: flags, env: empty}); err == nil || err.Error() != want {
				t.Errorf("%v, want %s", err, want)
			}
		}
	}
	flags := pflag.NewFlagSet("remit", pflag.ContinueOnError)
	addSettingFlags(flags)
	database := func(name string) (string, bool) { return "postgres://a:secret@b/\u200b", name == "REMIT_DATABASE" }
	if _, err := (&Program{Env: database}).resolve(&resolver{flags: flags, env: database}); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("the error shows a password: %v", err)
	}
}

// trustingAll is an environment in which every entry of a file is trusted.
func trustingAll(name string) (string, bool) {
	return "all", name == "REMIT_TRUST"
}

// settled resolves the settings of a workspace with this file, which is trusted.
func settled(t *testing.T, text string) (Settings, error) {
	t.Helper()
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "remit.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	flags := pflag.NewFlagSet("remit", pflag.ContinueOnError)
	addSettingFlags(flags)
	if err := flags.Set("root", root); err != nil {
		t.Fatal(err)
	}
	settings, err := (&Program{Env: trustingAll}).resolve(&resolver{flags: flags, env: trustingAll})
	if err != nil {
		err = &shortened{strings.ReplaceAll(err.Error(), root+string(filepath.Separator), "")}
	}
	return settings, err
}

// TestCostlyFile checks that a file with many keys is refused before it is parsed.
func TestCostlyFile(t *testing.T) {
	for _, part := range []string{"a: b\n", "  a\n"} {
		_, err := settled(t, strings.Repeat(part, (maxConfig-10)/len(part)))
		if err == nil || !strings.Contains(err.Error(), "remit.yaml has more than 2000 lines") {
			t.Errorf("%q: %.100v", part, err)
		}
	}
	if _, err := settled(t, strings.Repeat("# a comment\n\n", 4000)+"approve: deny\n"); err != nil {
		t.Errorf("a file with many comments: %v", err)
	}
}
