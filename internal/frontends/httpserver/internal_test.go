package httpserver

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestIdleConnectionsMakeRoom checks that above the limit the connection that was idle for longest
// is closed, and none with a request in progress.
func TestIdleConnectionsMakeRoom(t *testing.T) {
	inner := NewMemListener()
	l := limitConnections(inner, 4)
	var served []net.Conn
	for i := range 8 {
		go inner.Dial()
		conn, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		served = append(served, conn)
		if i == 0 {
			noteState(conn, http.StateActive)
		}
		if i == 4 { // the oldest but one has a request, and is idle again
			noteState(served[2], http.StateActive)
			noteState(served[2], http.StateIdle)
		}
	}
	var open []int
	for i, conn := range served {
		if _, ok := l.conns[conn.(*trackedConn)]; ok { //nolint:forcetypeassert // Accept returns no other
			open = append(open, i)
		}
	}
	if want := []int{0, 5, 6, 7}; !slices.Equal(open, want) {
		t.Errorf("%v are open, want %v", open, want)
	}
	if open, limit, closed := Connections(l); open != 4 || limit != 4 || closed != 4 {
		t.Errorf("open %d, limit %d, closed %d", open, limit, closed)
	}
}

// TestConnectionLimit checks that a connection above the limit gets 503 while requests are in
// progress on the others, and that closing one makes room.
func TestConnectionLimit(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := limitConnections(inner, 2)
	accepted := make(chan net.Conn)
	go func() {
		defer close(accepted)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- conn
		}
	}()
	defer func() {
		l.Close()
		for range accepted {
		}
	}()
	dial := func() net.Conn {
		conn, err := net.Dial("tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(time.Minute))
		return conn
	}
	a, b := dial(), dial()
	defer a.Close()
	defer b.Close()
	first, second := <-accepted, <-accepted
	defer second.Close()
	noteState(first, http.StateActive)
	noteState(second, http.StateActive)
	for range 3 {
		c := dial()
		text, err := io.ReadAll(c)
		c.Close()
		head, body, _ := strings.Cut(string(text), "\r\n\r\n")
		if err != nil || !strings.HasPrefix(head, "HTTP/1.1 503") || !strings.Contains(head, "Retry-After: 1") {
			t.Errorf("one too many got %q, %v", text, err)
		}
		if !strings.Contains(head, fmt.Sprintf("Content-Length: %d", len(body))) || !json.Valid([]byte(body)) {
			t.Errorf("%d bytes of body: %q", len(body), text)
		}
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	if err := first.Close(); err == nil {
		t.Error("closed twice without a word") // and it was counted once
	}
	d := dial()
	defer d.Close()
	third := <-accepted
	defer third.Close()
	noteState(third, http.StateActive)
	e := dial()
	defer e.Close()
	if text, _ := io.ReadAll(e); !strings.Contains(string(text), "503") {
		t.Errorf("after one was closed twice there is room for two: %q", text)
	}
}

// TestSlowReaders checks that the server does not wait for a client that does not read a response,
// whether it is the first on its connection or a later one.
func TestSlowReaders(t *testing.T) {
	for _, before := range []int{0, 1, 5} {
		synctest.Test(t, func(t *testing.T) {
			failed := make(chan time.Time, 1)
			l := NewMemListener()
			server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/small" {
					fmt.Fprint(w, "small")
					return
				}
				if _, err := w.Write(make([]byte, 1<<20)); err != nil {
					failed <- time.Now()
				}
			})}
			done := make(chan error, 1)
			go func() { done <- server.Serve(limitConnections(l, 10)) }()
			conn, theirs := net.Pipe()
			l.waiting <- theirs
			defer func() {
				conn.Close()
				server.Close()
				<-done
			}()
			reader := bufio.NewReader(conn)
			for range before {
				fmt.Fprint(conn, "GET /small HTTP/1.1\r\nHost: localhost\r\n\r\n")
				response, err := http.ReadResponse(reader, nil)
				if err != nil {
					t.Fatal(err)
				}
				_, _ = io.ReadAll(response.Body)
				response.Body.Close()
				time.Sleep(time.Second)
			}
			began := time.Now()
			fmt.Fprint(conn, "GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n")
			select {
			case at := <-failed:
				if took := at.Sub(began); took > time.Minute {
					t.Errorf("after %d others: held for %s", before, took)
				}
			case <-time.After(time.Hour):
				t.Errorf("after %d others: held for an hour", before)
			}
		})
	}
}

// TestIsLoopback checks which host names count as this machine.
func TestIsLoopback(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "127.0.0.1": true, "127.255.255.254": true, "::1": true, "[::1]": true, "::ffff:127.0.0.1": true,
		"": false, "localhost.": false, "localhost.evil.com": false, "127.0.0.1.evil.com": false, "0.0.0.0": false, "::": false, "::ffff:10.0.0.1": false,
		"128.0.0.1": false, "evil": false, "127.0.0.1\t": false, "127.0.0.01": false,
	} {
		if got := isLoopback(host); got != want {
			t.Errorf("isLoopback(%q) = %v", host, got)
		}
	}
}

// FuzzIsLoopback checks that only localhost and loopback addresses count as this machine.
func FuzzIsLoopback(f *testing.F) {
	for _, seed := range []string{"localhost:80", "127.0.0.1:80@evil.com", "[::1]:1", "evil.com", "[::1", "http://localhost"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if !isLoopback(hostOf(name)) {
			return
		}
		host := name
		if at := strings.LastIndex(host, ":"); at >= 0 && strings.Trim(host[at+1:], "0123456789") == "" && (strings.HasSuffix(host[:at], "]") || !strings.Contains(host[:at], ":")) {
			host = host[:at]
		}
		if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
			host = host[1 : len(host)-1]
		}
		host, _, _ = strings.Cut(host, "%")
		if ip := net.ParseIP(host); !strings.EqualFold(host, "localhost") && (ip == nil || !ip.IsLoopback()) {
			t.Errorf("%q counts as this machine", name)
		}
	})
}
