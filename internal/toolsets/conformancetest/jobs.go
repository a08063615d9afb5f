package conformancetest

import (
	"context"
	"fmt"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
)

// SlowComputeIn says how long to work.
type SlowComputeIn struct {
	Seconds float64 `json:"seconds"`
	Label   string  `json:"label"`
}

// SlowCompute takes as long as its argument says. It becomes a task if that is a second or more.
func SlowCompute(ctx context.Context, in SlowComputeIn) (engine.Content, error) {
	if in.Seconds >= 1 {
		if err := engine.ContinueAsTask(ctx); err != nil {
			return engine.Content{}, err
		}
	}
	if err := pause(ctx, time.Duration(in.Seconds*float64(time.Second))); err != nil {
		return engine.Content{}, err
	}
	return textContent(fmt.Sprintf("Computed %s in %g s.", in.Label, in.Seconds)), nil
}

// work is the slow part of a job.
func work(ctx context.Context, span time.Duration) error {
	if err := engine.ContinueAsTask(ctx); err != nil {
		return err
	}
	return pause(ctx, span)
}

// FailingJob is a job that fails with a tool error.
func FailingJob(ctx context.Context, _ NoArguments) (engine.Content, error) {
	if err := work(ctx, time.Second); err != nil {
		return engine.Content{}, err
	}
	return engine.Content{}, contract.Errorf(contract.Denied, "This job intentionally fails")
}

// FaultyJob is a job that fails with a protocol error.
func FaultyJob(ctx context.Context, _ NoArguments) (engine.Content, error) {
	if err := work(ctx, 2*interval); err != nil {
		return engine.Content{}, err
	}
	return engine.Content{}, &engine.ProtocolError{Code: -32603, Message: "This job intentionally ends in a protocol error"}
}

// ConfirmDeleteIn names a file.
type ConfirmDeleteIn struct {
	Filename string `json:"filename"`
}

// ConfirmDelete asks for consent while it runs as a task. It deletes nothing.
func ConfirmDelete(ctx context.Context, in ConfirmDeleteIn) (engine.Content, error) {
	if err := engine.ContinueAsTask(ctx); err != nil {
		return engine.Content{}, err
	}
	got, err := ask(ctx, form("confirm", "Delete "+in.Filename+"?", `{"type":"object","properties":{"confirm":{"type":"boolean"}},"required":["confirm"]}`))
	if err != nil {
		return engine.Content{}, err
	}
	yes, err := got.field("confirm", "confirm", jsontree.Bool)
	if yes.True() {
		return textContent("Confirmed: " + in.Filename + " would be deleted now."), err
	}
	return textContent("Not confirmed: " + in.Filename + " stays."), err
}

// MultiInput shows two forms at once while it runs as a task.
func MultiInput(ctx context.Context, _ NoArguments) (engine.Content, error) {
	if err := engine.ContinueAsTask(ctx); err != nil {
		return engine.Content{}, err
	}
	got, err := ask(ctx, askName(),
		form("consent", "Should the job continue?", `{"type":"object","properties":{"confirm":{"type":"boolean"}},"required":["confirm"]}`))
	if err != nil {
		return engine.Content{}, err
	}
	name, err := got.text("user_name", "name")
	if err != nil {
		return engine.Content{}, err
	}
	yes, err := got.field("consent", "confirm", jsontree.Bool)
	return textContent(fmt.Sprintf("%s said %s.", name, yes.Text)), err
}

// AskThenWork asks before it becomes a task.
func AskThenWork(ctx context.Context, _ NoArguments) (engine.Content, error) {
	answer, err := AskName(ctx, NoArguments{})
	if err != nil {
		return engine.Content{}, err
	}
	return answer, work(ctx, 2*interval)
}
