package approval_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine/approval"
)

func parsed(t testing.TB, text string) *jsontree.Value {
	t.Helper()
	v, err := jsontree.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return &v
}

// toolContract returns a contract with the given properties.
func toolContract(t testing.TB, properties string) *contract.Contract {
	t.Helper()
	return &contract.Contract{Name: "write_content", Owner: "user_id", Input: *parsed(t, `{"type":"object","properties":`+properties+`}`)}
}

const bookProperties = `{"book_id":{"type":"string"},"path":{"type":"string"},"content":{"type":"string"},"draft":{"type":"boolean"},` +
	`"tags":{"type":"array"},"n":{"type":"integer"}}`

// scopeNamed returns one of the scopes of a call, after it was stored and read again.
func scopeNamed(t testing.TB, properties, args, name string) approval.Scope {
	t.Helper()
	for _, s := range approval.Scopes(toolContract(t, properties), parsed(t, args)) {
		if s.Name == name {
			stored, err := approval.ParseScope(s.String())
			if err != nil {
				t.Fatalf("scope %s: %v", s, err)
			}
			return stored
		}
	}
	t.Fatalf("there is no scope %s for %s", name, args)
	return approval.Scope{}
}

// TestScopes checks which scopes are offered, from narrow to wide, and their words.
func TestScopes(t *testing.T) {
	for name, c := range map[string]struct{ properties, args, want string }{
		"a file of a book": {bookProperties, `{"book_id":"go","path":"a/b/c.md","content":"x"}`, `
exact: exactly the arguments of the request
values: book_id "go", path "a/b/c.md", any content, and no other arguments
under:a/b: book_id "go", path beneath "a/b/", any content, and no other arguments
under:a: book_id "go", path beneath "a/", any content, and no other arguments
any:path: book_id "go", any path, any content, and no other arguments
tool: any arguments`},
		"only names": {bookProperties, `{"book_id":"go","path":"c.md"}`, `
exact: exactly the arguments of the request
any:path: book_id "go", any path, and no other arguments
tool: any arguments`},
		"the owner stays": {
			`{"task_id":{"type":"string"},"user_id":{"type":"string"},"done":{"type":"boolean"},"title":{"type":"string"}}`,
			`{"done":true,"task_id":"7","title":"x","user_id":"ada"}`, `
exact: exactly the arguments of the request
values: done true, task_id "7", user_id "ada", any title, and no other arguments
any:task_id: done true, user_id "ada", any task_id, any title, and no other arguments
tool: any arguments`,
		},
		"members of an object": {
			`{"file":{"type":"string","enum":["a","b"]},"entry":{"type":"object","properties":{"type":{"type":"string"}}}}`,
			`{"entry":{"text":"x","type":"stack"},"file":"a"}`, `
exact: exactly the arguments of the request
values: entry.type "stack", file "a", any entry.text, and no other arguments
tool: any arguments`,
		},
		"a path that is none": {bookProperties, `{"book_id":"go","path":"a/../b","content":"x"}`, `
exact: exactly the arguments of the request
values: book_id "go", path "a/../b", any content, and no other arguments
any:path: book_id "go", any path, any content, and no other arguments
tool: any arguments`},
		"no arguments": {`{}`, `{}`, `
exact: exactly the arguments of the request
tool: any arguments`},
	} {
		t.Run(name, func(t *testing.T) {
			args := parsed(t, c.args)
			var got strings.Builder
			for _, s := range approval.Scopes(toolContract(t, c.properties), args) {
				got.WriteString("\n" + s.Name + ": " + s.Words())
				if !s.Matches(args, false) {
					t.Errorf("%s does not match the call that it was made from", s.Name)
				}
			}
			if diff := cmp.Diff(c.want, got.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestWiderArguments attacks each scope with calls that it must not cover.
func TestWiderArguments(t *testing.T) {
	const args = `{"book_id":"go","content":"x","draft":false,"n":1,"path":"a/b/c.md","tags":["x"]}`
	replaced := func(old, new string) string { return strings.Replace(args, old, new, 1) }
	path := func(p string) string { return replaced(`"a/b/c.md"`, p) }
	for scope, calls := range map[string]struct{ covered, others []string }{
		"exact": {[]string{args, replaced(`"book_id":"go",`, ``)[:1] + `"book_id":"go",` + replaced(`"book_id":"go",`, ``)[1:]}, []string{
			replaced(`"x"`, `"y"`), replaced(`false`, `true`), replaced(`1`, `1.0`), replaced(`1`, `"1"`), replaced(`["x"]`, `["x","y"]`),
			replaced(`}`, `,"more":1}`), replaced(`"n":1,`, ``), `{}`, `[]`, `null`, `"a"`,
		}},
		"values": {[]string{args, replaced(`"x"`, `"y"`), replaced(`"n":1`, `"n":2`)}, []string{
			path(`"a/b/d.md"`), path(`"A/b/c.md"`), path(`["a/b/c.md"]`), replaced(`"go"`, `"Go"`), replaced(`"go"`, `["go"]`),
			replaced(`"go"`, `{"go":1}`), replaced(`false`, `true`), replaced(`false`, `"false"`), replaced(`false`, `0`),
			replaced(`}`, `,"more":1}`), replaced(`"content":"x",`, ``), replaced(`"content":"x"`, `"Content":"x"`),
			replaced(`"draft":false`, `"draft":false,"draft":true`), replaced(`"content":"x"`, `"book_id":"go"`), `{}`, `null`,
		}},
		"under:a/b": {[]string{args, path(`"a/b/d.md"`), path(`"a/b/x/y/ü.md"`), path(`"a/b/...x"`)}, []string{
			path(`"a/b"`), path(`"a/b/"`), path(`"a/bc.md"`), path(`"a/b/../c.md"`), path(`"a/b/x/../../c.md"`), path(`"a/b/.."`),
			path(`"a/b//c.md"`), path(`"./a/b/c.md"`), path(`"/a/b/c.md"`), path(`"x/a/b/c.md"`), path(`"A/b/c.md"`), path(`"a/B/c.md"`),
			path(`"a/b/./c.md"`), path(`"a\/b\/..\/c.md"`), path(`"a/b/..\\c.md"`), path(`"a\\b\\c.md"`), path(`"a/b/%2e%2e/c.md"`),
			path(`"a/b/c.md\u0000"`), path(`"a/b/\u202ec.md"`), path(`"a/b/c\u200b.md"`), path(`"a/b/c.md:stream"`), path(`"a/b/.. /c.md"`),
			path(`"a/b/c.md."`), path(`"a/b/c "`), path(`"a/b/ c"`), path(`"a/b/c~1"`), path(`"a/b/*"`), path(`"a/b/c\n.md"`), path(`" a/b/c.md"`),
			path(`"\u0430/b/c.md"`), path(`"a/b/\u3000"`), path(`["a/b/c.md"]`), path(`{"a/b/c.md":1}`), path(`1`), path(`null`), path(`""`),
			replaced(`"path":"a/b/c.md",`, ``), replaced(`"path"`, `"Path"`), replaced(`}`, `,"path":"c"}`), replaced(`"go"`, `"other"`),
			replaced(`false`, `true`), replaced(`}`, `,"more":1}`),
		}},
		"any:path": {[]string{args, path(`"c.md"`), path(`"../c.md"`)}, []string{replaced(`"go"`, `"other"`), replaced(`}`, `,"more":1}`)}},
		"tool":     {[]string{args, `{}`}, nil},
	} {
		s := scopeNamed(t, bookProperties, args, scope)
		for _, call := range calls.covered {
			if !s.Matches(parsed(t, call), false) {
				t.Errorf("%s does not cover %s", scope, call)
			}
		}
		for _, call := range calls.others {
			v, err := jsontree.Parse([]byte(call))
			if err == nil && s.Matches(&v, false) { // what is no JSON is no call
				t.Errorf("%s covers %s", scope, call)
			}
		}
		if scope != "tool" && s.Matches(parsed(t, args), true) {
			t.Errorf("%s covers a path that leads over a link", scope)
		}
	}
}

// TestUnreadableScopes checks that a scope that Remit did not write covers nothing.
func TestUnreadableScopes(t *testing.T) {
	for _, text := range []string{
		"", "{}", "null", "[]", `{"any":false}`, `{"where":[]}`, `{"any":true,"where":[]}`, `{"any":true,"exact":"a"}`, `{"any":true} `, ` {"any":true}`,
		`{"any":true,"more":1}`, `{"ANY":true}`, `{"any":true}{}`, `{"where":[{"name":"a","is":"like"}]}`,
		`{"where":[{"name":"a","is":"any"},{"name":"a","is":"any"}]}`, `{"where":[{"name":"a","is":"under","value":""}]}`,
		`{"where":[{"name":"a","is":"under","value":".."}]}`, `{"where":[{"name":"a","is":"under","value":"."}]}`,
		`{"where":[{"name":"a","is":"under","value":"x/../y"}]}`, `{"where":[{"name":"a","is":"any","where":[{"name":"b","is":"any"}]}]}`,
	} {
		if s, err := approval.ParseScope(text); err == nil {
			t.Errorf("%s was read as %+v", text, s)
		}
	}
	var zero approval.Scope
	if zero.Matches(parsed(t, `{}`), false) {
		t.Error("the zero scope covers a call")
	}
}

// FuzzUnder checks that a path that is covered stays beneath its folder, for every reader of paths.
func FuzzUnder(f *testing.F) {
	for _, path := range []string{"a/b/c", "a/b/../c", "a/b/\\..\\c", "a/b/%2e%2e/c", "a/b", "a/b/ü"} {
		f.Add(path)
	}
	s := scopeNamed(f, `{"path":{"type":"string"}}`, `{"path":"a/b/c"}`, "under:a/b")
	f.Fuzz(func(t *testing.T, path string) {
		args := jsontree.Obj(jsontree.M("path", jsontree.Str(path)))
		if !s.Matches(&args, false) {
			return
		}
		if !strings.HasPrefix(path, "a/b/") || strings.ContainsAny(path, "\\%:\x00\n") {
			t.Errorf("%q is covered", path)
		}
		for segment := range strings.SplitSeq(path, "/") {
			if segment == "" || strings.Trim(segment, ". ") == "" {
				t.Errorf("%q is covered", path)
			}
		}
	})
}
