package httpapi_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener whose connections stay in the process, so that their
// deadlines go by the clock of the test.
type pipes struct {
	waiting chan net.Conn
	closed  chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.waiting:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error { close(p.closed); return nil }

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

// connect runs the test with one end of a connection that the face serves.
func connect(t *testing.T, r *rig, test func(t *testing.T, c net.Conn)) {
	t.Helper()
	listener := &pipes{make(chan net.Conn), make(chan struct{})}
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

// TestStalledClient: a client that stops in the middle of its body does not hold
// the server.
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

// TestLongCall: the time for the body is not the time for the call, nor for the
// next one. Without a body the server watches the connection from the start.
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

// TestClientGoesAway: a read is given up, a write that does not look back is
// finished and recorded.
func TestClientGoesAway(t *testing.T) {
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
				records := r.recorded()
				if len(records) != 1 || records[0].Outcome != tc.outcome || records[0].Duration > time.Minute {
					t.Errorf("recorded %+v, want one %s", records, tc.outcome)
				}
			})
		})
	}
}
