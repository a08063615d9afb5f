package cli

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// changed returns the text of a configuration file with another value.
func changed(text, key, value string) (string, error) {
	f := newConfigFile("remit.yaml")
	if err := f.parse([]byte(text)); err != nil {
		return "", err
	}
	after, err := f.with([]byte(text), key, value)
	return string(after), err
}

func TestSetKey(t *testing.T) {
	for _, tc := range []struct{ name, before, key, value, want string }{
		{"a new file", "", "approve", "deny", "approve: deny\n"},
		{"another value", "# mine\napprove: ask # for now\nwatch: on\n", "approve", "deny", "# mine\napprove: deny # for now\nwatch: on\n"},
		{"quotes", "approve: 'ask' # it's #1\n", "approve", "deny", "approve: deny # it's #1\n"},
		{"an apostrophe", "embeddings_model: It's a # name\n", "embeddings_model", "x", "embeddings_model: x # name\n"},
		{"no line end", "approve: ask", "watch", "off", "approve: ask\nwatch: off\n"},
		{"Windows", "approve: ask\r\n# end\r\n", "approve", "deny", "approve: deny\r\n# end\r\n"},
		{"the spelling of flags", "read-only: false\n", "read_only", "true", "read-only: true\n"},
		{"after the example of init", "# what\n# approve: ask\n\n# more\n# watch: on\n", "approve", "deny", "# what\n# approve: ask\napprove: deny\n\n# more\n# watch: on\n"},
		{"a list in a line", "deny: [a, b] # both\n", "deny", "c", "deny: c # both\n"},
		{
			"a list of lines", "toolsets:\n  # first\n  - tasks\n  - books # second\n\n# next\nwatch: on\n", "toolsets", "tasks,context",
			"toolsets: tasks,context\n# first\n# second\n\n# next\nwatch: on\n",
		},
		{"a list without indent", "toolsets:\n- tasks\nwatch: on\n", "toolsets", "books", "toolsets: books\nwatch: on\n"},
		{"a value to quote", "", "deny", "*.md, #x", "deny: \"*.md, #x\"\n"},
		{"a number to quote", "", "embeddings_model", "010", "embeddings_model: \"010\"\n"},
		{"an address", "", "addr", "127.0.0.1:0", "addr: 127.0.0.1:0\n"},
		{"the first rule", "watch: on\n", "tools.hello.rate", "10/min", "watch: on\ntools:\n  hello:\n    rate: 10/min\n"},
		{"a rule for another tool", "tools:\n    a: {hide: true}\n", "tools.hello.hide", "true", "tools:\n    hello:\n      hide: true\n    a: {hide: true}\n"},
		{"another rule", "tools:\n  hello: # hi\n   hide: true\n", "tools.hello.approval", "true", "tools:\n  hello: # hi\n   approval: true\n   hide: true\n"},
		{"the same rule", "tools:\n  hello:\n    rate: 5/min # slow\n", "tools.hello.rate", "9/min", "tools:\n  hello:\n    rate: 9/min # slow\n"},
		{"a rule with a list", "", "tools.hello.deny", "a/**,b", "tools:\n  hello:\n    deny: [\"a/**\", \"b\"]\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := changed(tc.before, tc.key, tc.value)
			if diff := cmp.Diff(tc.want, got); err != nil || diff != "" {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
}

// TestSetWrongValue checks that a value that no file can have is refused for what is wrong with it.
func TestSetWrongValue(t *testing.T) {
	for value, want := range map[string]string{
		"rate fast":      `tools.hello.rate: "fast" is not a rate; write it like 100/min, 10/s or 1000/h`,
		"approval maybe": "tools.hello.approval: must be true or false",
	} {
		key, value, _ := strings.Cut(value, " ")
		for _, text := range []string{"", "tools:\n  hello:\n    rate: 5/min\n", "tools: {hello: {rate: 5/min}}\n"} {
			if after, err := changed(text, "tools.hello."+key, value); err == nil || err.Error() != want {
				t.Errorf("%s set to %s in %q: %q, error %v", key, value, text, after, err)
			}
		}
	}
}

// TestSetKeyRefuses checks that what cannot be changed without other changes is refused.
func TestSetKeyRefuses(t *testing.T) {
	for _, tc := range [][3]string{
		{"{approve: ask, watch: on}\n", "approve", "deny"},
		{"tools:\n  hello: {rate: 5/min, hide: true}\n", "tools.hello.rate", "9/min"},
		{"approve: ask\n...\n", "watch", "off"},
	} {
		if got, err := changed(tc[0], tc[1], tc[2]); err == nil || !strings.Contains(err.Error(), `use "remit config edit"`) {
			t.Errorf("%q: %q, %v", tc[0], got, err)
		}
	}
}

// FuzzSetKey checks that a change of any valid file changes one value, or is refused.
func FuzzSetKey(f *testing.F) {
	for _, text := range []string{"", "approve: ask # x\n", "deny:\n- a\n# b\n", "{watch: on}", "tools:\n  hello:\n    rate: 1/s\n", "approve: |\n  ask\n"} {
		f.Add(text, "approve", "deny")
		f.Add(text, "tools.hello.rate", "1/min")
	}
	f.Fuzz(func(t *testing.T, text, key, value string) {
		if len(text) > maxConfig || brackets([]byte(text)) > maxBrackets || indicators([]byte(text)) > maxIndicators || configLines([]byte(text)) > maxConfigLines {
			return
		}
		after, err := changed(text, key, value)
		if err != nil {
			return
		}
		file := newConfigFile("")
		if err := file.parse([]byte(after)); err != nil || file.leaves()[key] == "" && value != "" {
			t.Errorf("%q with %s=%q is %q: %v", text, key, value, after, err)
		}
	})
}
