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
		"tools/call", `{"name":"create_entities","arguments":{"entities":[` + taskEntity("Buy new shoes "+uniqueNumber, "2026-03-04") + `]}}`,
		`"structuredContent":{"entities":[{"name":"Buy new shoes `,
	}
	// searchNodesQuestion finds 50 of 10,000 entities; the wanted one is the last.
	searchNodesQuestion = question{"tools/call", `{"name":"search_nodes","arguments":{"query":"due_date: 2017-"}}`, `"name":"Call the dentist 9817"`}
)

// taskEntity returns an entity with the content of a task.
func taskEntity(title, due string) string {
	return `{"name":"` + title + `","entityType":"task","observations":["Ask for an hour in the morning.","completed: false",` +
		`"priority: High","due_date: ` + due + `","created_at: 2026-01-02T03:04:05Z","updated_at: 2026-01-02T03:04:05Z"]}`
}

// memoryServer returns a command for the official memory server.
func memoryServer(t *testing.T, file string) *exec.Cmd {
	t.Helper()
	cmd := officialServer(t, "server-memory")
	cmd.Env = append(os.Environ(), "MEMORY_FILE_PATH="+file)
	return cmd
}

// entityFile writes n entities, one per line; 50 each are due in the same year.
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

// TestTasksAgainstMemoryServer compares the cost of adding a record to 10,000, and of reading 50 of
// them. The records of both servers have the same content.
func TestTasksAgainstMemoryServer(t *testing.T) {
	skipUnlessMeasuring(t)
	const records = 10000
	theirs := startStdio(t, memoryServer(t, entityFile(t, records)))
	ours := startStdio(t, remitWithTasks(t, records))
	const create, add, search, list, list100, listAll = 0, 1, 2, 3, 4, 5
	contenders := []contender{
		create:  theirs.slowContender("create_entities", createEntityQuestion),
		add:     ours.contender("add_task", addTaskQuestion),
		search:  theirs.slowContender("search_nodes, 50", searchNodesQuestion),
		list:    ours.contender("list_tasks, limit 50", listTasksQuestion(`,"limit":50`)),
		list100: ours.contender("list_tasks, limit 100", listTasksQuestion(`,"limit":100`)),
		listAll: ours.contender("list_tasks, no limit", listTasksQuestion("")),
	}
	compareContenders(t, contenders, []limit{
		{what: "CPU of create_entities against add_task", ratio: func(r []speed) float64 { return r[create].cpu / r[add].cpu }, min: 50},
		{what: "CPU of search_nodes against list_tasks, 50 records", ratio: func(r []speed) float64 { return r[search].cpu / r[list].cpu }, min: 50},
	})
}

// slowContender returns a contender for a slow server: its turn is four concurrent calls. More
// calls would make each a little slower.
func (s *stdioServer) slowContender(name string, q question) contender {
	return contender{name, s.cmd.Process.Pid, func(time.Duration) (int, error) { return s.sendAllFirst(q, 4) }}
}

// TestConcurrentWritesAreKept: every acknowledged write is stored, even if all are sent at once.
// The test also logs how many the memory server stores.
func TestConcurrentWritesAreKept(t *testing.T) {
	skipUnlessMeasuring(t)
	const writes = 100
	file := filepath.Join(t.TempDir(), "memory.jsonl")
	theirs, err := startStdio(t, memoryServer(t, file)).sendAllFirst(createEntityQuestion, writes)
	t.Logf("server-memory: %d of %d writes acknowledged (%v), %d kept", theirs, writes, err, entitiesIn(t, file))

	cmd := remit(t, "stdio", "--toolsets", "tasks")
	ours, err := startStdio(t, cmd).sendAllFirst(addTaskQuestion, writes)
	kept := titlesIn(t, cmd.Dir)
	t.Logf("remit: %d of %d writes acknowledged (%v), %d kept", ours, writes, err, kept)
	if ours != writes || kept != writes {
		t.Errorf("of %d writes %d were acknowledged and %d kept", writes, ours, kept)
	}
}

// sendAllFirst sends n requests before it reads an answer, and returns the number of correct
// answers and the last error.
func (s *stdioServer) sendAllFirst(q question, n int) (answered int, err error) {
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

// entitiesIn counts the different names in a file of the memory server.
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

// titlesIn counts the different titles in the database of a workspace.
func titlesIn(t *testing.T, root string) (titles int) {
	t.Helper()
	db := taskFile(t, filepath.Join(root, ".remit"))
	if err := db.QueryRow(`SELECT count(DISTINCT title) FROM tasks WHERE user_id = 'ada'`).Scan(&titles); err != nil {
		t.Fatal(err)
	}
	return titles
}
