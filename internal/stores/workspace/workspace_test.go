package workspace_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"remit/internal/contract"
	"remit/internal/stores/workspace"
)

// anywhere returns a policy like that of the booster edition: every path except secrets.
func anywhere() *contract.PathPolicy {
	return &contract.PathPolicy{
		Deny: []string{"**/.env*", "**/secrets", "**/*.key", "**/.git"},
		Max:  1024,
	}
}

// listed returns a policy like that of the learning-os edition: only a few paths.
func listed() *contract.PathPolicy {
	p := anywhere()
	p.Allow = []string{"docs/**", "README.md", "CLAUDE.md"}
	return p
}

// plant creates a tree: "a/b=text" is a file, "a/b->target" a link, "a/b/" a folder. ROOT in a
// target is replaced by the folder itself.
func plant(t testing.TB, dir string, entries ...string) {
	t.Helper()
	for _, entry := range entries {
		if err := plantOne(dir, entry); err != nil {
			t.Fatalf("plant %s: %v", entry, err)
		}
	}
}

func plantOne(dir, entry string) error {
	name, target, isLink := strings.Cut(entry, "->")
	name, content, _ := strings.Cut(name, "=")
	full := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		return err
	}
	switch {
	case isLink:
		return os.Symlink(strings.ReplaceAll(target, "ROOT", dir), full)
	case strings.HasSuffix(name, "/"):
		return os.MkdirAll(full, 0o755)
	default:
		return os.WriteFile(full, []byte(content), 0o644)
	}
}

// realTemp returns a temporary folder whose path has no links (on macOS the default has some).
func realTemp(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func open(t testing.TB, dir string, hidden ...string) *workspace.Root {
	t.Helper()
	root, err := workspace.Open(dir, hidden...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return root
}

// answer is what a caller sees of one read.
type answer struct {
	Content  string
	Resolved string
	Kind     contract.Kind
	Message  string
	Details  map[string]any
	rule     string // which the refusal names; compared only where it matters
}

func read(root *workspace.Root, name string, policy *contract.PathPolicy) answer {
	file, err := root.CheckPath(name, policy)
	if err != nil {
		return failure(err)
	}
	return content(file)
}

func content(file *workspace.File) answer {
	data, _, err := file.ReadAll()
	if err != nil {
		return failure(err)
	}
	return answer{Content: string(data), Resolved: file.Resolved()}
}

func failure(err error) answer {
	var e *contract.Error
	if !errors.As(err, &e) {
		return answer{Message: fmt.Sprintf("not a contract.Error: %T %v", err, err)}
	}
	rule, _ := e.Details["rule"].(string)
	details := maps.Clone(e.Details)
	delete(details, "rule")
	return answer{Kind: e.Kind, Message: e.Message, Details: details, rule: rule}
}

func denied(name string) answer   { return refusal(contract.Denied, "Access denied: "+name, name) }
func notFound(name string) answer { return refusal(contract.NotFound, "File not found: "+name, name) }

// notListed returns the answer for a path that listed does not allow.
func notListed(name string) answer {
	refused := denied(name)
	refused.Details["allowed"] = listed().Allow
	return refused
}

// misnamed returns the answer for a name that is not a path, with the reason.
func misnamed(name, why string) answer {
	refused := denied(name)
	refused.Details["details"] = why
	return refused
}

func refusal(kind contract.Kind, message, name string) answer {
	return answer{Kind: kind, Message: message, Details: map[string]any{"path": name}}
}

func check(t *testing.T, got, want answer) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(answer{})); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
}

func TestNames(t *testing.T) {
	dir := realTemp(t)
	plant(t, dir, "a.md=A", "docs/b.md=B", "docs/deep/c.md=C", "docs/größe 東京.md=U", "..a=dots")
	root := open(t, dir)

	for name, want := range map[string]answer{
		"a.md":                {Content: "A", Resolved: "a.md"},
		"./a.md":              {Content: "A", Resolved: "a.md"},
		"docs//b.md":          {Content: "B", Resolved: "docs/b.md"},
		"docs/./deep/.//c.md": {Content: "C", Resolved: "docs/deep/c.md"},
		"docs/größe 東京.md":    {Content: "U", Resolved: "docs/größe 東京.md"},
		"..a":                 {Content: "dots", Resolved: "..a"},
		"missing.md":          notFound("missing.md"),
		"docs/x/y/z.md":       notFound("docs/x/y/z.md"),
		"a.md/b.md":           notFound("a.md/b.md"),
		"docs":                refusal(contract.Invalid, "docs is a folder, not a file", "docs"),
		"docs/":               refusal(contract.Invalid, "docs/ is a folder, not a file", "docs/"),
		".":                   refusal(contract.Invalid, ". is a folder, not a file", "."),
	} {
		t.Run(name, func(t *testing.T) { check(t, read(root, name, anywhere()), want) })
	}
	for _, long := range []string{strings.Repeat("n", 4096), strings.Repeat("d/", 127) + "n"} {
		check(t, read(root, long, anywhere()), notFound(long))
	}
}

