package httpserver_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"remit/internal/app"
	"remit/internal/engine/approval"
	"remit/internal/frontends/cli"
	"remit/internal/frontends/httpserver"
)

// TestMain ignores the goroutine that net/http keeps for half a second after it has rejected a
// body.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}

// serve runs the whole program on a free port until the test ends.
func serve(t *testing.T) (addr string, end func() error) {
	t.Helper()
	root := t.TempDir()
	data := filepath.Join(root, ".remit")
	a, err := app.Open(t.Context(), cli.Settings{
		Root: root, Data: data, Config: filepath.Join(root, "remit.yaml"), Database: "sqlite://" + filepath.Join(data, "remit.db"),
		Toolsets: []string{"conformance"}, Approve: approval.Auto, Addr: "127.0.0.1:0", Keys: root + "-keys",
	}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ready, done := make(chan string, 1), make(chan error, 1)
	go func() { done <- a.Serve(ctx, func(url string) { ready <- url }) }()
	end = sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	t.Cleanup(func() {
		if err := errors.Join(end(), a.Close()); err != nil {
			t.Error(err)
		}
	})
	select {
	case url := <-ready:
		return strings.TrimPrefix(url, "http://"), end
	case err := <-done:
		t.Fatal(err)
	}
	return "", nil
}

// send sends bytes over a new connection. The status is zero if there is no response.
func send(t *testing.T, addr, text string) (status int, body string) {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	return receive(conn)
}

func receive(from io.Reader) (status int, body string) {
	response, err := http.ReadResponse(bufio.NewReader(from), nil)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	data, _ := io.ReadAll(response.Body)
	return response.StatusCode, string(data)
}

// TestHostsAndOrigins checks that every route rejects foreign host names and origins, and accepts
// local programs.
func TestHostsAndOrigins(t *testing.T) {
	addr, _ := serve(t)
	_, port, _ := net.SplitHostPort(addr)
	ask := func(route, host string, origins ...string) int {
		method, path, _ := strings.Cut(route, " ")
		text := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n", method, path, host)
		for _, origin := range origins {
			text += "Origin: " + origin + "\r\n"
		}
		if method == http.MethodPost {
			text += "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
		} else {
			text += "\r\n"
		}
		status, _ := send(t, addr, text)
		return status
	}
	routes := []string{
		"GET /", "POST /", "GET /mcp", "POST /mcp", "DELETE /mcp", "OPTIONS /mcp", "POST /mcp/conformance", "POST /mcp/nothing", "GET /tools",
		"POST /tools/test_simple_text", "OPTIONS /tools/test_simple_text", "GET /health", "GET /metrics", "GET /nowhere", "GET //mcp", "GET /mcp/../metrics",
	}
	for _, route := range routes {
		if got := ask(route, addr); got == http.StatusForbidden || got == 0 {
			t.Errorf("%s from here: %d", route, got)
		}
		for _, host := range []string{
			"evil.example.com", "evil.example.com:" + port, "localhost.evil.com", "127.0.0.1.evil.com", "127.0.0.1.nip.io:" + port, "[::1].evil.com",
			"127.0.0.1:80@evil.com", "localhost@evil.com", "0.0.0.0", "0.0.0.0:" + port, "10.0.0.1", "[::]", "[::ffff:10.0.0.1]", "[fe80::1]",
			"localhost,evil.com", "2130706433", "0x7f000001", "127.1", "",
		} {
			if got := ask(route, host); got != http.StatusForbidden && got != http.StatusBadRequest {
				t.Errorf("%s, host %q: %d, want 403", route, host, got)
			}
		}
		for _, origin := range []string{
			"http://evil.example.com", "https://evil.example.com:" + port, "null", "", "http://localhost.evil.com", "http://127.0.0.1.evil.com",
			"http://127.0.0.1:80@evil.com", "http://localhost:80@evil.com", "http://localhost@evil.com", "http://10.0.0.1", "http://0.0.0.0", "http://[::]",
			"file://", "file:///etc/passwd", "chrome-extension://abcdef", "localhost", "//localhost", "ftp://localhost", "HTTP://localhost.evil.com",
			"http://localhost http://evil.com", "http://localhost", "http://localhost:6274", "https://localhost:1", "http://127.0.0.1:3000", "http://127.0.0.1",
			"http://[::1]:80", "http://[::ffff:127.0.0.1]", "http://localhost:" + port, "HTTP://" + addr, "http://" + addr + ".evil.com", "http://" + addr + "@evil", "http://127.0.0.1.:" + port, "http://evil.com, http://localhost", "https://" + addr, "http://", "http://[::ffff:10.0.0.1]",
		} {
			if got := ask(route, addr, origin); got != http.StatusForbidden {
				t.Errorf("%s, origin %q: %d, want 403", route, origin, got)
			}
		}
		if got := ask(route, addr, "http://"+addr, "http://evil.example.com"); got != http.StatusForbidden {
			t.Errorf("%s, two origins: %d, want 403", route, got)
		}
		if got := ask(route, addr, "http://"+addr, "http://"+addr); got != http.StatusForbidden {
			t.Errorf("%s, the same origin twice: %d, want 403", route, got)
		}
	}
	for _, host := range []string{"localhost", "localhost:" + port, "LOCALHOST:" + port, "127.0.0.1", "127.0.0.1:1", "127.8.9.1", "[::1]", "[::1]:" + port, "[::ffff:127.0.0.1]:" + port} {
		if got := ask("GET /health", host); got != http.StatusOK {
			t.Errorf("host %q: %d, want 200", host, got)
		}
	}
	// 9000: a forwarded port.
	for _, host := range []string{addr, "localhost:" + port, "localhost:9000", "[::1]:" + port} {
		if got := ask("GET /health", host, "http://"+host); got != http.StatusOK {
			t.Errorf("our own origin %q: %d, want 200", host, got)
		}
	}
}

// TestFetchMetadata checks that every route rejects what a browser sends for a page of another site
// or port, except a link to it.
func TestFetchMetadata(t *testing.T) {
	addr, _ := serve(t)
	for _, tc := range []struct {
		site, mode, dest string
		get, other       bool // whether GET and other methods are served
	}{
		{"same-origin", "cors", "empty", true, true},
		{"none", "navigate", "document", true, true},
		{"cross-site", "navigate", "document", true, false},
		{"same-site", "navigate", "document", true, false},
		{"cross-site", "navigate", "iframe", false, false},
		{"cross-site", "navigate", "embed", false, false},
		{"cross-site", "no-cors", "image", false, false},
		{"same-site", "no-cors", "empty", false, false}, // a beacon
		{"same-site", "cors", "empty", false, false},    // EventSource
		{"cross-site", "no-cors", "document", false, false},
		{"cross-site", "", "", false, false},
		{"nonsense", "", "", false, false},
		{"", "", "", false, false},
		{"none\r\nSec-Fetch-Site: cross-site", "", "", false, false},
	} {
		for _, route := range []string{
			"GET /", "GET /mcp", "GET /tools", "GET /tools/hello", "GET /health", "GET /metrics", "GET /cdn/books/a/assets/b.png", "GET /archives/a.zip", "GET /nowhere",
			"HEAD /tools", "POST /mcp", "DELETE /mcp", "OPTIONS /mcp", "POST /tools/hello", "PUT /upload/x", "POST /console/login",
		} {
			status, body := send(t, addr, fmt.Sprintf("%s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\nSec-Fetch-Site: %s\r\nSec-Fetch-Mode: %s\r\nSec-Fetch-Dest: %s\r\n"+
				"Content-Length: 0\r\n\r\n", route, addr, tc.site, tc.mode, tc.dest))
			want := tc.other
			if strings.HasPrefix(route, "GET ") {
				want = tc.get
			}
			if served := status != http.StatusForbidden; served != want || status == 0 {
				t.Errorf("%s, %q %q %q: %d %s", route, tc.site, tc.mode, tc.dest, status, body)
			}
		}
	}
}

// TestAddresses checks that only loopback addresses are accepted, and that the error names the
// flag.
func TestAddresses(t *testing.T) {
	for _, addr := range []string{
		"0.0.0.0:0", ":0", "[::]:0", "192.168.1.1:0", "8.8.8.8:53", "example.com:80", "[fe80::1]:0", "localhost.evil.com:0", "127.0.0.1.evil.com:0",
		"[::ffff:10.0.0.1]:0", "*:0", "nonsense", "127.0.0.1", "::1", "", "2130706433:0", "127.0.0.1:99999", "127.0.0.1:nothing",
	} {
		l, err := httpserver.Listen(t.Context(), addr, false)
		if err == nil {
			l.Close()
			t.Errorf("%q is listened on", addr)
		} else if !strings.Contains(err.Error(), "--addr "+addr) {
			t.Errorf("%q: %v does not name the flag", addr, err)
		}
	}
	for _, addr := range []string{"127.0.0.1:0", "127.0.0.2:0", "localhost:0", "[::ffff:127.0.0.1]:0", "[::1]:0"} {
		l, err := httpserver.Listen(t.Context(), addr, false)
		if err != nil {
			if strings.Contains(addr, "::1]") {
				continue // a machine without IPv6
			}
			t.Errorf("%s: %v", addr, err)
			continue
		}
		if _, err := httpserver.Listen(t.Context(), l.Addr().String(), false); err == nil || !strings.Contains(err.Error(), "the address is in use") {
			t.Errorf("%s twice: %v", addr, err)
		}
		l.Close()
	}
}

// TestLargeHeaders checks that large headers are answered with 431.
func TestLargeHeaders(t *testing.T) {
	addr, _ := serve(t)
	for name, header := range map[string]string{
		"one": "X: " + strings.Repeat("x", 100_000) + "\r\n", "many": strings.Repeat("X: 1234567890123456789012345678901234567890\r\n", 3000),
	} {
		status, body := send(t, addr, "GET /health HTTP/1.1\r\nHost: "+addr+"\r\n"+header+"\r\n")
		if status != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("%s: %d %s, want 431", name, status, body)
		}
	}
	if status, _ := send(t, addr, "GET /health HTTP/1.1\r\nHost: "+addr+"\r\nConnection: close\r\nX: "+strings.Repeat("x", 30_000)+"\r\n\r\n"); status != http.StatusOK {
		t.Errorf("headers of a good size: %d", status)
	}
}

