package e2e

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// These tests put back, delete, move and copy the data of a workspace, and take away its keys.
// A caller that was refused before must stay refused, and no approval may be used twice.

// ownKeys gives the workspace a key folder of its own, and returns its path.
func (s *workspace) ownKeys() string {
	keys := filepath.Join(s.t.TempDir(), "keys")
	s.env = append(s.env, "REMIT_KEYS="+keys)
	return keys
}

// copyFolder copies a folder with all its attributes, as a backup does.
func (s *workspace) copyFolder(from, to string) {
	s.t.Helper()
	// A server may add files meanwhile, so that the folder could not be removed.
	if err := os.Rename(to, filepath.Join(s.t.TempDir(), "before")); !errors.Is(err, fs.ErrNotExist) {
		s.check(err)
	}
	if out, err := exec.Command("cp", "-a", from, to).CombinedOutput(); err != nil {
		s.t.Fatalf("cp: %v %s", err, out)
	}
}

// mustRun runs a command that must succeed, as a person at a terminal.
func (s *workspace) mustRun(args ...string) outcome {
	s.t.Helper()
	got := s.person(append(args, "--root", s.root)...)
	if got.code != 0 {
		s.t.Fatalf("remit %s: exit %d\n%s%s", strings.Join(args, " "), got.code, got.out, got.errOut)
	}
	return got
}

// TestPutBackData puts back the data folder of an hour ago, while the server runs and before it
// starts again: what was revoked, ended and used since stays so.
func TestPutBackData(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, nil)
	s.ownKeys()
	revoked := s.token("--name", "revoked", "--scopes", "*", "--user", "ada")
	live := s.token("--name", "live", "--scopes", "*", "--user", "ada")
	link := strings.TrimSpace(s.mustRun("token", "link", "--name", "grace", "--role", "admin").out)
	w := s.serve("--toolsets", "learning-os,tasks", "--log-level", "error")
	me := w.signedIn()
	id := w.pendingAs(bearer(live), entryArgs)
	if got := w.approve(id, w.seen(id, me), me); got.status != http.StatusSeeOther {
		t.Fatalf("approve: %d %s", got.status, clip(got.body))
	}
	withdrawn := strings.Replace(entryArgs, "SQLite", "withdrawn", 1)
	other := w.pendingAs(bearer(live), withdrawn)
	if got := w.approve(other, w.seen(other, me), me); got.status != http.StatusSeeOther {
		t.Fatalf("approve: %d %s", got.status, clip(got.body))
	}
	// Everything is still valid in this backup.
	backup := filepath.Join(t.TempDir(), "backup")
	s.copyFolder(s.path(".remit"), backup)

	if got := w.post("/tools/write_memory_entry", entryArgs, bearer(live)); got.status != http.StatusOK {
		t.Fatalf("the approved call: %d %s", got.status, got.body)
	}
	s.mustRun("token", "revoke", "revoked")
	s.mustRun("approvals", "withdraw", other)
	token := regexp.MustCompile(`token=(\S+)`).FindStringSubmatch(link)[1]
	if got := w.openLink(token); got.status >= 400 {
		t.Fatalf("the link: %d %s", got.status, clip(got.body))
	}
	if got := w.submit("/console/logout", "", me); got.status >= 400 {
		t.Fatalf("sign out: %d %s", got.status, clip(got.body))
	}

	check := func(w *httpServer) {
		t.Helper()
		if got := w.post("/tools/list_tasks", `{}`, bearer(revoked)); got.status != http.StatusUnauthorized {
			t.Errorf("the revoked token: %d %s", got.status, got.body)
		}
		if got := w.post("/tools/list_tasks", `{}`, bearer(live)); got.status != http.StatusOK {
			t.Errorf("the live token: %d %s", got.status, got.body)
		}
		if got := w.post("/tools/list_tasks", `{"user_id":"ada"}`, nil); got.status != http.StatusUnauthorized {
			t.Errorf("without a token: %d %s", got.status, got.body)
		}
		if got := w.post("/tools/write_memory_entry", entryArgs, bearer(live)); !strings.Contains(string(got.body), `"status":"pending"`) {
			t.Errorf("the approval is used again: %d %s", got.status, got.body)
		}
		if got := w.post("/tools/write_memory_entry", withdrawn, bearer(live)); !strings.Contains(string(got.body), `"status":"pending"`) {
			t.Errorf("the withdrawn approval is used: %d %s", got.status, got.body)
		}
		if got := w.openLink(token); !strings.Contains(string(got.body), "was used already") {
			t.Errorf("the link is used again: %d %s", got.status, clip(got.body))
		}
		if got := w.get("/console/approvals", me); strings.Contains(string(got.body), "Sign out") {
			t.Errorf("the session that ended is back: %d", got.status)
		}
	}
	s.copyFolder(backup, s.path(".remit"))
	check(w)
	w.end()
	s.copyFolder(backup, s.path(".remit"))
	w = s.serve("--toolsets", "learning-os,tasks", "--log-level", "error")
	check(w)
	w.end()
	if entries := s.memory("decisions.jsonl"); len(entries) != 1 {
		t.Errorf("%d entries were written with one approval", len(entries))
	}
}

