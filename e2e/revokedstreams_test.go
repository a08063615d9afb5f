package e2e

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestRevokedStreams checks in both eras that streams opened with a revoked token get no more
// events, while streams of another token of the same user still do.
func TestRevokedStreams(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, nil)
	lost := s.token("--name", "lost", "--scopes", "*", "--user", "ada")
	kept := s.token("--name", "kept", "--scopes", "*", "--user", "ada")
	w := s.serve()
	streams := map[string]<-chan string{
		"GET": w.openSessionStream(lost, "tasks://ada"), "listen": w.openListenStream(lost, "tasks://ada"),
		"GET with another token": w.openSessionStream(kept, "tasks://ada"), "listen with another token": w.openListenStream(kept, "tasks://ada"),
	}
	add := func(title string) {
		t.Helper()
		if got := w.post("/tools/add_task", `{"user_id":"ada","title":`+quoted(title)+`}`, bearer(kept)); got.status != http.StatusOK {
			t.Fatalf("add_task: %d %s", got.status, got.body)
		}
	}
	add("before")
	for name, lines := range streams {
		if !waitForLine(lines, "notifications/resources/updated") {
			t.Fatalf("%s: no event before the token was revoked", name)
		}
	}
	if got := s.remit("token", "revoke", "--root", s.root, "lost"); got.code != 0 {
		t.Fatalf("token revoke: %s", got.errOut)
	}
	time.Sleep(1200 * time.Millisecond) // tokens are checked once a second at most
	add("after")
	for name, lines := range streams {
		if heard, want := waitForLine(lines, "notifications/resources/updated"), strings.HasSuffix(name, "with another token"); heard != want {
			t.Errorf("%s: got the event: %v, want %v", name, heard, want)
		}
	}
	w.end()
}

// openSessionStream opens the event stream of a session that subscribes to a resource.
func (w *httpServer) openSessionStream(token, uri string) <-chan string {
	w.t.Helper()
	header := bearer(token)
	begun := w.post("/mcp", requestLine("1", "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`), header)
	header.Set("Mcp-Session-Id", begun.header.Get("Mcp-Session-Id"))
	if got := w.post("/mcp", requestLine("2", "resources/subscribe", `{"uri":`+quoted(uri)+`}`), header); got.status != http.StatusOK || strings.Contains(string(got.body), `"error"`) {
		w.t.Fatalf("subscribe: %d %s", got.status, got.body)
	}
	r, err := http.NewRequest(http.MethodGet, w.url+"/mcp", http.NoBody)
	w.workspace.check(err)
	r.Header = header.Clone()
	r.Header.Set("Accept", "text/event-stream")
	return w.streamLines(r)
}

// openListenStream opens an event stream of the modern era that subscribes to a resource.
func (w *httpServer) openListenStream(token, uri string) <-chan string {
	w.t.Helper()
	header := modernHeaders("subscriptions/listen", "")
	header.Set("Authorization", "Bearer "+token)
	params := modernParams(`"notifications":{"resourceSubscriptions":[`+quoted(uri)+`]}`, `{}`)
	r, err := newPost(context.Background(), w.url+"/mcp", requestLine("1", "subscriptions/listen", params), header)
	w.workspace.check(err)
	return w.streamLines(r)
}

// streamLines returns the lines of a stream until it or the test ends.
func (w *httpServer) streamLines(r *http.Request) <-chan string {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	response, err := http.DefaultClient.Do(r.WithContext(ctx)) //nolint:bodyclose // the reader closes it
	w.workspace.check(err)
	done, lines := make(chan struct{}), make(chan string, 1000)
	go func() {
		defer close(done)
		defer close(lines)
		defer response.Body.Close()
		for all := bufio.NewScanner(response.Body); all.Scan(); {
			lines <- all.Text()
		}
	}()
	w.t.Cleanup(func() {
		cancel()
		<-done
	})
	if response.StatusCode != http.StatusOK {
		w.t.Fatalf("no stream: %d", response.StatusCode)
	}
	return lines
}

// waitForLine waits for a line that contains a text. It returns false if the stream ends before.
func waitForLine(lines <-chan string, words string) bool {
	for timeout := time.After(timeout); ; {
		select {
		case line, open := <-lines:
			if !open || strings.Contains(line, words) {
				return open
			}
		case <-timeout:
			return false
		}
	}
}
