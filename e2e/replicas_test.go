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

// replicas starts three servers that share nothing but the database.
func replicas(t *testing.T, database string, files map[string]string, args ...string) []*web {
	t.Helper()
	var all []*web
	for range 3 {
		all = append(all, newSpace(t, files).serve(append(args, "--database", database)...))
	}
	return all
}

// A rate holds for all replicas together, to the call.
func TestReplicasShareRates(t *testing.T) {
	t.Parallel()
	const most = 40
	rules := map[string]string{"remit.yaml": fmt.Sprintf("tools:\n  hello: {rate: %d/h}\n", most)}
	all := replicas(t, pgtest.Database(t), rules, "--toolsets", "booster")
	var passed, refused atomic.Int64
	var callers sync.WaitGroup
	for i := range 32 {
		callers.Go(func() {
			for n := range 5 {
				switch got := posted(t, all[(i+n)%len(all)].url+"/tools/hello", `{}`, nil); got.status {
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
		t.Errorf("%d calls passed and %d were refused; exactly %d may pass", passed.Load(), refused.Load(), most)
	}
	note(t, "three replicas, 32 callers: %d of %d calls allowed, %d allowed by the rate", passed.Load(), 32*5, most)
}

// An approval that is asked for on one replica and given on another lets the call
// pass on a third, once.
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
	if got := all[1].space.remit("approvals", "approve", id[1], "--database", database); got.code != 0 {
		t.Fatalf("approve: %s%s", got.out, got.errOut)
	}
	if got := write(2); got.status != http.StatusOK || !strings.Contains(string(got.body), `"line_number":1`) {
		t.Errorf("approved, and yet: status %d: %s", got.status, got.body)
	}
	if got := write(0); approvalID.FindStringSubmatch(string(got.body)) == nil {
		t.Errorf("an approval is good for one call: status %d: %s", got.status, got.body)
	}
}

// A repeat that reaches another replica gets the stored answer and writes nothing,
// whether one comes after the other or all at once.
func TestReplicasShareKeys(t *testing.T) {
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
				got := posted(t, all[i%len(all)].url+"/tools/"+call.tool, call.args, http.Header{"Idempotency-Key": {"k-" + call.tool}})
				mu.Lock()
				defer mu.Unlock()
				if got.status != http.StatusOK { // under way elsewhere: the caller is told so
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
			t.Errorf("%s: %d calls were carried out, the answers are %v", call.tool, fresh, answers)
		}
	}
	if listed := listAll(t, all[2].url, "ann"); len(listed) != 1 {
		t.Errorf("there are %d tasks, want 1", len(listed))
	}
}

// Entries that several replicas append stand in one log, and the chain of audit
// records that all of them keep holds.
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
				got := posted(t, all[(i+n)%len(all)].url+"/tools/write_memory_entry", fmt.Sprintf(entry001, i*each+n), nil)
				mu.Lock()
				numbers[string(got.body)]++
				mu.Unlock()
			}
		})
	}
	callers.Wait()
	for n := range 12 * each {
		if want := fmt.Sprintf(`{"success":true,"line_number":%d}`, n+1); numbers[want] != 1 {
			t.Errorf("%d answers say %s, want 1", numbers[want], want)
		}
	}
	if got := all[0].space.remit("audit", "verify", "--database", database); got.code != 0 || !strings.Contains(got.out, fmt.Sprint(12*each)) {
		t.Errorf("audit verify: exit %d: %s%s", got.code, got.out, got.errOut)
	}
	file := posted(t, all[1].url+"/tools/read_repo_file", `{"path":".claude/memory/decisions.jsonl"}`, nil)
	if lines := strings.Count(string(file.body), `\n`); file.status != http.StatusOK || lines != 12*each {
		t.Errorf("the file has %d lines, want %d: status %d", lines, 12*each, file.status)
	}
}
