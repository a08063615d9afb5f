//go:build linux

package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"remit/internal/contract/jsontree"
	"remit/internal/engine/audit"
	"remit/internal/stores/sqlstore"
	"remit/internal/stores/sqlstore/pgtest"
)

// The amount of data in TestConsolePages, and the maximum time of a page.
const (
	consoleCalls = 100_000
	consoleTasks = 10_000
	maxPageTime  = 100 * time.Millisecond
)

// TestConsolePages loads every page of the console twice, with 100,000 calls on record and 10,000
// tasks.
func TestConsolePages(t *testing.T) {
	if testing.Short() {
		t.Skip("this test writes a hundred thousand records")
	}
	cmd := remitWithTasks(t, consoleTasks)
	recordCalls(t, filepath.Join(cmd.Dir, ".remit", "audit"), consoleCalls)
	for _, file := range []string{"README.md", "src/main.go"} {
		write(t, filepath.Join(cmd.Dir, file), "# Words\n\nTODO: more\n")
	}
	server, browser := openConsole(t, cmd, "--toolsets", "learning-os,tasks,books,context")
	indexed := waitIndexed(t, browser, server, consoleCalls)
	t.Logf("%d records are indexed after %.1f s", consoleCalls, indexed.Seconds())
	paths := []string{
		"/", "/console/calls", "/console/calls?outcome=denied&period=all", "/console/calls?tool=tasks/list_tasks&caller=agent:3&period=all",
		"/console/calls?view=times", "/console/calls?view=times&period=all",
		"/console/approvals", "/console/tools", "/console/tools/add_task", "/console/tasks?user=ada", "/console/tasks?user=ada&priority=High",
		"/console/books", "/console/search?q=TODO", "/console/memory", "/console/connect", "/console/settings",
	}
	for _, path := range paths {
		first := page(t, browser, "http://"+server.address+path)
		again := medianLoad(t, browser, "http://"+server.address+path)
		t.Logf("%-75s first %6.1f ms, again %6.1f ms", path, ms(first), ms(again))
		if again > maxPageTime {
			t.Errorf("%s takes %s, over %s", path, again, maxPageTime)
		}
	}
}

// maxMillionPageTime is the maximum time of a page of calls with a million on record.
const maxMillionPageTime = 60 * time.Millisecond

// TestMillionCalls: with a million calls on record, pages of calls are as fast, and the server
// takes no more memory, than with ten thousand.
func TestMillionCalls(t *testing.T) {
	if os.Getenv("REMIT_FULL") != "true" {
		t.Skip("this test writes a million records; set REMIT_FULL=true to run it")
	}
	t.Run("files and SQLite", func(t *testing.T) {
		millionCalls(t, func(t *testing.T, cmd *exec.Cmd, calls int) (flags []string) {
			t.Helper()
			recordCalls(t, filepath.Join(cmd.Dir, ".remit", "audit"), calls)
			return nil
		})
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		millionCalls(t, func(t *testing.T, _ *exec.Cmd, calls int) (flags []string) {
			t.Helper()
			url := pgtest.New(t).URL()
			recordCallsIn(t, url, calls)
			return []string{"--database", url}
		})
	})
}

