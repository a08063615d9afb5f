package httpapi_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// memListener is an in-memory listener, so that its deadlines follow the clock of the test.
type memListener struct {
	waiting chan net.Conn
	closed  chan struct{}
}

func (p *memListener) Accept() (net.Conn, error) {
	select {
	case c := <-p.waiting:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *memListener) Close() error { close(p.closed); return nil }

func (p *memListener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

// connect runs the test with a connection to the API.
func connect(t *testing.T, r *rig, test func(t *testing.T, c net.Conn)) {
	t.Helper()
	listener := &memListener{make(chan net.Conn), make(chan struct{})}
	server := &http.Server{Handler: r.mux}
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	ours, theirs := net.Pipe()
	listener.waiting <- theirs
	test(t, ours)
	if err := ours.Close(); err != nil {
		t.Error(err)
	}
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	<-done
}

func send(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
}

func receive(t *testing.T, c net.Conn) (status int, body string) {
	t.Helper()
	response, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(data)
}

const head = "POST /tools/look HTTP/1.1\r\nHost: x\r\nContent-Length: 13\r\n\r\n"

// TestStalledClient checks that a client that stops in the middle of its body gets 408.
func TestStalledClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		connect(t, newRig(t, nil), func(t *testing.T, c net.Conn) {
			start := time.Now()
			send(t, c, head+`{"te`)
			status, body := receive(t, c)
			if status != http.StatusRequestTimeout || !strings.Contains(body, "30s") {
				t.Errorf("%d %s, want 408", status, body)
			}
			if took := time.Since(start); took != 30*time.Second {
				t.Errorf("after %s, want 30s", took)
			}
		})
	})
}

// TestLongCall checks that the deadline of the body does not apply to the call or to the next
// request. Without a body, the server watches the connection from the start.
func TestLongCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.handler = func(ctx context.Context, _ in) (out, error) {
			select {
			case <-ctx.Done():
				return out{}, ctx.Err()
			case <-time.After(100 * time.Second):
				return out{"done"}, nil
			}
		}
		connect(t, r, func(t *testing.T, c net.Conn) {
			empty := strings.Replace(head, "13", "0", 1)
			for _, request := range []string{head + `{"text":"hi"}`, empty, empty} {
				send(t, c, request)
				if status, body := receive(t, c); status != http.StatusOK || body != `{"said":"done"}` {
					t.Errorf("%d %s, want 200", status, body)
				}
			}
		})
	})
}

// TestClientDisconnects checks that a disconnect cancels a read, while a write that ignores it is
// finished and recorded.
func TestClientDisconnects(t *testing.T) {
	for _, tc := range []struct {
		name, tool, outcome string
		handler             func(context.Context, in) (out, error)
	}{
		{"read", "look", "unavailable", func(ctx context.Context, _ in) (out, error) { <-ctx.Done(); return out{}, ctx.Err() }},
		{"write", "note", "ok", func(context.Context, in) (out, error) { time.Sleep(time.Minute); return out{"written"}, nil }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, nil)
				r.handler = tc.handler
				connect(t, r, func(t *testing.T, c net.Conn) {
					send(t, c, strings.Replace(head, "look", tc.tool, 1)+`{"text":"hi"}`)
					synctest.Wait()
				})
				time.Sleep(70 * time.Second)
				records := r.Records()
				if len(records) != 1 || records[0].Outcome != tc.outcome || records[0].Duration > time.Minute {
					t.Errorf("recorded %+v, want one %s", records, tc.outcome)
				}
			})
		})
	}
}

// TestChunkedBody checks that a body of unknown size is read up to the contract's limit, and
// releases its slot.
func TestChunkedBody(t *testing.T) {
	const chunk = 1 << 20
	for _, tc := range []struct {
		name   string
		chunks int
		status int
		want   string
	}{
		{"small", 0, http.StatusOK, `{"said":"you said hi"}`},
		{"over what the contract allows", 20, http.StatusRequestEntityTooLarge, "at most 1024 bytes"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, nil)
			var places atomic.Int64
			r.api.Admit = func() (func(), bool) {
				places.Add(1)
				return func() { places.Add(-1) }, true
			}
			connect(t, r, func(t *testing.T, c net.Conn) {
				var sending sync.WaitGroup
				sending.Go(func() { sendChunks(c, `{"text":"hi"`, strings.Repeat(" ", chunk), tc.chunks, `}`) })
				status, body := receive(t, c)
				if status != tc.status || !strings.Contains(body, tc.want) {
					t.Errorf("%d %s, want %d with %s", status, body, tc.status, tc.want)
				}
				_ = c.SetDeadline(time.Now()) // the rest of a rejected body need not be read
				sending.Wait()
			})
			if n := places.Load(); n != 0 {
				t.Errorf("%d slots are still in use", n)
			}
		})
	}
}

// sendChunks sends a body in chunks until the connection is closed.
func sendChunks(c net.Conn, first, middle string, times int, last string) {
	_, err := io.WriteString(c, "POST /tools/look HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
	for i := 0; err == nil && i <= times+1; i++ {
		part := middle
		if i == 0 {
			part = first
		} else if i > times {
			part = last
		}
		_, err = fmt.Fprintf(c, "%x\r\n%s\r\n", len(part), part)
	}
	if err == nil {
		_, _ = io.WriteString(c, "0\r\n\r\n")
	}
}
