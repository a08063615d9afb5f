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

// ear notes what it hears.
type ear struct {
	mu    sync.Mutex
	heard []engine.Change
}

func (e *ear) hear(c engine.Change) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.heard = append(e.heard, c)
}

func (e *ear) expect(t *testing.T, when string, want ...engine.Change) {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	if diff := cmp.Diff(want, e.heard); diff != "" {
		t.Errorf("%s: %s", when, diff)
	}
	e.heard = nil
}

// board is a shelf whose addresses are stamped by a test, which counts the looks.
type board struct {
	fakeShelf
	mu     sync.Mutex
	stamps map[string]string
	looks  atomic.Int64
	slow   atomic.Int64 // how long a look takes
}

func newBoard() *board {
	b := &board{fakeShelf: fakeShelf{scheme: "a"}, stamps: map[string]string{}}
	b.stamp = func(_ context.Context, uri string) (string, error) {
		b.looks.Add(1)
		time.Sleep(time.Duration(b.slow.Load()))
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.stamps[uri], nil
	}
	return b
}

func (b *board) set(uri, stamp string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stamps[uri] = stamp
}

const halfSecond = 500 * time.Millisecond

// rest lets n glances pass, and a little more.
func rest(n int) {
	time.Sleep(time.Duration(n)*halfSecond + time.Millisecond)
	synctest.Wait()
}

func updated(uri string) engine.Change {
	return engine.Change{Kind: engine.ResourceUpdated, URI: uri}
}

// TestAnnounce: what a handler announces reaches whoever listens, while they do.
func TestAnnounce(t *testing.T) {
	r := withPrompts(t, engine.Prompt{Name: "p", Render: func(ctx context.Context, _ map[string]string) ([]engine.Message, error) {
		engine.Announce(ctx, engine.Change{Kind: engine.ToolsChanged})
		return nil, nil
	}})
	var first, second ear
	stopFirst, stopSecond := r.engine.Listen(first.hear), r.engine.Listen(second.hear)
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
	engine.Announce(context.Background(), change) // nobody's call: nothing happens
}

// TestNoLockIsHeldWhileSomebodyHears: whoever hears may come and go meanwhile.
func TestNoLockIsHeldWhileSomebodyHears(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBoard()
		e := withShelf(t, b).engine
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
		rest(3)
		if heard != 1 {
			t.Errorf("heard %d times", heard)
		}
	})
}

func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBoard()
		b.set("a://1", "old")
		e := withShelf(t, b).engine
		var listener ear
		defer e.Listen(listener.hear)()
		one, missing, another := e.Watch("a://1"), e.Watch("a://none"), e.Watch("a://none")
		rest(3)
		listener.expect(t, "nothing has changed")

		b.set("a://1", "new")
		b.set("a://unwatched", "new")
		rest(3)
		listener.expect(t, "one change is told once", updated("a://1"))

		b.set("a://none", "there")
		b.set("a://1", "")
		rest(1)
		listener.expect(t, "what comes and what goes", updated("a://1"), updated("a://none"))

		one()
		another()
		another() // to stop twice does not stop the other watch
		b.set("a://1", "newer")
		b.set("a://none", "other")
		rest(1)
		listener.expect(t, "the other is still watched", updated("a://none"))

		missing()
		looks := b.looks.Load()
		b.set("a://none", "again")
		rest(5)
		listener.expect(t, "nothing is watched")
		if more := b.looks.Load() - looks; more != 0 {
			t.Errorf("%d looks though nothing is watched", more)
		}

		again := e.Watch("a://none")
		rest(1)
		listener.expect(t, "a new watch begins with what is there")
		b.set("a://none", "at last")
		rest(1)
		listener.expect(t, "and goes on", updated("a://none"))
		again()
	}) // which fails if a goroutine is left
}

func TestAChangeRightAfterWatchIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBoard()
		e := withShelf(t, b).engine
		var listener ear
		defer e.Listen(listener.hear)()
		defer e.Watch("a://1")()
		b.set("a://1", "new")
		rest(1)
		listener.expect(t, "before the first glance", updated("a://1"))
	})
}

