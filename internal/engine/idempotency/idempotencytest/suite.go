// Package idempotencytest provides a test suite for implementations of idempotency.Store, and a
// Store in memory.
package idempotencytest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"remit/internal/engine/idempotency"
)

// Suite tests a store. open returns an empty store that lives until the end of its test.
func Suite(t *testing.T, open func(t *testing.T) idempotency.Store) {
	for name, check := range map[string]func(*testing.T, idempotency.Store){
		"a repeat gets the answer":                   repeatGetsAnswer,
		"another request is rejected":                otherRequest,
		"principal, tool and key make an id":         idsAreSeparate,
		"a failure stores nothing":                   failureKeepsNothing,
		"large answers stay whole":                   largeAnswers,
		"a cancelled call does nothing":              cancelled,
		"concurrent Do runs once":                    concurrentDo,
		"a claim is busy, then unknown":              claimLapses,
		"a claim can stay":                           claimLeft,
		"a claim can be given up":                    claimGivenUp,
		"the answer is stored after the caller left": keptAfterCaller,
		"concurrent DoOutside runs once":             concurrentDoOutside,
		"concurrent failures":                        concurrentFailures,
	} {
		t.Run(name, func(t *testing.T) { check(t, open(t)) })
	}
}

// noon is the time of all calls in the suite, and lease the end of its claims.
var (
	noon  = time.Date(2026, 8, 1, 12, 0, 0, 123456000, time.UTC)
	lease = noon.Add(time.Minute)
	id    = idempotency.ID{Owner: "ada", Tool: "tasks/add_task", Key: "k-1"}
)

var errEffect = errors.New("the effect failed")

// doFunc is Do or DoOutside.
type doFunc func(ctx context.Context, id idempotency.ID, request string, effect idempotency.Operation) ([]byte, bool, error)

func methods(s idempotency.Store) map[string]doFunc {
	return map[string]doFunc{
		"do": func(ctx context.Context, id idempotency.ID, request string, effect idempotency.Operation) ([]byte, bool, error) {
			return s.Do(ctx, id, request, noon, effect)
		},
		"outside": func(ctx context.Context, id idempotency.ID, request string, effect idempotency.Operation) ([]byte, bool, error) {
			return s.DoOutside(ctx, id, request, noon, lease, effect)
		},
	}
}

// withEach runs a check with Do and with DoOutside, each with its own keys.
func withEach(t *testing.T, s idempotency.Store, check func(t *testing.T, do doFunc, id idempotency.ID)) {
	for name, do := range methods(s) {
		t.Run(name, func(t *testing.T) {
			own := id
			own.Key = name + "-" + own.Key
			check(t, do, own)
		})
	}
}

func returns(answer string) idempotency.Operation {
	return func(context.Context) ([]byte, error) { return []byte(answer), nil }
}

func never(t *testing.T) idempotency.Operation {
	return func(context.Context) ([]byte, error) {
		t.Error("the effect ran, though it must not")
		return []byte("wrong"), nil
	}
}

func fails(context.Context) ([]byte, error) { return nil, fmt.Errorf("wrapped: %w", errEffect) }

// expect checks the result of a doFunc.
func expect(t *testing.T, answer []byte, replayed bool, err error, want string, wantReplayed bool) {
	t.Helper()
	if err != nil || string(answer) != want || replayed != wantReplayed {
		t.Errorf("got %q, replayed %v, %v; want %q, replayed %v", answer, replayed, err, want, wantReplayed)
	}
}

// find checks the result of Find: the answer, or nothing if want is "".
func find(t *testing.T, s idempotency.Store, id idempotency.ID, want string) {
	t.Helper()
	answer, found, err := s.Find(t.Context(), id, "r", noon)
	if err != nil || string(answer) != want || found != (want != "") {
		t.Errorf("found %q, %v, %v; want %q", answer, found, err, want)
	}
}

func repeatGetsAnswer(t *testing.T, s idempotency.Store) {
	withEach(t, s, func(t *testing.T, do doFunc, id idempotency.ID) {
		find(t, s, id, "")
		answer, replayed, err := do(t.Context(), id, "r", returns(`{"n":1}`))
		expect(t, answer, replayed, err, `{"n":1}`, false)
		find(t, s, id, `{"n":1}`)
		for _, again := range methods(s) {
			answer, replayed, err = again(t.Context(), id, "r", never(t))
			expect(t, answer, replayed, err, `{"n":1}`, true)
		}
	})
}

