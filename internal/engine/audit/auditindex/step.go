package auditindex

import (
	"math/bits"
	"time"
)

// Step is a range of durations in a histogram. Greater steps are longer durations. Each octave has
// 16 steps, so that the middle of a step differs from every duration in it by 3 % at most.
type Step uint32

// stepBits is how many bits of a duration, after the highest, choose its step.
const stepBits = 4

// StepOf returns the step of a duration. Step 0 means that no duration was measured.
func StepOf(took time.Duration) Step {
	micros := uint64(max(took.Microseconds(), 0))
	shift := max(bits.Len64(micros)-stepBits-1, 0)
	return Step(uint64(shift)<<stepBits + micros>>shift)
}

// Middle returns the duration in the middle of a step.
func (s Step) Middle() time.Duration {
	shift := max(int(s>>stepBits)-1, 0)
	low := (uint64(s) - uint64(shift)<<stepBits) << shift
	return time.Duration(low+(1<<shift-1)/2) * time.Microsecond
}
