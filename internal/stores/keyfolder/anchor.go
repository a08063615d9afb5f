package keyfolder

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"remit/internal/engine/identity"
)

// Anchor holds the facts about a workspace that nobody may undo by replacing its data: which
// database it used, that callers need tokens, and what was revoked or used. It is a file of sealed
// lines that only grows. Each seal covers the seal of the line before it, and the path of the
// workspace, so that lines can be neither changed nor taken from another workspace. All methods are
// safe for concurrent use, also by several processes.
type Anchor struct {
	workspace *Workspace
	mu        sync.Mutex
	facts     *facts
	file      os.FileInfo // the file that the facts are from; nil if there was none
	good      int64       // how many bytes of it are whole lines
	tried     int64       // up to which size it is not tried again to make the file smaller
}

// Anchor returns the anchor of the workspace.
func (w *Workspace) Anchor() *Anchor { return &Anchor{workspace: w} }

// Name tells the anchor from those of other paths and other key folders; "" while there is no key.
func (a *Anchor) Name() string {
	key, err := a.workspace.folder.existingKey()
	if err != nil {
		return ""
	}
	return identity.Seal(key, "name of an anchor", a.workspace.root)[:16]
}

// State is what an anchor says about the workspace as a whole.
type State struct {
	Sequence int64  // the number of lines so far; 0 if there is no anchor
	Place    string // the path that seals of the workspace name, if it is not where it is now
	Epoch    int    // how often all tokens, sessions and approvals were made invalid
	Identity bool   // callers need tokens
	// Data has the id of the database at each location.
	Data map[string]string
	// Planned has the id that a database was about to get when Remit was interrupted.
	Planned map[string]string
}

// The kinds of lines.
const (
	kindRoot     = "root"     // PATH; the first line
	kindPlace    = "place"    // PATH
	kindEpoch    = "epoch"    // NUMBER
	kindIdentity = "identity" // on
	kindPlan     = "plan"     // LOCATION ID
	kindData     = "data"     // LOCATION ID; an empty id forgets the location
	kindEnded    = "ended"    // KEY EXPIRES: what was revoked or used, in Unix seconds, 0 for never
	kindVoid     = "void"     // KEY UNTIL: what was made until then is void, in Unix microseconds
	kindUses     = "uses"     // KEY NUMBER EXPIRES: how often something was used so far
)

// line is one line of the file.
type line struct {
	V        int      `json:"v"`
	Sequence int64    `json:"seq"`
	At       int64    `json:"at"` // Unix seconds
	Kind     string   `json:"kind"`
	Fields   []string `json:"fields"`
	MAC      string   `json:"mac"`
}

// facts is the content of the file.
type facts struct {
	State
	lastMAC string
	ended   map[string]ending
	void    map[string]int64
	uses    map[string]uses
}

// uses is how often something was used.
type uses struct {
	ending
	number int
}

type ending struct{ sequence, at, expires int64 }

func newFacts() *facts {
	return &facts{
		State: State{Data: map[string]string{}, Planned: map[string]string{}}, ended: map[string]ending{}, void: map[string]int64{},
		uses: map[string]uses{},
	}
}

// State returns what the anchor says. The error says that the file cannot be read, or was not
// written with the key of this folder for this workspace.
func (a *Anchor) State() (State, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.refresh(); err != nil {
		return State{}, err
	}
	return a.facts.clone(), nil
}

// DataID returns the id of the storage at a location, or "" if none is known.
func (a *Anchor) DataID(location string) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.refresh(); err != nil {
		return "", err
	}
	return a.facts.Data[location], nil
}

func (s State) clone() State {
	s.Data, s.Planned = cloneMap(s.Data), cloneMap(s.Planned)
	return s
}

func cloneMap(m map[string]string) map[string]string {
	c := make(map[string]string, len(m))
	for k, v := range m {
		c[k] = v
	}
	return c
}

// Ended returns when something was revoked or used; false if it was not.
func (a *Anchor) Ended(key string) (at time.Time, ended bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.refresh(); err != nil {
		return time.Time{}, false, err
	}
	e, ended := a.facts.ended[key]
	return time.Unix(e.at, 0).UTC(), ended, nil
}

