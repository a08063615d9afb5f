package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"remit/internal/stores/sqlstore/pgtest"
)

const (
	taskAgents   = 16
	leaseSeconds = 2
)

// sharedTasks is how many tasks the agents share.
var sharedTasks = func() int {
	if os.Getenv("REMIT_FULL") == "true" {
		return 1000
	}
	return 150
}()

// team is a group of agents that share one list of tasks over three replicas.
type team struct {
	t        *testing.T
	replicas [3]atomic.Pointer[string] // addresses
	running  sync.WaitGroup
	started  atomic.Int64
	done     atomic.Int64

	mu     sync.Mutex
	tokens map[int64]map[string]bool // the tokens with which each task was completed
	killed int                       // agents that ended with a claim
	late   int                       // completions that were refused because the claim was over
	first  []claimed                 // claims of agents that stop before the others start
	faults []error
}

// claimed is a task that an agent has claimed.
type claimed struct {
	id    int64
	token string
	until time.Time
}

// teamAnswer is the answer of any task tool.
type teamAnswer struct {
	Success bool
	Data    struct {
		ID   int64
		Task *struct {
			ID    int64
			Claim struct{ Until time.Time }
		}
		Tasks   []struct{ ID int64 }
		Token   string
		Waiting *struct {
			Claimed, Blocked int
			Until            time.Time
		}
	}
	Error struct{ Code, Message string }
}

// call calls a tool of one replica after the other until one answers.
func (m *team) call(n int64, tool, args string) (teamAnswer, error) {
	var answer teamAnswer
	client := http.Client{Timeout: timeout}
	for end := time.Now().Add(timeout); time.Now().Before(end); n++ {
		r, err := newPost(m.t.Context(), *m.replicas[n%3].Load()+"/tools/"+tool, args, nil)
		if err != nil {
			return answer, err
		}
		got, err := send(&client, r)
		if err != nil {
			continue // the replica was killed
		}
		if err := json.Unmarshal(got.body, &answer); err != nil {
			return answer, fmt.Errorf("%s: %w: %s", tool, err, clip(got.body))
		}
		return answer, nil
	}
	return answer, fmt.Errorf("%s: no replica answers", tool)
}

// start starts an agent.
func (m *team) start() {
	agent := m.started.Add(1)
	m.running.Go(func() {
		if err := m.work(agent); err != nil {
			m.mu.Lock()
			m.faults = append(m.faults, fmt.Errorf("agent %d: %w", agent, err))
			m.mu.Unlock()
		}
	})
}

// work claims and completes tasks until none is left. Each eleventh claim ends the agent, and
// another one takes its place; each seventh is kept for longer than its lease.
func (m *team) work(agent int64) error {
	for n := int64(1); ; n++ {
		task, left, err := m.claim(agent, n)
		switch {
		case err != nil || !left:
			return err
		case task == nil:
			continue
		case (agent*5+n)%11 == 0:
			m.mu.Lock()
			m.killed++
			m.mu.Unlock()
			m.start()
			return nil
		case (agent*3+n)%7 == 0:
			time.Sleep(time.Until(task.until.Add(2 * time.Second)))
		}
		if err := m.complete(agent+n, task); err != nil {
			return err
		}
	}
}

// claim claims a task: the next one, or sometimes one of the list. left is false if all are done.
func (m *team) claim(agent, n int64) (task *claimed, left bool, err error) {
	if n%4 == 0 {
		task, err = m.claimListed(agent + n)
		return task, true, err
	}
	sent := time.Now()
	got, err := m.call(agent+n, "next_task", fmt.Sprintf(`{"user_id":"team","claim":true,"lease_seconds":%d}`, leaseSeconds))
	switch waiting := got.Data.Waiting; {
	case err != nil:
		return nil, false, err
	case !got.Success:
		return nil, false, errors.New(got.Error.Message)
	case waiting == nil:
		return &claimed{got.Data.Task.ID, got.Data.Token, got.Data.Task.Claim.Until}, true, nil
	case waiting.Claimed+waiting.Blocked == 0:
		return nil, false, nil
	// Answers have whole seconds. The clock of the database is that of this machine.
	case waiting.Claimed > 0 && !waiting.Until.Add(time.Second).After(sent):
		return nil, false, fmt.Errorf("at %s a task is still claimed until %s", sent, waiting.Until)
	}
	time.Sleep(20 * time.Millisecond)
	return nil, true, nil
}

// claimListed claims a task of the list, which another agent may claim first.
func (m *team) claimListed(n int64) (*claimed, error) {
	list, err := m.call(n, "list_tasks", `{"user_id":"team","ready":true,"limit":5}`)
	if err != nil || len(list.Data.Tasks) == 0 {
		return nil, err
	}
	id := list.Data.Tasks[n%int64(len(list.Data.Tasks))].ID
	got, err := m.call(n+1, "claim_task", fmt.Sprintf(`{"user_id":"team","task_id":%d,"lease_seconds":%d}`, id, leaseSeconds))
	switch {
	case err != nil:
		return nil, err
	case got.Success:
		return &claimed{got.Data.Task.ID, got.Data.Token, got.Data.Task.Claim.Until}, nil
	case got.Error.Code == "task_claimed" || got.Error.Code == "task_completed":
		return nil, nil
	}
	return nil, fmt.Errorf("claim_task: %s: %s", got.Error.Code, got.Error.Message)
}

