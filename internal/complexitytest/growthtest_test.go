package complexitytest_test

import (
	"math"
	"testing"
	"time"

	"remit/internal/complexitytest"
)

// heard hears whether a test fails.
type heard struct {
	testing.TB
	failed bool
}

func (*heard) Helper()                 {}
func (h *heard) Errorf(string, ...any) { h.failed = true }

var kept float64 // what is worked out in vain might be left out

func TestLinear(t *testing.T) {
	each := func(size int) {
		x := 0.
		for range size * 500 {
			x = math.Sqrt(x + 1)
		}
		kept = x
	}
	for name, tc := range map[string]struct {
		work func(size int)
		bad  bool
	}{
		"in step":           {each, false},
		"in step, but idle": {func(size int) { each(size); time.Sleep(time.Duration(size) * 10 * time.Microsecond) }, false},
		"quadratic":         {func(size int) { each(size * size / 16) }, true},
	} {
		h := &heard{TB: t}
		complexitytest.Linear(h, 1600, tc.work)
		if h.failed != tc.bad {
			t.Errorf("%s: failed is %t", name, h.failed)
		}
	}
}
