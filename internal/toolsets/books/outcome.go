package books

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"remit/internal/engine/audit"
)

// notRecorded returns the error for a change that was not made because it could not be recorded.
// What became of the record does not matter to the caller.
func notRecorded(err error) error {
	_, unknown := errors.AsType[*UnknownError](err)
	_, pending := errors.AsType[*PendingError](err)
	if unknown || pending || errors.Is(err, ErrUnknown) {
		return fmt.Errorf("record a change: %s", err.Error())
	}
	return err
}

// settle deals with the history record of a change that failed: the record is removed unless the
// change was made. It returns nil if the change was made after all, and otherwise the error for the
// caller, which is a *ConflictError if the change can be tried again. It reports to the step
// whether the change was made, if that is known already.
func (l *Library) settle(ctx context.Context, h location, path, key string, e *entry, step *audit.Step, failed error) error {
	unknown, _ := errors.AsType[*UnknownError](failed)
	_, pending := errors.AsType[*PendingError](failed)
	switch {
	case unknown != nil:
		l.settling.run(key, func() { l.settleLater(context.WithoutCancel(ctx), h, path, key, e, unknown) })
	case errors.Is(failed, ErrUnknown):
		made, err := l.wasMade(ctx, h, path, key, e)
		if err != nil {
			return failed
		}
		if made {
			step.Report(audit.Made)
			return nil
		}
		l.removeRecord(ctx, h, key, step)
		return &ConflictError{}
	case pending, errors.Is(failed, ErrConflict):
		l.removeRecord(ctx, h, key, step)
	default:
		l.repair(ctx, key, func(ctx context.Context) error {
			made, err := l.wasMade(ctx, h, path, key, e)
			switch {
			case err == nil && made:
				step.Report(audit.Made)
			case err == nil:
				err = undo(ctx, h, key, step)
			}
			return err
		})
	}
	return failed
}

// settleLater waits until the outcome of a change is known. It removes the history record if the
// change was not made.
func (l *Library) settleLater(ctx context.Context, h location, path, key string, e *entry, unknown *UnknownError) {
	made, err := unknown.Wait(ctx)
	if errors.Is(err, ErrUnknown) {
		made, err = l.wasMade(ctx, h, path, key, e)
	}
	switch {
	case err != nil:
		l.Log.Warn("cannot find out whether a change of a book was made", "path", h.key(path), "record", key, "error", err)
		return
	case !made:
		l.removeRecord(ctx, h, key, nil)
	}
	l.Log.Info("the outcome of a change of a book is known now", "path", h.key(path), "by", e.By, "made", made)
}

// settling is work in the background on lines of the history.
type settling struct {
	sync.WaitGroup
	mu   sync.Mutex
	keys map[string]int // how much work there is on each line
}

// run starts work on the line with this key.
func (s *settling) run(key string, work func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keys == nil {
		s.keys = map[string]int{}
	}
	s.keys[key]++
	s.Go(func() {
		work()
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.keys[key]--; s.keys[key] == 0 {
			delete(s.keys, key)
		}
	})
}

// has reports whether there is work on the line with this key.
func (s *settling) has(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keys[key] > 0
}

// Settle waits until the outcomes of all changes are known.
func (l *Library) Settle() { l.settling.Wait() }

// wasMade reports whether a change has been made, judging by the content of the file and by the
// lines of later changes. Lines are compared by the clock of the store. It returns ErrUnknown if
// somebody has changed the file without a line.
func (l *Library) wasMade(ctx context.Context, h location, path, key string, e *entry) (bool, error) {
	own, err := h.store.Stat(ctx, key)
	if err != nil {
		return false, err
	}
	now, err := current(ctx, h.store, h.key(path)) // before the lines, so that they explain it
	if err != nil {
		return false, err
	}
	change := &audit.Announced{Change: audit.Change{Old: e.Old, New: e.New}}
	changes := []*audit.Announced{change}
	for object, err := range h.store.List(ctx, logPrefix(h.book.ID, path)+"/") {
		if err != nil {
			return false, err
		}
		at, ok := parseLine(h.book.ID, object.Key)
		isLater := object.Modified.After(own.Modified) || object.Modified.Equal(own.Modified) && at.key > key
		if !ok || at.path != path || !isLater {
			continue
		}
		later, err := l.entryAt(ctx, h, at)
		switch {
		case errors.Is(err, ErrNotFound): // that change was not made
		case err != nil:
			return false, err
		default:
			changes = append(changes, &audit.Announced{Change: audit.Change{Old: later.Old, New: later.New}})
		}
	}
	decide(changes, now.Hash, func(a *audit.Announced) bool { return a == change })
	if change.State == audit.Unknown {
		return false, ErrUnknown
	}
	return change.State == audit.Made, nil
}

// removeRecord removes the history record of a change that was not made, and reports that to the
// step.
func (l *Library) removeRecord(ctx context.Context, h location, key string, step *audit.Step) {
	l.repair(ctx, key, func(ctx context.Context) error { return undo(ctx, h, key, step) })
}

// undo is removeRecord without repeats. While the record is there, recovery has to look.
func undo(ctx context.Context, h location, key string, step *audit.Step) error {
	_, err := h.store.Delete(ctx, key, Cond{})
	if err == nil {
		step.Report(audit.NotMade)
	}
	return err
}

// repair corrects the history, also after the caller has cancelled. If act fails, repair repeats it
// in the background for a minute.
func (l *Library) repair(ctx context.Context, key string, act func(ctx context.Context) error) {
	ctx = context.WithoutCancel(ctx)
	once := func() error {
		const timeout = 10 * time.Second
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		return act(ctx)
	}
	err := once()
	if err == nil {
		return
	}
	l.settling.run(key, func() {
		for wait := time.Second; err != nil && wait < time.Minute; wait *= 2 {
			if pending, ok := errors.AsType[*PendingError](err); ok {
				wait = max(wait, time.Until(pending.Until))
			}
			time.Sleep(wait)
			err = once()
		}
		if err != nil {
			l.Log.Warn("cannot settle the history record of a change that failed", "key", key, "error", err)
		}
	})
}
