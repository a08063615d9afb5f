package console

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"remit/internal/engine/approval"
	"remit/internal/engine/audit"
	"remit/internal/engine/audit/auditindex/auditindextest"
	"remit/internal/engine/identity"
)

// listener is a browser that reads the event stream.
type listener struct {
	header http.Header
	leave  context.CancelFunc
	mu     sync.Mutex
	status int
	got    strings.Builder
	ended  bool
}

func (l *listener) Header() http.Header { return l.header }
func (l *listener) Flush()              {}
func (l *listener) WriteHeader(s int)   { l.status = s }

func (l *listener) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.got.Write(b)
}

// heard returns what arrived since the last call, and whether the stream has ended.
func (l *listener) heard() (string, bool) {
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	text := l.got.String()
	l.got.Reset()
	return text, l.ended
}

// listen opens an event stream inside a synctest bubble.
func (c *fixture) listen(t *testing.T, cookie string) *listener {
	ctx, cancel := context.WithCancel(t.Context())
	l := &listener{header: http.Header{}, leave: cancel}
	r := httptest.NewRequest(http.MethodGet, "/console/events", http.NoBody).WithContext(ctx)
	r.Header.Set("Cookie", c.cookieName()+"="+cookie)
	go func() {
		c.mux.ServeHTTP(l, r)
		l.mu.Lock()
		l.ended = true
		l.mu.Unlock()
	}()
	return l
}

// newLiveFixture returns a fixture with the clock of the synctest bubble.
func newLiveFixture(t *testing.T) (*fixture, string) {
	c := newFixture(t)
	c.Now = time.Now
	c.now = time.Now()
	c.as(identity.Viewer)
	return c, "session-of-viewer"
}

// checkHeard checks what a listener received.
func (l *listener) checkHeard(t *testing.T, want string, wantEnd bool) {
	t.Helper()
	got, ended := l.heard()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if ended != wantEnd {
		t.Errorf("ended: %v", ended)
	}
}

const (
	noneWaiting = "event: approvals\ndata: {\"mark\":\"e3b0c44298fc1c14\",\"count\":\"0\",\"newest\":[]}\n\n"
	oneWaiting  = "event: approvals\ndata: {\"mark\":\"fa347eb70a4d91f7\",\"count\":\"1\"," +
		"\"newest\":[{\"id\":\"r1\",\"at\":946684740000000,\"agent\":\"agent:x\",\"title\":\"Do something\"}]}\n\n"
)

// withoutBeats removes the signs of life from what a listener heard.
func withoutBeats(heard string) string { return strings.ReplaceAll(heard, beatEvent, "") }

func TestEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, cookie := newLiveFixture(t)
		l := c.listen(t, cookie)
		l.checkHeard(t, noneWaiting, false)
		if l.header.Get("Content-Type") != "text/event-stream" || l.header.Get("X-Accel-Buffering") != "no" {
			t.Errorf("headers: %v", l.header)
		}
		c.addRequest(t, "r1", "agent:x", "{}")
		time.Sleep(pollInterval)
		l.checkHeard(t, oneWaiting, false)
		time.Sleep(2*beatInterval - pollInterval)
		l.checkHeard(t, beatEvent+beatEvent, false)
		if _, err := c.approvals.Decide(t.Context(), "r1", approval.Verdict{}, time.Now(), time.Now()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(pollInterval)
		l.checkHeard(t, noneWaiting, false)
		time.Sleep(2 * pageTimeout) // the timeout of a page does not apply to a stream
		l.checkHeard(t, strings.Repeat(beatEvent, int(2*pageTimeout/beatInterval)), false)
		l.leave()
		l.checkHeard(t, "", true)
	})
}

// TestBeats checks that no page waits three seconds for a sign of life, however long the store
// takes, and that the session is checked as seldom as before.
func TestBeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, cookie := newLiveFixture(t)
		l := c.listen(t, cookie)
		l.checkHeard(t, noneWaiting, false)
		hang := make(chan struct{})
		c.approvals.mu.Lock()
		c.approvals.hang = hang
		c.approvals.mu.Unlock()
		before := c.people.lookups()
		for range 30 {
			time.Sleep(beatInterval)
			if heard, _ := l.heard(); heard != beatEvent {
				t.Fatalf("heard %q after %s", heard, beatInterval)
			}
		}
		if n := c.people.lookups() - before; n != int(30*beatInterval/sessionInterval) {
			t.Errorf("the session was checked %d times in %s", n, 30*beatInterval)
		}
		close(hang)
		l.leave()
		l.checkHeard(t, "", true)
	})
}