// openLink opens a sign-in link with this token, as a browser does that was opened with it.
func (w *httpServer) openLink(token string) httpAnswer {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, w.url+"/console/login?token="+token, http.NoBody)
	w.workspace.check(err)
	got, err := send(&http.Client{CheckRedirect: noRedirect}, r)
	w.workspace.check(err)
	return got
}

// pendingAs makes a call that waits for a person, and returns the id of its request.
func (w *httpServer) pendingAs(header http.Header, args string) string {
	w.t.Helper()
	answer := w.post("/tools/write_memory_entry", args, header)
	found := requestID.FindSubmatch(answer.body)
	if found == nil {
		w.t.Fatalf("it does not wait: %d %s", answer.status, answer.body)
	}
	return string(found[1])
}

// TestDeletedData deletes the data folder: callers still need tokens, nothing is written and
// nothing is created anew, until a person decides.
func TestDeletedData(t *testing.T) {
	t.Parallel()
	for name, identity := range map[string]bool{"with tokens": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newWorkspace(t, map[string]string{"notes.md": "hello\n"})
			s.ownKeys()
			header := http.Header(nil)
			if identity {
				header = bearer(s.token("--name", "ci", "--scopes", "*", "--user", "ada"))
			}
			const add = `{"user_id":"ada","title":"Milk"}`
			w := s.serve("--toolsets", "tasks,booster", "--log-level", "error")
			if got := w.post("/tools/add_task", add, header); got.status != http.StatusOK {
				t.Fatalf("add_task: %d %s", got.status, got.body)
			}
			s.check(os.RemoveAll(s.path(".remit")))
			check := func(w *httpServer) {
				t.Helper()
				refused, read := http.StatusInternalServerError, http.StatusOK // as seed 002 has it
				if identity {
					refused, read = http.StatusUnauthorized, http.StatusUnauthorized
				}
				if got := w.post("/tools/add_task", add, nil); got.status != refused {
					t.Errorf("a write without a token: %d %s", got.status, got.body)
				}
				if got := w.post("/tools/read_repo_file", `{"path":"notes.md"}`, nil); got.status != read {
					t.Errorf("a read without a token: %d %s", got.status, got.body)
				}
				if got := w.post("/tools/add_task", add, header); got.status < 500 || !strings.Contains(string(got.body), "remit trust --new-data") {
					t.Errorf("a write: %d %s", got.status, got.body)
				}
				if got := w.get("/health", nil); got.status != http.StatusServiceUnavailable {
					t.Errorf("health: %d %s", got.status, got.body)
				}
				if _, err := os.Stat(s.path(".remit/remit.db")); err == nil {
					t.Error("the database was created anew")
				}
			}
			check(w)
			w.end()
			w = s.serve("--toolsets", "tasks,booster", "--log-level", "error")
			check(w)
			got := s.remit("doctor", "--root", s.root)
			if got.code == 0 || strings.Contains(got.out, "Remit creates it") || !strings.Contains(got.out, "The data folder of this workspace is missing") {
				t.Errorf("doctor: %s", got.out)
			}
			got = s.remit("tasks", "add", "Milk", "--user", "ada", "--root", s.root)
			if got.code == 0 || strings.Count(got.errOut, "remit trust --new-data") != 1 {
				t.Errorf("a command says %d times what to do: %s", strings.Count(got.errOut, "remit trust --new-data"), got.errOut)
			}
			if got := s.remit("trust", "--new-data", "--root", s.root); got.code == 0 {
				t.Error("a command without a person decided")
			}
			s.mustRun("trust", "--new-data")
			if identity {
				if got := w.post("/tools/add_task", add, header); got.status != http.StatusUnauthorized {
					t.Errorf("a token from before: %d %s", got.status, got.body)
				}
				header = bearer(s.token("--name", "new", "--scopes", "*", "--user", "ada"))
			}
			if got := w.post("/tools/add_task", add, header); got.status != http.StatusOK {
				t.Errorf("after the decision: %d %s", got.status, got.body)
			}
			w.end()
			s.verifyAudit()
		})
	}
}