// VoidUntil returns the time until which everything that was made under any of the keys is void;
// the zero time if nothing is.
func (a *Anchor) VoidUntil(keys ...string) (latest time.Time, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.refresh(); err != nil {
		return time.Time{}, err
	}
	for _, key := range keys {
		if until, ok := a.facts.void[key]; ok && time.UnixMicro(until).After(latest) {
			latest = time.UnixMicro(until).UTC()
		}
	}
	return latest, nil
}

// End records that something was revoked or used. Nothing needs to know after expires; the zero
// time is never. It returns fresh only to the first of all callers.
func (a *Anchor) End(key string, now, expires time.Time) (fresh bool, err error) {
	err = a.Change(now, func(c *Change) error {
		if _, ended := a.facts.ended[key]; ended {
			return nil
		}
		fresh = true
		until := int64(0)
		if !expires.IsZero() {
			until = expires.Unix() + 1
		}
		return c.append(kindEnded, key, strconv.FormatInt(until, 10))
	})
	return fresh && err == nil, err
}

// EndedWith returns the keys of End that begin with prefix and had not expired, in no order.
func (a *Anchor) EndedWith(prefix string, now time.Time) (keys []string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.refresh(); err != nil {
		return nil, err
	}
	for key, e := range a.facts.ended {
		if strings.HasPrefix(key, prefix) && (e.expires == 0 || e.expires > now.Unix()) {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

// Count records one more use under a key, unless there were limit uses before. It returns how many
// there were, with this one, and whether it was recorded. Nothing needs to know after expires.
func (a *Anchor) Count(key string, limit int, now, expires time.Time) (number int, ok bool, err error) {
	err = a.Change(now, func(c *Change) error {
		number = a.facts.uses[key].number
		if number >= limit {
			return nil
		}
		number, ok = number+1, true
		return c.append(kindUses, key, strconv.Itoa(number), strconv.FormatInt(expires.Unix()+1, 10))
	})
	return number, ok && err == nil, err
}

// Counted returns how many uses were recorded under a key.
func (a *Anchor) Counted(key string) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.refresh(); err != nil {
		return 0, err
	}
	return a.facts.uses[key].number, nil
}

// Void records that everything that was made under a key until then is void.
func (a *Anchor) Void(key string, now, until time.Time) error {
	return a.Change(now, func(c *Change) error { return c.append(kindVoid, key, strconv.FormatInt(until.UnixMicro(), 10)) })
}

// Change is a change of an anchor while no other process changes it.
type Change struct {
	anchor *Anchor
	key    []byte
	now    time.Time
}

// State returns what the anchor says, with the lines of this change.
func (c *Change) State() State { return c.anchor.facts.clone() }

// SetPlace records the path that the seals of the workspace name.
func (c *Change) SetPlace(path string) error { return c.append(kindPlace, path) }

// NextEpoch makes all tokens, sessions and approvals invalid.
func (c *Change) NextEpoch() error {
	return c.append(kindEpoch, strconv.Itoa(c.anchor.facts.Epoch+1))
}

// RequireIdentity records that callers need tokens.
func (c *Change) RequireIdentity() error {
	if c.anchor.facts.Identity {
		return nil
	}
	return c.append(kindIdentity, "on")
}

// PlanData records which id the database at a location is about to get.
func (c *Change) PlanData(location, id string) error { return c.append(kindPlan, location, id) }

// SetData records the id of the database at a location. An empty id forgets the location.
func (c *Change) SetData(location, id string) error { return c.append(kindData, location, id) }

// Import takes over what the anchor of another path of the workspace says, except for its
// databases. Seals go on naming that path.
func (c *Change) Import(from *Anchor) error {
	from.mu.Lock()
	defer from.mu.Unlock()
	if err := from.refresh(); err != nil {
		return err
	}
	place := from.facts.Place
	if place == "" {
		place = from.workspace.root
	}
	if err := c.SetPlace(place); err != nil {
		return err
	}
	return from.facts.each("", c.now, func(_ int64, kind string, fields ...string) error {
		if slices.Contains([]string{kindRoot, kindPlace, kindPlan, kindData}, kind) {
			return nil
		}
		return c.append(kind, fields...)
	})
}

// append adds a line, which is on disk when append returns.
func (c *Change) append(kind string, fields ...string) error {
	f := c.anchor.facts
	l := line{V: 1, Sequence: f.Sequence + 1, At: c.now.Unix(), Kind: kind, Fields: fields}
	l.MAC = c.anchor.mac(c.key, f.lastMAC, l)
	text, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("encode a line: %w", err)
	}
	if err := c.anchor.write(append(text, '\n')); err != nil {
		return fmt.Errorf("write %s: %w", c.anchor.path(), err)
	}
	return f.apply(l)
}

// Change runs change while no other process changes the anchor. It creates the key of the user if
// there is none.
func (a *Anchor) Change(now time.Time, change func(*Change) error) error {
	unlock, err := a.workspace.Lock()
	if err != nil {
		return err
	}
	defer unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.refresh(); err != nil {
		return err
	}
	key, err := a.workspace.folder.Key()
	if err != nil {
		return err
	}
	if err := a.compact(key, now); err != nil {
		return err
	}
	c := &Change{anchor: a, key: key, now: now}
	if a.facts.Sequence == 0 {
		if err := c.append(kindRoot, a.workspace.root); err != nil {
			return err
		}
	}
	err = change(c)
	if err != nil {
		a.facts = nil // some of its lines may be missing
	}
	return err
}

// Replace begins a new anchor in the place of one that cannot be read, which is kept under another
// name. It does nothing if the anchor can be read.
func (a *Anchor) Replace(now time.Time) error {
	if _, err := a.State(); err == nil {
		return nil
	}
	unlock, err := a.workspace.Lock()
	if err != nil {
		return err
	}
	defer unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.facts, a.file, a.good = nil, nil, 0
	err = os.Rename(a.path(), a.path()+".unreadable-"+strconv.FormatInt(now.Unix(), 10))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("replace the anchor: %w", err)
	}
	return nil
}