// TestManyWaiting checks that every change among many requests is noticed, and that unchanged
// requests are not read.
func TestManyWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, cookie := newLiveFixture(t)
		for i := range 1000 {
			c.addRequest(t, fmt.Sprintf("r%03d", i), "agent:x", "{}")
		}
		l := c.listen(t, cookie)
		if first, _ := l.heard(); !strings.Contains(first, `"count":"999+","newest":[{"id":"r999",`) || strings.Count(first, `"id"`) != maxNotices {
			t.Errorf("heard %q", first)
		}
		for _, id := range []string{"r000", "r500"} { // neither is among the newest
			if _, err := c.approvals.Decide(t.Context(), id, approval.Verdict{}, time.Now(), time.Now()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(pollInterval)
			if heard, _ := l.heard(); !strings.Contains(heard, "event: approvals") {
				t.Errorf("after the decision on %s: heard %q", id, heard)
			}
		}
		before := c.approvals.lists()
		time.Sleep(20 * pollInterval)
		synctest.Wait()
		if lists := c.approvals.lists(); lists != before {
			t.Errorf("unchanged requests were read %d times", lists-before)
		}
		l.leave()
		l.heard()
	})
}

// TestTopics checks which calls change the marks of tasks, books and memory.
func TestTopics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, cookie := newLiveFixture(t)
		b := auditindextest.NewFolder()
		c.Calls = auditindextest.IndexOf(b, audit.Folder{FS: b}, &auditindextest.Memory{})
		t.Cleanup(c.Calls.Close)
		l := c.listen(t, cookie)
		first, _ := l.heard()
		for _, topic := range []string{"approvals", "calls", "tasks", "books", "memory"} {
			if !strings.Contains(first, "event: "+topic+"\n") {
				t.Errorf("no mark of %s: %q", topic, first)
			}
		}
		for _, call := range []struct{ tool, outcome, topic string }{
			{"tasks/add_task", "ok", "tasks"},
			{"tasks-undo/restore_task", "ok", "tasks"},
			{"books/import", "ok", "books"},
			{"learning-os/write_memory_entry", "ok", "memory"},
			{"tasks/add_task", "conflict", ""},
			{"demo/look", "ok", ""},
			{"context/grep_codebase", "ok", ""},
		} {
			b.Add(call.tool, "ann", call.outcome, time.Second)
			b.Pass(time.Second)
			time.Sleep(2 * pollInterval)
			heard, _ := l.heard()
			want := []string{"calls"}
			if call.topic != "" {
				want = append(want, call.topic)
			}
			var got []string
			for _, m := range regexp.MustCompile(`event: (\w+)`).FindAllStringSubmatch(withoutBeats(heard), -1) {
				got = append(got, m[1])
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s %s (-want +got):\n%s", call.tool, call.outcome, diff)
			}
		}
		l.leave()
		l.heard()
	})
}

// TestReadsChangeNoTopic checks that what a page reads does not make it reload.
func TestReadsChangeNoTopic(t *testing.T) {
	c := newToolFixture(t)
	var reads []string
	for _, tool := range c.Engine.Tools() {
		if tool.Hints.ReadOnly {
			reads = append(reads, tool.ID)
		}
	}
	b := auditindextest.NewFolder()
	for _, id := range reads {
		b.Add(id, "ann", "ok", time.Second)
	}
	c.Calls = auditindextest.IndexOf(b, audit.Folder{FS: b}, &auditindextest.Memory{})
	t.Cleanup(c.Calls.Close)
	if now := c.currentState(t.Context()); len(reads) == 0 || now.topics != (topics{"none", "none", "none"}) {
		t.Errorf("after the reads %v: %+v", reads, now)
	}
}