func TestNamesThatAreNoPaths(t *testing.T) {
	dir := realTemp(t)
	plant(t, dir, "a.md=A", "docs/b.md=B")
	root := open(t, dir)

	const up, absolute, long, garbled = "Path traversal not allowed", "Absolute paths not allowed", "The path is too long", "The path is not UTF-8 text"
	for why, names := range map[string][]string{
		"The path is empty": {""},
		absolute:            {"/", "/a.md", "//a.md", dir + "/a.md", "/etc/passwd", "C:", "C:a.md", "c:/a.md", `C:\a.md`},
		up:                  {"..", "../a.md", "docs/..", "docs/../a.md", "docs/../../a.md", "./../a.md", "docs/./../a.md", "docs//..//a.md", "a.md/.."},
		long:                {strings.Repeat("n", 4097), strings.Repeat("d/", 128) + "n", strings.Repeat("/", 128)},
		garbled:             {"a.md\x00", "\x00", "docs/\x00/../a.md", "a\xff.md", "\xc0\xae\xc0\xae/a.md"},
		"The path has a backslash; write / between folders": {`..\a.md`, `docs\b.md`, `docs/..\a.md`, `\a.md`, `\\host\share`},
	} {
		for _, name := range names {
			t.Run(fmt.Sprintf("%.40q", name), func(t *testing.T) { check(t, read(root, name, anywhere()), misnamed(name, why)) })
		}
	}
}

func TestPolicy(t *testing.T) {
	dir := realTemp(t)
	plant(t, dir, "README.md=R", "main.go=M", "docs/a.md=A", "docs/.env=S", "docs/secrets/s.md=S", ".env=S", ".ENV.local=S", "a/b/.git/config=S", "a/b/C.KEY=S", ".gitignore=G", "secretsauce.md=G")
	root := open(t, dir)

	tests := []struct {
		name   string
		path   string
		policy *contract.PathPolicy
		want   answer
	}{
		{"allowed folder", "docs/a.md", listed(), answer{Content: "A", Resolved: "docs/a.md"}},
		{"allowed file", "./README.md", listed(), answer{Content: "R", Resolved: "README.md"}},
		{"not allowed", "main.go", listed(), notListed("main.go")},
		{"not allowed and missing", "nothing.go", listed(), notListed("nothing.go")},
		{"the root is not allowed", ".", listed(), notListed(".")},
		{"deny wins over allow", "docs/.env", listed(), denied("docs/.env")},
		{"below a denied folder", "docs/secrets/s.md", listed(), denied("docs/secrets/s.md")},
		{"denied", ".env", anywhere(), denied(".env")},
		{"denied after cleaning", ".//.env", anywhere(), denied(".//.env")},
		{"denied with a slash", ".env/", anywhere(), denied(".env/")},
		{"denied in another case", ".EnV", anywhere(), denied(".EnV")},
		{"denied on disk in another case", ".ENV.local", anywhere(), denied(".ENV.local")},
		{"denied at depth", "a/b/.git/config", anywhere(), denied("a/b/.git/config")},
		{"denied at depth in another case", "a/b/.GIT/config", anywhere(), denied("a/b/.GIT/config")},
		{"denied ending", "a/b/C.KEY", anywhere(), denied("a/b/C.KEY")},
		{"long s is a letter case of s", "docs/\u017fecret\u017f/s.md", anywhere(), denied("docs/\u017fecret\u017f/s.md")},
		{"kelvin is a letter case of k", "x.\u212aey", anywhere(), denied("x.\u212aey")},
		{"characters that do not show", ".e\u200bnv", anywhere(), denied(".e\u200bnv")},
		{"a longer name is not denied", ".gitignore", anywhere(), answer{Content: "G", Resolved: ".gitignore"}},
		{"nor is this one", "secretsauce.md", anywhere(), answer{Content: "G", Resolved: "secretsauce.md"}},
		{"no policy, no access", "README.md", nil, denied("README.md")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { check(t, read(root, tt.path, tt.policy), tt.want) })
	}
}