// TestMovedAndCopied moves and copies a workspace. Both are closed until a person says which it
// was; a copy gets no rights.
func TestMovedAndCopied(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, nil)
	s.ownKeys()
	parent := t.TempDir()
	s.root = filepath.Join(parent, "first")
	s.check(os.Mkdir(s.root, 0o700))
	token := s.token("--name", "ci", "--scopes", "*", "--user", "ada")
	s.mustRun("tasks", "add", "Milk", "--user", "ada")
	use := func(want int) {
		t.Helper()
		w := s.serve("--toolsets", "tasks", "--log-level", "error")
		defer w.end()
		if got := w.post("/tools/list_tasks", `{}`, bearer(token)); got.status != want {
			t.Errorf("the token in %s: %d %s, want %d", s.root, got.status, got.body, want)
		}
		if got := w.post("/tools/list_tasks", `{"user_id":"ada"}`, nil); got.status == http.StatusOK {
			t.Errorf("without a token in %s: %s", s.root, got.body)
		}
	}
	// Callers without a token are told as well what the operator has to do.
	tellsWay := func() {
		t.Helper()
		w := s.serve("--toolsets", "tasks", "--log-level", "error")
		defer w.end()
		for route, body := range map[string]string{
			"/tools/list_tasks": `{"user_id":"ada"}`,
			"/mcp":              `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}`,
		} {
			got := w.post(route, body, nil)
			if text := string(got.body); !strings.Contains(text, "remit trust --moved") || !strings.Contains(text, "remit trust --copied") {
				t.Errorf("%s without a token in %s: %d %s", route, s.root, got.status, text)
			}
		}
	}
	use(http.StatusOK)

	second := filepath.Join(parent, "second")
	s.check(os.Rename(s.root, second))
	s.root = second
	use(http.StatusServiceUnavailable)
	tellsWay()
	s.mustRun("trust", "--moved")
	use(http.StatusOK)
	if got := s.mustRun("tasks", "list", "--user", "ada"); !strings.Contains(got.out, "Milk") {
		t.Errorf("the tasks were not moved: %s", got.out)
	}

	// Back at the old path, the data is that of another one.
	s.copyFolder(second, filepath.Join(parent, "first"))
	s.root = filepath.Join(parent, "first")
	use(http.StatusServiceUnavailable)
	s.check(os.RemoveAll(s.root))

	third := filepath.Join(parent, "third")
	s.copyFolder(second, third)
	s.root = third
	use(http.StatusServiceUnavailable)
	if got := s.person("trust", "--moved", "--root", s.root); got.code == 0 || !strings.Contains(got.errOut, "still at") || asked(got) {
		t.Errorf("a copy counts as moved: %+v", got)
	}
	s.mustRun("trust", "--copied")
	use(http.StatusUnauthorized)
	if got := s.mustRun("tasks", "list", "--user", "ada"); !strings.Contains(got.out, "Milk") {
		t.Errorf("the tasks were not copied: %s", got.out)
	}
	s.root = second
	use(http.StatusOK)
	if got := s.person("trust", "--moved", "--root", s.root); got.code == 0 || !strings.Contains(got.errOut, "nothing to do") || asked(got) {
		t.Errorf("nothing was moved: %+v", got)
	}
	if got := s.person("trust", "--copied", "--root", t.TempDir()); got.code == 0 || !strings.Contains(got.errOut, "no database") || asked(got) {
		t.Errorf("nothing was copied: %+v", got)
	}
	s.mustRun("token", "reset")
	use(http.StatusUnauthorized)
}

