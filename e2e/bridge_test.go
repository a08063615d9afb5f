package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// bridgedWorkspace returns a workspace whose commands use its server, and the folder of its keys.
func bridgedWorkspace(t *testing.T) (*workspace, string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("processes work alone on Windows")
	}
	s := newWorkspace(t, map[string]string{
		"README.md": "# Tokens\n\nTokens expire after an hour.\n", "a.go": "package a\n\nfunc Token() string { return \"\" }\n",
	})
	s.env = append(s.env, bridged)
	return s, s.ownKeys()
}

// served returns how many calls of a tool the server has run.
func (w *httpServer) served(tool string) (n int) {
	w.t.Helper()
	for line := range strings.Lines(string(w.get("/metrics", nil).body)) {
		if strings.HasPrefix(line, "remit_calls_total{") && strings.Contains(line, `tool="`+tool+`"`) {
			var count int
			_, err := fmt.Sscan(line[strings.LastIndexByte(line, ' ')+1:], &count)
			w.workspace.check(err)
			n += count
		}
	}
	return n
}

// TestBridge checks that a stdio client and the commands use the server that runs, and that the
// records name them as if each had worked alone.
func TestBridge(t *testing.T) {
	t.Parallel()
	s, _ := bridgedWorkspace(t)
	w := s.serve()
	r := s.stdio()
	r.initialize(`{}`)
	r.call("hello", `{"name":"Ada"}`)
	if runtime.GOOS == "linux" {
		folder := fmt.Sprintf("/proc/%d/fd", r.cmd.Process.Pid)
		entries, err := os.ReadDir(folder)
		s.check(err)
		for _, entry := range entries {
			if open, err := os.Readlink(filepath.Join(folder, entry.Name())); err == nil && strings.HasPrefix(open, s.root) {
				t.Errorf("the bridge has %s open", open)
			}
		}
	}
	r.end()
	if n := w.served("hello"); n != 1 {
		t.Errorf("the server ran %d calls of the stdio client", n)
	}
	for _, tc := range []struct {
		args, want string
	}{
		{"call hello name=Eve", `"greeting"`},
		{"tasks add milk --user eve", "Added #1"},
		{"tasks --user eve", "milk"},
		{"search when do tokens expire", "README.md:1"},
		{"grep func.Token", `a.go:3:func Token() string { return "" }`},
		{"files", "README.md\na.go\n"},
		{"index", "2 files"},
	} {
		got := s.remit(strings.Fields(tc.args)...)
		if got.code != 0 || !strings.Contains(got.out, tc.want) || got.errOut != "" {
			t.Errorf("%s: exit %d\n%s%s", tc.args, got.code, got.out, got.errOut)
		}
	}
	if n, m := w.served("hello"), w.served("add_task"); n != 2 || m != 1 {
		t.Errorf("the server ran %d and %d calls", n, m)
	}
	for _, tc := range []struct {
		args string
		code int
		want string
	}{
		{"call nothing", 2, `Unknown tool "nothing"`},
		{"call hello name", 2, "not of the form key=value"},
		{"grep (", 2, "the pattern is wrong at column 1"},
		{"grep nothing-has-this", 1, ""},
		{"tasks done 99 --user eve", 1, "99"},
	} {
		if got := s.remit(strings.Fields(tc.args)...); got.code != tc.code || !strings.Contains(got.errOut, tc.want) {
			t.Errorf("%s: exit %d\n%s%s", tc.args, got.code, got.out, got.errOut)
		}
	}
	w.end()
	records := s.remit("audit", "list").out
	for _, want := range []string{"local   stdio     learning-os/hello", "local   cli       learning-os/hello", "refused/unknown_tool", "refused/no_call"} {
		if !strings.Contains(records, want) {
			t.Errorf("%q is not in the records:\n%s", want, records)
		}
	}
	s.verifyAudit()
}