// TestRejectionReachesClient checks that a client that sends too much, or waits for 100 Continue,
// sees the response soon.
func TestRejectionReachesClient(t *testing.T) {
	addr, _ := serve(t)
	head := "POST /mcp HTTP/1.1\r\nHost: " + addr + "\r\nContent-Type: application/json\r\nContent-Length: 50000000\r\n"
	if status, body := send(t, addr, head+"\r\n"+strings.Repeat(" ", 50_000_000)); status != http.StatusRequestEntityTooLarge {
		t.Errorf("all at once: %d %s", status, body)
	}
	// If the server waited for the body, it would answer 408.
	if status, body := send(t, addr, head+"Expect: 100-continue\r\n\r\n"); status != http.StatusRequestEntityTooLarge {
		t.Errorf("after it asked: %d %s", status, body)
	}
	if status, body := send(t, addr, strings.Replace(head, "Host: ", "Host: evil.com\r\nX: ", 1)+"Expect: 100-continue\r\n\r\n"); status != http.StatusForbidden {
		t.Errorf("from elsewhere: %d %s", status, body)
	}
}

// start serves a handler on an in-memory network; end stops it and returns the error of Serve.
func start(t *testing.T, grace time.Duration, handler http.HandlerFunc) (l *httpserver.MemListener, end func() error) {
	t.Helper()
	l = httpserver.NewMemListener()
	ctx, cancel := context.WithCancel(t.Context())
	s := &httpserver.Server{Handler: handler, Log: slog.New(slog.DiscardHandler), EndStreams: func() {}}
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l, grace) }()
	end = sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	t.Cleanup(func() { _ = end() })
	return l, end
}

