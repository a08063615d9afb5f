package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"remit/internal/engine/audit"
	"remit/internal/stores/keyfolder"
	"remit/internal/stores/sqlstore"
	"remit/internal/stores/workspace"
)

// tipInterval is how long the newest record may be unknown outside the workspace.
const tipInterval = time.Second

// tipKeeper keeps the newest audit record in the key folder, so that records cut off at the end are
// noticed. A shared database has its own chain, and no tip.
type tipKeeper struct {
	records audit.Reader
	keys    *keyfolder.Workspace
	folder  string // of the records, as Tip.Place has it
	// hold is holdFiles.
	hold  func(context.Context) (newest string, release func() error, err error)
	place func() error // returns an error if the folder of the records is gone
	now   func() time.Time
	log   *slog.Logger

	waiting atomic.Bool // a record was written that is not in the key folder
	mu      sync.Mutex
	timer   *time.Timer
}

// newClock returns the clock by which tokens, links and approvals of the workspace expire.
func (a *App) newClock() *steadyClock {
	return &steadyClock{newest: func() (newest time.Time) {
		// CheckTip reports the error.
		if tip, err := a.keys.Workspace(a.anchor.root).Tip(); err == nil && tip.Time > 0 {
			newest = time.Unix(tip.Time, 0)
		}
		return newest
	}}
}

// touch notes that a record was written.
func (k *tipKeeper) touch() {
	if k == nil || k.waiting.Load() || k.waiting.Swap(true) {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.timer = time.AfterFunc(tipInterval, func() { _ = k.keep() }) // the next one tries again
}

// close stores the newest record.
func (k *tipKeeper) close() {
	if k == nil || !k.waiting.Load() {
		return
	}
	k.mu.Lock()
	if k.timer != nil {
		k.timer.Stop()
	}
	k.mu.Unlock()
	if err := k.keep(); err != nil {
		k.log.Debug("the newest audit record is not known outside the workspace", "error", err)
	}
}

// keep stores the newest record that is in the files.
func (k *tipKeeper) keep() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.waiting.Store(false)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	old, err := k.known() // another process may have stored or forgotten it
	if err != nil {
		return err
	}
	cut := old.Cut
	if missing := k.find(ctx, old); missing != nil && cut == "" {
		if err := k.place(); err != nil {
			return err
		}
		k.log.Warn("audit records are missing", "error", missing)
		cut = k.now().UTC().Format(time.RFC3339) + ": " + missing.Error()
	}
	newest, err := k.newest(ctx)
	if err != nil || newest == (keyfolder.Tip{}) {
		return err
	}
	newest.Cut, newest.Time = cut, max(old.Time, k.now().Unix())
	if newest == old {
		return nil
	}
	return k.keys.SetTip(newest)
}

// newest returns the Tip of the last record in the files, or the zero Tip if they have none. It
// waits until the records that are being written are stored: if the disk is full, they are taken
// back.
func (k *tipKeeper) newest(ctx context.Context) (t keyfolder.Tip, err error) {
	day, release, err := k.hold(ctx)
	if err != nil {
		return t, err
	}
	var lines []audit.Line
	if day != "" {
		lines, err = k.records.Before(ctx, day, math.MaxInt64, 1)
	}
	if err = errors.Join(err, release()); err != nil || len(lines) == 0 {
		return t, err
	}
	return keyfolder.Tip{Place: k.folder, Day: day, End: lines[0].Next, Hash: audit.HashOf(lines[0].Text)}, nil
}

// known returns the tip of these records. The Day is empty if no tip is stored.
func (k *tipKeeper) known() (keyfolder.Tip, error) {
	t, err := k.keys.Tip()
	if t.Place != "" && t.Place != k.folder {
		t = keyfolder.Tip{Time: t.Time} // of another --data
	}
	return t, err
}

// placeOfRecords returns a short name for the folder of the records.
func placeOfRecords(data string) string {
	sum := sha256.Sum256([]byte(workspace.RealPath(data)))
	return hex.EncodeToString(sum[:8])
}

// find returns an error if the record of a tip is not in the files.
func (k *tipKeeper) find(ctx context.Context, t keyfolder.Tip) error {
	if t.Day == "" {
		return nil
	}
	lines, err := k.records.Before(ctx, t.Day, t.End, 1)
	if err == nil && (len(lines) == 0 || lines[0].Next != t.End || audit.HashOf(lines[0].Text) != t.Hash) {
		err = fmt.Errorf("records of %s are missing at the end, up to byte %d with the hash %s", t.Day, t.End, t.Hash)
	}
	return err
}

// CheckTip returns an error if audit records are missing at the end, or were when it was first
// noticed.
func (a *App) CheckTip(ctx context.Context) error {
	if a.tips == nil {
		return sqlstore.Source(a.database.open).CheckEnd(ctx)
	}
	if err := a.tips.place(); err != nil {
		return err
	}
	tip, err := a.tips.known()
	if err == nil {
		err = a.tips.find(ctx, tip)
	}
	if err == nil && tip.Cut != "" {
		err = fmt.Errorf("noticed at %s", tip.Cut)
	}
	return err
}
