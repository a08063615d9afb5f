//go:build linux && baseline

package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"remit/internal/stores/sqlstore/pgtest"
)

// TestAgainstBaseline compares this build with an older one, whose path is in REMIT_BASELINE. Both
// run side by side, and no call may cost over 5 % more.
func TestAgainstBaseline(t *testing.T) {
	skipUnlessMeasuring(t)
	older := os.Getenv("REMIT_BASELINE")
	if older == "" {
		t.Fatal("REMIT_BASELINE must be the path of an older remit")
	}
	library, book := bookFolder(t, 1)
	for name, size := range map[string]int{"small.md": 4 << 10, "large.md": 500 << 10} {
		if err := os.WriteFile(filepath.Join(book, name), prose(size), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	call := func(tool, arguments, want string) question {
		return question{"tools/call", `{"name":"` + tool + `","arguments":` + arguments + `}`, want}
	}
	read := func(name string) question {
		return call("read_content", `{"book_id":"measured-book","path":"`+name+`"}`, `"structuredContent":{"content":"`)
	}
	task := call("add_task", `{"user_id":"ada","title":"Task `+uniqueNumber+`"}`, `"structuredContent"`)
	tasks := call("list_tasks", `{"user_id":"ada","limit":50}`, `"structuredContent"`)
	stdio := []struct {
		what, toolset string
		ask           question
	}{
		{"hello over stdio", "learning-os", helloQuestion},
		{"tools/list over stdio", "learning-os", listQuestion},
		{"read_content of 4 KB", "books", read("small.md")},
		{"read_content of 500 KB", "books", read("large.md")},
		{"add_task", "tasks", task},
		{"list_tasks", "tasks", tasks},
	}
	for _, c := range stdio {
		t.Run(c.what, func(t *testing.T) {
			var contenders []contender
			for _, program := range []string{older, program(t, remitSource)} {
				server := startStdio(t, remitOf(t, program, "stdio", "--toolsets", c.toolset, "--books", "file://"+library))
				contenders = append(contenders, server.contender(filepath.Base(filepath.Dir(program)), c.ask))
			}
			compareBuilds(t, contenders)
		})
	}
	t.Run("write_memory_entry", func(t *testing.T) {
		entry := call("write_memory_entry", `{"file":"decisions.jsonl","entry":{"timestamp":"2026-01-09T10:30:00Z","type":"stack",`+
			`"decision":"SQLite for tasks `+uniqueNumber+`"}}`, `"structuredContent":{"success":true`)
		var contenders []contender
		for _, program := range []string{older, program(t, remitSource)} {
			server := startStdio(t, remitOf(t, program, "stdio", "--approve", "auto"))
			contenders = append(contenders, server.contender("", entry))
		}
		compareWrites(t, contenders)
	})
	t.Run("add_task, PostgreSQL", func(t *testing.T) {
		var contenders []contender
		for _, program := range []string{older, program(t, remitSource)} {
			server := startHTTP(t, remitOf(t, program, "serve", "--addr", "127.0.0.1:0", "--toolsets", "tasks", "--database", pgtest.New(t).URL()))
			callers := server.connectCallers(t, callers, server.addingTasks).expectAnswer(addTaskWant)
			contenders = append(contenders, contender{"", server.pid, callers.callFor})
		}
		compareWrites(t, contenders)
	})
	for what, modern := range map[string]bool{"hello over HTTP in a session": false, "hello over HTTP, stateless": true} {
		t.Run(what, func(t *testing.T) {
			var contenders []contender
			for _, program := range []string{older, program(t, remitSource)} {
				server := startHTTP(t, remitOf(t, program, "serve", "--addr", "127.0.0.1:0"))
				part := server.inSession
				if modern {
					part = stateless
				}
				contenders = append(contenders, contender{"", server.pid, server.connectCallers(t, callers, part).callFor})
			}
			compareBuilds(t, contenders)
		})
	}
	for _, size := range codeTrees {
		t.Run("grep_codebase in "+size.name, func(t *testing.T) { compareGrep(t, older, size.parts) })
	}
	t.Run("index", func(t *testing.T) { compareIndexing(t, older) })
	t.Run("archive", func(t *testing.T) { compareArchives(t, older) })
	t.Run("start and memory", func(t *testing.T) { compareStarts(t, older) })
}

// compareBuilds runs an older and a newer build alternately. It compares them within each round.
func compareBuilds(t *testing.T, contenders []contender) {
	t.Helper()
	contenders[0].name, contenders[1].name = "older", "newer"
	compareContenders(t, contenders, []limit{
		{what: "CPU a call", ratio: func(r []speed) float64 { return r[1].cpu / r[0].cpu }, max: 1.05},
		{what: "calls/s", ratio: func(r []speed) float64 { return r[1].rate / r[0].rate }, min: 0.95},
	})
}

// compareWrites is compareBuilds for calls that wait for the disk. Their speed varies more.
func compareWrites(t *testing.T, contenders []contender) {
	t.Helper()
	contenders[0].name, contenders[1].name = "older", "newer"
	compareContenders(t, contenders, []limit{
		{what: "calls/s", ratio: func(r []speed) float64 { return r[1].rate / r[0].rate }, min: 0.9},
		{what: "CPU a call", ratio: func(r []speed) float64 { return r[1].cpu / r[0].cpu }},
	})
}

// compareFigures logs how the figures of two builds compare, and fails the test if the new one is
// worse.
func compareFigures[T time.Duration | int](t *testing.T, what string, past, now T) {
	t.Helper()
	verdict := fmt.Sprintf("%-35s %.2fx (%v / %v)", what, float64(now)/float64(past), now, past)
	t.Log(verdict)
	if float64(now) > 1.05*float64(past) {
		t.Error("worse: " + verdict)
	}
}

// compareIndexing compares the CPU time of a first index of many files: the smaller of two runs.
func compareIndexing(t *testing.T, older string) {
	t.Helper()
	root, _ := sourceTree(t, ".")
	builds := []string{older, program(t, remitSource)}
	used, memory := make([]time.Duration, 2), make([]int, 2)
	for n := range 4 {
		i := n % 2
		cmd := remitOf(t, builds[i], "index", "--json", "--root", root, "--data", t.TempDir())
		most := runWatched(t, cmd) >> 20
		spent := (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Round(10 * time.Millisecond)
		if n < 2 {
			used[i], memory[i] = spent, most
		}
		used[i], memory[i] = min(used[i], spent), min(memory[i], most)
	}
	compareFigures(t, "CPU of a first index", used[0], used[1])
	compareFigures(t, "its memory in MB", memory[0], memory[1])
}

// compareArchives logs the CPU time of an archive. It may exceed the older build's, as long as it
// is four times as fast as zip -r, which TestArchiveAgainstZip checks.
func compareArchives(t *testing.T, older string) {
	t.Helper()
	library := t.TempDir()
	writeMixedBook(t, filepath.Join(library, "books", "mixed"))
	writeTexts(t, filepath.Join(library, "books", "texts"), 500)
	for _, book := range []string{"mixed", "texts"} {
		for _, build := range []string{older, program(t, remitSource)} {
			server := startHTTP(t, remitOf(t, build, "serve", "--addr", "127.0.0.1:0", "--toolsets", "books", "--books", "file://"+library))
			address, to := server.archive(t, book), filepath.Join(t.TempDir(), "book.zip")
			var spent []time.Duration
			for range 3 {
				before := cpuOf(t, server.pid)
				if err := download(address, to); err != nil {
					t.Fatal(err)
				}
				spent = append(spent, cpuOf(t, server.pid)-before)
			}
			t.Logf("%s by %s: %v of CPU, %d bytes", book, build, slices.Min(spent), sizeOf(t, to))
		}
	}
}

// compareStarts logs the cost of a start and of an idle server. Other tests check their budgets.
func compareStarts(t *testing.T, older string) {
	t.Helper()
	for _, build := range []string{older, program(t, remitSource)} {
		start := minStarts(t, 40, helloQuestion, func() *exec.Cmd { return remitOf(t, build, "stdio") })[0]
		stdio := startStdio(t, remitOf(t, build, "stdio"))
		if err := stdio.once(helloQuestion); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %v of CPU to start and answer, %.1f MB then", build, start, float64(resident(t, stdio.cmd.Process.Pid))/(1<<20))
	}
}

// compareGrep compares the CPU time of a search for each kind of pattern.
func compareGrep(t *testing.T, older string, parts []string) {
	t.Helper()
	root, _ := sourceTree(t, parts...)
	var servers []*stdioServer
	for _, program := range []string{older, program(t, remitSource)} {
		server := startStdio(t, remitOf(t, program, "stdio", "--toolsets", "context", "--root", root, "--data", t.TempDir()))
		if _, err := server.grep(grepArguments("func", true)); err != nil {
			t.Fatal(err)
		}
		waitIdle(t, server.cmd.Process.Pid)
		servers = append(servers, server)
	}
	for _, p := range codePatterns {
		var used [2][]time.Duration
		for n := range 120 {
			i := n % 2
			before := cpuOf(t, servers[i].cmd.Process.Pid)
			if _, err := servers[i].reply("grep_codebase", grepArguments(equivalentPattern(p.pattern, n/2), p.sensitive)); err != nil {
				t.Fatal(err)
			}
			used[i] = append(used[i], cpuOf(t, servers[i].cmd.Process.Pid)-before)
		}
		for i := range used {
			slices.Sort(used[i])
		}
		compareFigures(t, p.what, used[0][len(used[0])/2].Round(10*time.Microsecond), used[1][len(used[1])/2].Round(10*time.Microsecond))
	}
}
