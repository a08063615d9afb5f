package batchwriter_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"remit/internal/batchwriter"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// item is something to write.
type item struct {
	name  string
	count int
	due   time.Time
}

// sink records what is written, and when.
type sink struct {
	mu      sync.Mutex
	began   time.Time
	tries   []time.Duration // since began
	written []string        // batch by batch
	fail    error
	hangs   bool
	during  func() // runs within a write
}

func (s *sink) write(ctx context.Context, batch []item) ([]item, error) {
	if s.note() {
		<-ctx.Done()
		return batch, ctx.Err()
	}
	if s.during != nil {
		s.during()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return batch, s.fail
	}
	s.written = append(s.written, show(batch))
	return nil, nil
}

func show(items []item) string {
	var all []string
	for _, i := range items {
		all = append(all, fmt.Sprint(i.name, i.count))
	}
	return strings.Join(all, " ")
}

func (s *sink) note() (hangs bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tries = append(s.tries, time.Since(s.began))
	return s.hangs
}

func (s *sink) set(fail error, hangs bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail, s.hangs = fail, hangs
}

type writer = batchwriter.Writer[item]

// with runs a test in its own synctest bubble, with a writer that merges items by name. change may
// be nil.
func with(t *testing.T, change func(*batchwriter.Options[item]), test func(t *testing.T, w *writer, s *sink, log *bytes.Buffer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s, log := &sink{began: time.Now()}, &bytes.Buffer{}
		o := batchwriter.Options[item]{
			Write: s.write, Max: 10, Key: func(i item) string { return i.name },
			Merge: func(waiting, added item) item {
				added.count += waiting.count
				return added
			},
			Log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})), Failure: "it is not written",
		}
		if change != nil {
			change(&o)
		}
		w := batchwriter.New(o)
		test(t, w, s, log)
		w.Close(t.Context())
	})
}

// add adds items of these names.
func add(w *writer, names ...string) {
	for _, name := range names {
		w.Add(item{name: name, count: 1})
	}
}

// pass lets time pass, and everything run that is due in it.
func pass(d time.Duration) {
	time.Sleep(d) // of synctest
	synctest.Wait()
}

func (s *sink) expect(t *testing.T, want ...time.Duration) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Equal(s.tries, want) {
		t.Errorf("tried after %v, want %v", s.tries, want)
	}
}

func (s *sink) expectWritten(t *testing.T, want ...string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if diff := cmp.Diff(want, s.written); diff != "" {
		t.Errorf("written (-want +got):\n%s", diff)
	}
}

const (
	second = time.Second
	delay  = batchwriter.DefaultDelay
)

// Items that are added within the delay are written together. Without items nothing is written.
func TestBatches(t *testing.T) {
	with(t, nil, func(t *testing.T, w *writer, s *sink, _ *bytes.Buffer) {
		for range 100 {
			add(w, "a", "b")
		}
		add(w, "a")
		pass(time.Hour)
		s.expect(t, delay)
		s.expectWritten(t, "b100 a101")
		add(w, "a")
		pass(time.Hour)
		s.expect(t, delay, time.Hour+delay)
	})
}

// Items without a key are not merged.
func TestNoKey(t *testing.T) {
	with(t, func(o *batchwriter.Options[item]) { o.Key = nil }, func(t *testing.T, w *writer, s *sink, _ *bytes.Buffer) {
		add(w, "a", "b", "a")
		pass(delay)
		s.expectWritten(t, "a1 b1 a1")
	})
}

// The writer retries after a failure by itself, with growing pauses however many items are added,
// and logs the failure once.
func TestRetries(t *testing.T) {
	with(t, nil, func(t *testing.T, w *writer, s *sink, log *bytes.Buffer) {
		s.set(errors.New("no disk"), false)
		add(w, "a")
		for range 6 {
			pass(second)
			add(w, "a")
		}
		s.expect(t, second/5, second*3/5, second*7/5, second*3)
		pass(time.Hour)
		if n := len(s.tries); n < 110 || n > 130 {
			t.Errorf("tried %d times in an hour", n)
		}
		if n := strings.Count(log.String(), "it is not written"); n != 1 || !strings.Contains(log.String(), "WARN") {
			t.Errorf("logged %d times:\n%s", n, log)
		}
		s.set(nil, false)
		pass(batchwriter.MaxBackoff)
		s.expectWritten(t, "a7")
		n := len(s.tries)
		pass(time.Hour)
		if len(s.tries) != n {
			t.Errorf("tried %d more times after a success", len(s.tries)-n)
		}
		s.set(errors.New("no disk"), false)
		add(w, "a")
		pass(delay)
		if n := strings.Count(log.String(), "it is not written"); n != 2 {
			t.Errorf("logged the next failure %d times", n-1)
		}
	})
}

