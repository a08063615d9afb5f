package console

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"remit/internal/engine/approval"
	"remit/internal/engine/identity"
)

// listener is a browser that follows what happens.
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

// heard is what came since the last time, and whether the stream has ended.
func (l *listener) heard() (string, bool) {
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	text := l.got.String()
	l.got.Reset()
	return text, l.ended
}

// listen opens the stream of events, in a bubble of time.
func (c *core) listen(t *testing.T, cookie string) *listener {
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

// liveCore is a core whose time is that of the bubble.
func liveCore(t *testing.T) (*core, string) {
	c := newCore(t)
	c.Now = time.Now
	c.now = time.Now()
	c.as(identity.Viewer)
	return c, "session-of-viewer"
}

// says checks what a listener heard.
func (l *listener) says(t *testing.T, want string, wantEnd bool) {
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
	nothingWaits = "event: approvals\ndata: {\"mark\":\"e3b0c44298fc1c14\",\"count\":\"0\"}\n\n"
	oneWaits     = "event: approvals\ndata: {\"mark\":\"fa347eb70a4d91f7\",\"count\":\"1\"}\n\n"
	noCalls      = "event: calls\ndata: {\"mark\":\"0\"}\n\n"
)

func TestEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, cookie := liveCore(t)
		l := c.listen(t, cookie)
		l.says(t, nothingWaits+noCalls, false)
		if l.header.Get("Content-Type") != "text/event-stream" || l.header.Get("X-Accel-Buffering") != "no" {
			t.Errorf("headers: %v", l.header)
		}
		c.ask(t, "r1", "agent:x", "{}")
		time.Sleep(lookEvery)
		l.says(t, oneWaits, false)
		time.Sleep(10 * lookEvery)
		l.says(t, "", false)
		if _, err := c.approvals.Decide(t.Context(), "r1", approval.Verdict{}, time.Now(), time.Now()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(lookEvery)
		l.says(t, nothingWaits, false)
		time.Sleep(aliveEvery)
		l.says(t, ": still here\n\n", false)
		time.Sleep(2 * pagePatience) // what bounds a page does not bound a stream
		l.says(t, strings.Repeat(": still here\n\n", 4), false)
		l.leave()
		l.says(t, "", true)
	})
}

// TestRequestExpiresWhileLookedAt: pages hear of it, and the page of the request says so.
func TestRequestExpiresWhileLookedAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, cookie := liveCore(t)
		c.ask(t, "r1", "agent:x", "{}")
		asked, err := c.approvals.Get(t.Context(), "r1")
		if err != nil {
			t.Fatal(err)
		}
		l := c.listen(t, cookie)
		l.says(t, oneWaits+noCalls, false)
		wants(t, c.as(identity.Viewer)("GET", "/console/approvals/r1/state", nil), 204)
		time.Sleep(time.Until(asked.ExpiresAt) + lookEvery)
		if heard, _ := l.heard(); !strings.HasSuffix(strings.ReplaceAll(heard, ": still here\n\n", ""), nothingWaits) {
			t.Errorf("heard %q", heard)
		}
		wants(t, c.as(identity.Viewer)("GET", "/console/approvals/r1/state", nil), 200, "expired", "Nobody decided in time", "can ask again")
		l.leave()
		l.says(t, "", true)
	})
}

// Each ends by itself, and the last one takes with it what looks for all.
func TestEventsEnd(t *testing.T) {
	for name, end := range map[string]struct {
		do    func(c *core)
		after time.Duration
		says  string
	}{
		"the session is over": {func(c *core) { c.people.mu.Lock(); clear(c.people.cookies); c.people.mu.Unlock() }, aliveEvery, ": still here\n\nevent: end\ndata: signed out\n\n"},
		"signed out": {func(c *core) {
			c.as(identity.Viewer)("POST", "/console/logout", url.Values{})
		}, 0, "event: end\ndata: signed out\n\n"},
		"the server ends": {func(c *core) { c.EndStreams() }, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, cookie := liveCore(t)
				one, two := c.listen(t, cookie), c.listen(t, cookie)
				one.says(t, nothingWaits+noCalls, false)
				two.says(t, nothingWaits+noCalls, false)
				end.do(c)
				time.Sleep(end.after)
				one.says(t, end.says, true)
				two.says(t, end.says, true)
				if c.live.stop != nil || len(c.live.listeners) != 0 {
					t.Error("somebody still looks")
				}
			})
		})
	}
}

// A store that fails for a moment signs nobody out.
func TestEventsOutliveAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, cookie := liveCore(t)
		l := c.listen(t, cookie)
		l.says(t, nothingWaits+noCalls, false)
		c.people.mu.Lock()
		c.people.fail = http.ErrHandlerTimeout
		c.people.mu.Unlock()
		time.Sleep(aliveEvery)
		l.says(t, ": still here\n\n", false)
		l.leave()
		l.says(t, "", true)
	})
}

