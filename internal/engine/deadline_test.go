package engine

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
)

// TestDeadline checks that the context ends like one of the standard library, whichever method is
// called.
func TestDeadline(t *testing.T) {
	for _, tc := range []struct {
		name string
		look func(d *deadline)
	}{
		{"Done was not called", func(*deadline) {}},
		{"Done was called", func(d *deadline) { d.Done() }},
		{"a context hangs on it", func(d *deadline) {
			child, cancel := context.WithCancel(d)
			t.Cleanup(cancel)
			child.Done()
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				parent, cancelParent := context.WithCancel(t.Context())
				defer cancelParent()
				var e Engine
				late, cancelled, finished := e.withDeadline(parent, time.Second, Caller{}, nil, nil), e.withDeadline(parent,
					time.Minute, Caller{}, nil, nil), e.withDeadline(parent, time.Minute, Caller{}, nil, nil)
				for _, d := range []*deadline{late, cancelled, finished} {
					tc.look(d)
					defer d.cancel()
					if err := d.Err(); err != nil {
						t.Fatalf("at once: %v", err)
					}
				}
				time.Sleep(time.Second)
				synctest.Wait()
				if err := late.Err(); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("late: %v", err)
				}
				finished.cancel()
				if err := finished.Err(); !errors.Is(err, context.Canceled) {
					t.Errorf("finished: %v", err)
				}
				<-finished.Done()
				cancelParent()
				synctest.Wait()
				if err := cancelled.Err(); !errors.Is(err, context.Canceled) {
					t.Errorf("cancelled: %v", err)
				}
				<-cancelled.Done()
			})
		})
	}
}

// TestCallerDeadline checks that the earlier deadline counts and is returned.
func TestCallerDeadline(t *testing.T) {
	var e Engine
	parent, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	d := e.withDeadline(parent, time.Hour, Caller{}, nil, nil)
	defer d.cancel()
	info, _ := d.Deadline()
	if earlier, _ := parent.Deadline(); !info.Equal(earlier) {
		t.Errorf("got %v, want %v", info, earlier)
	}
	sooner := e.withDeadline(parent, time.Millisecond, Caller{}, nil, nil)
	defer sooner.cancel()
	if info, ok := sooner.Deadline(); !ok || time.Until(info) > time.Second/2 {
		t.Errorf("got %v", info)
	}
}

// TestDeadlineFactor checks that a call may take its contract's deadline times the factor.
func TestDeadlineFactor(t *testing.T) {
	tool := &Tool{Contract: &contract.Contract{Deadline: contract.Deadline{Max: contract.Duration(time.Second)}}}
	for factor, want := range map[int]time.Duration{-1: time.Second, 0: time.Second, 1: time.Second, 7: 7 * time.Second} {
		w := work{engine: &Engine{Options: Options{DeadlineFactor: factor}}, tool: tool}
		if got := w.timeout(); got != want {
			t.Errorf("with the factor %d a call may take %s, want %s", factor, got, want)
		}
	}
}

// TestDeadlineWith checks that other durations apply if a boolean argument is true.
func TestDeadlineWith(t *testing.T) {
	second := contract.Durations{Target: 1, Max: contract.Duration(time.Second)}
	tool := &Tool{Contract: &contract.Contract{Deadline: contract.Deadline{
		Max: contract.Duration(time.Millisecond), With: map[string]contract.Durations{"deep": second},
	}}}
	for args, want := range map[string]time.Duration{
		`{}`: time.Millisecond, `{"deep":false}`: time.Millisecond, `{"deep":"true"}`: time.Millisecond, `{"deep":true}`: time.Second, `[]`: time.Millisecond,
	} {
		tree, err := jsontree.Parse([]byte(args))
		if err != nil {
			t.Fatal(err)
		}
		w := work{engine: &Engine{}, tool: tool, call: Call{Args: tree}}
		if got := w.timeout(); got != want {
			t.Errorf("%s may take %s, want %s", args, got, want)
		}
	}
}