// TestBridgeRights checks that a process never gets rights of the server that it would not have
// alone: it works alone if settings differ, and has its own toolsets and --read-only.
func TestBridgeRights(t *testing.T) {
	t.Parallel()
	s, _ := bridgedWorkspace(t)
	w := s.serve("--approve", "auto")
	write := []string{"call", "write_memory_entry", "file=decisions.jsonl", `entry={"timestamp":"2026-01-09T10:30:00Z","type":"stack","decision":"x"}`}
	if got := s.remit(write...); got.code != 3 {
		t.Errorf("a process without --approve auto: exit %d\n%s%s", got.code, got.out, got.errOut)
	}
	for _, tc := range []struct {
		args   string
		served bool
	}{
		{"call hello name=Ada", false},
		{"call hello name=Ada --approve auto", true},
		{"call hello name=Ada --approve auto --deny drafts/**", false},
		{"call hello name=Ada --approve auto --rate-limits off", false},
		{"call hello name=Ada --approve auto --elicitation off", false},
		{"call hello name=Ada --approve auto --data " + filepath.Join(s.root, "other"), false},
		{"call hello name=Ada --approve auto --keys " + filepath.Join(t.TempDir(), "keys"), false},
		{"call hello name=Ada --approve auto --bridge off", false},
		{"call hello name=Ada --approve auto --toolsets learning-os", true},
		{"call hello name=Ada --approve auto --read-only", true},
		{"call hello name=Ada --approve auto --log-level error --watch off", true},
	} {
		before := w.served("hello")
		if got := s.remit(strings.Fields(tc.args)...); got.code != 0 {
			t.Errorf("%s: exit %d\n%s%s", tc.args, got.code, got.out, got.errOut)
		}
		if served := w.served("hello") > before; served != tc.served {
			t.Errorf("%s: the server ran it: %v, want %v", tc.args, served, tc.served)
		}
	}
	got := s.remit(append(write, "--approve", "auto", "--read-only")...)
	if got.code != 1 || !strings.Contains(got.out, "read-only") {
		t.Errorf("--read-only: exit %d\n%s%s", got.code, got.out, got.errOut)
	}
	got = s.remit("call", "list_tasks", "user_id=x", "--approve", "auto", "--toolsets", "learning-os")
	if got.code != 2 || !strings.Contains(got.errOut, "Unknown tool") {
		t.Errorf("--toolsets: exit %d\n%s%s", got.code, got.out, got.errOut)
	}
	if why := s.remit("call", "hello", "name=Ada", "--log-level", "info").errOut; !strings.Contains(why, "the server was started with other settings: approve") {
		t.Errorf("the log does not say why the process works alone: %s", why)
	}
	w.end()
}

// TestReadOnlyServerIsNotUsed checks that a process that may write does not use a server that may
// not.
func TestReadOnlyServerIsNotUsed(t *testing.T) {
	t.Parallel()
	s, _ := bridgedWorkspace(t)
	s.remit("tasks", "add", "milk") // creates the data folder
	w := s.serve("--read-only")
	if got := s.remit("tasks", "add", "bread"); got.code != 0 {
		t.Errorf("exit %d\n%s%s", got.code, got.out, got.errOut)
	}
	if got := s.remit("tasks", "--read-only"); got.code != 0 || w.served("list_tasks") != 1 {
		t.Errorf("exit %d\n%s%s", got.code, got.out, got.errOut)
	}
	w.end()
}

// addTasks sends requests for n tasks without waiting for the answers, and returns their ids.
func (r *stdioServer) addTasks(n int) (ids []string) {
	for i := range n {
		ids = append(ids, r.start("add_task", fmt.Sprintf(`{"user_id":"ada","title":"task %d"}`, i)))
	}
	return ids
}

// checkTasks checks that every acknowledged task is stored once, and that no other is stored twice.
func (s *workspace) checkTasks(acknowledged map[int]bool, n int) {
	s.t.Helper()
	var list struct{ Tasks []struct{ Title string } }
	got := s.remit("tasks", "--user", "ada", "--json", "--rate-limits", "off")
	s.check(json.Unmarshal([]byte(got.out), &list))
	stored := map[string]int{}
	for _, task := range list.Tasks {
		stored[task.Title]++
	}
	for i := range n {
		count := stored[fmt.Sprint("task ", i)]
		if acknowledged[i] && count != 1 || count > 1 {
			s.t.Errorf("task %d is stored %d times; acknowledged: %v", i, count, acknowledged[i])
		}
	}
}