// Items to retry come before those that were added meanwhile, and are merged with them.
func TestRetryKeepsOrder(t *testing.T) {
	with(t, nil, func(t *testing.T, w *writer, s *sink, _ *bytes.Buffer) {
		s.set(errors.New("no disk"), false)
		s.during = func() { add(w, "c", "a") }
		add(w, "a", "b")
		pass(delay)
		s.during = nil
		s.set(nil, false)
		pass(2 * delay)
		s.expectWritten(t, "b1 c1 a2")
	})
}

// A full writer rejects new items, or drops the oldest, and counts both as dropped.
func TestFull(t *testing.T) {
	for _, oldest := range []bool{false, true} {
		with(t, func(o *batchwriter.Options[item]) { o.Max, o.DropOldest = 2, oldest },
			func(t *testing.T, w *writer, s *sink, _ *bytes.Buffer) {
				add(w, "a", "b", "a")
				if w.Add(item{name: "c", count: 1}) != oldest || w.Len() != 2 {
					t.Errorf("drops the oldest %v: %d wait", oldest, w.Len())
				}
				add(w, "a")
				if n, again := w.TakeDropped(), w.TakeDropped(); n != 1 || again != 0 {
					t.Errorf("drops the oldest %v: %d, then %d were dropped", oldest, n, again)
				}
				pass(delay)
				s.expectWritten(t, map[bool]string{false: "b1 a3", true: "c1 a3"}[oldest])
			})
	}
}

// With Size the sum of the sizes is limited, also for merged items.
func TestSizes(t *testing.T) {
	with(t, func(o *batchwriter.Options[item]) { o.Size = func(i item) int { return i.count } },
		func(t *testing.T, w *writer, s *sink, _ *bytes.Buffer) {
			for range 12 {
				add(w, "a")
			}
			if n := w.TakeDropped(); n != 2 {
				t.Errorf("%d were dropped", n)
			}
			pass(delay)
			add(w, "b")
			pass(delay)
			s.expectWritten(t, "a10", "b1")
		})
}

// With Due each item is written alone and at its own time.
func TestDue(t *testing.T) {
	with(t, func(o *batchwriter.Options[item]) {
		o.Key, o.Due = nil, func(i item) time.Time { return i.due }
	}, func(t *testing.T, w *writer, s *sink, _ *bytes.Buffer) {
		in := func(name string, d time.Duration) { w.Add(item{name: name, due: s.began.Add(d)}) }
		in("late", time.Hour)
		in("soon", second)
		in("now", 0)
		synctest.Wait()
		in("sooner", second/2)
		pass(time.Minute)
		s.expectWritten(t, "now0", "sooner0", "soon0")
		s.expect(t, 0, second/2, second)
		in("later", 2*time.Hour)
		w.Close(t.Context())
		s.expectWritten(t, "now0", "sooner0", "soon0", "late0", "later0")
	})
}

// Flush writes at once, even while the writer pauses after a failure, and it waits for items that
// are added during a write.
func TestFlush(t *testing.T) {
	with(t, nil, func(t *testing.T, w *writer, s *sink, _ *bytes.Buffer) {
		w.Flush(t.Context()) // nothing was ever added
		s.set(errors.New("no disk"), false)
		add(w, "a")
		w.Flush(t.Context())
		s.set(nil, false)
		w.Flush(t.Context())
		s.expect(t, 0, 0)
		s.during = func() { time.Sleep(second) }
		add(w, "b")
		pass(delay)
		add(w, "c")
		w.Flush(t.Context())
		s.expectWritten(t, "a1", "b1", "c1")
		s.expect(t, 0, 0, delay, delay+second)
	})
}

