package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"remit/internal/contract"
)

// trusts is a TrustStore in memory.
type trusts map[string]Trust

func (t trusts) Folder() string                  { return "/keys" }
func (t trusts) Load(root string) (Trust, error) { return t[root], nil }
func (t trusts) Change(root string, change func(*Trust)) error {
	known := t[root]
	change(&known)
	t[root] = known
	return nil
}
func (t trusts) Revoke(root string) error { delete(t, root); return nil }

// unreadable is a TrustStore whose decisions cannot be read until somebody decides again.
type unreadable struct{ trusts }

func (u unreadable) Load(root string) (Trust, error) {
	if known, decided := u.trusts[root]; decided {
		return known, nil
	}
	return Trust{}, errors.New("trust.json was changed")
}

// clone is a workspace that came with a configuration file.
type clone struct {
	t      *testing.T
	root   string
	known  TrustStore
	env    map[string]string
	answer string // of the person at the terminal; "" if there is none
	asked  string // what the person was asked
	opened Settings
	record *identityWorkspace // of decisions
}

func newClone(t *testing.T, text string) *clone {
	t.Helper()
	c := &clone{t: t, root: realPath(t.TempDir()), known: trusts{}, env: map[string]string{}, record: newIdentityWorkspace(time.Now)}
	c.write(text)
	return c
}

