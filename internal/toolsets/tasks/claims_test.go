package tasks_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/toolsets/tasks"
)

// callAs is call for another principal.
func (d *fixture) callAs(t *testing.T, principal, tool, args string) jsontree.Value {
	t.Helper()
	given, err := jsontree.Parse([]byte(args))
	if err != nil {
		t.Fatal(err)
	}
	result, err := d.Call(t.Context(), engine.Call{Tool: tool, Args: given, Principal: principal, Frontend: "test"})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := jsontree.Parse(result.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// refused checks the code of the error of a call.
func (d *fixture) refused(t *testing.T, principal, tool, args, code string) {
	t.Helper()
	answer := d.callAs(t, principal, tool, args)
	if got := answer.At("error", "code"); got.Text != code {
		t.Errorf("%s by %s: %s, want the code %s", tool, principal, answer.Append(nil), code)
	}
}

// claimed claims task 1 and returns the token.
func (d *fixture) claimed(t *testing.T, principal string) string {
	t.Helper()
	answer := d.callAs(t, principal, "claim_task", `{"user_id":"ann","task_id":1,"lease_seconds":60}`)
	token := answer.At("data", "token")
	if by := answer.At("data", "task", "claim", "by"); by.Text != principal || token.Text == "" {
		t.Fatalf("claim_task: %s", answer.Append(nil))
	}
	return token.Text
}

func completing(token string) string {
	return fmt.Sprintf(`{"user_id":"ann","task_id":1,"token":%q}`, token)
}

const (
	withoutToken = `{"user_id":"ann","task_id":1}`
	taskOne      = `{"user_id":"ann","title":"x"}`
)

// TestClaimsAreFenced: only the last claim completes a task.
func TestClaimsAreFenced(t *testing.T) {
	d := serve(t, nil)
	d.mustCall(t, "add_task", taskOne)
	first := d.claimed(t, "bot1")
	d.refused(t, "bot2", "claim_task", withoutToken, "task_claimed")
	// It may be another agent of the same caller.
	d.refused(t, "bot1", "claim_task", withoutToken, "task_claimed")
	d.refused(t, "bot2", "complete_task", withoutToken, "task_claimed")
	d.refused(t, "bot2", "update_task", `{"user_id":"ann","task_id":1,"completed":true}`, "task_claimed")
	d.mustCall(t, "update_task", `{"user_id":"ann","task_id":1,"title":"y"}`) // by somebody else

	d.now = d.now.Add(time.Minute) // the lease has ended
	if task := d.read(t, "task://ann/1"); strings.Contains(task, "claim") {
		t.Errorf("the claim is over: %s", task)
	}
	second := d.claimed(t, "bot2")
	if first == second {
		t.Error("both claims have the same token")
	}
	for tool, args := range map[string]string{
		"complete_task": completing(first), "claim_task": completing(first), "release_task": completing(first),
		"update_task": strings.Replace(completing(first), "}", `,"title":"z"}`, 1),
	} {
		d.refused(t, "bot1", tool, args, "stale_token")
	}
	// The token of another task.
	d.refused(t, "bot2", "complete_task", completing("2-"+second[2:]), "stale_token")
	d.mustCall(t, "complete_task", completing(second))
	d.mustCall(t, "complete_task", completing(second)) // again
	d.mustCall(t, "complete_task", withoutToken)
	d.refused(t, "bot1", "complete_task", completing(first), "stale_token")
	d.refused(t, "bot2", "claim_task", completing(second), "task_completed")
	d.mustCall(t, "update_task", `{"user_id":"ann","task_id":1,"completed":false}`)
	d.refused(t, "bot2", "complete_task", completing(second), "stale_token")
}

// TestLateHolder: a token is valid after its lease, until the task is claimed again.
func TestLateHolder(t *testing.T) {
	d := serve(t, nil)
	d.mustCall(t, "add_task", taskOne)
	token := d.claimed(t, "bot1")
	d.now = d.now.Add(time.Hour)
	renewed := d.callAs(t, "bot1", "claim_task", completing(token))
	if again, until := renewed.At("data", "token"), renewed.At("data", "task", "claim", "until"); again.Text != token || until.Text != "2026-01-09T11:45:00Z" {
		t.Errorf("renewed: %s", renewed.Append(nil))
	}
	d.now = d.now.Add(time.Hour)
	d.mustCall(t, "complete_task", completing(token))
}

// TestReleased: who may release a claim, and that its token is not valid any more.
func TestReleased(t *testing.T) {
	d := serve(t, nil)
	d.mustCall(t, "add_task", taskOne)
	token := d.claimed(t, "bot1")
	d.refused(t, "bot2", "release_task", withoutToken, "task_claimed")
	d.mustCall(t, "release_task", completing(token)) // by another caller with the token
	d.refused(t, "bot1", "complete_task", completing(token), "stale_token")
	token = d.claimed(t, "bot1")
	d.mustCall(t, "release_task", `{"user_id":"ann","task_id":1,"force":true}`)
	d.refused(t, "bot1", "claim_task", completing(token), "stale_token")
	d.claimed(t, "bot1")
	for _, when := range []string{"its own claim", "again"} {
		if got := d.callAs(t, "bot1", "release_task", withoutToken); !strings.Contains(text(got), `"released":true`) {
			t.Errorf("%s: %s", when, text(got))
		}
	}
	d.claimed(t, "bot2")
}

// TestCompletedWithoutToken: the claimant may complete without the token, which is invalid then.
func TestCompletedWithoutToken(t *testing.T) {
	d := serve(t, nil)
	d.mustCall(t, "add_task", taskOne)
	token := d.claimed(t, "bot1")
	if got := d.callAs(t, "bot1", "complete_task", withoutToken); !strings.Contains(text(got), `"completed":true`) {
		t.Errorf("%s", text(got))
	}
	d.refused(t, "bot1", "complete_task", completing(token), "stale_token")
}

// TestFenceSurvivesRestore: a restored database gives no token again that was given before.
func TestFenceSurvivesRestore(t *testing.T) {
	d := serve(t, nil)
	d.mustCall(t, "add_task", taskOne)
	token := d.claimed(t, "bot1")
	_, err := d.store.Lease(t.Context(), "ann", 1, d.now, func(task *tasks.Task, _ time.Time) error {
		task.Claim, task.Fence = nil, 0 // as in a backup from before
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	d.now = d.now.Add(time.Second)
	if again := d.claimed(t, "bot2"); again == token {
		t.Errorf("%s was given twice", token)
	}
}

// TestClaimsArePreviewed: a person who has to approve sees the task; a claim that would be refused
// is refused before anybody is asked.
func TestClaimsArePreviewed(t *testing.T) {
	d := serve(t, nil)
	d.mustCall(t, "add_task", `{"user_id":"ann","title":"x","depends_on":[]}`)
	tools := &tasks.Tools{
		Open: func(context.Context) (tasks.Store, error) { return d.store, nil }, Now: func() time.Time { return d.now },
	}
	one := tasks.ID{}
	if err := one.UnmarshalJSON([]byte("1")); err != nil {
		t.Fatal(err)
	}
	claim, err := tools.ShowClaim(t.Context(), tasks.ClaimIn{TaskID: one, UserID: "ann", Lease: 60})
	next, nextErr := tools.ShowNext(t.Context(), tasks.NextIn{UserID: "ann", Claim: true, Lease: 60})
	if err != nil || nextErr != nil || claim != next || claim.Title != "Claim task 1 of ann: x" ||
		!strings.Contains(claim.After, "claimed by: anonymous until 2026-01-09T10:31:00Z") {
		t.Errorf("%+v, %v; %+v, %v", claim, err, next, nextErr)
	}
	d.claimed(t, "bot")
	if _, err := tools.ShowClaim(t.Context(), tasks.ClaimIn{TaskID: one, UserID: "ann", Lease: 60}); kindOf(err) != "conflict" {
		t.Errorf("a claim of a claimed task: %v", err)
	}
	if none, err := tools.ShowNext(t.Context(), tasks.NextIn{UserID: "ann", Claim: true}); err != nil || none.Title != "Find the next task of ann: none is ready" {
		t.Errorf("%+v, %v", none, err)
	}
	if released, err := tools.ShowRelease(t.Context(), tasks.ReleaseIn{TaskID: one, UserID: "ann", Force: true}); err != nil ||
		released.State != claim.State || !strings.Contains(released.Before, "claimed by: bot") || strings.Contains(released.After, "claimed") {
		t.Errorf("%+v, %v", released, err)
	}
}

// TestPlanKnowsSharedTasks: the prompt explains claims and dependencies if there are any.
func TestPlanKnowsSharedTasks(t *testing.T) {
	d := serve(t, nil)
	plan := func() string {
		t.Helper()
		_, messages, err := d.StartPrompt(t.Context(), ann, "plan_my_day", map[string]string{"user_id": "ann"})
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(messages)
	}
	d.mustCall(t, "add_task", `{"user_id":"ann","title":"x","priority":"High"}`)
	if got := plan(); strings.Contains(got, "blocked_by") || strings.Contains(got, "claim") {
		t.Errorf("nothing is shared: %s", got)
	}
	d.mustCall(t, "add_task", `{"user_id":"ann","title":"y","priority":"High","depends_on":[1]}`)
	d.claimed(t, "bot")
	for _, want := range []string{"A task with blocked_by cannot begin", "A task with a claim is being worked on", `"blocked_by":[1]`, `"by":"bot"`} {
		if got := plan(); !strings.Contains(got, want) {
			t.Errorf("%s is missing in %s", want, got)
		}
	}
}

// TestFindCycle compares the search with a slow one on random graphs.
func TestFindCycle(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		edges := map[int64][]int64{}
		node := rapid.Int64Range(1, 6)
		for id := int64(2); id <= 6; id++ { // only lower ones, so that there is no cycle yet
			edges[id] = rapid.SliceOfDistinct(rapid.Int64Range(1, id-1), rapid.ID[int64]).Draw(rt, "edges")
		}
		task, dependsOn := node.Draw(rt, "task"), rapid.SliceOf(node).Draw(rt, "depends on")
		edges[task] = dependsOn
		reached := map[int64]bool{}
		for range edges {
			for from, all := range edges {
				for _, to := range all {
					if from == task || reached[from] {
						reached[to] = true
					}
				}
			}
		}
		path := tasks.FindCycle(task, dependsOn, edges)
		if (path != nil) != reached[task] {
			rt.Fatalf("the path is %v, reached %v", path, reached)
		}
		for i := 1; i < len(path); i++ {
			if !slices.Contains(edges[path[i-1]], path[i]) || path[0] != task || path[len(path)-1] != task {
				rt.Fatalf("%v is no path", path)
			}
		}
	})
}

// lateReady is a store in which a task becomes ready after the first search.
type lateReady struct {
	tasks.Store
	searches int
}

func (s *lateReady) Next(ctx context.Context, user string, now time.Time, edit tasks.Edit) (tasks.Task, error) {
	if s.searches++; s.searches == 1 {
		return tasks.Task{}, tasks.ErrNotFound
	}
	return s.Store.Next(ctx, user, now, edit)
}

// TestNextDoesNotEndTooEarly: an agent is not told that nothing is left while a task becomes ready.
func TestNextDoesNotEndTooEarly(t *testing.T) {
	d := serve(t, nil)
	d.mustCall(t, "add_task", taskOne)
	d.store = &lateReady{Store: d.store}
	if got := d.mustCall(t, "next_task", `{"user_id":"ann","claim":true}`); !strings.Contains(text(got), `"token":"1-`) {
		t.Errorf("%s", text(got))
	}
}