// Flush returns when ctx ends, and the write goes on.
func TestFlushContextEnds(t *testing.T) {
	with(t, nil, func(t *testing.T, w *writer, s *sink, _ *bytes.Buffer) {
		s.during = func() { time.Sleep(second) }
		add(w, "a")
		ctx, cancel := context.WithTimeout(t.Context(), second/2)
		defer cancel()
		w.Flush(ctx)
		if took := time.Since(s.began); took != second/2 {
			t.Errorf("took %v", took)
		}
		pass(second)
		s.expectWritten(t, "a1")
	})
}

// Drain returns the waiting items, and nothing is written.
func TestDrain(t *testing.T) {
	with(t, nil, func(t *testing.T, w *writer, s *sink, _ *bytes.Buffer) {
		add(w, "a", "b")
		if got := show(w.Drain()); got != "a1 b1" {
			t.Errorf("drained is %q", got)
		}
		pass(time.Hour)
		s.expect(t)
	})
}

// Close writes once more, at once, and never again. It returns the items that are left.
func TestClose(t *testing.T) {
	with(t, nil, func(t *testing.T, w *writer, s *sink, log *bytes.Buffer) {
		s.set(errors.New("no disk"), false)
		add(w, "a")
		for _, want := range []string{"a1", ""} {
			if got := show(w.Close(t.Context())); got != want {
				t.Errorf("lost is %q, want %q", got, want)
			}
			if w.Add(item{}) {
				t.Error("Add succeeds after Close")
			}
			w.Flush(t.Context())
			pass(second)
		}
		s.expect(t, 0)
		if !w.Closed() || strings.Contains(log.String(), "WARN") || !strings.Contains(log.String(), "DEBUG") {
			t.Errorf("closed is %v, and logged:\n%s", w.Closed(), log)
		}
	})
	with(t, nil, func(t *testing.T, w *writer, s *sink, _ *bytes.Buffer) {
		w.Close(t.Context())
		s.expect(t)
	})
}

// Close returns after CloseTimeout, or when its context ends, even if a write hangs.
func TestCloseTimesOut(t *testing.T) {
	// In the second case the write has begun when Close is called.
	for _, early := range []time.Duration{0, delay} {
		for _, timeout := range []time.Duration{time.Minute, second / 4} {
			with(t, nil, func(t *testing.T, w *writer, s *sink, _ *bytes.Buffer) {
				s.set(nil, true)
				add(w, "a")
				pass(early)
				ctx, cancel := context.WithTimeout(t.Context(), timeout)
				defer cancel()
				before := time.Now()
				if got := show(w.Close(ctx)); got != "a1" {
					t.Errorf("lost is %q", got)
				}
				if took := time.Since(before); took != min(timeout, batchwriter.CloseTimeout) {
					t.Errorf("took %v", took)
				}
			})
		}
	}
}

// A write that hangs times out, and is retried.
func TestTimeout(t *testing.T) {
	with(t, nil, func(t *testing.T, w *writer, s *sink, _ *bytes.Buffer) {
		s.set(nil, true)
		add(w, "a")
		pass(delay)
		s.set(nil, false)
		pass(time.Minute)
		s.expect(t, delay, delay+batchwriter.DefaultTimeout+2*delay)
	})
}

// Concurrent Add, Flush and Drain lose nothing.
func TestConcurrent(t *testing.T) {
	with(t, nil, func(t *testing.T, w *writer, s *sink, _ *bytes.Buffer) {
		total := 0
		s.during = func() { time.Sleep(time.Millisecond) }
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				for n := range 100 {
					add(w, fmt.Sprint(i%3, "x"))
					if n%10 == 0 {
						w.Flush(t.Context())
					}
					time.Sleep(time.Duration(i) * time.Millisecond) // of synctest
				}
			})
		}
		wg.Wait()
		w.Close(t.Context())
		for _, batch := range s.written {
			for word := range strings.FieldsSeq(batch) {
				var n int
				if _, err := fmt.Sscanf(word[2:], "%d", &n); err != nil {
					t.Fatal(err)
				}
				total += n
			}
		}
		if total != 800 {
			t.Errorf("%d of 800 were written", total)
		}
	})
}