// TestSlowClients checks that the server does not wait for clients that never begin or finish a
// request.
func TestSlowClients(t *testing.T) {
	const head = "POST / HTTP/1.1\r\nHost: localhost\r\n"
	for _, tc := range []struct {
		name, text string
		within     time.Duration
	}{
		{"nothing", "", 3 * time.Minute},
		{"half a header", head, time.Minute},
		{"half a body", head + "Content-Length: 100\r\n\r\nhalf", time.Minute},
		{"half a body, refused", "POST / HTTP/1.1\r\nHost: evil.com\r\nContent-Length: 100\r\n\r\nhalf", time.Minute},
		{"no body", head + "Content-Length: 100\r\n\r\n", time.Minute},
		{"half a chunk", head + "Transfer-Encoding: chunked\r\n\r\n64\r\nhalf", time.Minute},
		{"no second request", head + "Content-Length: 0\r\n\r\n", 5 * time.Minute},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, _ := start(t, time.Second, func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.ReadAll(r.Body)
					fmt.Fprint(w, "answer")
				})
				conn := l.Dial()
				defer conn.Close()
				go io.WriteString(conn, tc.text)
				began := time.Now()
				_ = conn.SetReadDeadline(began.Add(time.Hour))
				_, err := io.Copy(io.Discard, conn)
				if took := time.Since(began); err != nil || took > tc.within {
					t.Errorf("held for %s: %v", took, err)
				}
			})
		})
	}
}