// TestBridgeSurvivesServer ends the server in the middle of calls: killed, and with SIGTERM. Every
// request gets one answer, nothing that was acknowledged is lost or doubled, and the session goes
// on. A server that is asked to end loses no call at all.
func TestBridgeSurvivesServer(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		signal syscall.Signal
	}{{"killed", syscall.SIGKILL}, {"terminated", syscall.SIGTERM}} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s, _ := bridgedWorkspace(t)
			w := s.serve("--rate-limits", "off")
			r := s.stdio("--rate-limits", "off")
			r.initialize(`{}`)
			const n = 200
			ids := r.addTasks(n)
			r.reply(ids[0])
			r.early[ids[0]] = message{Result: []byte(`{}`)}
			s.check(w.cmd.Process.Signal(tc.signal))
			read := r.start("list_tasks", `{"user_id":"nobody"}`)
			acknowledged, unknown := map[int]bool{}, 0
			for i, id := range ids {
				switch m := r.reply(id); {
				case m.Error == nil:
					acknowledged[i] = true
				case strings.Contains(m.Error.Message, "it is not known whether the call was carried out"):
					unknown++
				default:
					t.Errorf("request %d: %s", i, m.raw)
				}
			}
			if tc.signal == syscall.SIGTERM && unknown > 0 {
				t.Errorf("%d calls have no outcome", unknown)
			}
			if got := r.result(r.reply(read)); got.failed {
				t.Errorf("a read was not repeated: %s", got.text)
			}
			if got := r.call("add_task", `{"user_id":"ada","title":"after"}`); got.failed {
				t.Errorf("after the server has ended: %s", got.text)
			}
			<-w.exit
			r.end()
			s.checkTasks(acknowledged, n)
			s.verifyAudit()
		})
	}
}