func otherRequest(t *testing.T, s idempotency.Store) {
	withEach(t, s, func(t *testing.T, do doFunc, id idempotency.ID) {
		answer, replayed, err := do(t.Context(), id, "r", returns("1"))
		expect(t, answer, replayed, err, "1", false)
		if _, found, err := s.Find(t.Context(), id, "other", noon); found || !errors.Is(err, idempotency.ErrKeyReused) {
			t.Errorf("Find: %v, %v", found, err)
		}
		for _, again := range methods(s) {
			if _, _, err := again(t.Context(), id, "other", never(t)); !errors.Is(err, idempotency.ErrKeyReused) {
				t.Errorf("error %v, want ErrOther", err)
			}
		}
		find(t, s, id, "1")
	})
}

func idsAreSeparate(t *testing.T, s idempotency.Store) {
	withEach(t, s, func(t *testing.T, do doFunc, id idempotency.ID) {
		others := []idempotency.ID{id, id, id, id}
		others[1].Owner, others[2].Tool, others[3].Key = "bob", "tasks/delete_task", id.Key+"2"
		for i, other := range others {
			want := strconv.Itoa(i)
			answer, replayed, err := do(t.Context(), other, "r", returns(want))
			expect(t, answer, replayed, err, want, false)
		}
		for i, other := range others {
			find(t, s, other, strconv.Itoa(i))
		}
	})
}

func failureKeepsNothing(t *testing.T, s idempotency.Store) {
	withEach(t, s, func(t *testing.T, do doFunc, id idempotency.ID) {
		if _, _, err := do(t.Context(), id, "r", fails); !errors.Is(err, errEffect) {
			t.Errorf("error %v, want that of the effect", err)
		}
		find(t, s, id, "")
		answer, replayed, err := do(t.Context(), id, "another request, since none was carried out", returns("1"))
		expect(t, answer, replayed, err, "1", false)
	})
}

func largeAnswers(t *testing.T, s idempotency.Store) {
	large := bytes.Repeat([]byte(`"ü\u0000"`), 200_000)
	withEach(t, s, func(t *testing.T, do doFunc, id idempotency.ID) {
		id.Key += strings.Repeat("~", 255-len(id.Key))
		if _, _, err := do(t.Context(), id, "r", returns(string(large))); err != nil {
			t.Fatal(err)
		}
		if answer, found, err := s.Find(t.Context(), id, "r", noon); !bytes.Equal(answer, large) || !found || err != nil {
			t.Errorf("found %d bytes, %v, %v", len(answer), found, err)
		}
	})
}

func cancelled(t *testing.T, s idempotency.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	withEach(t, s, func(t *testing.T, do doFunc, id idempotency.ID) {
		if _, _, err := do(ctx, id, "r", never(t)); err == nil {
			t.Error("a cancelled call went through")
		}
		if _, _, err := s.Find(ctx, id, "r", noon); err == nil {
			t.Error("a cancelled call found something")
		}
		find(t, s, id, "")
	})
}

const racers = 16

// race calls f many times concurrently.
func race(f func(n int)) {
	var all sync.WaitGroup
	start := make(chan struct{})
	for n := range racers {
		all.Go(func() {
			<-start
			f(n)
		})
	}
	close(start)
	all.Wait()
}

// concurrentDo checks that only one answer is kept, although the store may run an effect of Do
// again.
func concurrentDo(t *testing.T, s idempotency.Store) {
	var fresh atomic.Int64
	var answers sync.Map
	race(func(n int) {
		answer, replayed, err := s.Do(t.Context(), id, "r", noon, func(context.Context) ([]byte, error) {
			for range 100 {
				runtime.Gosched() // gives the other goroutines a chance to interleave
			}
			return fmt.Append(nil, n), nil
		})
		if err != nil {
			t.Error(err)
		}
		if !replayed {
			fresh.Add(1)
		}
		answers.Store(string(answer), true)
	})
	different := 0
	answers.Range(func(any, any) bool { different++; return true })
	if fresh.Load() != 1 || different != 1 {
		t.Errorf("%d were carried out, with %d answers; want one", fresh.Load(), different)
	}
}

