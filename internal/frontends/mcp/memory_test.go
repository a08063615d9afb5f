package mcp_test

import (
	"io"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// memoryInUse returns the memory in use.
func memoryInUse() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// sendAndHold sends a message over a new connection and keeps it open once the response has begun.
// The client keeps nothing of the message.
func (r *rig) sendAndHold(body string, headers ...string) {
	r.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(testTimeout))
	if headers == nil {
		headers = []string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", listens}
	}
	text := "POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n"
	for i := 0; i+1 < len(headers); i += 2 {
		text += headers[i] + ": " + headers[i+1] + "\r\n"
	}
	if _, err := io.WriteString(conn, text+"\r\n"+body); err != nil {
		r.t.Fatal(err)
	}
	begun := make([]byte, 0, 4096)
	for !strings.Contains(string(begun), "data: {") {
		n, err := conn.Read(begun[len(begun):cap(begun)])
		if begun = begun[:len(begun)+n]; err != nil {
			r.t.Fatalf("%v after %s", err, begun)
		}
	}
}

// TestMemoryOfLargeMessages checks that a large message is not kept in memory by a session, a
// subscription or a call that waits for a person.
func TestMemoryOfLargeMessages(t *testing.T) {
	const n, size = 6, 5 << 18
	padding := `"padding":"` + strings.Repeat("x", size) + `"`
	for _, tc := range []struct {
		name        string
		sendAndHold func(t *testing.T, r *rig, s *session, i int)
	}{
		{"sessions", func(t *testing.T, r *rig, _ *session, _ int) {
			r.post(message(1, "initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"`+strings.Repeat("n", 200)+`","version":"1"},`+padding+`}`)).want(t, "initialize", http.StatusOK, nil)
		}},
		{"subscriptions", func(t *testing.T, _ *rig, s *session, i int) {
			s.post(message(1, "resources/subscribe", `{"uri":"test://`+strconv.Itoa(i)+`",`+padding+`}`)).want(t, "subscribe", http.StatusOK, nil)
		}},
		{"long names", func(t *testing.T, _ *rig, s *session, i int) {
			s.post(message(1, "resources/subscribe", `{"uri":"test://`+strings.Repeat("x", size)+strconv.Itoa(i)+`"}`)).want(t, "subscribe", http.StatusOK, -32602)
		}},
		{"listeners", func(_ *testing.T, r *rig, _ *session, i int) {
			r.sendAndHold(modern(i, listens, `"notifications":{"resourceSubscriptions":["test://`+strconv.Itoa(i)+`"]},`+padding, `{}`))
		}},
		{"listeners to long names", func(_ *testing.T, r *rig, _ *session, i int) {
			r.sendAndHold(modern(i, listens, `"notifications":{"resourceSubscriptions":["test://`+strings.Repeat("x", size)+strconv.Itoa(i)+`"]}`, `{}`))
		}},
		{"questions", func(_ *testing.T, _ *rig, s *session, i int) {
			s.sendAndHold(message(i, "tools/call", `{"name":"test_elicitation","arguments":{"message":"m"},`+padding+`}`), s.with(nil)...)
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, setup{})
			s := r.initialize("2025-11-25", allThree)
			tc.sendAndHold(t, r, s, 1000)
			before := memoryInUse()
			for i := range n {
				tc.sendAndHold(t, r, s, i)
			}
			r.client.CloseIdleConnections()
			more := 0
			for range 10 { // requests in progress may use a little for a moment
				if more = memoryInUse() - before; more <= n*size/4 {
					break
				}
			}
			if more > n*size/4 {
				t.Errorf("%d KB more are in use", more>>10)
			}
			if tc.name == "listeners" && r.http.Large() != 0 {
				t.Errorf("those who only listen count as %d bytes of large requests", r.http.Large())
			}
		})
	}
}

// TestMemoryOfLargeMessagesOverStdio checks the same on one stdio connection.
func TestMemoryOfLargeMessagesOverStdio(t *testing.T) {
	const n, size = 6, 5 << 18
	padding := `"padding":"` + strings.Repeat("x", size) + `"`
	for name, line := range map[string]func(i int) string{
		"subscriptions": func(i int) string {
			return message(i, "resources/subscribe", `{"uri":"test://`+strconv.Itoa(i)+`",`+padding+`}`)
		},
		"listeners": func(i int) string {
			return modern(i, listens, `"notifications":{"resourceSubscriptions":["test://`+strconv.Itoa(i)+`"]},`+padding, `{}`)
		},
		"listeners to long names": func(i int) string {
			return modern(i, listens, `"notifications":{"resourceSubscriptions":["test://`+strings.Repeat("x", size)+strconv.Itoa(i)+`"]}`, `{}`)
		},
		"questions": func(i int) string {
			return message(i, "tools/call", `{"name":"test_elicitation","arguments":{"message":"m"},`+padding+`}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, setup{})
			c := speak(t, func(in io.Reader, out io.Writer) error { return r.server.ServeStdio(t.Context(), "local", in, out) })
			c.send(message("hi", "initialize", `{"protocolVersion":"2025-11-25","capabilities":`+allThree+`,"clientInfo":{"name":"t","version":"1"}}`))
			c.receive()
			c.send(line(1000))
			c.receive()
			before := memoryInUse()
			for i := range n {
				c.send(line(i))
				c.receive()
			}
			more := 0
			for range 10 { // requests in progress may use a little for a moment
				if more = memoryInUse() - before; more <= n*size/4 {
					break
				}
			}
			if more > n*size/4 {
				t.Errorf("%d KB more are in use", more>>10)
			}
			c.end()
		})
	}
}
