package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// asUser runs f on a thread of its own whose new sockets and files belong to another user.
func asUser(t *testing.T, uid int, f func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can act as another user")
	}
	var running sync.WaitGroup
	running.Go(func() {
		runtime.LockOSThread() // and never unlock it: the thread ends with this goroutine
		if err := unix.Setfsuid(uid); err != nil {
			t.Errorf("become user %d: %v", uid, err)
			return
		}
		f()
	})
	running.Wait()
}

// dialAs opens a connection that belongs to a user.
func (w *httpServer) dialAs(uid int, host string) net.Conn {
	w.t.Helper()
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(w.url, "http://"))
	var conn net.Conn
	var err error
	asUser(w.t, uid, func() { conn, err = net.Dial("tcp", net.JoinHostPort(host, port)) })
	w.workspace.check(err)
	w.t.Cleanup(func() { conn.Close() })
	return conn
}

// askOver sends a request over a connection, which stays open.
func (w *httpServer) askOver(conn net.Conn, method, path, body string, headers ...string) (status int, answer string) {
	w.t.Helper()
	text := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n", method, path, len(body))
	for _, header := range headers {
		text += header + "\r\n"
	}
	_, err := io.WriteString(conn, text+"\r\n"+body)
	w.workspace.check(err)
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	w.workspace.check(err)
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	w.workspace.check(err)
	return response.StatusCode, string(data)
}

// TestOtherLocalUsers checks that without identity another user of the machine reaches nothing but
// the health check, that a token admits them, and that the attempt is recorded.
func TestOtherLocalUsers(t *testing.T) {
	const other = 54321
	s := newWorkspace(t, nil)
	w := s.serve()
	conn := w.dialAs(other, "127.0.0.1")
	for _, route := range []string{
		"POST /tools/hello", "GET /tools", "POST /mcp", "GET /mcp", "DELETE /mcp", "GET /metrics", "GET /", "GET /console/login", "POST /console/login",
		"GET /cdn/books/a/assets/b", "PUT /upload/x", "GET /archives/x.zip", "GET /.well-known/oauth-protected-resource", "GET /nowhere", "OPTIONS /mcp",
	} {
		method, path, _ := strings.Cut(route, " ")
		if status, answer := w.askOver(conn, method, path, `{}`); status != http.StatusForbidden || !strings.Contains(answer, "another user") || !strings.Contains(answer, "Bearer TOKEN") {
			t.Errorf("%s: %d %s", route, status, answer)
		}
	}
	if status, answer := w.askOver(conn, http.MethodGet, "/health", ""); status != http.StatusOK {
		t.Errorf("health: %d %s", status, answer)
	}
	if status, answer := w.askOver(conn, http.MethodPost, "/tools/hello", `{}`, "Authorization: Bearer remit_wrong"); status != http.StatusUnauthorized {
		t.Errorf("a wrong token: %d %s", status, answer)
	}
	if status, answer := w.askOver(w.dialAs(0, "127.0.0.1"), http.MethodPost, "/tools/hello", `{"name":"Ada"}`); status != http.StatusOK {
		t.Errorf("the user who runs it: %d %s", status, answer)
	}
	secret := s.token("--name", "bot", "--scopes", "*:read")
	if status, answer := w.askOver(conn, http.MethodGet, "/tools", "", "Authorization: Bearer "+secret); status != http.StatusOK {
		t.Errorf("a token: %d %s", status, answer)
	}
	w.end()
	if got := s.remit("audit", "list"); !strings.Contains(got.out, "auth/request") {
		t.Errorf("the attempt is not recorded:\n%s%s", got.out, got.errOut)
	}
}

// TestOtherLocalUsersInNumbers checks that each of many connections is judged by its own user, also
// those that are closed right after the request was sent.
func TestOtherLocalUsersInNumbers(t *testing.T) {
	const other, rounds = 54321, 500
	s := newWorkspace(t, nil)
	w := s.serve("--approve", "auto", "--rate-limits", "off")
	own := w.dialAs(0, "127.0.0.1")
	for i := range rounds {
		args := fmt.Sprintf(`{"user_id":"eve","title":"other %d"}`, i)
		conn := w.dialAs(other, "127.0.0.1")
		_, err := fmt.Fprintf(conn, "POST /tools/add_task HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(args), args)
		s.check(err)
		conn.Close()
		if i%100 == 0 {
			if status, answer := w.askOver(own, http.MethodPost, "/tools/hello", `{"name":"Ada"}`); status != http.StatusOK {
				t.Fatalf("the user who runs it: %d %s", status, answer)
			}
		}
	}
	w.end() // finishes what was sent
	w = s.serve()
	if _, answer := w.askOver(w.dialAs(0, "127.0.0.1"), http.MethodPost, "/tools/list_tasks", `{"user_id":"eve"}`); !strings.Contains(answer, `"total":0`) {
		t.Errorf("another user has written: %s", clip([]byte(answer)))
	}
}
