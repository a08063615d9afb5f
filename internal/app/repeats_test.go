package app

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"remit/internal/frontends/cli"
)

// TestProblemIsNotRepeated checks that a problem of the storage is logged once, then once a minute
// with a count, and once when it is over, while other lines are not affected.
func TestProblemIsNotRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out lockedBuffer
		all := &logs{}
		log := newLogger(t, all, &out, cli.LogOptions{})
		fail := func(n int) {
			for i := range n {
				full := &os.PathError{Op: "write", Path: fmt.Sprintf("draft-%d", i), Err: syscall.ENOSPC}
				log.Warn("call", "tool", fmt.Sprintf("tasks/%d", i), "cause", fmt.Errorf("store: %w", full))
			}
		}
		shown := func() (lines []string) {
			all.flush()
			for line := range strings.Lines(out.take()) {
				_, rest, _ := strings.Cut(line, " ")
				lines = append(lines, strings.TrimSpace(rest))
			}
			return lines
		}
		expect := func(when string, want ...string) {
			t.Helper()
			if got := shown(); strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Errorf("%s:\n%s\nwant\n%s", when, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
		fail(100)
		log.Warn("call", "tool", "a", "cause", errors.New("other"))
		log.Warn("call", "tool", "b", "cause", errors.New("other"))
		log.Warn("late", "tool", "c")
		log.Warn("late", "tool", "c")
		log.Info("fine", "cause", errors.New("x"))
		log.Info("fine", "cause", errors.New("x"))
		time.Sleep(repeatInterval)
		synctest.Wait()
		expect("in the first minute", `WRN call tool=tasks/0 cause="store: write draft-0: no space left on device"`,
			"WRN call tool=a cause=other", "WRN call tool=b cause=other", "WRN late tool=c", "WRN late tool=c", "INF fine cause=x",
			"INF fine cause=x", `WRN call tool=tasks/99 cause="store: write draft-99: no space left on device" repeated=99`)
		fail(5)
		time.Sleep(repeatInterval)
		synctest.Wait()
		expect("in the second minute", `WRN call tool=tasks/4 cause="store: write draft-4: no space left on device" repeated=5`)
		time.Sleep(repeatInterval)
		synctest.Wait()
		expect("when it is over", `WRN a problem has not occurred for a minute problem=call times=105 `+
			`cause="store: write draft-4: no space left on device"`)
		fail(2)
		expect("at the end of the program", `WRN call tool=tasks/0 cause="store: write draft-0: no space left on device"`,
			`WRN call tool=tasks/1 cause="store: write draft-1: no space left on device" repeated=1`)
		time.Sleep(2 * repeatInterval)
	})
}

// lockedBuffer is a buffer that several goroutines use.
type lockedBuffer struct {
	mu   sync.Mutex
	text []byte
}

// Write implements io.Writer.
func (b *lockedBuffer) Write(text []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text = append(b.text, text...)
	return len(text), nil
}

// take returns what was written since the last take.
func (b *lockedBuffer) take() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	text := string(b.text)
	b.text = nil
	return text
}