// TestNoticesQuoteNobody checks that a notice contains the file of a call, shortened and without
// hidden characters, and no other argument.
func TestNoticesQuoteNobody(t *testing.T) {
	c := newFixture(t)
	c.addRequest(t, "r1", "agent:\u202ex", `{"text":"approve me","file":"a\u202e`+strings.Repeat("b", 200)+`","path":7}`)
	want := `[{"id":"r1","at":1785585540000000,"agent":"agent:\\u202ex","title":"Do something","file":"a\\u202e` + strings.Repeat("b", 72) + `…"}]`
	if diff := cmp.Diff(want, c.notices(t.Context())); diff != "" {
		t.Error(diff)
	}
}

// TestRequestExpiresOnOpenPage checks that open pages are notified when a request expires, and that
// its page says so.
func TestRequestExpiresOnOpenPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, cookie := newLiveFixture(t)
		c.addRequest(t, "r1", "agent:x", "{}")
		request, err := c.approvals.Get(t.Context(), "r1")
		if err != nil {
			t.Fatal(err)
		}
		l := c.listen(t, cookie)
		l.checkHeard(t, oneWaiting, false)
		wants(t, c.as(identity.Viewer)("GET", "/console/approvals/r1/state", nil), 204)
		time.Sleep(time.Until(request.ExpiresAt) + pollInterval)
		if heard, _ := l.heard(); !strings.HasSuffix(withoutBeats(heard), noneWaiting) {
			t.Errorf("heard %q", heard)
		}
		wants(t, c.as(identity.Viewer)("GET", "/console/approvals/r1/state", nil), 200, "expired", "Nobody decided in time",
			"can request approval again")
		l.leave()
		l.checkHeard(t, "", true)
	})
}

// TestEventsEnd checks that streams end, and that the last one stops the polling.
func TestEventsEnd(t *testing.T) {
	for name, end := range map[string]struct {
		do    func(c *fixture)
		after time.Duration
		heard string
	}{
		"session ended": {func(c *fixture) { c.people.mu.Lock(); clear(c.people.cookies); c.people.mu.Unlock() }, sessionInterval, strings.Repeat(beatEvent, 7) + endEvent},
		"signed out": {func(c *fixture) {
			c.as(identity.Viewer)("POST", "/console/logout", url.Values{})
		}, 0, "event: end\ndata: signed out\n\n"},
		"server shuts down": {func(c *fixture) { c.EndStreams() }, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, cookie := newLiveFixture(t)
				one, two := c.listen(t, cookie), c.listen(t, cookie)
				one.checkHeard(t, noneWaiting, false)
				two.checkHeard(t, noneWaiting, false)
				end.do(c)
				time.Sleep(end.after)
				one.checkHeard(t, end.heard, true)
				two.checkHeard(t, end.heard, true)
				if c.live.stop != nil || len(c.live.listeners) != 0 {
					t.Error("the polling goroutine still runs")
				}
			})
		})
	}
}

// TestEventsOutliveAFailure checks that a store that fails for a moment does not sign anybody out.
func TestEventsOutliveAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, cookie := newLiveFixture(t)
		l := c.listen(t, cookie)
		l.checkHeard(t, noneWaiting, false)
		c.people.mu.Lock()
		c.people.fail = http.ErrHandlerTimeout
		c.people.mu.Unlock()
		time.Sleep(sessionInterval)
		l.checkHeard(t, strings.Repeat(beatEvent, int(sessionInterval/beatInterval)), false)
		l.leave()
		l.checkHeard(t, "", true)
	})
}

// TestStatePanics checks that a panic while reading the state does not end the server, and does not
// count as "nothing is waiting".
func TestStatePanics(t *testing.T) {
	c := newFixture(t)
	c.Approvals = func(context.Context) (approval.Store, error) { panic("unexpected") }
	if now := c.currentState(t.Context()); now.Count() != "?" {
		t.Errorf("state %+v", now)
	}
}

