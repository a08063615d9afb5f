package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"remit/internal/stores/sqlstore/pgtest"
)

// replicas starts three servers that share only the database.
func replicas(t *testing.T, database string, files map[string]string, args ...string) []*httpServer {
	t.Helper()
	var all []*httpServer
	for range 3 {
		all = append(all, newWorkspace(t, files).serve(append(args, "--database", database)...))
	}
	return all
}

// TestReplicasShareRateLimits checks that a rate limit applies exactly to all replicas together.
func TestReplicasShareRateLimits(t *testing.T) {
	t.Parallel()
	const most = 40
	rules := map[string]string{"remit.yaml": fmt.Sprintf("tools:\n  hello: {rate: %d/h}\n", most)}
	all := replicas(t, pgtest.Database(t), rules, "--toolsets", "booster")
	var passed, refused atomic.Int64
	var callers sync.WaitGroup
	for i := range 32 {
		callers.Go(func() {
			for n := range 5 {
				switch got := postTo(t, all[(i+n)%len(all)].url+"/tools/hello", `{}`, nil); got.status {
				case http.StatusOK:
					passed.Add(1)
				case http.StatusTooManyRequests:
					refused.Add(1)
				default:
					t.Errorf("status %d: %s", got.status, got.body)
				}
			}
		})
	}
	callers.Wait()
	if passed.Load() != most || refused.Load() != 32*5-most {
		t.Errorf("%d calls succeeded and %d were limited; exactly %d may succeed", passed.Load(), refused.Load(), most)
	}
	note(t, "three replicas, 32 callers: %d of %d calls allowed, %d allowed by the rate limit", passed.Load(), 32*5, most)
}

// TestReplicasShareApprovals checks that an approval requested on one replica and given on another
// allows one call on a third.
func TestReplicasShareApprovals(t *testing.T) {
	t.Parallel()
	database := pgtest.Database(t)
	all := replicas(t, database, nil, "--toolsets", "learning-os")
	entry := fmt.Sprintf(entry001, 1)
	write := func(i int) httpAnswer { return all[i].post("/tools/write_memory_entry", entry, nil) }
	asked := write(0)
	id := approvalID.FindStringSubmatch(string(asked.body))
	if id == nil {
		t.Fatalf("not pending: %s", asked.body)
	}
	if got := all[1].workspace.person("approvals", "approve", id[1], "--database", database); got.code != 0 {
		t.Fatalf("approve: %s%s", got.out, got.errOut)
	}
	if got := write(2); got.status != http.StatusOK || !strings.Contains(string(got.body), `"line_number":1`) {
		t.Errorf("the approved call failed: status %d: %s", got.status, got.body)
	}
	if got := write(0); approvalID.FindStringSubmatch(string(got.body)) == nil {
		t.Errorf("the approval allowed a second call: status %d: %s", got.status, got.body)
	}
}

// TestReplicasShareIdempotencyKeys checks that a repeated call on another replica gets the stored
// answer and writes nothing, whether it comes later or at the same time.
func TestReplicasShareIdempotencyKeys(t *testing.T) {
	t.Parallel()
	all := replicas(t, pgtest.Database(t), nil, "--toolsets", "tasks,learning-os", "--approve", "auto")
	calls := []struct{ tool, args string }{
		{"add_task", `{"user_id":"ann","title":"once"}`},
		{"write_memory_entry", fmt.Sprintf(entry001, 1)},
	}
	for _, call := range calls {
		var mu sync.Mutex
		var callers sync.WaitGroup
		answers, fresh := map[string]int{}, 0
		for i := range 32 {
			callers.Go(func() {
				got := postTo(t, all[i%len(all)].url+"/tools/"+call.tool, call.args, http.Header{"Idempotency-Key": {"k-" + call.tool}})
				mu.Lock()
				defer mu.Unlock()
				// The call is running on another replica, and the error says so.
				if got.status != http.StatusOK {
					answers[fmt.Sprint(got.status)]++
					return
				}
				answers[string(got.body)]++
				if got.header.Get("Idempotency-Replayed") == "" {
					fresh++
				}
			})
		}
		callers.Wait()
		delete(answers, fmt.Sprint(http.StatusServiceUnavailable))
		if len(answers) != 1 || fresh != 1 {
			t.Errorf("%s: %d calls were executed, the answers are %v", call.tool, fresh, answers)
		}
	}
	if listed := listAll(t, all[2].url, "ann"); len(listed) != 1 {
		t.Errorf("there are %d tasks, want 1", len(listed))
	}
}

// TestReplicasShareLogs checks that replicas append to one log without lost entries, and that their
// common audit hash chain is intact.
func TestReplicasShareLogs(t *testing.T) {
	t.Parallel()
	database := pgtest.Database(t)
	all := replicas(t, database, nil, "--toolsets", "learning-os", "--approve", "auto")
	var mu sync.Mutex
	var callers sync.WaitGroup
	numbers := map[string]int{}
	const each = 10
	for i := range 12 {
		callers.Go(func() {
			for n := range each {
				got := postTo(t, all[(i+n)%len(all)].url+"/tools/write_memory_entry", fmt.Sprintf(entry001, i*each+n), nil)
				mu.Lock()
				numbers[string(got.body)]++
				mu.Unlock()
			}
		})
	}
	callers.Wait()
	for n := range 12 * each {
		if want := fmt.Sprintf(`{"success":true,"line_number":%d}`, n+1); numbers[want] != 1 {
			t.Errorf("%d answers are %s, want 1", numbers[want], want)
		}
	}
	if got := all[0].workspace.remit("audit", "verify", "--database", database); got.code != 0 || !strings.Contains(got.out, fmt.Sprint(12*each)) {
		t.Errorf("audit verify: exit %d: %s%s", got.code, got.out, got.errOut)
	}
	file := postTo(t, all[1].url+"/tools/read_repo_file", `{"path":".claude/memory/decisions.jsonl"}`, nil)
	if lines := strings.Count(string(file.body), `\n`); file.status != http.StatusOK || lines != 12*each {
		t.Errorf("the file has %d lines, want %d: status %d", lines, 12*each, file.status)
	}
}
