package tasks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"remit/internal/contract"
	"remit/internal/engine"
)

// Codes of refusals that are about claims.
const (
	taskClaimed   = "task_claimed"
	taskBlocked   = "task_blocked"
	taskCompleted = "task_completed"
	staleToken    = "stale_token"
)

// ClaimIn asks for a task, or with a token for more time.
type ClaimIn struct {
	TaskID ID     `json:"task_id"`
	UserID string `json:"user_id"`
	Lease  int64  `json:"lease_seconds"`
	Token  string `json:"token"`
}

// ClaimOut is a claimed task.
type ClaimOut struct {
	Task  Task   `json:"task"`
	Token string `json:"token"`
}

// Claim gives a task to the caller for a time. With the token of its claim, the caller gets more
// time, also after the lease has ended, as long as nobody else has claimed the task.
func (t *Tools) Claim(ctx context.Context, in ClaimIn) (ClaimOut, error) {
	store, id, err := t.find(ctx, in.TaskID)
	if err != nil {
		return ClaimOut{}, err
	}
	task, err := store.Lease(ctx, in.UserID, id, t.Now(), checked(ctx, in.edit(ctx)))
	if err != nil {
		return ClaimOut{}, in.TaskID.failure(ctx, err)
	}
	return ClaimOut{Task: task, Token: task.token()}, nil
}

func (in *ClaimIn) edit(ctx context.Context) Edit {
	return func(task *Task, at time.Time) error {
		switch {
		case task.Completed:
			return refuse(task, taskCompleted, "Task %d is completed already", task.ID)
		case in.Token != "":
			if err := task.checkToken(in.Token); err != nil {
				return err
			}
			task.Claim.Until = at.Add(seconds(in.Lease))
			return nil
		case task.claimedAt(at):
			return task.claimedError("another agent works on it")
		case len(task.BlockedBy) > 0:
			return refuse(task, taskBlocked, "Task %d depends on tasks that are not completed: %s", task.ID, joinIDs(task.BlockedBy, ", ")).
				With("blocked_by", task.BlockedBy)
		}
		task.claim(ctx, in.Lease, at)
		return nil
	}
}

// NextIn asks for the best task that is ready.
type NextIn struct {
	UserID string `json:"user_id"`
	Claim  bool   `json:"claim"`
	Lease  int64  `json:"lease_seconds"`
}

// NextOut is the best task that is ready. If there is none, it says what the others wait for.
type NextOut struct {
	Task    *Task    `json:"task,omitempty"`
	Token   string   `json:"token,omitempty"` // of the claim, if it was claimed
	Waiting *Waiting `json:"waiting,omitempty"`
}

// Next returns the best task that is ready, and claims it if the caller wants that.
func (t *Tools) Next(ctx context.Context, in NextIn) (NextOut, error) {
	store, err := t.store(ctx)
	if err != nil {
		return NextOut{}, err
	}
	for attempt := 1; ; attempt++ {
		task, err := store.Next(ctx, in.UserID, t.Now(), in.edit(ctx))
		switch {
		case err == nil && in.Claim:
			return NextOut{Task: &task, Token: task.token()}, nil
		case err == nil:
			task.Claim = nil // it has expired
			return NextOut{Task: &task}, nil
		case !errors.Is(err, ErrNotFound):
			return NextOut{}, failure(ctx, err)
		}
		waiting, err := store.Waiting(ctx, in.UserID, t.Now())
		if err != nil || waiting.Ready == 0 || attempt == maxAttempts {
			waiting.Claimed += waiting.Ready // others take them just now
			return NextOut{Waiting: &waiting}, failure(ctx, err)
		}
	}
}

// maxAttempts is how often Next looks for a task while others become ready after it has looked.
const maxAttempts = 3

func (in *NextIn) edit(ctx context.Context) Edit {
	if !in.Claim {
		return nil
	}
	return checked(ctx, func(task *Task, at time.Time) error {
		task.claim(ctx, in.Lease, at)
		return nil
	})
}

// ReleaseIn identifies a claim to give up.
type ReleaseIn struct {
	TaskID ID     `json:"task_id"`
	UserID string `json:"user_id"`
	Token  string `json:"token"`
	Force  bool   `json:"force"`
}

// ReleaseOut is the answer of release_task.
type ReleaseOut struct {
	ID       int64  `json:"id"`
	Title    string `json:"title"`
	Released bool   `json:"released"`
}