// complete completes a task, unless the claim is over.
func (m *team) complete(n int64, task *claimed) error {
	got, err := m.call(n, "complete_task", fmt.Sprintf(`{"user_id":"team","task_id":%d,"token":%q}`, task.id, task.token))
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case got.Success:
		if m.tokens[task.id] == nil {
			m.tokens[task.id] = map[string]bool{}
			m.done.Add(1)
		}
		m.tokens[task.id][task.token] = true
	case got.Error.Code == "stale_token":
		m.late++
	default:
		return fmt.Errorf("complete_task: %s: %s", got.Error.Code, got.Error.Message)
	}
	return nil
}

// TestAgentsShareTasks checks that agents that share a list over three replicas complete each task
// exactly once, and that no task is claimed for longer than its lease, although agents end with a
// claim, keep tasks for too long, and replicas are killed.
func TestAgentsShareTasks(t *testing.T) {
	t.Parallel()
	database := pgtest.Database(t)
	servers := replicas(t, database, nil, "--toolsets", "tasks")
	m := &team{t: t, tokens: map[int64]map[string]bool{}}
	for i, server := range servers {
		m.replicas[i].Store(&server.url)
	}
	for i := range sharedTasks {
		args := fmt.Sprintf(`{"user_id":"team","title":"Task %d","priority":%q}`, i, []string{"Low", "Medium", "High"}[i%3])
		if i%10 == 9 { // ids begin with 1
			args = strings.TrimSuffix(args, "}") + fmt.Sprintf(`,"depends_on":[%d,%d]}`, i, i-5)
		}
		if got, err := m.call(int64(i), "add_task", args); err != nil || got.Data.ID != int64(i+1) {
			t.Fatalf("add_task: %+v, error %v", got, err)
		}
	}
	for n := range int64(len(servers)) {
		task, _, err := m.claim(n, 1)
		if err != nil || task == nil {
			t.Fatalf("next_task: %v, error %v", task, err)
		}
		m.first = append(m.first, *task)
	}
	for range taskAgents {
		m.start()
	}
	for i, part := range []int64{1, 2} {
		for end := time.Now().Add(timeout); m.done.Load() < part*int64(sharedTasks)/3 && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
		servers[i].kill()
		server := servers[i].workspace.serve("--toolsets", "tasks", "--database", database)
		m.replicas[i].Store(&server.url)
	}
	m.running.Wait()
	for i, task := range m.first {
		if late := m.late; m.complete(int64(i), &task) != nil || m.late != late+1 {
			t.Errorf("task %d was completed with the token of the first claim", task.id)
		}
	}
	m.check(servers[2], database)
}

// check checks that each task was completed by one claim, also by the audit records.
func (m *team) check(server *httpServer, database string) {
	m.t.Helper()
	if err := errors.Join(m.faults...); err != nil {
		m.t.Fatal(err)
	}
	for _, task := range listAll(m.t, server.url, "team") {
		if n := len(m.tokens[task.ID]); n != 1 {
			m.t.Errorf("task %d was completed with %d tokens: %v", task.ID, n, m.tokens[task.ID])
		}
	}
	got := server.post("/tools/list_tasks", `{"user_id":"team","status":"completed","limit":1}`, nil)
	if want := fmt.Sprintf(`"total":%d`, sharedTasks); !strings.Contains(string(got.body), want) {
		m.t.Errorf("%s is missing in %s", want, clip(got.body))
	}
	listed := server.workspace.remit("audit", "list", "--json", "--limit", "100000", "--tool", "complete_task", "--outcome", "ok", "--database", database)
	var records []struct {
		Arguments struct {
			TaskID int64 `json:"task_id"`
		}
	}
	if err := json.Unmarshal([]byte(listed.out), &records); err != nil {
		m.t.Fatalf("audit list: %v\n%s", err, listed.errOut)
	}
	recorded := map[int64]bool{}
	for _, r := range records {
		recorded[r.Arguments.TaskID] = true
	}
	if len(recorded) != sharedTasks {
		m.t.Errorf("the records complete %d tasks, want %d", len(recorded), sharedTasks)
	}
	server.workspace.useDatabase(database)
	if code, problems, notes := server.workspace.proved(); code != 0 || len(problems)+len(notes) > 0 {
		m.t.Errorf("audit verify: exit code %d, problems %q, notes %q", code, problems, notes)
	}
	note(m.t, "%d agents on %d tasks over 3 replicas: %d ended with a claim, %d completed too late and were refused, each task was done once",
		taskAgents, sharedTasks, m.killed+len(m.first), m.late)
}
