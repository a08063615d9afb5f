package e2e

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestRevokedStreams: a token that is revoked hears nothing more on streams that it
// opened before, of either era, while another token of the same user does.
func TestRevokedStreams(t *testing.T) {
	t.Parallel()
	s := newSpace(t, nil)
	lost := s.token("--name", "lost", "--scopes", "*", "--user", "ada")
	kept := s.token("--name", "kept", "--scopes", "*", "--user", "ada")
	w := s.serve()
	streams := map[string]<-chan string{
		"GET": w.standing(lost, "tasks://ada"), "listen": w.listening(lost, "tasks://ada"),
		"GET of another": w.standing(kept, "tasks://ada"), "listen of another": w.listening(kept, "tasks://ada"),
	}
	add := func(title string) {
		t.Helper()
		if got := w.post("/tools/add_task", `{"user_id":"ada","title":`+quoted(title)+`}`, bearer(kept)); got.status != http.StatusOK {
			t.Fatalf("add_task: %d %s", got.status, got.body)
		}
	}
	add("before")
	for name, lines := range streams {
		if !hears(lines, "notifications/resources/updated") {
			t.Fatalf("%s: nothing came before it was revoked", name)
		}
	}
	if got := s.remit("token", "revoke", "--root", s.root, "lost"); got.code != 0 {
		t.Fatalf("token revoke: %s", got.errOut)
	}
	time.Sleep(1200 * time.Millisecond) // credentials are looked at once a second at most
	add("after")
	for name, lines := range streams {
		if heard, want := hears(lines, "notifications/resources/updated"), strings.HasSuffix(name, "of another"); heard != want {
			t.Errorf("%s: it heard of the change: %v, want %v", name, heard, want)
		}
	}
	w.end()
}

// standing opens the stream of a session that watches a resource.
func (w *web) standing(token, uri string) <-chan string {
	w.t.Helper()
	header := bearer(token)
	begun := w.post("/mcp", requestLine("1", "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`), header)
	header.Set("Mcp-Session-Id", begun.header.Get("Mcp-Session-Id"))
	if got := w.post("/mcp", requestLine("2", "resources/subscribe", `{"uri":`+quoted(uri)+`}`), header); got.status != http.StatusOK || strings.Contains(string(got.body), `"error"`) {
		w.t.Fatalf("subscribe: %d %s", got.status, got.body)
	}
	r, err := http.NewRequest(http.MethodGet, w.url+"/mcp", http.NoBody)
	w.space.check(err)
	r.Header = header.Clone()
	r.Header.Set("Accept", "text/event-stream")
	return w.lines(r)
}

// listening opens a stream of the modern era that watches a resource.
func (w *web) listening(token, uri string) <-chan string {
	w.t.Helper()
	header := modernHeaders("subscriptions/listen", "")
	header.Set("Authorization", "Bearer "+token)
	params := modernParams(`"notifications":{"resourceSubscriptions":[`+quoted(uri)+`]}`, `{}`)
	r, err := newPost(context.Background(), w.url+"/mcp", requestLine("1", "subscriptions/listen", params), header)
	w.space.check(err)
	return w.lines(r)
}

// lines gives the lines of a stream until it ends, or the test does.
func (w *web) lines(r *http.Request) <-chan string {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	response, err := http.DefaultClient.Do(r.WithContext(ctx)) //nolint:bodyclose // who reads it closes it
	w.space.check(err)
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

// hears waits for a line with these words; false if the stream ends before.
func hears(lines <-chan string, words string) bool {
	for timeout := time.After(patience); ; {
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
