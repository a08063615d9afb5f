//go:build linux

package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var (
	createEntityQuestion = question{
		"tools/call", `{"name":"create_entities","arguments":{"entities":[` + taskEntity("Buy new shoes "+anew, "2026-03-04") + `]}}`,
		`"structuredContent":{"entities":[{"name":"Buy new shoes `,
	}
	// searchNodesQuestion finds 50 of 10,000 entities, this one last.
	searchNodesQuestion = question{"tools/call", `{"name":"search_nodes","arguments":{"query":"due_date: 2017-"}}`, `"name":"Call the dentist 9817"`}
)

// taskEntity is an entity that says what a task does.
func taskEntity(title, due string) string {
	return `{"name":"` + title + `","entityType":"task","observations":["Ask for an hour in the morning.","completed: false",` +
		`"priority: High","due_date: ` + due + `","created_at: 2026-01-02T03:04:05Z","updated_at: 2026-01-02T03:04:05Z"]}`
}

// memoryServer is the official server that keeps what a model is to remember.
func memoryServer(t *testing.T, file string) *exec.Cmd {
	t.Helper()
	cmd := official(t, "server-memory")
	cmd.Env = append(os.Environ(), "MEMORY_FILE_PATH="+file)
	return cmd
}

// entityFile has so many entities, one a line; 50 each are due in the same year.
func entityFile(t *testing.T, n int) string {
	t.Helper()
	lines := make([]string, n)
	for i := range lines {
		lines[i] = `{"type":"entity",` + taskEntity(fmt.Sprintf("Call the dentist %d", i), fmt.Sprintf("%d-03-04", 2000+i%(n/50)))[len("{"):]
	}
	path := filepath.Join(t.TempDir(), "memory.jsonl")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestTasksAgainstMemoryServer compares what it costs to add a record to 10,000, and
// to get 50 of them. The records of both say the same.
func TestTasksAgainstMemoryServer(t *testing.T) {
	measures(t)
	const records = 10000
	theirs := startStdio(t, memoryServer(t, entityFile(t, records)))
	ours := startStdio(t, remitWithTasks(t, records))
	const create, add, search, list, list100, listAll = 0, 1, 2, 3, 4, 5
	lanes := []lane{
		create:  theirs.slowLane("create_entities", createEntityQuestion),
		add:     ours.lane("add_task", addTaskQuestion),
		search:  theirs.slowLane("search_nodes, 50", searchNodesQuestion),
		list:    ours.lane("list_tasks, limit 50", listTasksQuestion(`,"limit":50`)),
		list100: ours.lane("list_tasks, limit 100", listTasksQuestion(`,"limit":100`)),
		listAll: ours.lane("list_tasks, no limit", listTasksQuestion("")),
	}
	contest(t, lanes, []bar{
		{what: "CPU of create_entities against add_task", ratio: func(r []pace) float64 { return r[create].cpu / r[add].cpu }, least: 50},
		{what: "CPU of search_nodes against list_tasks, 50 records", ratio: func(r []pace) float64 { return r[search].cpu / r[list].cpu }, least: 50},
	})
}

// slowLane is a lane for a server that takes long: its turn is four calls at once.
// More of them would cost it a little more each.
func (s *stdioServer) slowLane(name string, q question) lane {
	return lane{name, s.cmd.Process.Pid, func(time.Duration) (int, error) { return s.atOnce(q, 4) }}
}

// TestConcurrentWritesAreKept: what was acknowledged is there, though all was sent at
// once. How many the memory server keeps of its own is told beside it.
func TestConcurrentWritesAreKept(t *testing.T) {
	measures(t)
	const writes = 100
	file := filepath.Join(t.TempDir(), "memory.jsonl")
	theirs, err := startStdio(t, memoryServer(t, file)).atOnce(createEntityQuestion, writes)
	t.Logf("server-memory: %d of %d writes acknowledged (%v), %d kept", theirs, writes, err, entitiesIn(t, file))

	cmd := remit(t, "stdio", "--toolsets", "tasks")
	ours, err := startStdio(t, cmd).atOnce(addTaskQuestion, writes)
	kept := titlesIn(t, cmd.Dir)
	t.Logf("remit: %d of %d writes acknowledged (%v), %d kept", ours, writes, err, kept)
	if ours != writes || kept != writes {
		t.Errorf("of %d writes %d were acknowledged and %d kept", writes, ours, kept)
	}
}

// atOnce asks so many times before it reads an answer, and returns how many answers
// were as they should be, and the last error of the others.
func (s *stdioServer) atOnce(q question, n int) (answered int, err error) {
	for range n {
		if err := s.ask(q); err != nil {
			return 0, err
		}
	}
	for range n {
		if fault := s.answer(q); fault != nil {
			err = fault
			continue
		}
		answered++
	}
	return answered, err
}

// entitiesIn counts the names in a file of the memory server.
func entitiesIn(t *testing.T, file string) int {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for line := range bytes.Lines(data) {
		var entity struct{ Name string }
		if err := json.Unmarshal(line, &entity); err != nil {
			t.Fatal(err)
		}
		names[entity.Name] = true
	}
	return len(names)
}

// titlesIn counts the titles in the database of a workspace.
func titlesIn(t *testing.T, root string) (titles int) {
	t.Helper()
	db := taskFile(t, filepath.Join(root, ".remit"))
	if err := db.QueryRow(`SELECT count(DISTINCT title) FROM tasks WHERE user_id = 'ada'`).Scan(&titles); err != nil {
		t.Fatal(err)
	}
	return titles
}