// TestShutdown checks that shutdown finishes requests in progress, and aborts those that take too
// long.
func TestShutdown(t *testing.T) {
	for _, tc := range []struct {
		name  string
		takes time.Duration
		fails bool
	}{
		{"quick", time.Second, false}, {"slow", 20 * time.Second, false}, {"too slow", time.Hour, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, end := start(t, 30*time.Second, func(w http.ResponseWriter, r *http.Request) {
					select {
					case <-time.After(tc.takes):
					case <-r.Context().Done():
					}
					fmt.Fprint(w, "answer")
				})
				conn := l.Dial()
				defer conn.Close()
				fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
				synctest.Wait()
				answered := make(chan string, 1)
				go func() {
					_, body := receive(conn)
					answered <- body
				}()
				began := time.Now()
				err := end()
				if (err != nil) != tc.fails || time.Since(began) > 35*time.Second {
					t.Errorf("%v after %s", err, time.Since(began))
				}
				if body := <-answered; (body == "answer") == tc.fails {
					t.Errorf("the client got %q", body)
				}
			})
		})
	}
}

// TestShutdownEndsStreams checks that shutdown completes open streams and then ends the program.
func TestShutdownEndsStreams(t *testing.T) {
	addr, end := serve(t)
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	const body = `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\nContent-Length: %d\r\n\r\n%s", addr, len(body), body)
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() && !strings.Contains(lines.Text(), "acknowledged") {
	}
	ended := make(chan error, 1)
	go func() { ended <- end() }()
	rest, err := io.ReadAll(response.Body)
	for lines.Scan() {
		rest = append(rest, lines.Text()...)
	}
	if err != nil || !strings.Contains(string(rest), `"resultType":"complete"`) {
		t.Errorf("the stream ended with %q, %v", rest, err)
	}
	if err := <-ended; err != nil { // Serve fails if a stream has to be aborted
		t.Error(err)
	}
	if conn, err := net.Dial("tcp", addr); err == nil {
		conn.Close()
		t.Error("the address is still open")
	}
}