// What breaks while it looks for everybody does not end the server, and is no calm.
func TestLookingBreaks(t *testing.T) {
	c := newCore(t)
	c.Approvals = func(context.Context) (approval.Store, error) { panic("nobody thought of it") }
	if now := c.lookNow(t.Context()); now.Count() != "?" {
		t.Errorf("it tells %+v", now)
	}
}

// A store that fails is not one in which nothing waits.
func TestWhatCannotBeCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, cookie := liveCore(t)
		c.ask(t, "r1", "agent:x", "{}")
		l := c.listen(t, cookie)
		l.says(t, oneWaits+noCalls, false)
		fail := func(err error) { c.approvals.mu.Lock(); c.approvals.fail = err; c.approvals.mu.Unlock() }
		fail(http.ErrHandlerTimeout)
		time.Sleep(lookEvery)
		l.says(t, "", false)
		late := c.listen(t, cookie) // knows of nothing yet
		late.says(t, noCalls, false)
		w := c.as(identity.Viewer)("GET", "/console/search", nil)
		wants(t, w, 200, `data-waiting><span data-number>?</span>`, "<title>Search · Remit</title>")
		fail(nil)
		c.ask(t, "r2", "agent:x", "{}")
		time.Sleep(lookEvery)
		for _, l := range []*listener{l, late} {
			if heard, _ := l.heard(); !strings.Contains(heard, `"count":"2"`) {
				t.Errorf("heard %q", heard)
			}
			l.leave()
		}
		synctest.Wait()
	})
}

// A page whose session ended while nobody saw it hears that at once, and need not ask again.
func TestEventsOfNobody(t *testing.T) {
	c := newCore(t)
	for _, cookie := range []string{"", c.cookieName() + "=gone"} {
		w := c.send("GET", eventsPath, nil, "Accept", "text/event-stream", "Cookie", cookie)
		if w.Code != 200 || w.Header().Get("Content-Type") != "text/event-stream" || w.Body.String() != endEvent {
			t.Errorf("cookie %q: status %d, %v: %s", cookie, w.Code, w.Header(), w.Body)
		}
		wants(t, c.send("GET", "/console/search", nil, "Accept", "text/event-stream", "Cookie", cookie), 401)
	}
}

func TestOneLooksForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, cookie := liveCore(t)
		open := make([]*listener, maxListeners)
		for i := range open {
			session := "session-" + strconv.Itoa(i/maxOfSession)
			c.people.cookies[session] = identity.Person{Name: "grace", Role: identity.Viewer}
			open[i] = c.listen(t, session)
			if synctest.Wait(); i == maxOfSession-1 {
				c.refuses(t, session, "20 pages of yours follow") // and others still can
			}
		}
		c.refuses(t, cookie, "200 pages follow")
		before := c.approvals.lists()
		time.Sleep(20 * lookEvery)
		synctest.Wait()
		if looks := c.approvals.lists() - before; looks != 20 {
			t.Errorf("looked %d times, want 20 however many listen", looks)
		}
		for _, l := range open {
			l.leave()
		}
		synctest.Wait()
		before = c.approvals.lists()
		time.Sleep(20 * lookEvery)
		if looks := c.approvals.lists() - before; looks != 0 {
			t.Errorf("looked %d times though nobody listens", looks)
		}
		again := c.listen(t, cookie)
		again.says(t, nothingWaits+noCalls, false)
		again.leave()
		again.says(t, "", true)
	})
}

// refuses checks that no other page of a session may follow what happens.
func (c *core) refuses(t *testing.T, session, why string) {
	t.Helper()
	l := c.listen(t, session)
	if said, ended := l.heard(); !ended || l.status != 429 || !strings.Contains(said, why) {
		t.Errorf("ended %v, status %d: %s", ended, l.status, said)
	}
}

// A page that is left open keeps no session alive.
func TestEventsAreNoClicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, cookie := liveCore(t)
		l := c.listen(t, cookie)
		time.Sleep(10 * aliveEvery)
		l.leave()
		if _, ended := l.heard(); !ended || c.people.touches != 0 {
			t.Errorf("ended %v, %d clicks", ended, c.people.touches)
		}
	})
}

func TestCountOfManyIsNotExact(t *testing.T) {
	count := func(waiting int) string { return state{Waiting: waiting, Approvals: "some"}.Count() }
	if got := count(99) + " " + count(maxCounted); got != "99 99+" {
		t.Error(got)
	}
}