// TestManyWatchersCostOneLook: also while they come and go all at once.
func TestManyWatchersCostOneLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBoard()
		e := withShelf(t, b).engine
		stops := make([]func(), 1000)
		for i := range stops {
			stops[i] = e.Watch("a://1")
		}
		if looks := b.looks.Swap(0); looks != 1 {
			t.Errorf("%d looks to begin with, want 1", looks)
		}
		rest(10)
		if looks := b.looks.Load(); looks != 10 {
			t.Errorf("%d looks in 5 s, want 10", looks)
		}
		for _, stop := range stops[1:] {
			stop()
		}
		var listener ear
		defer e.Listen(listener.hear)()
		b.set("a://1", "new")
		rest(1)
		listener.expect(t, "the last watcher is still there", updated("a://1"))
		stops[0]()
	})
}

// TestOneGoroutineLooks: also after watches have ended and begun at any moment,
// while it was looking too.
func TestOneGoroutineLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBoard()
		e := withShelf(t, b).engine
		slow := int64(100 * time.Millisecond)
		stop := e.Watch("a://0")
		for i := range 50 {
			b.slow.Store(slow)
			time.Sleep(halfSecond + time.Duration(i)*11*time.Millisecond)
			stop()
			b.slow.Store(0) // the watch begins while the last look is not over
			stop = e.Watch(fmt.Sprintf("a://%d", i%2))
		}
		other := e.Watch("a://other")
		rest(1)
		b.looks.Store(0)
		rest(10)
		if looks := b.looks.Load(); looks != 20 {
			t.Errorf("%d looks at two addresses in 5 s, want 20", looks)
		}
		stop()
		other()
	})
}

// TestNothingIsToldAfterTheLastWatch: though it was being looked at.
func TestNothingIsToldAfterTheLastWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBoard()
		e := withShelf(t, b).engine
		var listener ear
		defer e.Listen(listener.hear)()
		stop := e.Watch("a://1")
		b.set("a://1", "new")
		b.slow.Store(int64(100 * time.Millisecond))
		time.Sleep(halfSecond + 50*time.Millisecond)
		stop()
		rest(1)
		listener.expect(t, "stopped in the middle of a look")
	})
}

func TestWatchersSideBySide(t *testing.T) {
	b := newBoard()
	e := withShelf(t, b).engine
	var listener ear
	defer e.Listen(listener.hear)()
	var all sync.WaitGroup
	for i := range 64 {
		all.Go(func() {
			for j := range 50 {
				uri := fmt.Sprintf("a://%d", (i+j)%5)
				stop := e.Watch(uri)
				b.set(uri, fmt.Sprint(i, j))
				if j%3 == 0 {
					e.Listen(listener.hear)()
				}
				stop()
				stop()
			}
		})
	}
	all.Wait()
	stop := e.Watch("a://last")
	b.set("a://last", "new")
	last := func() bool { // on a busy machine others are heard of before it
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

// TestWatchTheList: it changes when something comes or goes, not when it grows.
func TestWatchTheList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shelf := &fakeShelf{scheme: "a", texts: map[string]string{"a://1": "x"}}
		e := withShelf(t, shelf).engine
		var listener ear
		defer e.Listen(listener.hear)()
		defer e.Watch("")()
		set := func(texts map[string]string) {
			shelf.put(texts)
			rest(1)
		}
		set(map[string]string{"a://1": "longer"})
		listener.expect(t, "one has grown")
		set(map[string]string{"a://1": "longer", "a://2": ""})
		listener.expect(t, "one more", engine.Change{Kind: engine.ResourcesChanged})
		set(map[string]string{"a://2": ""})
		listener.expect(t, "one less", engine.Change{Kind: engine.ResourcesChanged})
	})
}

// TestAStampThatFailsIsNoChange: and the program goes on.
func TestAStampThatFailsIsNoChange(t *testing.T) {
	for name, fail := range map[string]func() (string, error){
		"panic": func() (string, error) { panic("no stamps today") },
		"error": func() (string, error) { return "", errors.New("the database is down") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				broken := atomic.Bool{}
				shelf := &fakeShelf{scheme: "a", stamp: func(context.Context, string) (string, error) {
					if broken.Load() {
						return fail()
					}
					return "same", nil
				}}
				e := withShelf(t, shelf).engine
				var listener ear
				defer e.Listen(listener.hear)()
				defer e.Watch("a://1")()
				broken.Store(true)
				rest(2)
				broken.Store(false)
				rest(2)
				listener.expect(t, "nothing has changed")
			})
		})
	}
}
