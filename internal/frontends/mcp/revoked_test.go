package mcp_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestRevoked checks that open streams of both eras send nothing after the token was revoked; a
// quiet one ends at its next keep-alive.
func TestRevoked(t *testing.T) {
	for _, news := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var revoked atomic.Bool
			r := newRig(t, setup{memNetwork: true})
			r.http.StillAllowed = func(q *http.Request) bool { return !revoked.Load() || q.Header.Get(principalHeader) != "eve" }
			const who, eve = principalHeader, "eve"
			theirs, mine := r.initialize("2025-11-25", allThree, who, eve), r.initialize("2025-11-25", `{}`)
			body := modern(1, listens, `"notifications":{"toolsListChanged":true}`, `{}`)
			streams := []*stream{theirs.get(who, eve), r.listen(body, who, eve)}
			standing, listening := mine.get(), r.listen(body)
			streams[1].next()
			listening.next()

			time.Sleep(2 * time.Second)
			r.change()
			for _, s := range append(streams, standing, listening) {
				if got := s.next(); !strings.Contains(got.data, "tools/list_changed") {
					t.Errorf("before it was revoked: %+v", got)
				}
			}
			revoked.Store(true)
			time.Sleep(2 * time.Second)
			if news {
				r.change()
			} else {
				time.Sleep(15 * time.Second)
			}
			synctest.Wait()
			for i, s := range streams {
				if got := s.ended(); len(got) > 0 {
					t.Errorf("stream %d still gets %+v", i, got)
				}
			}
			r.change()
			for _, s := range []*stream{standing, listening} {
				if got := s.next(); !strings.Contains(got.data, "tools/list_changed") {
					t.Errorf("another client: %+v", got)
				}
			}
		})
	}
}

// TestRevokedDuringCall checks the same for the stream of a running call.
func TestRevokedDuringCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var revoked atomic.Bool
		r := newRig(t, setup{memNetwork: true})
		r.http.StillAllowed = func(*http.Request) bool { return !revoked.Load() }
		s := r.initialize("2025-11-25", allThree)
		stream := s.start(call(1, "test_elicitation", `{"message":"m"}`))
		question := stream.next()
		revoked.Store(true)
		time.Sleep(2 * time.Second)
		s.post(answerTo(question))
		if got := stream.ended(); len(got) > 0 {
			t.Errorf("there was a response: %+v", got)
		}
	})
}

// change causes a notification to all subscribers.
func (r *rig) change() {
	r.t.Helper()
	r.ask(modern(1, "tools/call", `"name":"test_trigger_tool_change","arguments":{}`, `{}`)).want(r.t, "change", http.StatusOK, nil)
}