func claimLapses(t *testing.T, s idempotency.Store) {
	answer, replayed, err := s.DoOutside(t.Context(), id, "r", noon, lease, func(ctx context.Context) ([]byte, error) {
		for now, want := range map[time.Time]error{
			noon: idempotency.ErrBusy, lease.Add(-time.Microsecond): idempotency.ErrBusy,
			lease: idempotency.ErrUnknown,
		} {
			if _, found, err := s.Find(ctx, id, "r", now); found || !errors.Is(err, want) {
				t.Errorf("Find at %v: %v, %v; want %v", now, found, err, want)
			}
			if _, _, err := s.DoOutside(ctx, id, "r", now, now.Add(time.Hour), never(t)); !errors.Is(err, want) {
				t.Errorf("DoOutside at %v: %v; want %v", now, err, want)
			}
		}
		if _, _, err := s.Find(ctx, id, "other", noon); !errors.Is(err, idempotency.ErrKeyReused) {
			t.Errorf("another request: %v", err)
		}
		return []byte("1"), nil // after the lease, but the outcome is known
	})
	expect(t, answer, replayed, err, "1", false)
	find(t, s, id, "1")
}

func claimLeft(t *testing.T, s idempotency.Store) {
	unsure := func(context.Context) ([]byte, error) {
		return nil, fmt.Errorf("%w: %w", idempotency.ErrUnknown, errEffect)
	}
	if _, _, err := s.DoOutside(t.Context(), id, "r", noon, lease, unsure); !errors.Is(err, errEffect) ||
		!errors.Is(err, idempotency.ErrUnknown) {
		t.Errorf("error %v, want that of the effect", err)
	}
	if _, found, err := s.Find(t.Context(), id, "r", noon); found || !errors.Is(err, idempotency.ErrBusy) &&
		!errors.Is(err, idempotency.ErrUnknown) {
		t.Errorf("found %v, %v; want busy or unknown", found, err)
	}
	if _, _, err := s.DoOutside(t.Context(), id, "r", lease, lease.Add(time.Hour), never(t)); !errors.Is(err, idempotency.ErrUnknown) {
		t.Errorf("after the lease: %v, want unknown", err)
	}
}

// claimGivenUp checks that a failed effect gives up its claim even if the context of the caller has
// ended.
func claimGivenUp(t *testing.T, s idempotency.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	_, _, err := s.DoOutside(ctx, id, "r", noon, lease, func(ctx context.Context) ([]byte, error) {
		cancel()
		return fails(ctx)
	})
	if !errors.Is(err, errEffect) {
		t.Errorf("error %v, want that of the effect", err)
	}
	find(t, s, id, "")
}

func keptAfterCaller(t *testing.T, s idempotency.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	answer, replayed, err := s.DoOutside(ctx, id, "r", noon, lease, func(context.Context) ([]byte, error) {
		cancel()
		return []byte("1"), nil
	})
	expect(t, answer, replayed, err, "1", false)
	find(t, s, id, "1")
}

// concurrentDoOutside checks that an effect outside of the store runs once, and that only one call
// reports that it ran it.
func concurrentDoOutside(t *testing.T, s idempotency.Store) {
	var ran, fresh atomic.Int64
	race(func(int) {
		answer, replayed, err := s.DoOutside(t.Context(), id, "r", noon, lease, func(context.Context) ([]byte, error) {
			return fmt.Append(nil, ran.Add(1)), nil
		})
		switch {
		case errors.Is(err, idempotency.ErrBusy):
		case err != nil || string(answer) != "1":
			t.Errorf("answer %q, %v", answer, err)
		case !replayed:
			fresh.Add(1)
		}
	})
	if ran.Load() != 1 || fresh.Load() != 1 {
		t.Errorf("%d ran and %d were reported; want one", ran.Load(), fresh.Load())
	}
}

// concurrentFailures checks that each call gets its own outcome while claims are made and given up,
// and that no two effects of DoOutside run at the same time.
func concurrentFailures(t *testing.T, s idempotency.Store) {
	withEach(t, s, func(t *testing.T, do doFunc, id idempotency.ID) {
		outside := strings.HasPrefix(id.Key, "outside")
		var running, fresh atomic.Int64
		race(func(n int) {
			for range 5 {
				answer, replayed, err := do(t.Context(), id, "r", func(ctx context.Context) ([]byte, error) {
					if running.Add(1) > 1 && outside {
						t.Error("two effects run at once")
					}
					defer running.Add(-1)
					if n > 0 {
						return fails(ctx)
					}
					return []byte("1"), nil
				})
				switch {
				case errors.Is(err, idempotency.ErrBusy), errors.Is(err, errEffect) && n > 0:
				case err != nil || string(answer) != "1":
					t.Errorf("racer %d: answer %q, replayed %v, %v", n, answer, replayed, err)
				case !replayed:
					fresh.Add(1)
				}
			}
		})
		if fresh.Load() > 1 {
			t.Errorf("%d were carried out", fresh.Load())
		}
	})
}