// TestBridgedDialogue checks that the answer in the dialog of a stdio client counts through a
// bridge, and that an answer to a question of a server that was killed counts for nothing.
func TestBridgedDialogue(t *testing.T) {
	t.Parallel()
	s, _ := bridgedWorkspace(t)
	w := s.serve()
	r := s.stdio()
	r.initialize(`{"elicitation":{}}`)
	ask := func(entry string) (id string, question message) {
		t.Helper()
		id = r.start("write_memory_entry", entryOf(entry))
		if question = r.mustNext(); question.Method != "elicitation/create" {
			t.Fatalf("not a question: %s", question.raw)
		}
		time.Sleep(readingTime)
		return id, question
	}
	accept := func(question message) {
		r.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{}}}`, question.ID))
	}
	id, question := ask("first")
	accept(question)
	if got := r.result(r.reply(id)); got.failed || w.served("write_memory_entry") != 1 {
		t.Errorf("%s", got.text)
	}
	id, question = ask("second")
	w.kill()
	if m := r.reply(id); m.Error == nil || !strings.Contains(m.Error.Message, "it is not known whether the call was carried out") {
		t.Errorf("%s", m.raw)
	}
	id, next := ask("third")
	accept(question)
	r.call("hello", `{"name":"Ada"}`) // the answer was read
	if got := s.memory("decisions.jsonl"); len(got) != 1 || string(next.ID) == string(question.ID) {
		t.Errorf("the late answer to %s counted for %s: %q", question.ID, next.ID, got)
	}
	accept(next)
	if got := r.result(r.reply(id)); got.failed {
		t.Errorf("%s", got.text)
	}
	r.end()
	if got := s.memory("decisions.jsonl"); len(got) != 2 {
		t.Errorf("the file holds %q", got)
	}
}

// TestBridgeUsesNextServer checks that a session goes on with another server that runs.
func TestBridgeUsesNextServer(t *testing.T) {
	t.Parallel()
	s, _ := bridgedWorkspace(t)
	first, second := s.serve(), s.serve()
	r := s.stdio()
	r.initialize(`{}`)
	r.call("hello", `{"name":"Ada"}`)
	for _, w := range []*httpServer{first, second} {
		if w.served("hello") == 1 {
			w.kill()
			break
		}
	}
	r.call("hello", `{"name":"Ada"}`)
	for _, w := range []*httpServer{first, second} {
		if w.cmd.ProcessState == nil && w.served("hello") != 1 {
			t.Error("the session did not go on with the other server")
		}
	}
	r.end()
}

// TestHungServer stops the server, so that it accepts connections and does not answer.
func TestHungServer(t *testing.T) {
	t.Parallel()
	s, _ := bridgedWorkspace(t)
	s.env = append(s.env, "REMIT_DEADLINE_FACTOR=1") // it is the timeout of a connection too
	w := s.serve()
	s.check(w.cmd.Process.Signal(syscall.SIGSTOP))
	if got := s.remit("call", "hello", "name=Ada"); got.code != 0 || !strings.Contains(got.out, "greeting") {
		t.Errorf("exit %d\n%s%s", got.code, got.out, got.errOut)
	}
	s.check(w.cmd.Process.Signal(syscall.SIGCONT))
	w.end()
}

// TestHostileSockets checks that a process uses no socket that comes with the workspace, or that
// another user could have put into the key folder, and does not fail because of them.
func TestHostileSockets(t *testing.T) {
	t.Parallel()
	s, keys := bridgedWorkspace(t)
	w := s.serve()
	sockets, err := filepath.Glob(filepath.Join(keys, "workspaces", "*", "*.sock"))
	if err != nil || len(sockets) != 1 {
		t.Fatalf("sockets: %q %v", sockets, err)
	}
	if info, err := os.Lstat(sockets[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket has mode %v, %v", info.Mode(), err)
	}
	w.kill() // its socket stays
	reached := make(chan string, 100)
	listen := func(place string, mode os.FileMode, says string) {
		t.Helper()
		folder, err := os.Open(filepath.Dir(place))
		s.check(err)
		defer folder.Close()
		short := fmt.Sprintf("/proc/self/fd/%d/%s", folder.Fd(), filepath.Base(place))
		l, err := net.Listen("unix", short)
		s.check(err)
		l.(*net.UnixListener).SetUnlinkOnClose(false)
		t.Cleanup(func() { _ = l.Close() })
		s.check(os.Chmod(place, mode))
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				reached <- place
				_, _ = conn.Write([]byte(says))
				_ = conn.Close()
			}
		}()
	}
	folder := filepath.Dir(sockets[0])
	listen(s.path(".remit/a.sock"), 0o600, `{"owner":"x"}`+"\n")
	listen(s.path(".remit/proc/b.sock"), 0o600, `{"owner":"x"}`+"\n")
	listen(filepath.Join(folder, "open.sock"), 0o666, `{"owner":"x"}`+"\n")
	if got := s.remit("call", "hello", "name=Ada"); got.code != 0 || !strings.Contains(got.out, "greeting") || got.errOut != "" {
		t.Errorf("exit %d\n%s%s", got.code, got.out, got.errOut)
	}
	if len(reached) > 0 {
		t.Errorf("a process connected to %s", <-reached)
	}
	listen(filepath.Join(folder, "path.sock"), 0o600, `{"owner":"../../../id"}`+"\n")
	listen(filepath.Join(folder, "noise.sock"), 0o600, "\x00\xff{{{\n")
	listen(filepath.Join(folder, "long.sock"), 0o600, strings.Repeat("x", 1<<20))
	s.check(os.Symlink(sockets[0], filepath.Join(folder, "link.sock")))
	if got := s.remit("call", "hello", "name=Ada"); got.code != 0 || !strings.Contains(got.out, "greeting") || got.errOut != "" {
		t.Errorf("exit %d\n%s%s", got.code, got.out, got.errOut)
	}
	s.check(os.Chmod(folder, 0o755))
	w = s.serve()
	before := w.served("hello")
	if got := s.remit("call", "hello", "name=Ada"); got.code != 0 || w.served("hello") != before {
		t.Errorf("a folder that others can read: exit %d\n%s%s", got.code, got.out, got.errOut)
	}
	w.end()
}

// TestSandboxedProcessWorksAlone checks that a process that cannot write to the key folder or to
// the data folder gets nothing from a server that can.
func TestSandboxedProcessWorksAlone(t *testing.T) {
	t.Parallel()
	s, keys := bridgedWorkspace(t)
	if err := exec.Command("unshare", "--mount", "true").Run(); err != nil {
		t.Skipf("this system does not allow mount namespaces: %v", err)
	}
	w := s.serve()
	for name, folder := range map[string]string{"keys": keys, "data": s.path(".remit")} {
		before := w.served("hello")
		script := `mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && exec "$2" call hello name=Ada`
		cmd := exec.Command("unshare", "--mount", "sh", "-c", script, "sh", folder, remitBin)
		cmd.Dir, cmd.Env = s.root, environment(s.env...)
		if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("greeting")) {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
		if w.served("hello") != before {
			t.Errorf("%s: a process that can only read was served", name)
		}
	}
	w.end()
}
