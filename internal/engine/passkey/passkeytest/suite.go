// Package passkeytest provides a test suite for implementations of passkey.Store, a store in
// memory, and an authenticator in software.
package passkeytest

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/contracttest"
	"remit/internal/engine/passkey"
)

// Suite tests a store. open returns an empty store that lives until the end of its test.
func Suite(t *testing.T, open func(t *testing.T) passkey.Store) {
	for name, check := range map[string]func(*testing.T, passkey.Store){
		"Add stores every field":              addStores,
		"Add rejects an id that exists":       addRejects,
		"Add alone needs an empty store":      addAlone,
		"concurrent Add alone has one winner": concurrentAlone,
		"Add rejects too many":                addMany,
		"Use changes only what was read":      use,
		"Remove makes room for a first one":   remove,
		"a cancelled call changes nothing":    cancelled,
	} {
		t.Run(name, func(t *testing.T) { check(t, open(t)) })
	}
}

// noon is the time of all calls in the suite. Stores have microsecond precision.
var noon = time.Date(2026, 8, 1, 12, 0, 0, 123456000, time.UTC)

func key(id string) passkey.Passkey {
	return passkey.Passkey{
		ID: id, Person: "console:ada", Name: "phone ü", PublicKey: []byte{0, 1, 255}, SignCount: 1<<32 - 1, Synced: true,
		Transports: "hybrid,internal", Created: noon, Used: noon.Add(time.Second), Seal: "seal of " + id,
	}
}

func addStores(t *testing.T, s passkey.Store) {
	later, bare := key("a1"), key("b2")
	later.Created = noon.Add(time.Hour)
	bare.SignCount, bare.Synced, bare.Transports, bare.Used = 0, false, "", time.Time{}
	add(t, s, later, bare)
	contracttest.Equal(t, list(t, s), []passkey.Passkey{bare, later})
}

func addRejects(t *testing.T, s passkey.Store) {
	add(t, s, key("a1"))
	again := key("a1")
	again.PublicKey = []byte("another")
	contracttest.WantError(t, s.Add(t.Context(), again, false), contract.Conflict, "registered already")
	contracttest.Equal(t, list(t, s), []passkey.Passkey{key("a1")})
}

func addAlone(t *testing.T, s passkey.Store) {
	if err := s.Add(t.Context(), key("a1"), true); err != nil {
		t.Fatal(err)
	}
	contracttest.WantError(t, s.Add(t.Context(), key("b2"), true), contract.Conflict, "confirmed")
	add(t, s, key("c3"), key("d4"))
	if err := s.Remove(t.Context(), "a1"); err != nil {
		t.Fatal(err)
	}
	contracttest.WantError(t, s.Add(t.Context(), key("b2"), true), contract.Conflict, "confirmed")
}

func concurrentAlone(t *testing.T, s passkey.Store) {
	var added atomic.Int32
	contracttest.Concurrently(16, func(i int) {
		err := s.Add(t.Context(), key(fmt.Sprint("k", i)), true)
		switch {
		case err == nil:
			added.Add(1)
		case contract.AsError(err).Kind != contract.Conflict:
			t.Errorf("add: %v", err)
		}
	})
	if n := added.Load(); n != 1 || len(list(t, s)) != 1 {
		t.Errorf("%d first passkeys were added, %d are kept", n, len(list(t, s)))
	}
}

func addMany(t *testing.T, s passkey.Store) {
	for i := range passkey.MaxPasskeys {
		add(t, s, key(fmt.Sprint("k", i)))
	}
	contracttest.WantError(t, s.Add(t.Context(), key("one too many"), false), contract.Limited, "100")
}

func use(t *testing.T, s passkey.Store) {
	first := key("a1")
	first.SignCount = 7
	add(t, s, first, key("b2"))
	used := first
	used.SignCount, used.Used, used.Seal = 8, noon.Add(time.Minute), "new"
	if ok, err := s.Use(t.Context(), used, 6); ok || err != nil {
		t.Errorf("with another counter before: stored %v, error %v", ok, err)
	}
	if ok, err := s.Use(t.Context(), used, 7); !ok || err != nil {
		t.Errorf("stored %v, error %v", ok, err)
	}
	if ok, err := s.Use(t.Context(), used, 7); ok || err != nil {
		t.Errorf("the second use with one counter: stored %v, error %v", ok, err)
	}
	used.Name = first.Name // nothing else changes
	contracttest.Equal(t, list(t, s), []passkey.Passkey{used, key("b2")})
	if ok, err := s.Use(t.Context(), key("unknown"), 0); ok || err != nil {
		t.Errorf("an unknown passkey: stored %v, error %v", ok, err)
	}
}

func remove(t *testing.T, s passkey.Store) {
	if err := s.Add(t.Context(), key("a1"), true); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"unknown", "a1", "a1"} {
		if err := s.Remove(t.Context(), id); err != nil {
			t.Errorf("remove %s: %v", id, err)
		}
	}
	if err := s.Add(t.Context(), key("b2"), true); err != nil {
		t.Errorf("a first one after the removal: %v", err)
	}
}

func cancelled(t *testing.T, s passkey.Store) {
	add(t, s, key("a1"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, err := range map[string]error{
		"Add": s.Add(ctx, key("b2"), false), "Remove": s.Remove(ctx, "a1"),
	} {
		if err == nil {
			t.Errorf("%s succeeds", name)
		}
	}
	contracttest.Equal(t, list(t, s), []passkey.Passkey{key("a1")})
}

func add(t *testing.T, s passkey.Store, keys ...passkey.Passkey) {
	t.Helper()
	for _, k := range keys {
		if err := s.Add(t.Context(), k, false); err != nil {
			t.Fatalf("add %s: %v", k.ID, err)
		}
	}
}

func list(t *testing.T, s passkey.Store) []passkey.Passkey {
	t.Helper()
	all, err := s.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return all
}
