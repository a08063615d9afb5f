package complexitytest_test

import (
	"math"
	"testing"
	"time"

	"remit/internal/complexitytest"
)

// recorder records whether a test fails.
type recorder struct {
	testing.TB
	failed bool
}

func (*recorder) Helper()                 {}
func (h *recorder) Errorf(string, ...any) { h.failed = true }

var sink float64 // keeps the compiler from removing work whose result is unused

func TestLinear(t *testing.T) {
	each := func(size int) {
		x := 0.
		for range size * 500 {
			x = math.Sqrt(x + 1)
		}
		sink = x
	}
	for name, tc := range map[string]struct {
		work func(size int)
		bad  bool
	}{
		"linear":           {each, false},
		"linear, but idle": {func(size int) { each(size); time.Sleep(time.Duration(size) * 10 * time.Microsecond) }, false},
		"quadratic":        {func(size int) { each(size * size / 16) }, true},
	} {
		h := &recorder{TB: t}
		complexitytest.Linear(h, 1600, tc.work)
		if h.failed != tc.bad {
			t.Errorf("%s: failed is %t", name, h.failed)
		}
	}
}
