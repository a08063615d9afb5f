package keyfolder

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"remit/internal/engine/identity"
	"remit/internal/filelock"
)

func (a *Anchor) path() string { return filepath.Join(a.workspace.dir, "anchor") }

func (a *Anchor) mac(key []byte, before string, l line) string {
	fields := append([]string{
		"anchor 1", a.workspace.root, before, strconv.Itoa(l.V), strconv.FormatInt(l.Sequence, 10),
		strconv.FormatInt(l.At, 10), l.Kind,
	}, l.Fields...)
	return identity.Seal(key, fields...)
}

// maxAnchor bounds the size of the file.
const maxAnchor = 16 << 20

// refresh reads what was appended since the last time, or everything if the file is another one.
// The caller holds the mutex.
func (a *Anchor) refresh() error {
	if a.workspace.folder.path == "" {
		a.facts, a.file, a.good = newFacts(), nil, 0
		return nil
	}
	info, err := os.Lstat(a.path())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if a.file != nil {
			a.facts, a.good = nil, 0
			return fmt.Errorf("%s was removed", a.path())
		}
		if a.facts == nil {
			a.facts = newFacts()
		}
		return nil
	case err != nil:
		return fmt.Errorf("read the anchor: %w", err)
	case !info.Mode().IsRegular() || info.Size() > maxAnchor:
		return fmt.Errorf("%s is not a file of ours", a.path())
	}
	isSame := a.facts != nil && a.file != nil && os.SameFile(info, a.file)
	if isSame && info.Size() == a.file.Size() && info.ModTime().Equal(a.file.ModTime()) {
		return nil
	}
	if !isSame || info.Size() < a.good {
		a.facts, a.good = newFacts(), 0
	}
	a.file = info
	if err := a.read(); err != nil {
		a.facts, a.good = nil, 0
		return err
	}
	return nil
}

// read applies the whole lines after those that were read before. A crash can leave a part of a
// line, which nobody has relied on.
func (a *Anchor) read() error {
	key, err := a.workspace.folder.existingKey()
	if err != nil {
		return err
	}
	file, err := os.Open(a.path())
	if err != nil {
		return fmt.Errorf("read the anchor: %w", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.NewSectionReader(file, a.good, maxAnchor))
	if err != nil {
		return fmt.Errorf("read the anchor: %w", err)
	}
	for {
		one, rest, whole := bytes.Cut(text, []byte("\n"))
		if !whole {
			break
		}
		var l line
		if err := json.Unmarshal(one, &l); err != nil || l.MAC != a.mac(key, a.facts.lastMAC, l) || a.facts.apply(l) != nil {
			return fmt.Errorf("%s was changed, or written with another key", a.path())
		}
		a.good += int64(len(one)) + 1
		text = rest
	}
	return nil
}

// write appends text to the file and waits until it is on disk. What a crash left of a line before
// is cut off. The caller holds the lock and the mutex, and has refreshed.
func (a *Anchor) write(text []byte) error {
	file, err := os.OpenFile(a.path(), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err == nil && info.Size() != a.good {
		err = file.Truncate(a.good)
	}
	if err == nil {
		_, err = file.WriteAt(text, a.good)
	}
	if err == nil {
		err = file.Sync()
	}
	if err == nil && a.good == 0 {
		err = filelock.SyncFolder(filepath.Dir(a.path()))
	}
	if err == nil {
		info, err = file.Stat()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	a.file, a.good = info, a.good+int64(len(text))
	return nil
}

const (
	compactAbove = 64 << 10           // bytes
	keepExpired  = 7 * 24 * time.Hour // in case the clock is wrong
	keepNewest   = 200                // keys; in case the clock is very wrong
)

// compact rewrites a large file without what has expired.
func (a *Anchor) compact(key []byte, now time.Time) error {
	if a.good < max(compactAbove, a.tried) {
		return nil
	}
	old := a.facts
	fresh := newFacts()
	fresh.Sequence = old.Sequence
	var text bytes.Buffer
	add := func(at int64, kind string, fields ...string) error {
		l := line{V: 1, Sequence: fresh.Sequence + 1, At: at, Kind: kind, Fields: fields}
		l.MAC = a.mac(key, fresh.lastMAC, l)
		if err := json.NewEncoder(&text).Encode(l); err != nil {
			return err
		}
		return fresh.apply(l)
	}
	if err := old.each(a.workspace.root, now, add); err != nil {
		return err
	}
	if text.Len() > int(a.good)*3/4 { // little would be gained
		a.tried = 2 * a.good
		return nil
	}
	temporary, err := writeTemporary(a.path(), text.Bytes())
	if err == nil {
		err = os.Rename(temporary, a.path())
	}
	if err != nil {
		return fmt.Errorf("compact the anchor: %w", err)
	}
	a.facts, a.file, a.good = nil, nil, 0
	return errors.Join(filelock.SyncFolder(filepath.Dir(a.path())), a.refresh())
}

// each calls add for every fact that still matters.
func (f *facts) each(root string, now time.Time, add func(at int64, kind string, fields ...string) error) error {
	var err error
	at := now.Unix()
	put := func(at int64, kind string, fields ...string) { err = errors.Join(err, add(at, kind, fields...)) }
	put(at, kindRoot, root)
	if f.Place != "" {
		put(at, kindPlace, f.Place)
	}
	if f.Epoch > 0 {
		put(at, kindEpoch, strconv.Itoa(f.Epoch))
	}
	if f.Identity {
		put(at, kindIdentity, "on")
	}
	for location, id := range f.Planned {
		put(at, kindPlan, location, id)
	}
	for location, id := range f.Data {
		put(at, kindData, location, id)
	}
	for key, until := range f.void {
		put(at, kindVoid, key, strconv.FormatInt(until, 10))
	}
	for _, key := range current(f.ended, now) {
		put(f.ended[key].at, kindEnded, key, strconv.FormatInt(f.ended[key].expires, 10))
	}
	used := make(map[string]ending, len(f.uses))
	for key, u := range f.uses {
		used[key] = u.ending
	}
	for _, key := range current(used, now) {
		put(used[key].at, kindUses, key, strconv.Itoa(f.uses[key].number), strconv.FormatInt(used[key].expires, 10))
	}
	return err
}

// current returns the keys that ended and still matter, in order: the newest ones, and those that
// had not expired a week before the newest ones ended. The clock of one moment may be wrong.
func current(ended map[string]ending, now time.Time) []string {
	keys := slices.SortedFunc(maps.Keys(ended), func(x, y string) int { return int(ended[x].sequence - ended[y].sequence) })
	old := len(keys) - keepNewest
	if old <= 0 {
		return keys
	}
	then := min(now.Unix(), ended[keys[old]].at) - int64(keepExpired.Seconds())
	expired := func(key string) bool { e := ended[key]; return e.expires != 0 && e.expires < then }
	return append(slices.DeleteFunc(slices.Clone(keys[:old]), expired), keys[old:]...)
}
