package auditindex_test

import (
	"math"
	"testing"
	"time"

	"remit/internal/engine/audit/auditindex"
)

// TestSteps checks that longer durations have greater steps, and how far the middle of a step is
// from each duration in it.
func TestSteps(t *testing.T) {
	last := auditindex.Step(0)
	for micros := int64(0); micros < math.MaxInt64/2000; micros += 1 + micros/300 {
		took := time.Duration(micros) * time.Microsecond
		step := auditindex.StepOf(took)
		if step < last || step > last+1 || (step == 0) != (micros == 0) {
			t.Fatalf("%s is in step %d, after step %d", took, step, last)
		}
		if off := (step.Middle() - took).Abs(); off > took/32 {
			t.Fatalf("the middle of step %d is %s, which is %s from %s", step, step.Middle(), off, took)
		}
		last = step
	}
	if auditindex.StepOf(-time.Second) != 0 {
		t.Error("a negative duration was measured")
	}
}
