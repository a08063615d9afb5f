package sessions

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
)

// write writes down what waits. What cannot be written now waits again. Nobody waits for another who writes any longer than ctx.
func (k *Keeper) write(ctx context.Context) error {
	select {
	case k.writing <- struct{}{}:
		defer func() { <-k.writing }()
	case <-ctx.Done():
		return fmt.Errorf("wait for another who keeps sessions: %w", ctx.Err())
	}
	keys := k.takeKeys()
	if len(keys) == 0 {
		return nil
	}
	store, err := k.open(ctx)
	for i, key := range keys {
		if err == nil {
			err = k.writeOne(ctx, store, key)
		}
		if err != nil {
			k.waitAgain(keys[i:])
			return fmt.Errorf("keep sessions: %w", err)
		}
	}
	return nil
}

func (k *Keeper) takeKeys() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	keys := k.waiting
	k.waiting = nil
	return keys
}

// waitAgain puts keys back before those that have come since.
func (k *Keeper) waitAgain(keys []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	later := slices.DeleteFunc(k.waiting, func(key string) bool { return slices.Contains(keys, key) })
	k.waiting = append(slices.Clone(keys), later...)
}

// writeOne writes what one client did, and that it left.
func (k *Keeper) writeOne(ctx context.Context, store Store, key string) error {
	noted, left, ok := k.take(key)
	if !ok {
		return nil
	}
	if len(noted.Files)+len(noted.Searches)+len(noted.Tasks) > 0 {
		session, err := store.Note(ctx, noted)
		if err != nil {
			k.giveBack(key, &noted)
			return err
		}
		k.learn(key, session.ID)
	}
	if !left {
		return nil
	}
	if err := store.End(ctx, key, k.now()); err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.clients, key)
	return nil
}

// take empties what a client did.
func (k *Keeper) take(key string) (n Noted, left, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	c := k.clients[key]
	if c == nil {
		return n, false, false
	}
	n = Noted{
		Key: key, NewID: newID(), Principal: c.caller.Principal, Client: c.caller.Client, Started: c.started, At: c.last, Idle: Idle,
		Files: c.files, Searches: c.searches, Tasks: c.tasks,
	}
	c.files, c.searches, c.tasks = nil, nil, nil
	return n, c.left, true
}

// giveBack lets what could not be written wait again, together with what was done since.
func (k *Keeper) giveBack(key string, n *Noted) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if c := k.clients[key]; c != nil {
		c.files, c.searches, c.tasks = AddItems(n.Files, c.files), AddItems(n.Searches, c.searches), AddItems(n.Tasks, c.tasks)
	}
}

func (k *Keeper) learn(key, id string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if c := k.clients[key]; c != nil {
		c.id = id
	}
}

// newID makes a random UUID.
func newID() string {
	var b [16]byte
	rand.Read(b[:]) // it never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