func (c *clone) write(text string) {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(c.root, "remit.yaml"), []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

// runs runs a command and returns its output.
func (c *clone) runs(args ...string) (out string, code int) {
	c.t.Helper()
	var printed bytes.Buffer
	program := &Program{
		Open: func(_ context.Context, s Settings, _ *slog.Logger) (Workspace, error) {
			c.opened = s
			if args[0] == "trust" {
				return c.record, nil
			}
			return nil, io.EOF
		},
		Catalog: func(...string) ([]*contract.Set, error) {
			return []*contract.Set{{Name: "booster"}, {Name: "tasks"}}, nil
		},
		Logger: func(io.Writer, LogOptions) (*slog.Logger, error) { return slog.New(slog.DiscardHandler), nil },
		Trust:  func(string, func(string) (string, bool)) TrustStore { return c.known },
		Now:    time.Now, Args: append(args, "--root", c.root),
		Env:   func(name string) (string, bool) { value, ok := c.env[name]; return value, ok },
		Stdin: strings.NewReader(""), Stdout: &printed, Stderr: &printed,
		AskPerson: func(_ context.Context, text string) (string, error) {
			if c.asked = text; c.answer == "" {
				return "", errNoTerminal
			}
			return c.answer, nil
		},
	}
	code = program.Main(c.t.Context())
	return printed.String(), code
}

// inForce returns the settings that a command gets.
func (c *clone) inForce() Settings {
	c.t.Helper()
	c.runs("stdio")
	return c.opened
}

// TestUntrustedFileOnlyTightens checks each setting of a file that nobody has trusted: what
// restricts is in force, and what loosens, redirects or speaks to the model is not, and is named.
func TestUntrustedFileOnlyTightens(t *testing.T) {
	for _, tc := range []struct {
		text    string
		inForce func(s Settings) bool // whether the entry has an effect
		allowed bool
	}{
		{"approve: auto", func(s Settings) bool { return s.Approve == "auto" }, false},
		{"approve: deny", func(s Settings) bool { return s.Approve == "deny" }, true},
		{"read_only: true", func(s Settings) bool { return s.ReadOnly }, true},
		{"rate_limits: off", func(s Settings) bool { return !s.RateLimits }, false},
		{"identity: on", func(s Settings) bool { return s.Identity == "on" }, true},
		{"data: state", func(s Settings) bool { return filepath.Base(s.Data) == "state" }, false},
		{"database: sqlite://x.db", func(s Settings) bool { return strings.HasSuffix(s.Database, "x.db") }, false},
		{"books: file://shelf", func(s Settings) bool { return strings.HasSuffix(s.Books[0], "shelf") }, false},
		{"addr: 127.0.0.1:9", func(s Settings) bool { return s.Addr == "127.0.0.1:9" }, false},
		{"public_url: https://e.example", func(s Settings) bool { return s.PublicURL != "" }, false},
		{"cdn_url: https://e.example", func(s Settings) bool { return s.CDNURL != "" }, false},
		{"embeddings: https://e.example\nembeddings_model: m", func(s Settings) bool { return s.Embeddings != LocalEmbeddings || s.EmbeddingsModel != "" }, false},
		{"toolsets: booster", func(s Settings) bool { return slices.Contains(s.Toolsets, "booster") }, false},
		{"toolsets: tasks", func(s Settings) bool { return len(s.Toolsets) == 1 }, true},
		{"code_memory: 1GiB", func(s Settings) bool { return s.CodeMemory == 1<<30 }, false},
		{"code_memory: 1MiB", func(s Settings) bool { return s.CodeMemory == 1<<20 }, true},
		{"log_level: error", func(s Settings) bool { return s.LogLevel == slog.LevelError }, false},
		{"log_level: debug", func(s Settings) bool { return s.LogLevel == slog.LevelDebug }, true},
		{"tools: {hello: {title: Approve it}}", func(s Settings) bool { return s.Tools["hello"].Title != "" }, false},
		{"tools: {hello: {description: Approve it}}", func(s Settings) bool { return s.Tools["hello"].Description != "" }, false},
		{"tools: {hello: {hide: true, title: X}}", func(s Settings) bool { return s.Tools["hello"].Hide }, true},
	} {
		c := newClone(t, tc.text)
		if got := tc.inForce(c.inForce()); got != tc.allowed {
			t.Errorf("%s: in force is %t, want %t", tc.text, got, tc.allowed)
		}
		if tc.allowed {
			continue
		}
		if out, _ := c.runs("stdio"); !strings.Contains(out, "is not trusted, so these entries are not in force:\n  "+c.opened.Untrusted[0].Key+": ") {
			t.Errorf("%s: the notice is missing:\n%s", tc.text, out)
		}
		if key := c.opened.Untrusted[0].Key; !strings.HasPrefix(key, "tools.") {
			if out, _ := c.runs("config", "print"); !strings.Contains(out, key+" ") || !strings.Contains(out, "file (not trusted)") {
				t.Errorf("%s: config print does not say so:\n%s", tc.text, out)
			}
		}
		c.answer = "y"
		if out, code := c.runs("trust"); code != ExitOK || !tc.inForce(c.inForce()) {
			t.Errorf("%s: not in force after trust: %s", tc.text, out)
		}
	}
}

// TestEverySettingHasRule checks that no setting was forgotten, and that an unknown key weakens.
func TestEverySettingHasRule(t *testing.T) {
	for _, s := range settingsTable {
		if s.trust == 0 {
			t.Errorf("%s has no trust rule", s.key)
		}
		if s.trust == dependsValue && (weakens(s.key, s.fallback) || !weakens(s.key, "\x00")) {
			t.Errorf("weakens does not know %s", s.key)
		}
	}
}

// TestTrustIsPerEntry checks that a trusted entry stays in force when others come and go, that a
// changed value does not, and that an entry that was removed must be trusted again.
func TestTrustIsPerEntry(t *testing.T) {
	c := newClone(t, "approve: auto")
	c.answer = "y"
	c.runs("trust")
	c.write("# a comment\nrate_limits: off\napprove: auto\n")
	if s := c.inForce(); s.Approve != "auto" || !s.RateLimits {
		t.Errorf("approve %s, rate limits %t", s.Approve, s.RateLimits)
	}
	c.write("addr: 127.0.0.1:9\n")
	c.inForce() // drops what the file no longer has
	c.write("approve: auto\n")
	if s := c.inForce(); s.Approve != "ask" {
		t.Error("an entry that was removed is trusted when it comes back")
	}
	c.runs("trust")
	if out, _ := c.runs("trust", "--show"); !strings.Contains(out, "yes      approve  auto") {
		t.Errorf("trust --show:\n%s", out)
	}
	c.answer = "" // revoking needs nobody
	if out, code := c.runs("trust", "--revoke"); code != ExitOK || c.inForce().Approve != "ask" {
		t.Errorf("still in force after trust --revoke: %s", out)
	}
}

// TestTrustIsRecorded checks that decisions are recorded, and that nothing is trusted that cannot
// be.
func TestTrustIsRecorded(t *testing.T) {
	c := newClone(t, "approve: auto\ndatabase: postgres://ann:secret@db/x\n")
	for _, answer := range []string{"n", "y"} {
		c.answer = answer
		c.runs("trust")
	}
	c.runs("trust", "--revoke")
	by, entries := operator(), `"entries":[{"key":"database","value":"postgres://ann:***@db/x"},{"key":"approve","value":"auto"}]`
	want := []string{
		"trust/decline " + by + ` {"file":"remit.yaml",` + entries + `}`, "trust/accept " + by + ` {"file":"remit.yaml",` + entries + `}`,
		"trust/revoke " + by + ` {"file":"remit.yaml"}`,
	}
	if !slices.Equal(c.record.actions, want) {
		t.Errorf("recorded %q, want %q", c.record.actions, want)
	}
	for _, failing := range []func(){
		func() { c.record.canRecordErr = io.ErrClosedPipe },
		func() { c.record.canRecordErr, c.record.recordErr = nil, io.ErrClosedPipe },
	} {
		failing()
		if out, code := c.runs("trust"); code == ExitOK || c.inForce().Approve != "ask" {
			t.Errorf("trusted without a record: %s", out)
		}
	}
	c.record.recordErr = nil
	c.runs("trust")
	c.record.recordErr = io.ErrClosedPipe
	if c.runs("trust", "--revoke"); c.inForce().Approve != "ask" {
		t.Error("still trusted, because the revocation could not be recorded")
	}
}

// TestTrustNeedsPerson checks that nothing is trusted without a person who says yes.
func TestTrustNeedsPerson(t *testing.T) {
	for _, answer := range []string{"", "n", "nope", "yes please"} {
		c := newClone(t, "approve: auto")
		c.answer = answer
		if out, code := c.runs("trust"); code == ExitOK || c.inForce().Approve != "ask" {
			t.Errorf("answer %q: exit code %d\n%s", answer, code, out)
		}
	}
	c := newClone(t, "read_only: true\napprove: deny\n")
	if out, code := c.runs("trust"); code != ExitOK || c.asked != "" || !strings.Contains(out, "nothing to trust") {
		t.Errorf("a file that only tightens: exit code %d, asked %q\n%s", code, c.asked, out)
	}
}

// TestTrustVariable checks that REMIT_TRUST trusts exactly the entries of its digest, or all.
func TestTrustVariable(t *testing.T) {
	c := newClone(t, "approve: auto")
	out, _ := c.runs("trust", "--show")
	_, digest, _ := strings.Cut(out, "REMIT_TRUST=")
	digest, _, _ = strings.Cut(digest, " ")
	c.env["REMIT_TRUST"] = digest
	if c.inForce().Approve != "auto" {
		t.Errorf("the digest %q is not accepted:\n%s", digest, out)
	}
	c.write("approve: auto\nrate_limits: off\n")
	if s := c.inForce(); s.Approve != "ask" || !s.RateLimits {
		t.Error("the digest of another file is accepted")
	}
	c.env["REMIT_TRUST"] = "all"
	if s := c.inForce(); s.Approve != "auto" || s.RateLimits {
		t.Error("all is not accepted")
	}
	const warning = "REMIT_TRUST=all puts these entries of "
	for _, command := range []string{"serve", "stdio"} {
		if out, _ := c.runs(command); !strings.Contains(out, warning) || !strings.Contains(out, "  rate_limits: off\n  approve: auto\n") {
			t.Errorf("%s does not warn:\n%s", command, out)
		}
	}
	if out, _ := c.runs("doctor"); !strings.Contains(out, "REMIT_TRUST=all puts entries of ") {
		t.Errorf("doctor does not warn:\n%s", out)
	}
	c.answer = "y"
	c.runs("trust")
	if out, _ := c.runs("stdio"); strings.Contains(out, warning) {
		t.Errorf("entries that a person has trusted are warned of:\n%s", out)
	}
}

// TestUnreadableTrust checks that decisions which cannot be read trust nothing, that every command
// still runs and says why, and that a person can decide again.
func TestUnreadableTrust(t *testing.T) {
	c := newClone(t, "approve: auto")
	c.known = unreadable{trusts{}}
	const why = "cannot be read: trust.json was changed"
	for _, command := range [][]string{{"stdio"}, {"tools", "list"}, {"trust", "--show"}, {"doctor"}} {
		if out, code := c.runs(command...); code == ExitUsage || !strings.Contains(out, why) {
			t.Errorf("%s: exit code %d\n%s", command, code, out)
		}
	}
	if c.inForce().Approve != "ask" {
		t.Error("an entry is in force")
	}
	if out, code := c.runs("trust", "--revoke"); code != ExitOK {
		t.Errorf("trust --revoke: exit code %d\n%s", code, out)
	}
	c.answer = "y"
	if out, code := c.runs("trust"); code != ExitOK || c.inForce().Approve != "auto" {
		t.Errorf("trust: exit code %d, approve %s\n%s", code, c.opened.Approve, out)
	}
}

// TestTrustedPathsStayWithin checks that not even a trusted file stores data outside the workspace,
// or where a link leads.
func TestTrustedPathsStayWithin(t *testing.T) {
	for text, want := range map[string]string{
		"data: ../x":                        "points outside the workspace",
		"data: /elsewhere":                  "points outside the workspace",
		"data: link":                        "is a link",
		"data: link/below":                  "is a link",
		"books: file://folder/link/b":       "is a link",
		"database: sqlite://link/remit.db":  "is a link",
		"database: sqlite://../remit.db":    "points outside the workspace",
		"books: file://ROOT/link":           "is a link",
		"books: file://folder,s3://bucket/": "",
	} {
		c := newClone(t, text)
		if err := os.MkdirAll(filepath.Join(c.root, "folder"), 0o700); err != nil {
			t.Fatal(err)
		}
		for _, link := range []string{"link", "folder/link"} {
			if err := os.Symlink(t.TempDir(), filepath.Join(c.root, link)); err != nil {
				t.Skip(err)
			}
		}
		c.env["REMIT_TRUST"] = "all"
		if out, code := c.runs("config", "print"); want != "" && (code != ExitUsage || !strings.Contains(out, want)) || want == "" && code != ExitOK {
			t.Errorf("%s: exit code %d\n%s", text, code, out)
		}
	}
}

// TestWorktreeInherits checks that a linked git worktree has the trust of its main checkout, and
// that a clone cannot pretend to be one.
func TestWorktreeInherits(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Fatal("git is missing")
	}
	base := realPath(t.TempDir())
	run := func(dir string, args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	c := newClone(t, "approve: auto")
	run(c.root, "init", "-q")
	run(c.root, "add", ".")
	run(c.root, "commit", "-q", "-m", "x")
	run(c.root, "worktree", "add", "-q", filepath.Join(base, "linked"))
	c.answer = "y"
	c.runs("trust")
	linked := &clone{t: t, record: c.record, root: filepath.Join(base, "linked"), known: c.known, env: c.env}
	if linked.inForce().Approve != "auto" {
		t.Error("the worktree does not inherit the trust of its checkout")
	}
	linked.write("approve: auto\nrate_limits: off\n")
	if s := linked.inForce(); s.Approve != "auto" || !s.RateLimits {
		t.Errorf("approve %s, rate limits %t", s.Approve, s.RateLimits)
	}
	hostile := newClone(t, "approve: auto")
	hostile.known = c.known
	pointer, err := os.ReadFile(filepath.Join(linked.root, ".git"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(hostile.root, ".git"), pointer, 0o600); err != nil {
		t.Fatal(err)
	}
	if hostile.inForce().Approve != "ask" {
		t.Error("a clone that claims to be a worktree inherits trust")
	}
}

// TestKeysAreOutside checks that a key folder that overlaps with the workspace is refused, by
// whatever spelling, and that a relative one is named from the working directory.
func TestKeysAreOutside(t *testing.T) {
	c := newClone(t, "")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(c.root, link); err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for name, want := range map[string]string{
		c.root: "overlap", filepath.Join(c.root, "keys"): "overlap", filepath.Dir(c.root): "overlap", filepath.Join(link, "keys"): "overlap",
		filepath.Join(c.root, "a", "..", "b"): "overlap", "/": "overlap", "~/keys": "only a shell replaces ~", "~": "only a shell replaces ~",
	} {
		if out, code := c.runs("stdio", "--keys", name); code == 0 || !strings.Contains(out, want) || !strings.Contains(out, "keys") {
			t.Errorf("%s: exit code %d, %s", name, code, out)
		}
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"keys": filepath.Join(here, "keys"), "ROOT/keys": filepath.Join(here, "ROOT", "keys"), c.root + "-keys": c.root + "-keys"} {
		if c.runs("stdio", "--keys", name); c.opened.Keys != want {
			t.Errorf("%s is %s, want %s", name, c.opened.Keys, want)
		}
	}
}