// Release ends a claim, so that others can claim the task at once.
func (t *Tools) Release(ctx context.Context, in ReleaseIn) (ReleaseOut, error) {
	store, id, err := t.find(ctx, in.TaskID)
	if err != nil {
		return ReleaseOut{}, err
	}
	var found Task
	release := checked(ctx, in.edit(ctx))
	_, err = store.Lease(ctx, in.UserID, id, t.Now(), func(task *Task, at time.Time) error {
		found = *task
		return release(task, at)
	})
	if errors.Is(err, errUnchanged) {
		err = nil
	}
	return ReleaseOut{ID: found.ID, Title: found.Title, Released: true}, in.TaskID.failure(ctx, err)
}

func (in *ReleaseIn) edit(ctx context.Context) Edit {
	return func(task *Task, at time.Time) error {
		switch {
		case task.Claim == nil:
			return errUnchanged
		case in.Force:
		case in.Token != "":
			if err := task.checkToken(in.Token); err != nil {
				return err
			}
		case task.heldByOther(ctx, at):
			return task.claimedError("pass the token of its claim, or force to take it away")
		}
		task.endClaim()
		return nil
	}
}

// seconds returns a duration.
func seconds(n int64) time.Duration { return time.Duration(n) * time.Second }

// checked returns an edit that first checks the task against what a person saw.
func checked(ctx context.Context, edit Edit) Edit {
	check := checkSeen(ctx)
	if check == nil {
		return edit
	}
	return func(task *Task, at time.Time) error {
		if err := check(task); err != nil {
			return err
		}
		return edit(task, at)
	}
}

// claim gives the task to the caller. The fence is greater than all before, also if the database
// was restored from a backup in between, because it is at least the time.
func (t *Task) claim(ctx context.Context, lease int64, at time.Time) {
	t.Claim = &Claim{By: cmp.Or(engine.CallerOf(ctx).Principal, "anonymous"), Until: at.Add(seconds(lease))}
	t.Fence = max(t.Fence+1, at.UnixMicro())
}

// endClaim removes the claim. Its token is not valid any more.
func (t *Task) endClaim() {
	if t.Claim != nil {
		t.Claim = nil
		t.Fence++
	}
}

// claimedAt reports whether the lease of a claim has not ended.
func (t *Task) claimedAt(at time.Time) bool { return t.Claim != nil && t.Claim.Until.After(at) }

// heldByOther reports whether another caller works on the task.
func (t *Task) heldByOther(ctx context.Context, at time.Time) bool {
	return t.claimedAt(at) && t.Claim.By != cmp.Or(engine.CallerOf(ctx).Principal, "anonymous")
}

// token returns the token of the last claim. It names the task, so that it fits no other.
func (t *Task) token() string { return fmt.Sprintf("%d-%d", t.ID, t.Fence) }

// checkToken returns an error unless a token is that of the last claim, and the claim was neither
// released nor replaced. A completed task has no claim, but its token stays valid, so that the call
// that completed it can be repeated.
func (t *Task) checkToken(token string) error {
	if token == t.token() && (t.Claim != nil || t.Completed) {
		return nil
	}
	e := refuse(t, staleToken, "The token is not valid any more: task %d was released, claimed again or completed without it; "+
		"drop the work, or claim the task again", t.ID)
	if t.Claim != nil {
		return e.With("claimed_by", t.Claim.By).With("lease_until", t.Claim.Until)
	}
	return e
}

// claimedError is the refusal of a caller who does not have the task.
func (t *Task) claimedError(next string) error {
	return refuse(t, taskClaimed, "Task %d is claimed by %s until %s: %s", t.ID, t.Claim.By, t.Claim.Until.Format(time.RFC3339), next).
		With("claimed_by", t.Claim.By).With("lease_until", t.Claim.Until)
}

func refuse(t *Task, code, format string, args ...any) *contract.Error {
	e := contract.Errorf(contract.Conflict, format, args...).With("task_id", t.ID)
	e.Code = code
	return e
}

// mayComplete returns an error unless the caller may complete the task: with the token of its
// claim, or without one if no other caller works on it.
func (t *Task) mayComplete(ctx context.Context, token string, at time.Time) error {
	switch {
	case token != "":
		return t.checkToken(token)
	case !t.Completed && t.heldByOther(ctx, at):
		return t.claimedError("complete it with the token of its claim, or after the lease")
	}
	return nil
}

// setCompleted completes a task, or opens it again. Only the token with which the task was
// completed stays valid.
func (t *Task) setCompleted(completed bool, token string) {
	if token == "" || !completed {
		t.endClaim()
	}
	if t.Completed && !completed && t.Fence > 0 {
		t.Fence++
	}
	t.Completed, t.Claim = completed, nil
}

// hideExpired removes the claim of a task if its lease has ended.
func hideExpired(task *Task, at time.Time) {
	if !task.claimedAt(at) {
		task.Claim = nil
	}
}

func hideAllExpired(all []Task, at time.Time) {
	for i := range all {
		hideExpired(&all[i], at)
	}
}