// asked reports whether the person was asked for consent.
func asked(got outcome) bool { return strings.Contains(got.errOut, "[y/N]") }

// TestLostKeys removes keys and anchor, or parts of them. Callers must still need a token.
func TestLostKeys(t *testing.T) {
	t.Parallel()
	anchorFile := func(keys string) string {
		files, err := filepath.Glob(filepath.Join(keys, "workspaces", "*", "anchor"))
		if err != nil || len(files) != 1 {
			t.Fatalf("%v, error %v", files, err)
		}
		return files[0]
	}
	for name, lose := range map[string]func(keys string) error{
		"all keys":                        os.RemoveAll,
		"the key":                         func(keys string) error { return os.Remove(filepath.Join(keys, "approvals.key")) },
		"the anchor":                      func(keys string) error { return os.Remove(anchorFile(keys)) },
		"a line of the anchor":            func(keys string) error { return cutLines(anchorFile(keys), -1) },
		"all but two lines of the anchor": func(keys string) error { return cutLines(anchorFile(keys), 2) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newWorkspace(t, nil)
			keys := s.ownKeys()
			token := s.token("--name", "ci", "--scopes", "*", "--user", "ada")
			s.mustRun("token", "revoke", "ci")
			s.check(lose(keys))
			check := func() {
				t.Helper()
				w := s.serve("--toolsets", "tasks", "--log-level", "error")
				defer w.end()
				for who, header := range map[string]http.Header{"without a token": nil, "with the revoked token": bearer(token)} {
					if got := w.post("/tools/add_task", `{"user_id":"ada","title":"Milk"}`, header); got.status < 400 {
						t.Errorf("a write %s: %d %s", who, got.status, got.body)
					}
				}
			}
			check()
			if got := s.remit("doctor", "--root", s.root); got.code == 0 || !strings.Contains(got.out, "remit trust --copied") {
				t.Errorf("doctor: %s", got.out)
			}
			s.mustRun("trust", "--copied")
			check()
			s.mustRun("tasks", "add", "Milk", "--user", "ada")
		})
	}
}

// TestCutRecords removes records at the end of the audit log: the next one who looks must notice,
// also if more was recorded meanwhile.
func TestCutRecords(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, nil)
	s.ownKeys()
	for _, title := range []string{"one", "two"} {
		s.mustRun("tasks", "add", title, "--user", "ada")
	}
	s.verifyAudit()
	files, err := filepath.Glob(s.path(".remit/audit/*.jsonl"))
	s.check(err)
	last := files[len(files)-1]
	text, err := os.ReadFile(last)
	s.check(err)
	s.check(os.WriteFile(last, text[:strings.LastIndex(strings.TrimSpace(string(text)), "\n")+1], 0o600))
	for range 2 {
		if got := s.remit("audit", "verify", "--root", s.root); got.code == 0 || !strings.Contains(got.errOut, "are missing at the end") {
			t.Errorf("audit verify: %+v", got)
		}
		s.person("tasks", "add", "three", "--user", "ada", "--root", s.root)
	}
}

