package later_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"remit/internal/toolsets/codebase/later"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// book is what is written into, with when.
type book struct {
	mu    sync.Mutex
	began time.Time
	tries []time.Duration // since began
	fail  error
	hangs bool
}

func (b *book) write(ctx context.Context) error {
	if b.note() {
		<-ctx.Done()
		return ctx.Err()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.fail
}

func (b *book) note() (hangs bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tries = append(b.tries, time.Since(b.began))
	return b.hangs
}

func (b *book) set(fail error, hangs bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fail, b.hangs = fail, hangs
}

// with runs a test with a writer, in a time of its own.
func with(t *testing.T, test func(t *testing.T, w *later.Writer, b *book, log *bytes.Buffer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b, log := &book{began: time.Now()}, &bytes.Buffer{}
		w := later.New(b.write, slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})), "it is not written")
		test(t, w, b, log)
		w.Close(t.Context())
	})
}

// pass lets time go by, and whatever happens in it.
func pass(d time.Duration) {
	time.Sleep(d) // of synctest
	synctest.Wait()
}

func (b *book) expect(t *testing.T, want ...time.Duration) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if !slices.Equal(b.tries, want) {
		t.Errorf("it was tried after %v, want %v", b.tries, want)
	}
}

const second = time.Second

// What comes within a moment is written at once, and nothing is when nothing comes.
func TestTogether(t *testing.T) {
	with(t, func(t *testing.T, w *later.Writer, b *book, _ *bytes.Buffer) {
		for range 100 {
			w.Rouse()
		}
		pass(time.Hour)
		b.expect(t, later.Delay)
		w.Rouse()
		pass(time.Hour)
		b.expect(t, later.Delay, time.Hour+later.Delay)
	})
}

// A failure is tried again by itself, ever more rarely, however often somebody comes, and is told of once.
func TestTriesAgain(t *testing.T) {
	with(t, func(t *testing.T, w *later.Writer, b *book, log *bytes.Buffer) {
		b.set(errors.New("no disk"), false)
		w.Rouse()
		for range 6 {
			pass(second)
			w.Rouse()
		}
		b.expect(t, second/5, second*3/5, second*7/5, second*3)
		pass(time.Hour)
		if n := len(b.tries); n < 110 || n > 130 {
			t.Errorf("it was tried %d times in an hour", n)
		}
		if n := strings.Count(log.String(), "it is not written"); n != 1 || !strings.Contains(log.String(), "WARN") {
			t.Errorf("it is told %d times:\n%s", n, log)
		}
		b.set(nil, false)
		pass(later.Longest)
		n := len(b.tries)
		pass(time.Hour)
		if len(b.tries) != n {
			t.Errorf("it was tried %d times more after it had succeeded", len(b.tries)-n)
		}
		b.set(errors.New("no disk"), false)
		w.Rouse()
		pass(later.Delay)
		if n := strings.Count(log.String(), "it is not written"); n != 2 {
			t.Errorf("of the next failure it is told %d times", n-1)
		}
	})
}

// At the end there is one more try, at once, and then none.
func TestCloses(t *testing.T) {
	with(t, func(t *testing.T, w *later.Writer, b *book, log *bytes.Buffer) {
		b.set(errors.New("no disk"), false)
		w.Rouse()
		for range 2 {
			w.Close(t.Context())
			w.Rouse()
			pass(second)
		}
		b.expect(t, 0)
		if !w.Closed() || strings.Contains(log.String(), "WARN") || !strings.Contains(log.String(), "DEBUG") {
			t.Errorf("closed %v, and it is told:\n%s", w.Closed(), log)
		}
	})
	with(t, func(t *testing.T, w *later.Writer, b *book, _ *bytes.Buffer) {
		w.Close(t.Context())
		b.expect(t)
	})
}

// What hangs holds nobody up for longer than Finish, or longer than they wait.
func TestCloseGivesUp(t *testing.T) {
	for _, early := range []time.Duration{0, later.Delay} { // for the second it is being written when Close comes
		for _, patience := range []time.Duration{time.Minute, second / 4} {
			with(t, func(t *testing.T, w *later.Writer, b *book, _ *bytes.Buffer) {
				b.set(nil, true)
				w.Rouse()
				pass(early)
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				before := time.Now()
				w.Close(ctx)
				if took := time.Since(before); took != min(patience, later.Finish) {
					t.Errorf("took %v", took)
				}
			})
		}
	}
}

// A write that hangs is given up, and tried again.
func TestPatience(t *testing.T) {
	with(t, func(t *testing.T, w *later.Writer, b *book, _ *bytes.Buffer) {
		b.set(nil, true)
		w.Rouse()
		pass(later.Delay)
		b.set(nil, false)
		pass(time.Minute)
		b.expect(t, later.Delay, later.Delay+later.Patience+2*later.Delay)
	})
}