func TestLettersThatOnlyResembleAreOtherNames(t *testing.T) {
	dir := realTemp(t)
	plant(t, dir, "ﬁnal ß K\u200d.md=F")
	check(t, read(open(t, dir), "ﬁnal ß K\u200d.md", anywhere()), answer{Content: "F", Resolved: "ﬁnal ß K\u200d.md"})
}

func TestDeniedDoesNotRevealExistence(t *testing.T) {
	dir := realTemp(t)
	data := filepath.Join(dir, ".remit")
	root := open(t, dir, data)
	ask := func(name string, policy *contract.PathPolicy) string {
		_, err := root.CheckPath(name, policy)
		var e *contract.Error
		if !errors.As(err, &e) {
			t.Fatalf("%s: %v is not a contract.Error", name, err)
		}
		body, _ := json.Marshal(e)
		return string(body) + err.Error()
	}

	names := []string{".env", "docs/.env/x", "a/secrets/b/c", "main.go", "cmd/x/main.go", ".remit", ".remit/remit.db"}
	before := map[string]string{}
	for _, name := range names {
		before[name] = ask(name, listed())
	}
	plant(t, dir, ".env=S", "docs/.env/x=S", "a/secrets/b/c=S", "main.go=M", "cmd/x/main.go=M", ".remit/remit.db=S")
	for _, name := range names {
		if diff := cmp.Diff(before[name], ask(name, listed())); diff != "" {
			t.Errorf("%s: missing and existing differ (-missing +existing):\n%s", name, diff)
		}
	}
}

func TestHidden(t *testing.T) {
	dir, outside := realTemp(t), realTemp(t)
	plant(t, dir, "a.md=A", "remit.yaml=S", "remit.yaml.md=A", ".remit/remit.db=S", ".remit2=A", "conf/nested/r.yaml=S", "vault/x=S")
	plant(t, outside, "conf.yaml=S")
	if err := os.Link(filepath.Join(dir, "remit.yaml"), filepath.Join(dir, "copy.yaml")); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(filepath.Join(outside, "conf.yaml"), filepath.Join(dir, "conf.yaml")); err != nil {
		t.Skipf("temporary folders on two disks: %v", err)
	}
	root := open(t, dir, "", filepath.Join(dir, ".remit"), filepath.Join(dir, "remit.yaml"), filepath.Join(outside, "conf.yaml"),
		filepath.Join(dir, "conf", "nested", "r.yaml"), filepath.Join(dir, "later", "Data"))

	for name, want := range map[string]answer{
		"a.md":               {Content: "A", Resolved: "a.md"},
		"remit.yaml":         denied("remit.yaml"),
		"./REMIT.yaml":       denied("./REMIT.yaml"),
		"remit.yaml/x":       denied("remit.yaml/x"),
		"remit.yaml.md":      {Content: "A", Resolved: "remit.yaml.md"},
		".remit":             denied(".remit"),
		".Remit/remit.db":    denied(".Remit/remit.db"),
		".remit/none":        denied(".remit/none"),
		".remit2":            {Content: "A", Resolved: ".remit2"},
		"conf/nested/r.yaml": denied("conf/nested/r.yaml"),
		"conf/nested":        refusal(contract.Invalid, "conf/nested is a folder, not a file", "conf/nested"),
		"later/data/x":       denied("later/data/x"), // it does not exist yet
		"copy.yaml":          denied("copy.yaml"),    // a hard link to remit.yaml
		"conf.yaml":          denied("conf.yaml"),    // a hard link to a file outside
	} {
		t.Run(name, func(t *testing.T) { check(t, read(root, name, &contract.PathPolicy{}), want) })
	}
}

func TestSizes(t *testing.T) {
	dir := realTemp(t)
	plant(t, dir, "empty=", "max="+strings.Repeat("x", 1024), "over="+strings.Repeat("x", 1025), "far="+strings.Repeat("x", 5000), "big="+strings.Repeat("y", 3<<20))
	root := open(t, dir)

	for name, size := range map[string]int64{"over": 1025, "far": 5000} {
		want := refusal(contract.TooLarge, fmt.Sprintf("%s is %d bytes; at most 1024 bytes can be read", name, size), name)
		want.Details["size"], want.Details["max"] = size, int64(1024)
		check(t, read(root, name, anywhere()), want)
	}
	check(t, read(root, "max", anywhere()), answer{Content: strings.Repeat("x", 1024), Resolved: "max"})
	check(t, read(root, "empty", anywhere()), answer{Resolved: "empty"})
	if got := read(root, "big", &contract.PathPolicy{}); len(got.Content) != 3<<20 {
		t.Errorf("without a limit %d bytes were read: %s", len(got.Content), got.Message)
	}
}