// millionCalls measures a server with few records and one with many. record writes them, and
// returns the flags with which the server finds them.
func millionCalls(t *testing.T, record func(t *testing.T, cmd *exec.Cmd, calls int) (flags []string)) {
	t.Helper()
	memory := map[int]int{}
	for _, calls := range []int{10_000, 1_000_000} {
		cmd := remit(t, "serve")
		flags := record(t, cmd, calls)
		server, browser := openConsole(t, cmd, flags...)
		indexed := waitIndexed(t, browser, server, calls)
		filling := residentKiB(t, server.pid)
		stop(t, cmd)
		again := exec.CommandContext(t.Context(), cmd.Path)
		again.Dir, again.Env = cmd.Dir, cmd.Env
		server, browser = openConsole(t, again, flags...)
		for _, path := range []string{
			"/console/calls", "/console/calls?period=all", "/console/calls?period=7d&outcome=failed", "/console/calls?outcome=denied&period=all",
			"/console/calls?tool=tasks/list_tasks&caller=agent:3&period=all", "/console/calls?tool=tasks/list_tasks&outcome=invalid&period=all",
			"/console/calls?period=all&caller=agent:6&outcome=limited&tool=books/read_content&face=http",
		} {
			took := medianLoad(t, browser, "http://"+server.address+path)
			t.Logf("%9d calls: %-90s %6.1f ms", calls, path, ms(took))
			if took > maxMillionPageTime {
				t.Errorf("%s takes %s, over %s", path, took, maxMillionPageTime)
			}
		}
		for range 300 { // until garbage collection has reached a steady state
			page(t, browser, "http://"+server.address+"/console/calls")
		}
		memory[calls] = residentKiB(t, server.pid)
		t.Logf("%9d calls: indexed after %.1f s, with %d KiB of memory; %d KiB after a restart", calls, indexed.Seconds(), filling, memory[calls])
		for _, path := range []string{"/console/calls?view=times", "/console/calls?view=times&period=all"} {
			best := time.Hour
			for range 5 {
				best = min(best, page(t, browser, "http://"+server.address+path))
			}
			t.Logf("%9d calls: %-90s %6.1f ms", calls, path, ms(best))
		}
		stop(t, again) // so that the next one runs alone
	}
	if few, many := memory[10_000], memory[1_000_000]; many > few+few/4 {
		t.Errorf("with a million records the server has %d KiB, with ten thousand %d", many, few)
	}
}

// stop ends a server and waits for it.
func stop(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if _, err := cmd.Process.Wait(); err != nil {
		t.Fatal(err)
	}
}

// openConsole starts a server and signs in to its console.
func openConsole(t *testing.T, cmd *exec.Cmd, flags ...string) (*httpServer, *http.Client) {
	t.Helper()
	link := regexp.MustCompile(`http://\S+/console/login\S+`)
	log := &bytes.Buffer{}
	cmd.Args = append([]string{cmd.Args[0], "serve", "--addr", "127.0.0.1:0"}, flags...)
	server := startHTTPTee(t, cmd, log)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	page(t, browser, link.FindString(log.String()))
	return server, browser
}

// waitIndexed waits until all calls are indexed, and returns how long that took.
func waitIndexed(t *testing.T, browser *http.Client, server *httpServer, calls int) time.Duration {
	t.Helper()
	start := time.Now()
	for deadline := start.Add(10 * time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		_, body := load(t, browser, "http://"+server.address+"/console/calls?period=all&face=http")
		if bytes.Contains(body, []byte("<strong>"+thousands(calls)+"</strong>")) && !bytes.Contains(body, []byte("being indexed")) {
			return time.Since(start)
		}
	}
	t.Fatal("not all calls are indexed before the timeout")
	return 0
}

// thousands formats a number as the pages do.
func thousands(n int) string {
	text := fmt.Sprint(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// residentKiB returns the current memory of a process.
func residentKiB(t *testing.T, pid int) (size int) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(status), "VmRSS:")
	if _, err := fmt.Sscan(after, &size); err != nil {
		t.Fatal(err)
	}
	return size
}

// medianLoad returns the median time of 27 loads of a page.
func medianLoad(t *testing.T, browser *http.Client, address string) time.Duration {
	t.Helper()
	var took []time.Duration
	for range 27 {
		took = append(took, page(t, browser, address))
	}
	return median(took)
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// page loads a page and returns how long that took.
func page(t *testing.T, browser *http.Client, address string) time.Duration {
	t.Helper()
	took, _ := load(t, browser, address)
	return took
}

func load(t *testing.T, browser *http.Client, address string) (time.Duration, []byte) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", "text/html")
	start := time.Now()
	answer, err := browser.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	took := time.Since(start)
	if err != nil || answer.StatusCode != http.StatusOK || !bytes.Contains(body, []byte("</html>")) {
		t.Fatalf("%s: %d %v %.300s", address, answer.StatusCode, err, body)
	}
	return took, body
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// recordCalls writes the audit records of n calls, spread over the last three days.
func recordCalls(t *testing.T, folder string, n int) {
	t.Helper()
	days := map[string]*bufio.Writer{}
	keeper := collector(func(day string, record []byte) {
		if days[day] == nil {
			name := filepath.Join(folder, audit.FileOf(day))
			write(t, name, "")
			file, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0o600)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = file.Close() }) // the content is flushed below
			days[day] = bufio.NewWriter(file)
		}
		_, _ = days[day].Write(record) // Flush reports the error
	})
	writeCalls(t, &audit.Log{Storage: &chained{keep: keeper, last: audit.InitialHash}}, n)
	for _, file := range days {
		if err := file.Flush(); err != nil {
			t.Fatal(err)
		}
	}
}

