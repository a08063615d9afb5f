package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"remit/internal/engine/telemetry"
)

var errDown = errors.New("the collector is down")

func again(after time.Duration) error { return &telemetry.RetryError{After: after, Err: errDown} }

func TestBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{}
		tel := s.start(t, map[string]string{"OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "3"})
		call(tel, "")
		synctest.Wait()
		if len(s.sent()) != 0 {
			t.Error("a call alone waits for others")
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if len(s.sent()) != 1 {
			t.Errorf("%d batches after the delay, want 1", len(s.sent()))
		}
		for range 3 {
			call(tel, "")
		}
		synctest.Wait()
		if len(s.sent()) != 2 || len(s.sent()[1]) != 3 {
			t.Errorf("%d batches; a full one leaves at once", len(s.sent()))
		}
		for range 7 {
			call(tel, "")
		}
		tel.Close()
		if got := len(s.spans()); got != 11 || s.told.String() != "" {
			t.Errorf("%d spans, want all 11; told %q", got, &s.told)
		}
		call(tel, "") // too late
		tel.Close()
		if got := len(s.spans()); got != 11 {
			t.Errorf("%d spans after the end", got)
		}
	})
}

// TestRetries: so many tries in so much time, and whether the span arrives.
func TestRetries(t *testing.T) {
	for _, tc := range []struct {
		name     string
		fail     func(context.Context, int) error
		tries    int
		from, to time.Duration // from the first try to the last
		arrives  bool
	}{
		{"at once", nil, 1, 0, 0, true},
		{"the second time", func(_ context.Context, try int) error {
			if try < 2 {
				return again(0)
			}
			return nil
		}, 2, time.Second / 2, 3 * time.Second / 2, true},
		{"when the collector wants it", func(_ context.Context, try int) error {
			if try < 2 {
				return again(7 * time.Second)
			}
			return nil
		}, 2, 7 * time.Second, 7 * time.Second, true},
		{"later than there is time", func(context.Context, int) error { return again(time.Hour) }, 1, 0, 0, false},
		{"never", func(context.Context, int) error { return errDown }, 1, 0, 0, false},
		{"never in time", func(context.Context, int) error { return again(9 * time.Second) }, 4, 27 * time.Second, 27 * time.Second, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &sink{}
				var first, last time.Time
				s.fail = func(ctx context.Context, try int) error {
					if last = time.Now(); try == 1 {
						first = last
					}
					if tc.fail == nil {
						return nil
					}
					return tc.fail(ctx, try)
				}
				tel := s.start(t, nil)
				call(tel, "")
				time.Sleep(time.Minute)
				tel.Close()
				if took := last.Sub(first); s.tries != tc.tries || took < tc.from || took > tc.to {
					t.Errorf("%d tries in %s, want %d in %s to %s", s.tries, took, tc.tries, tc.from, tc.to)
				}
				if arrived := len(s.spans()) == 1; arrived != tc.arrives || arrived == strings.Contains(s.told.String(), "lost=1") {
					t.Errorf("arrived %t, want %t; told %q", arrived, tc.arrives, &s.told)
				}
			})
		})
	}
}

// TestDeadCollector: calls do not wait, memory is bounded, what is lost is counted and told
// once a minute, and the end comes in time.
func TestDeadCollector(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{fail: func(ctx context.Context, _ int) error {
			<-ctx.Done() // it takes the connection, and never answers
			return &telemetry.RetryError{Err: ctx.Err()}
		}}
		tel := s.start(t, map[string]string{"OTEL_BSP_MAX_QUEUE_SIZE": "100", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "10"})
		began := time.Now()
		for range 1000 {
			call(tel, "")
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("calls waited %s", took)
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		lines := strings.Count(s.told.String(), "\n")
		if lines < 2 || lines > 10 || strings.Count(s.told.String(), "telemetry was not sent") != lines {
			t.Errorf("told %d times in 10 minutes: %s", lines, &s.told)
		}
		call(tel, "")
		synctest.Wait()
		began = time.Now()
		tel.Close()
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("the end took %s", took)
		}
		lost := 0
		for line := range strings.Lines(s.told.String()) {
			_, after, _ := strings.Cut(line, "lost=")
			var n int
			if _, err := fmt.Sscan(after, &n); err != nil {
				t.Fatal(err)
			}
			lost += n
		}
		if lost != 1001 {
			t.Errorf("%d were told to be lost, want 1001: %s", lost, &s.told)
		}
	})
}

func TestCollectorThatRefusesAPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{fail: func(context.Context, int) error { return &telemetry.RejectedError{Count: 2, Why: "too old"} }}
		tel := s.start(t, nil)
		for range 5 {
			call(tel, "")
		}
		tel.Close()
		if told := s.told.String(); s.tries != 1 || !strings.Contains(told, "lost=2") || !strings.Contains(told, "too old") {
			t.Errorf("%d tries, told %q", s.tries, told)
		}
	})
}

// TestEndWhileItRetries: there is one last try, without a pause.
func TestEndWhileItRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{fail: func(_ context.Context, try int) error {
			if try == 1 {
				return again(20 * time.Second)
			}
			return nil
		}}
		tel := s.start(t, nil)
		call(tel, "")
		time.Sleep(6 * time.Second)
		began := time.Now()
		tel.Close()
		if took := time.Since(began); took != 0 || s.tries != 2 || len(s.spans()) != 1 {
			t.Errorf("the end took %s with %d tries, %d spans arrived", took, s.tries, len(s.spans()))
		}
	})
}

// TestLossesAreToldOnceAMinute: the first at once.
func TestLossesAreToldOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{fail: func(context.Context, int) error { return errDown }}
		tel := s.start(t, map[string]string{"OTEL_BSP_SCHEDULE_DELAY": "100"})
		for range 5 * 60 {
			call(tel, "")
			time.Sleep(time.Second)
		}
		synctest.Wait()
		if lines := strings.Count(s.told.String(), "\n"); lines != 5 || !strings.Contains(s.told.String(), "lost=1 ") || !strings.Contains(s.told.String(), "lost=60 ") {
			t.Errorf("told %d times in 5 minutes: %s", lines, &s.told)
		}
		tel.Close()
	})
}

// TestEndWithNobodyThere: there is one try of each batch, and no pause.
func TestEndWithNobodyThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{fail: func(context.Context, int) error { return again(0) }}
		tel := s.start(t, nil)
		call(tel, "")
		began := time.Now()
		tel.Close()
		if took := time.Since(began); took != 0 || s.tries != 1 {
			t.Errorf("the end took %s with %d tries", took, s.tries)
		}
	})
}

// TestLongRecords: bytes are bounded too, of the queue and of one batch.
func TestLongRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{}
		tel := s.start(t, nil)
		for _, size := range []int{1 << 20, 9 << 20, 1 << 20, 3 << 20, 1, 1} {
			call(tel, "", func(c *telemetry.Call) { c.Client = strings.Repeat("x", size) })
		}
		time.Sleep(time.Minute)
		for range 5 { // what was sent takes no room any more
			call(tel, "", func(c *telemetry.Call) { c.Client = strings.Repeat("x", 3<<20) })
			time.Sleep(time.Minute)
		}
		tel.Close()
		var batches []int
		for _, batch := range s.sent() {
			batches = append(batches, len(batch))
		}
		if fmt.Sprint(batches) != "[1 1 1 2 1 1 1 1 1]" || strings.Count(s.told.String(), "lost=1 ") != 1 {
			t.Errorf("batches of %v; told %q", batches, &s.told)
		}
	})
}