func TestFile(t *testing.T) {
	dir := realTemp(t)
	plant(t, dir, "docs/a.md=hello")
	file, err := open(t, dir).CheckPath("./docs//a.md", listed())
	if err != nil {
		t.Fatal(err)
	}
	data, info, err := file.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	onDisk, err := os.Stat(filepath.Join(dir, "docs", "a.md"))
	if err != nil {
		t.Fatal(err)
	}
	got := []any{file.Name(), file.Resolved(), string(data), info.Name(), info.Size(), info.ModTime()}
	want := []any{"docs/a.md", "docs/a.md", "hello", "a.md", int64(5), onDisk.ModTime()}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(answer{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := realTemp(t)
	plant(t, dir, "file=F", "root/")
	for name, tt := range map[string]struct{ root, hidden string }{
		"missing":               {root: "missing"},
		"a file":                {root: "file"},
		"hidden is the root":    {root: "root", hidden: "root"},
		"hidden holds the root": {root: "root", hidden: "."},
	} {
		t.Run(name, func(t *testing.T) {
			hidden := []string{}
			if tt.hidden != "" {
				hidden = append(hidden, filepath.Join(dir, tt.hidden))
			}
			root, err := workspace.Open(filepath.Join(dir, tt.root), hidden...)
			if err == nil {
				_ = root.Close()
				t.Error("opened")
			}
		})
	}
}

func TestClosed(t *testing.T) {
	dir := realTemp(t)
	plant(t, dir, "a.md=A")
	root := open(t, dir)
	file, err := root.CheckPath("a.md", anywhere())
	if err != nil {
		t.Fatal(err)
	}
	if err := root.Close(); err != nil {
		t.Fatal(err)
	}
	want := refusal(contract.Unavailable, "a.md cannot be read right now", "a.md")
	check(t, content(file), want)
	check(t, read(root, "a.md", anywhere()), want)
	if _, err := root.OpenAppend("a.md"); err == nil {
		t.Error("appended to a closed root")
	}
}

func TestOpenAppend(t *testing.T) {
	dir := realTemp(t)
	root := open(t, dir)
	for _, line := range []string{"one\n", "two\n"} {
		file, err := root.OpenAppend(".claude/memory/log.jsonl")
		if err != nil {
			t.Fatal(err)
		}
		if want := filepath.Join(dir, ".claude", "memory", "log.jsonl"); file.Name() != want {
			t.Errorf("Name() = %s, want %s", file.Name(), want)
		}
		if _, err := file.WriteString(line); err != nil {
			t.Fatal(err)
		}
		first := make([]byte, 4)
		if _, err := file.ReadAt(first, 0); err != nil || string(first) != "one\n" {
			t.Errorf("read back %q, %v", first, err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
	}
	check(t, read(root, ".claude/memory/log.jsonl", anywhere()), answer{Content: "one\ntwo\n", Resolved: ".claude/memory/log.jsonl"})
}

func TestOpenAppendRefuses(t *testing.T) {
	dir := realTemp(t)
	plant(t, dir, "folder/", "file=F")
	root := open(t, dir)
	for _, name := range []string{"", ".", "..", "../x", "/x", "a/../b", "a//b", "folder", "file/x"} {
		if file, err := root.OpenAppend(name); err == nil {
			_ = file.Close()
			t.Errorf("%q was opened", name)
		}
	}
}

// BenchmarkRead measures a small file from the check to the end of the read.
func BenchmarkRead(b *testing.B) {
	dir := realTemp(b)
	plant(b, dir, "docs/guide/start.md="+strings.Repeat("x", 1000), ".remit/", "remit.yaml=S", "docs/link.md->guide/start.md")
	root := open(b, dir, filepath.Join(dir, ".remit"), filepath.Join(dir, "remit.yaml"))
	policy := listed()
	for _, name := range []string{"docs/guide/start.md", "docs/link.md"} {
		b.Run(filepath.Base(name), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if got := read(root, name, policy); got.Kind != "" {
					b.Fatal(got.Message)
				}
			}
		})
	}
}
