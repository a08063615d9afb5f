package books

import (
	"context"
	"io"
	"iter"

	"remit/internal/contract"
)

// guarded is a store in which files of books that the secret policy denies cannot be reached: every
// operation on them fails, and listings omit them. All operations of a Library go through it.
type guarded struct {
	Store
	secrets *contract.SecretPolicy
}

// check returns an error that names the rule if the policy denies a key.
func (g guarded) check(key string) error {
	_, path, ok := splitKey(key)
	if !ok {
		return nil // the registry, and records of the history, which lines filters
	}
	rule := g.secrets.Rule(path, false)
	if rule == "" {
		return nil
	}
	return contract.Errorf(contract.Denied, "Access denied: %s", key).With("path", key).With("rule", rule)
}

// Open implements Store.
func (g guarded) Open(ctx context.Context, key string) (*Body, error) {
	if err := g.check(key); err != nil {
		return nil, err
	}
	return g.Store.Open(ctx, key)
}

// Stat implements Store.
func (g guarded) Stat(ctx context.Context, key string) (Object, error) {
	if err := g.check(key); err != nil {
		return Object{}, err
	}
	return g.Store.Stat(ctx, key)
}

// Put implements Store.
func (g guarded) Put(ctx context.Context, key string, r io.Reader, size int64, c Cond) (Object, bool, error) {
	if err := g.check(key); err != nil {
		return Object{}, false, err
	}
	return g.Store.Put(ctx, key, r, size, c)
}

// Stage implements Store.
func (g guarded) Stage(ctx context.Context, key string, r io.Reader, size int64) (Staged, error) {
	if err := g.check(key); err != nil {
		return nil, err
	}
	return g.Store.Stage(ctx, key, r, size)
}

// Copy implements Store.
func (g guarded) Copy(ctx context.Context, from, to, hash string) error {
	if err := g.check(from); err != nil {
		return err
	}
	return g.Store.Copy(ctx, from, to, hash)
}

// Delete implements Store.
func (g guarded) Delete(ctx context.Context, key string, c Cond) (bool, error) {
	if err := g.check(key); err != nil {
		return false, err
	}
	return g.Store.Delete(ctx, key, c)
}

// List implements Store.
func (g guarded) List(ctx context.Context, prefix string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		for object, err := range g.Store.List(ctx, prefix) {
			if err == nil && g.check(object.Key) != nil {
				continue
			}
			if !yield(object, err) {
				return
			}
		}
	}
}