// TestKilledWhileSpending kills the program at many moments of an approved call. No approval may be
// used twice, whatever the moment.
func TestKilledWhileSpending(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, nil)
	s.ownKeys()
	rounds := 4
	if os.Getenv("REMIT_FULL") == "true" {
		rounds = 200
	}
	for i := range rounds {
		args := []string{
			"call", "write_memory_entry", "file=decisions.jsonl", "--toolsets", "learning-os", "--log-level", "error", "--root", s.root,
			fmt.Sprintf(`entry={"timestamp":"2026-01-09T10:30:00Z","type":"n","decision":"%d"}`, i),
		}
		s.remit(args...)
		pending := s.remit("approvals", "list", "--json", "--root", s.root)
		id := requestID.FindStringSubmatch(strings.ReplaceAll(pending.out, ": ", ":"))
		if id == nil {
			t.Fatalf("no request: %+v", pending)
		}
		s.mustRun("approvals", "approve", id[1])
		cmd := exec.Command(remitBin, args...)
		cmd.Dir, cmd.Env = s.root, environment(s.env...)
		s.check(cmd.Start())
		// Any moment will do.
		time.Sleep(time.Duration(i) * 60 * time.Millisecond / time.Duration(rounds))
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		for range 2 {
			s.remit(args...)
		}
		// The second of them may wait for another approval.
		pending = s.remit("approvals", "list", "--json", "--root", s.root)
		if id := requestID.FindStringSubmatch(strings.ReplaceAll(pending.out, ": ", ":")); id != nil {
			s.mustRun("approvals", "deny", id[1])
		}
	}
	seen := map[string]int{}
	for _, entry := range s.memory("decisions.jsonl") {
		seen[entry]++
	}
	for entry, n := range seen {
		if n > 1 {
			t.Errorf("written %d times with one approval: %s", n, entry)
		}
	}
	if len(seen) == 0 {
		t.Error("nothing was written at all")
	}
}

// TestTwoKeyFolders uses one workspace from a host and from a container, which have key folders of
// their own. Once a person has said so, both work, and neither accepts the tokens of the other.
func TestTwoKeyFolders(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, nil)
	host := s.ownKeys()
	ours := s.token("--name", "ours", "--scopes", "*", "--user", "ada")
	s.ownKeys() // those of the container
	if got := s.remit("tasks", "add", "Milk", "--user", "ada", "--root", s.root); got.code == 0 {
		t.Errorf("the container wrote before a person decided: %+v", got)
	}
	s.mustRun("trust", "--copied")
	theirs := s.token("--name", "theirs", "--scopes", "*", "--user", "ada")
	container := s.env
	for range 2 {
		for _, c := range []struct {
			env          []string
			valid, other string
		}{{container, theirs, ours}, {[]string{"REMIT_KEYS=" + host}, ours, theirs}} {
			s.env = c.env
			w := s.serve("--toolsets", "tasks", "--log-level", "error")
			if got := w.post("/tools/add_task", `{"title":"Milk"}`, bearer(c.valid)); got.status != http.StatusOK {
				t.Errorf("with %v: %d %s", c.env, got.status, got.body)
			}
			if got := w.post("/tools/list_tasks", `{}`, bearer(c.other)); got.status != http.StatusUnauthorized {
				t.Errorf("the other's token with %v: %d %s", c.env, got.status, got.body)
			}
			w.end()
		}
	}
}