// Roots returns the paths of the workspaces that have an anchor here. Only reading an anchor proves
// that it is one of that path.
func (f *Folder) Roots() ([]string, error) {
	files, err := filepath.Glob(filepath.Join(f.path, "workspaces", "*", "anchor"))
	if err != nil {
		return nil, fmt.Errorf("list the anchors: %w", err)
	}
	var roots []string
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("list the anchors: %w", err)
		}
		var first line
		if json.NewDecoder(file).Decode(&first) == nil && first.Kind == kindRoot && len(first.Fields) == 1 {
			roots = append(roots, first.Fields[0])
		}
		if err := file.Close(); err != nil {
			return nil, fmt.Errorf("list the anchors: %w", err)
		}
	}
	return roots, nil
}

// apply adds what a line says. It returns an error for a line that says nothing we know.
func (f *facts) apply(l line) error {
	wants := map[string]int{kindRoot: 1, kindPlace: 1, kindEpoch: 1, kindIdentity: 1, kindPlan: 2, kindData: 2, kindEnded: 2, kindVoid: 2, kindUses: 3}
	if n, ok := wants[l.Kind]; !ok || n != len(l.Fields) {
		return fmt.Errorf("a line of the unknown kind %q", l.Kind)
	}
	var number int64
	var err error
	switch l.Kind {
	case kindPlace:
		f.Place = l.Fields[0]
	case kindIdentity:
		f.Identity = true
	case kindPlan:
		f.Planned[l.Fields[0]] = l.Fields[1]
	case kindData:
		delete(f.Planned, l.Fields[0])
		f.Data[l.Fields[0]] = l.Fields[1]
		if l.Fields[1] == "" {
			delete(f.Data, l.Fields[0])
		}
	case kindEpoch:
		f.Epoch, err = strconv.Atoi(l.Fields[0])
	case kindEnded:
		number, err = strconv.ParseInt(l.Fields[1], 10, 64)
		f.ended[l.Fields[0]] = ending{l.Sequence, l.At, number}
	case kindVoid:
		number, err = strconv.ParseInt(l.Fields[1], 10, 64)
		f.void[l.Fields[0]] = max(number, f.void[l.Fields[0]])
	case kindUses:
		var times int
		times, err = strconv.Atoi(l.Fields[1])
		if err == nil {
			number, err = strconv.ParseInt(l.Fields[2], 10, 64)
		}
		f.uses[l.Fields[0]] = uses{ending{l.Sequence, l.At, number}, max(times, f.uses[l.Fields[0]].number)}
	}
	f.Sequence, f.lastMAC = l.Sequence, l.MAC
	return err
}
