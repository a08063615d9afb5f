package clients

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tailscale/hujson"

	"remit/internal/jsonc"
)

// ours is the server that the tests install.
var ours = Server{Name: "remit", Command: "/opt/remit", Args: []string{"stdio", "--root", "/home/ada/a b"}}

// small renders a short entry, to keep the tests readable.
func small(st style) []byte {
	if st.compact {
		return []byte(`{"x": 1}`)
	}
	return []byte("{" + st.eol + st.indent + st.unit + `"x": 1` + st.eol + st.indent + "}")
}

func TestJSONSet(t *testing.T) {
	for _, tc := range []struct{ name, before, want string }{
		{"nothing", "", "{\n  \"servers\": {\n    \"remit\": {\n      \"x\": 1\n    }\n  }\n}\n"},
		{"a mark and nothing", "\ufeff", "\ufeff{\n  \"servers\": {\n    \"remit\": {\n      \"x\": 1\n    }\n  }\n}\n"},
		{"only a comment", "// mine", "// mine\n{\n  \"servers\": {\n    \"remit\": {\n      \"x\": 1\n    }\n  }\n}\n"},
		{"empty", "{}", "{\n  \"servers\": {\n    \"remit\": {\n      \"x\": 1\n    }\n  }\n}"},
		{"empty over lines", "{\n}\n", "{\n  \"servers\": {\n    \"remit\": {\n      \"x\": 1\n    }\n  }\n}\n"},
		{"others, tabs", "{\n\t\"servers\": {\n\t\t\"a\": {}\n\t}\n}\n", "{\n\t\"servers\": {\n\t\t\"a\": {},\n\t\t\"remit\": {\n\t\t\t\"x\": 1\n\t\t}\n\t}\n}\n"},
		{"a comma behind the last", "{\n  \"servers\": {\n    \"a\": {},\n  },\n}", "{\n  \"servers\": {\n    \"a\": {},\n    \"remit\": {\n      \"x\": 1\n    },\n  },\n}"},
		{"a comment behind the last", "{\n  \"servers\": {\n    \"a\": {} // mine, {\n  }\n}", "{\n  \"servers\": {\n    \"a\": {}, // mine, {\n    \"remit\": {\n      \"x\": 1\n    }\n  }\n}"},
		{"CRLF", "{\r\n    \"a\": 1\r\n}", "{\r\n    \"a\": 1,\r\n    \"servers\": {\r\n        \"remit\": {\r\n            \"x\": 1\r\n        }\r\n    }\r\n}"},
		{"all of it indented", "  {\n      \"a\": 1\n  }", "  {\n      \"a\": 1,\n      \"servers\": {\n          \"remit\": {\n              \"x\": 1\n          }\n      }\n  }"},
		{"one line", `{"servers": {"a": {}}}`, `{"servers": {"a": {}, "remit": {"x": 1}}}`},
		{"one line, a comma behind the last", `{"servers": {"a": {},}}`, `{"servers": {"a": {}, "remit": {"x": 1},}}`},
		{"one that is there", "{\"servers\": {\n  \"remit\": 5, // old\n  \"b\": {}}}", "{\"servers\": {\n  \"remit\": {\n    \"x\": 1\n  }, // old\n  \"b\": {}}}"},
		{"a name with escapes", `{"ser\u0076ers": {"rem\u0069t": 0}}`, `{"ser\u0076ers": {"rem\u0069t": {"x": 1}}}`},
		{"the same words elsewhere", `{"a": "\"servers\": {", "b": {"servers": {}}, "servers": {}}`, "{\"a\": \"\\\"servers\\\": {\", \"b\": {\"servers\": {}}, \"servers\": {\n  \"remit\": {\n    \"x\": 1\n  }\n}}"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := jsonFile{"servers"}.set([]byte(tc.before), "remit", small)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, string(got)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestJSONRemove(t *testing.T) {
	for _, tc := range []struct{ name, before, want string }{
		{"the only one", `{"servers": {"remit": {}}, "b": 1}`, `{"servers": {}, "b": 1}`},
		{"the only one over lines", "{\n  \"servers\": {\n    \"remit\": {}\n  }\n}", "{\n  \"servers\": {}\n}"},
		{"the last", "{\"servers\": {\n  \"a\": 1, // one\n  \"remit\": {}\n}}", "{\"servers\": {\n  \"a\": 1 // one\n}}"},
		{"the first", "{\"servers\": {\n  \"remit\": {},\n  \"a\": 1\n}}", "{\"servers\": {\n  \"a\": 1\n}}"},
		{"between", "{\"servers\": {\n  \"a\": 1,\n  \"remit\": {},\n  \"b\": 2,\n}}", "{\"servers\": {\n  \"a\": 1,\n  \"b\": 2,\n}}"},
		{"a comma behind the last", "{\"servers\": {\n  \"a\": 1,\n  \"remit\": {},\n}}", "{\"servers\": {\n  \"a\": 1,\n}}"},
		{"what follows stays out of a comment", "{\"servers\": { // one\n  \"remit\": {}, \"b\": 2}}", "{\"servers\": { // one\n   \"b\": 2}}"},
		{"comments of its own", "{\"servers\": {\n  // about remit\n  \"remit\": {} /* c */, // d\n  \"b\": 2}}", "{\"servers\": {\n  // about remit\n   /* c */ // d\n  \"b\": 2}}"},
		{"not there", `{"servers": {"a": 1}}`, `{"servers": {"a": 1}}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := jsonFile{"servers"}.remove([]byte(tc.before), "remit", true)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, string(got)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestTOML(t *testing.T) {
	const entry = "[mcp_servers.remit]\nx = 1\n"
	write := func(st style) []byte { return []byte(strings.ReplaceAll(entry, "\n", st.eol)) }
	for _, tc := range []struct{ name, before, set, removed string }{
		{"nothing", "", entry, ""},
		{"a setting", "model = \"o3\"\n", "model = \"o3\"\n\n" + entry, "model = \"o3\"\n"},
		{"no end of the last line", "model = \"o3\" # mine", "model = \"o3\" # mine\n\n" + entry, "model = \"o3\" # mine\n"},
		{"CRLF", "a = 1\r\n", "a = 1\r\n\r\n[mcp_servers.remit]\r\nx = 1\r\n", "a = 1\r\n"},
		{"in place", "[mcp_servers.remit] # old\ncommand = [\n  \"a\", # ]\n]\n# keep\n[b]\nc = 1", entry + "# keep\n[b]\nc = 1", "# keep\n[b]\nc = 1"},
		{"tables in it", "a = 1\n\n[mcp_servers.\"remit\"]\nx = 0\n\n[mcp_servers.remit.env]\nA = \"1\"\n\n[z]\n", "a = 1\n\n" + entry + "\n[z]\n", "a = 1\n\n[z]\n"},
		{"words in a string", "a = \"\"\"\n[mcp_servers.remit]\n\"\"\"\"\n", "a = \"\"\"\n[mcp_servers.remit]\n\"\"\"\"\n\n" + entry, "a = \"\"\"\n[mcp_servers.remit]\n\"\"\"\"\n"},
		{"others", "[mcp_servers.a]\nurl = 'x'\n", "[mcp_servers.a]\nurl = 'x'\n\n" + entry, "[mcp_servers.a]\nurl = 'x'\n"},
		{"others in the table of all", "[mcp_servers]\na = {url = \"x\"}\n", "[mcp_servers]\na = {url = \"x\"}\n\n" + entry, "[mcp_servers]\na = {url = \"x\"}\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			file := tomlFile{"mcp_servers"}
			got, err := file.set([]byte(tc.before), "remit", write)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.set, string(got)); diff != "" {
				t.Errorf("set: -want +got\n%s", diff)
			}
			if got, err = file.remove(got, "remit", true); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.removed, string(got)); diff != "" {
				t.Errorf("remove: -want +got\n%s", diff)
			}
		})
	}
}

func TestSyntaxErrors(t *testing.T) {
	for _, tc := range []struct {
		in           format
		text, reason string
		line, column int
	}{
		{jsonFile{"servers"}, "{\n  \"a\": 1\n  \"b\": 2\n}", "a comma or '}' belongs here", 3, 3},
		{jsonFile{"servers"}, "{\"é\": tru}", "a value belongs here", 1, 7},
		{jsonFile{"servers"}, "\ufeff{\"a: 1}", "this string has no end", 1, 8},
		{jsonFile{"servers"}, "{\"a\": \"\\q\"}", "this string is invalid", 1, 7},
		{jsonFile{"servers"}, "{a: 1}", "a name in double quotes belongs here", 1, 2},
		{jsonFile{"servers"}, "{\"a\" 1}", "a colon belongs here, between a name and its value", 1, 6},
		{jsonFile{"servers"}, "{\"a\": 1", "the text ends here, but '}' is missing", 1, 8},
		{jsonFile{"servers"}, "{} {}", "unexpected text after the end of the value", 1, 4},
		{jsonFile{"servers"}, "{} /*", "this comment has no end", 1, 4},
		{jsonFile{"servers"}, "[]", "expected an object in braces", 1, 1},
		{jsonFile{"servers"}, "{\"servers\": []}", `"servers" must be an object in braces`, 1, 13},
		{jsonFile{"servers"}, "{\"servers\": {}, \"servers\": {}}", `"servers" occurs twice; remove one of them`, 1, 17},
		{jsonFile{"servers"}, strings.Repeat("[", 600), "objects and arrays are nested too deeply", 1, 501},
		{tomlFile{"s"}, "a = 1\n= 2", "invalid character at start of key: U+003D '='", 2, 1},
		{tomlFile{"s"}, "a = ", "expected value, not end of input", 1, 4},
		{tomlFile{"s"}, "a = \"x\nb = 1", "basic strings cannot have new lines", 1, 7},
		{tomlFile{"s"}, "a = \"x\" b", "expected newline but got U+0062 'b'", 1, 9},
		{tomlFile{"s"}, "[a\n", "expected ']' to close table name", 1, 3},
		{tomlFile{"s"}, "a = ['1' '2']", "expected ',' or ']' after array value", 1, 10},
		{tomlFile{"s"}, "a = [", "array is incomplete", 1, 5},
		{tomlFile{"s"}, "s = {}", "s is not written as a table; write each server as a table [s.NAME], or add [s.remit] by hand", 1, 1},
		{tomlFile{"s"}, "s.a.command = 'x'", "s is not written as a table; write each server as a table [s.NAME], or add [s.remit] by hand", 1, 1},
		{tomlFile{"s"}, "[s]\nremit = {}", "remit is not in a table of its own; write it as [s.remit], or change it by hand", 2, 1},
		{tomlFile{"s"}, "[[s]]\n", "[[s]] is an array of tables; Codex expects a table such as [s.remit]", 1, 1},
		{tomlFile{"s"}, "[s.remit]\n[s.remit]\n", "[s.remit] occurs twice; remove one of them", 2, 1},
	} {
		_, err := tc.in.set([]byte(tc.text), "remit", small)
		var got *SyntaxError
		if !errors.As(err, &got) {
			t.Errorf("%q yields no SyntaxError: %v", tc.text, err)
			continue
		}
		if diff := cmp.Diff(&SyntaxError{tc.line, tc.column, tc.reason}, got); diff != "" {
			t.Errorf("%q: -want +got\n%s", tc.text, diff)
		}
	}
}

// plain decodes JSON with comments.
func plain(t *testing.T, text []byte) map[string]any {
	t.Helper()
	root, err := jsonc.Parse(text)
	if err != nil {
		t.Fatalf("%q cannot be read: %v", text, err)
	}
	value, _ := plainValue(root.Value).(map[string]any)
	return value
}

// plainValue decodes a value. Arrays and literals stay source text.
func plainValue(v hujson.ValueTrimmed) any {
	o, ok := v.(*hujson.Object)
	if !ok {
		return hujson.Value{Value: v}.String()
	}
	all := map[string]any{}
	for _, m := range o.Members {
		all[m.Name.Value.(hujson.Literal).String()] = plainValue(m.Value.Value)
	}
	return all
}

// FuzzJSON checks for any file that an added entry can be read and all else is unchanged, that
// removing the entry restores the rest, and that setting the present entry verbatim yields the same
// bytes. By the last, Remove detects that nobody changed the file.
func FuzzJSON(f *testing.F) {
	for _, seed := range []string{"", "{}", "{\"servers\": {}}", "// x\n{\n\t\"servers\": {\r\n \"a\": [1, {}], /* y */\n },\n}", "\ufeff{\"a\":{\"servers\":1}} //", "{\"servers\":{\"remit\":{}, // c\n\"b\":1}}", "{\"servers\":{\"a\":1 // c\n,}}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		file := jsonFile{"servers"}
		set, err := file.set(text, "remit", small)
		if err != nil {
			return
		}
		before, after := plain(t, text), plain(t, set)
		if before == nil {
			before = map[string]any{}
		}
		servers, had := before["servers"].(map[string]any)
		if !had {
			servers = map[string]any{}
		}
		_, wasThere := servers["remit"]
		servers["remit"] = map[string]any{"x": "1"}
		before["servers"] = servers
		if diff := cmp.Diff(before, after); diff != "" {
			t.Fatalf("%q became %q: %s", text, set, diff)
		}
		raw, _, err := file.get(set, "remit")
		if err != nil {
			t.Fatal(err)
		}
		again, err := file.set(text, "remit", func(style) []byte { return raw })
		if err != nil || string(again) != string(set) {
			t.Fatalf("%q, then %q: %v", set, again, err)
		}
		for _, keepHolder := range []bool{true, false} {
			removed, err := file.remove(set, "remit", keepHolder)
			if err != nil {
				t.Fatal(err)
			}
			delete(servers, "remit")
			want := map[string]any{}
			for key, value := range before {
				want[key] = value
			}
			if !keepHolder && len(servers) == 0 {
				delete(want, "servers")
			}
			if diff := cmp.Diff(want, plain(t, removed)); diff != "" {
				t.Fatalf("%q became %q: %s", set, removed, diff)
			}
			if keepHolder && had && len(servers) > 0 && !wasThere && string(removed) != string(text) {
				t.Fatalf("%q became %q", text, removed)
			}
		}
	})
}

func FuzzTOML(f *testing.F) {
	for _, seed := range []string{"", "a = 1", "[mcp_servers.a]\r\nb = '''x\n'''\r\n", "[x]\na = [\n1, # ]\n{b = 2}]\n\n", "[mcp_servers.remit]\n[mcp_servers.remit.env]\nA='b'"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		file := tomlFile{"mcp_servers"}
		before, err := scanTOML(text)
		if err != nil {
			return
		}
		set, err := file.set(text, "remit", func(st style) []byte { return file.render("remit", []field{{"command", "x"}}, st) })
		if err != nil {
			return
		}
		raw, entry, err := file.get(set, "remit")
		if err != nil || entry.Command != "x" {
			t.Fatalf("%q became %q: %v, %v", text, set, entry, err)
		}
		again, err := file.set(text, "remit", func(style) []byte { return raw })
		if err != nil || string(again) != string(set) {
			t.Fatalf("%q, then %q: %v", set, again, err)
		}
		removed, err := file.remove(set, "remit", true)
		if err != nil {
			t.Fatal(err)
		}
		after, err := scanTOML(removed)
		if err != nil {
			t.Fatalf("%q became %q: %v", set, removed, err)
		}
		if diff := cmp.Diff(otherTables(file, before), otherTables(file, after)); diff != "" {
			t.Fatalf("%q became %q: %s", text, removed, diff)
		}
	})
}

// otherTables returns the text of all tables except those of the server remit.
func otherTables(file tomlFile, all []tomlTable) []string {
	var texts []string
	for _, t := range all {
		if file.isOf(&t, "remit") {
			continue
		}
		text, _ := json.Marshal([]any{t.path, t.array})
		texts = append(texts, string(text))
		for _, p := range t.pairs {
			text, _ := json.Marshal([]any{p.key, p.value})
			texts = append(texts, string(text))
		}
	}
	return texts
}
