//go:build linux

package bench

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// crowd holds the numbers of clients.
type crowd struct {
	sessions, callers, stalled int
	warmup                     int           // calls until the server's memory is steady
	last                       time.Duration // how long calls continue after that
}

// crowdOf returns a tenth of the crowd if nothing is measured, and one that stays longer in long
// runs.
func crowdOf() crowd {
	c := crowd{sessions: 1000, callers: 64, stalled: 10000, warmup: 10000, last: 5 * time.Second}
	switch {
	case testing.Short():
		return crowd{sessions: 100, callers: 16, stalled: 1000, warmup: 4000, last: 300 * time.Millisecond}
	case longRun():
		c.last = time.Minute
	}
	return c
}

// TestCrowd: many clients listen, some call, and many connections only stay open without a request.
// The calls do not fail, and the server keeps no memory of the connections afterwards.
func TestCrowd(t *testing.T) {
	c := crowdOf()
	allowFiles(t, uint64(c.sessions+c.callers+c.stalled+1000))
	s := startHTTP(t, remit(t, "serve", "--addr", "127.0.0.1:0"))
	// Start everything that the first call starts, so that it does not count.
	mustCall(t, s.connectCallers(t, 1, s.inSession), 0)
	before := s.goroutines(t)

	streams := s.listen(t, c.sessions)
	stalled := s.stall(t, c.stalled)
	all := s.connectCallers(t, c.callers, s.inSession) // while the stalled connections are open
	t.Logf("%d goroutines serve the crowd", s.goroutines(t))

	// The warm-up is counted in calls, because a busy machine makes few in a given time.
	for calls, end := 0, time.Now().Add(timeout); calls < c.warmup && time.Now().Before(end); {
		calls += mustCall(t, all, c.last/2)
	}
	warm := resident(t, s.pid)
	mustCall(t, all, c.last)
	after := resident(t, s.pid)
	t.Logf("%.1f MB once warm, %.1f MB after", float64(warm)/(1<<20), float64(after)/(1<<20))
	if after > warm+max(warm/4, 24<<20) {
		t.Errorf("the server grew from %d to %d bytes while it only served calls", warm, after)
	}
	if ended := streams.ended.Load(); ended > 0 {
		t.Errorf("%d of %d streams ended before their clients left", ended, c.sessions)
	}

	streams.close()
	closeAll(stalled)
	all.close()
	s.waitGoroutines(t, before)
	s.waitReleased(t, warm)
}

// allowFiles raises the limit of open files, here and in the programs that we start.
func allowFiles(t *testing.T, n uint64) {
	t.Helper()
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	limit.Max = max(limit.Max, n)
	limit.Cur = limit.Max
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		skipOutsideCI(t, "the crowd", fmt.Sprintf("the test needs %d open files: %v", n, err))
	}
}

// mustCall calls for a duration, and returns the number of calls.
func mustCall(t *testing.T, all *callerGroup, d time.Duration) int {
	t.Helper()
	calls, err := all.callFor(d)
	if err != nil {
		t.Fatalf("after %d calls: %v", calls, err)
	}
	t.Logf("%d calls", calls)
	return calls
}

// streams are the event streams of sessions without events.
type streams struct {
	cancel context.CancelFunc
	all    sync.WaitGroup
	ended  atomic.Int64 // streams that the server closed
}

// listen opens sessions, each with a stream.
func (s *httpServer) listen(t *testing.T, n int) *streams {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	opened := &streams{cancel: cancel}
	t.Cleanup(opened.close)
	for range n {
		header, err := s.initialize()
		if err != nil {
			t.Fatal(err)
		}
		header.Set("Accept", "text/event-stream")
		answer, err := s.do(ctx, http.MethodGet, "/mcp", header, "", http.StatusOK)
		if err != nil {
			t.Fatal(err)
		}
		opened.all.Go(func() {
			defer answer.Body.Close()
			_, _ = io.Copy(io.Discard, answer.Body)
			if ctx.Err() == nil {
				opened.ended.Add(1)
			}
		})
	}
	return opened
}

func (s *streams) close() {
	s.cancel()
	s.all.Wait()
}

func closeAll(conns []net.Conn) {
	for _, c := range conns {
		c.Close()
	}
}

// stall opens connections that send only one byte.
func (s *httpServer) stall(t *testing.T, n int) []net.Conn {
	t.Helper()
	var conns []net.Conn
	t.Cleanup(func() { closeAll(conns) })
	for range n {
		conn, err := net.DialTimeout("tcp", s.address, timeout)
		if err != nil {
			t.Fatalf("after %d connections: %v", len(conns), err)
		}
		conns = append(conns, conn)
		_, _ = conn.Write([]byte("P")) // the server may have closed the connection
	}
	return conns
}

// waitReleased waits until the server has released most of the memory that the crowd took.
func (s *httpServer) waitReleased(t *testing.T, warm int) {
	t.Helper()
	limit := max(warm/2, 96<<20) // the sessions still exist, and the system reclaims pages late
	now := resident(t, s.pid)
	for end := time.Now().Add(timeout); now > limit && time.Now().Before(end); now = resident(t, s.pid) {
		time.Sleep(100 * time.Millisecond)
	}
	t.Logf("%.1f MB when the crowd has gone", float64(now)/(1<<20))
	if now > limit {
		t.Errorf("the server keeps %d bytes after the crowd left", now)
	}
}

// goroutines returns the server's number of goroutines, read over a connection that it closes.
func (s *httpServer) goroutines(t *testing.T) int {
	t.Helper()
	answer, err := s.do(t.Context(), http.MethodGet, "/metrics", nil, "", http.StatusOK)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		if count, ok := strings.CutPrefix(lines.Text(), "go_goroutines "); ok {
			n, err := strconv.Atoi(count)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatal("no go_goroutines among the metrics")
	return 0
}

// waitGoroutines waits until the server has as few goroutines as before, except for a few
// short-lived ones, such as those that serve this request.
func (s *httpServer) waitGoroutines(t *testing.T, before int) {
	t.Helper()
	const few = 32
	now := s.goroutines(t)
	for end := time.Now().Add(timeout); now > before+few && time.Now().Before(end); now = s.goroutines(t) {
		time.Sleep(100 * time.Millisecond)
	}
	t.Logf("%d goroutines before the crowd, %d after", before, now)
	if now > before+few {
		t.Error("the server kept goroutines after the crowd left")
	}
}
