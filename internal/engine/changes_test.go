package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"remit/internal/engine"
)

// recorder stores the changes that it receives.
type recorder struct {
	mu    sync.Mutex
	heard []engine.Change
}

func (e *recorder) notify(c engine.Change) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.heard = append(e.heard, c)
}

func (e *recorder) expect(t *testing.T, when string, want ...engine.Change) {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	if diff := cmp.Diff(want, e.heard); diff != "" {
		t.Errorf("%s: %s", when, diff)
	}
	e.heard = nil
}

// fakeProvider is a resource provider whose stamps the test sets. It counts the calls of Stamp.
type fakeProvider struct {
	textProvider
	mu     sync.Mutex
	stamps map[string]string
	polls  atomic.Int64
	slow   atomic.Int64 // how long a call of Stamp takes
}

func newFakeProvider() *fakeProvider {
	b := &fakeProvider{textProvider: textProvider{scheme: "a"}, stamps: map[string]string{}}
	b.stamp = func(_ context.Context, uri string) (string, error) {
		b.polls.Add(1)
		time.Sleep(time.Duration(b.slow.Load()))
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.stamps[uri], nil
	}
	return b
}

func (b *fakeProvider) set(uri, stamp string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stamps[uri] = stamp
}

const halfSecond = 500 * time.Millisecond

// passPolls lets n poll intervals pass, and a little more.
func passPolls(n int) {
	time.Sleep(time.Duration(n)*halfSecond + time.Millisecond)
	synctest.Wait()
}

func updated(uri string) engine.Change {
	return engine.Change{Kind: engine.ResourceUpdated, URI: uri}
}

// TestAnnounce checks that a change that a handler announces reaches the listeners.
func TestAnnounce(t *testing.T) {
	r := withPrompts(t, engine.Prompt{Name: "p", Render: func(ctx context.Context, _ map[string]string) ([]engine.Message, error) {
		engine.Announce(ctx, engine.Change{Kind: engine.ToolsChanged})
		return nil, nil
	}})
	var first, second recorder
	stopFirst, stopSecond := r.engine.Listen(first.notify), r.engine.Listen(second.notify)
	start := func() {
		if _, _, err := r.engine.StartPrompt(context.Background(), ann, "p", nil); err != nil {
			t.Fatal(err)
		}
	}
	start()
	stopFirst()
	stopFirst()
	start()
	stopSecond()
	start()
	change := engine.Change{Kind: engine.ToolsChanged}
	first.expect(t, "first", change)
	second.expect(t, "second", change, change)
	engine.Announce(context.Background(), change) // not the context of a call: nothing happens
}

// TestListenersMayCallBack checks that a listener may listen, watch and stop while it is called, so
// no lock is held then.
func TestListenersMayCallBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFakeProvider()
		e := withProvider(t, b).engine
		var stop, unwatch func()
		heard := 0
		stop = e.Listen(func(engine.Change) {
			heard++
			e.Watch("a://2")()
			e.Listen(func(engine.Change) {})()
			unwatch()
			stop()
		})
		unwatch = e.Watch("a://1")
		b.set("a://1", "new")
		passPolls(3)
		if heard != 1 {
			t.Errorf("heard %d times", heard)
		}
	})
}

func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFakeProvider()
		b.set("a://1", "old")
		e := withProvider(t, b).engine
		var listener recorder
		defer e.Listen(listener.notify)()
		one, missing, another := e.Watch("a://1"), e.Watch("a://none"), e.Watch("a://none")
		passPolls(3)
		listener.expect(t, "nothing has changed")

		b.set("a://1", "new")
		b.set("a://unwatched", "new")
		passPolls(3)
		listener.expect(t, "one change is announced once", updated("a://1"))

		b.set("a://none", "there")
		b.set("a://1", "")
		passPolls(1)
		listener.expect(t, "what comes and what goes", updated("a://1"), updated("a://none"))

		one()
		another()
		another() // stopping twice does not stop the other watch
		b.set("a://1", "newer")
		b.set("a://none", "other")
		passPolls(1)
		listener.expect(t, "the other is still watched", updated("a://none"))

		missing()
		polls := b.polls.Load()
		b.set("a://none", "again")
		passPolls(5)
		listener.expect(t, "nothing is watched")
		if more := b.polls.Load() - polls; more != 0 {
			t.Errorf("%d polls though nothing is watched", more)
		}

		again := e.Watch("a://none")
		passPolls(1)
		listener.expect(t, "a new watch begins with what is there")
		b.set("a://none", "at last")
		passPolls(1)
		listener.expect(t, "and goes on", updated("a://none"))
		again()
	}) // which fails if a goroutine is left
}

func TestChangeRightAfterWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFakeProvider()
		e := withProvider(t, b).engine
		var listener recorder
		defer e.Listen(listener.notify)()
		defer e.Watch("a://1")()
		b.set("a://1", "new")
		passPolls(1)
		listener.expect(t, "before the first poll", updated("a://1"))
	})
}

