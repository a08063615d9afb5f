package sessions

import (
	"context"
	"crypto/rand"
	"fmt"
)

// write writes down what clients did. What cannot be written now is to be retried.
func (k *Keeper) write(ctx context.Context, all []doings) (retry []doings, err error) {
	store, err := k.open(ctx)
	for i := range all {
		if err == nil {
			err = k.writeOne(ctx, store, &all[i])
		}
		if err != nil {
			return all[i:], fmt.Errorf("keep sessions: %w", err)
		}
	}
	return nil, nil
}

// writeOne writes what one client did, which is empty then, and that it left.
func (k *Keeper) writeOne(ctx context.Context, store Store, d *doings) error {
	if len(d.Files)+len(d.Searches)+len(d.Tasks) > 0 {
		d.NewID = newID()
		session, err := store.Note(ctx, d.Noted)
		if err != nil {
			return err
		}
		d.Files, d.Searches, d.Tasks = nil, nil, nil
		k.learn(d.Key, session.ID)
	}
	if !d.left {
		return nil
	}
	if err := store.End(ctx, d.Key, k.now()); err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.clients, d.Key)
	return nil
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