// TestTokenOfTheSameName revokes a token and creates another with its name, which gets nothing of
// the first: no approval, no answer of an idempotency key, no session. That holds with an older
// data folder too.
func TestTokenOfTheSameName(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, nil)
	s.ownKeys()
	create := func() http.Header { return bearer(s.token("--name", "b", "--scopes", "*", "--user", "ada")) }
	old := create()
	w := s.serve("--toolsets", "learning-os,tasks", "--log-level", "error")
	me := w.signedIn()
	id := w.pendingAs(old, entryArgs)
	if got := w.approve(id, w.seen(id, me), me); got.status != http.StatusSeeOther {
		t.Fatalf("approve: %d %s", got.status, clip(got.body))
	}
	const milk, bread = `{"user_id":"ada","title":"Milk"}`, `{"user_id":"ada","title":"Bread"}`
	keyed := func(header http.Header) http.Header {
		header = header.Clone()
		header.Set("Idempotency-Key", "k-1")
		return header
	}
	if got := w.post("/tools/add_task", milk, keyed(old)); got.status != http.StatusOK {
		t.Fatalf("add_task: %d %s", got.status, got.body)
	}
	begun := w.post("/mcp", requestLine("1", "initialize", `{"protocolVersion":"`+legacyVersion+`","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`), old)
	session := begun.header.Get("Mcp-Session-Id")
	backup := filepath.Join(t.TempDir(), "backup")
	s.copyFolder(s.path(".remit"), backup)
	s.mustRun("token", "revoke", "b")

	check := func(header http.Header) {
		t.Helper()
		if got := w.post("/tools/write_memory_entry", entryArgs, header); !strings.Contains(string(got.body), `"status":"pending"`) {
			t.Errorf("the approval of the revoked token: %d %s", got.status, got.body)
		}
		// The key was used for milk, so this fails if it is the same key.
		if got := w.post("/tools/add_task", bread, keyed(header)); got.status != http.StatusOK {
			t.Errorf("the key of the revoked token: %d %s", got.status, got.body)
		}
		in := header.Clone()
		in.Set("Mcp-Session-Id", session)
		if got := w.post("/mcp", requestLine("2", "tools/list", `{}`), in); got.status != http.StatusNotFound {
			t.Errorf("the session of the revoked token: %d %s", got.status, clip(got.body))
		}
	}
	check(create())
	s.copyFolder(backup, s.path(".remit"))
	// In the older data it is live.
	if got := s.remit("token", "revoke", "b", "--root", s.root); got.code != 0 {
		t.Fatalf("revoke: %+v", got)
	}
	check(create())
	w.end()
	if entries := s.memory("decisions.jsonl"); len(entries) != 0 {
		t.Errorf("%d entries were written with the approval of another token", len(entries))
	}
}

// cutLines keeps the first lines of a file, or all but the last ones if keep is negative.
func cutLines(file string, keep int) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	lines := strings.SplitAfter(strings.TrimSuffix(string(text), "\n"), "\n")
	if keep < 0 {
		keep += len(lines)
	}
	return os.WriteFile(file, []byte(strings.Join(lines[:keep], "")), 0o600)
}

// TestMovedUnderAServer moves a plain workspace, starts a server there, and says so: callers need
// no token then, as before.
func TestMovedUnderAServer(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, nil)
	s.ownKeys()
	parent := t.TempDir()
	s.root = filepath.Join(parent, "first")
	s.check(os.Mkdir(s.root, 0o700))
	s.mustRun("tasks", "add", "Milk", "--user", "ada")
	s.check(os.Rename(s.root, filepath.Join(parent, "second")))
	s.root = filepath.Join(parent, "second")
	w := s.serve("--toolsets", "tasks", "--log-level", "error")
	list := func() httpAnswer { return w.post("/tools/list_tasks", `{"user_id":"ada"}`, nil) }
	if got := list(); got.status < 400 {
		t.Errorf("before a person decided: %d %s", got.status, got.body)
	}
	s.mustRun("trust", "--moved")
	for deadline := time.Now().Add(timeout); ; time.Sleep(50 * time.Millisecond) {
		got := list()
		if got.status == http.StatusOK {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("after a person decided: %d %s", got.status, got.body)
		}
	}
	w.end()
}