// TestWatchersShareOnePoll checks that many watchers of a URI cause one call of Stamp per poll,
// even while watches start and stop.
func TestWatchersShareOnePoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFakeProvider()
		e := withProvider(t, b).engine
		stops := make([]func(), 1000)
		for i := range stops {
			stops[i] = e.Watch("a://1")
		}
		if polls := b.polls.Swap(0); polls != 1 {
			t.Errorf("%d polls to begin with, want 1", polls)
		}
		passPolls(10)
		if polls := b.polls.Load(); polls != 10 {
			t.Errorf("%d polls in 5 s, want 10", polls)
		}
		for _, stop := range stops[1:] {
			stop()
		}
		var listener recorder
		defer e.Listen(listener.notify)()
		b.set("a://1", "new")
		passPolls(1)
		listener.expect(t, "the last watcher is still there", updated("a://1"))
		stops[0]()
	})
}

// TestOneGoroutinePolls checks that only one goroutine polls, even if watches start and stop while
// it does.
func TestOneGoroutinePolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFakeProvider()
		e := withProvider(t, b).engine
		slow := int64(100 * time.Millisecond)
		stop := e.Watch("a://0")
		for i := range 50 {
			b.slow.Store(slow)
			time.Sleep(halfSecond + time.Duration(i)*11*time.Millisecond)
			stop()
			b.slow.Store(0) // the watch begins during the last poll
			stop = e.Watch(fmt.Sprintf("a://%d", i%2))
		}
		other := e.Watch("a://other")
		passPolls(1)
		b.polls.Store(0)
		passPolls(10)
		if polls := b.polls.Load(); polls != 20 {
			t.Errorf("%d polls of two URIs in 5 s, want 20", polls)
		}
		stop()
		other()
	})
}

// TestNoChangeAfterLastWatch checks that nothing is announced once the last watch has stopped, even
// if a poll was under way.
func TestNoChangeAfterLastWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFakeProvider()
		e := withProvider(t, b).engine
		var listener recorder
		defer e.Listen(listener.notify)()
		stop := e.Watch("a://1")
		b.set("a://1", "new")
		b.slow.Store(int64(100 * time.Millisecond))
		time.Sleep(halfSecond + 50*time.Millisecond)
		stop()
		passPolls(1)
		listener.expect(t, "stopped in the middle of a look")
	})
}

func TestConcurrentWatchers(t *testing.T) {
	b := newFakeProvider()
	e := withProvider(t, b).engine
	var listener recorder
	defer e.Listen(listener.notify)()
	var all sync.WaitGroup
	for i := range 64 {
		all.Go(func() {
			for j := range 50 {
				uri := fmt.Sprintf("a://%d", (i+j)%5)
				stop := e.Watch(uri)
				b.set(uri, fmt.Sprint(i, j))
				if j%3 == 0 {
					e.Listen(listener.notify)()
				}
				stop()
				stop()
			}
		})
	}
	all.Wait()
	stop := e.Watch("a://last")
	b.set("a://last", "new")
	last := func() bool { // on a busy machine other changes arrive before it
		listener.mu.Lock()
		defer listener.mu.Unlock()
		return slices.Contains(listener.heard, updated("a://last"))
	}
	for deadline := time.Now().Add(5 * time.Minute); !last() && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
	stop()
	if !last() {
		t.Errorf("heard %v", listener.heard)
	}
}

// TestWatchList checks that the list changes when a resource appears or disappears, but not when
// one grows.
func TestWatchList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		provider := &textProvider{scheme: "a", texts: map[string]string{"a://1": "x"}}
		e := withProvider(t, provider).engine
		var listener recorder
		defer e.Listen(listener.notify)()
		defer e.Watch("")()
		set := func(texts map[string]string) {
			provider.put(texts)
			passPolls(1)
		}
		set(map[string]string{"a://1": "longer"})
		listener.expect(t, "one has grown")
		set(map[string]string{"a://1": "longer", "a://2": ""})
		listener.expect(t, "one more", engine.Change{Kind: engine.ResourcesChanged})
		set(map[string]string{"a://2": ""})
		listener.expect(t, "one less", engine.Change{Kind: engine.ResourcesChanged})
	})
}

// TestFailedStampIsNoChange checks that a stamp that fails or panics neither counts as a change nor
// ends the program.
func TestFailedStampIsNoChange(t *testing.T) {
	for name, fail := range map[string]func() (string, error){
		"panic": func() (string, error) { panic("no stamps today") },
		"error": func() (string, error) { return "", errors.New("the database is down") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				broken := atomic.Bool{}
				provider := &textProvider{scheme: "a", stamp: func(context.Context, string) (string, error) {
					if broken.Load() {
						return fail()
					}
					return "same", nil
				}}
				e := withProvider(t, provider).engine
				var listener recorder
				defer e.Listen(listener.notify)()
				defer e.Watch("a://1")()
				broken.Store(true)
				passPolls(2)
				broken.Store(false)
				passPolls(2)
				listener.expect(t, "nothing has changed")
			})
		})
	}
}