// TestWaitingCannotBeCounted checks that a failing store does not count as "nothing is waiting".
func TestWaitingCannotBeCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, cookie := newLiveFixture(t)
		c.addRequest(t, "r1", "agent:x", "{}")
		l := c.listen(t, cookie)
		l.checkHeard(t, oneWaiting, false)
		fail := func(err error) { c.approvals.mu.Lock(); c.approvals.fail = err; c.approvals.mu.Unlock() }
		fail(http.ErrHandlerTimeout)
		time.Sleep(pollInterval)
		l.checkHeard(t, "", false)
		late := c.listen(t, cookie) // has received nothing yet
		late.checkHeard(t, "", false)
		w := c.as(identity.Viewer)("GET", "/console/search", nil)
		wants(t, w, 200, `data-waiting><span data-number>?</span>`, "<title>Search · Remit</title>")
		fail(nil)
		c.addRequest(t, "r2", "agent:x", "{}")
		time.Sleep(pollInterval)
		for _, l := range []*listener{l, late} {
			if heard, _ := l.heard(); !strings.Contains(heard, `"count":"2"`) {
				t.Errorf("heard %q", heard)
			}
			l.leave()
		}
		synctest.Wait()
	})
}

// TestEventsWithoutSession checks that a page whose session ended while it was hidden receives the
// end event at once, so that it does not reconnect.
func TestEventsWithoutSession(t *testing.T) {
	c := newFixture(t)
	for _, cookie := range []string{"", c.cookieName() + "=gone"} {
		w := c.send("GET", eventsPath, nil, "Accept", "text/event-stream", "Cookie", cookie)
		if w.Code != 200 || w.Header().Get("Content-Type") != "text/event-stream" || w.Body.String() != endEvent {
			t.Errorf("cookie %q: status %d, %v: %s", cookie, w.Code, w.Header(), w.Body)
		}
		wants(t, c.send("GET", "/console/search", nil, "Accept", "text/event-stream", "Cookie", cookie), 401)
	}
}

func TestOnePollerForAllPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, cookie := newLiveFixture(t)
		open := make([]*listener, maxListeners)
		for i := range open {
			session := "session-" + strconv.Itoa(i/maxPerSession)
			c.people.cookies[session] = identity.Person{Name: "grace", Role: identity.Viewer}
			open[i] = c.listen(t, session)
			if synctest.Wait(); i == maxPerSession-1 {
				// Other sessions still can.
				c.checkRefused(t, session, "20 of your pages already receive live updates")
			}
		}
		c.checkRefused(t, cookie, "200 pages already receive live updates")
		before := c.approvals.polls()
		time.Sleep(20 * pollInterval)
		synctest.Wait()
		if polls := c.approvals.polls() - before; polls != 20 {
			t.Errorf("polled %d times, want 20 for any number of listeners", polls)
		}
		for _, l := range open {
			l.leave()
		}
		synctest.Wait()
		before = c.approvals.polls()
		time.Sleep(20 * pollInterval)
		if polls := c.approvals.polls() - before; polls != 0 {
			t.Errorf("polled %d times without listeners", polls)
		}
		again := c.listen(t, cookie)
		again.checkHeard(t, noneWaiting, false)
		again.leave()
		again.checkHeard(t, "", true)
	})
}

// checkRefused checks that a session cannot open another stream.
func (c *fixture) checkRefused(t *testing.T, session, why string) {
	t.Helper()
	l := c.listen(t, session)
	if said, ended := l.heard(); !ended || l.status != 429 || !strings.Contains(said, why) {
		t.Errorf("ended %v, status %d: %s", ended, l.status, said)
	}
}

// TestEventsAreNotActivity checks that an open page does not keep a session alive.
func TestEventsAreNotActivity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, cookie := newLiveFixture(t)
		l := c.listen(t, cookie)
		time.Sleep(10 * sessionInterval)
		l.leave()
		if _, ended := l.heard(); !ended || c.people.touches != 0 {
			t.Errorf("ended %v, %d clicks", ended, c.people.touches)
		}
	})
}

func TestCountOfManyIsNotExact(t *testing.T) {
	count := func(waiting int) string { return state{Waiting: waiting, Approvals: "some"}.Count() }
	if got := count(999) + " " + count(maxCounted); got != "999 999+" {
		t.Error(got)
	}
}