// recordCallsIn writes them to a PostgreSQL database.
func recordCallsIn(t *testing.T, url string, n int) {
	t.Helper()
	db, err := sqlstore.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	records := sqlstore.Source(func(context.Context) (*sqlstore.DB, error) { return db, nil }).Records(func(err error) { t.Errorf("lost: %v", err) })
	writeCalls(t, &audit.Log{Storage: records}, n)
	if err := records.Close(); err != nil {
		t.Fatal(err)
	}
}

func writeCalls(t *testing.T, log *audit.Log, n int) {
	t.Helper()
	tools := []string{"learning-os/hello", "learning-os/read_repo_file", "tasks/list_tasks", "tasks/add_task", "context/grep_codebase", "books/read_content"}
	outcomes := []string{"ok", "ok", "ok", "ok", "ok", "invalid", "denied", "limited", "not_found", "ok"}
	began := time.Now().Add(-72 * time.Hour)
	for i := range n { // it waits now and then, because only a few thousand may be pending
		record := &audit.Record{
			Time: began.Add(72 * time.Hour / time.Duration(n) * time.Duration(i)), Principal: fmt.Sprintf("agent:%d", i%7), Frontend: "http", Client: "claude-code/2.1",
			Tool: tools[i%len(tools)], Version: "1.0.0", Outcome: outcomes[i%len(outcomes)], Duration: time.Duration(100+i%5000) * time.Microsecond, Bytes: 100 + i%4000,
			Arguments: jsontree.Obj(jsontree.M("path", jsontree.Str("docs/a.md"))),
		}
		if err := log.Write(t.Context(), record, i%1000 == 999); err != nil {
			t.Fatal(err)
		}
	}
}

// chained chains records one after another.
type chained struct {
	keep collector
	last string
}

type collector func(day string, record []byte)

func (*chained) Ready(string) error { return nil }

// Append chains a record at once.
func (c *chained) Append(day string, record []byte, _ bool) (func(context.Context) error, error) {
	line := audit.Seal(c.last, record)
	c.last = audit.HashOf(line)
	c.keep(day, append(line, '\n'))
	return func(context.Context) error { return nil }, nil
}

// Replace is not used.
func (*chained) Replace(string, []byte, string) error { return errors.ErrUnsupported }

// startHTTPTee starts a server at a terminal, and stores what it logs until it is reachable.
func startHTTPTee(t *testing.T, cmd *exec.Cmd, log *bytes.Buffer) *httpServer {
	t.Helper()
	out, err := os.CreateTemp(t.TempDir(), "log")
	if err != nil {
		t.Fatal(err)
	}
	screen, terminal, err := pty.Open() // only a terminal is shown a sign-in link
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = terminal
	if err := errors.Join(cmd.Start(), terminal.Close()); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(out, screen) }() // ends with the server
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
		_ = screen.Close()
	})
	for deadline := time.Now().Add(serverTimeout); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		said, err := os.ReadFile(out.Name())
		if err != nil {
			t.Fatal(err)
		}
		if found := addressInLog.FindSubmatch(said); found != nil && strings.Contains(string(said), "Console: ") {
			log.Write(said)
			return &httpServer{cmd.Process.Pid, string(found[1])}
		}
	}
	t.Fatal("the server did not log its address")
	return nil
}
