package keyfolder

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var noon = time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC)

// anchorOf returns the anchor of a path in a new key folder, and another process's view of it.
func anchorOf(t *testing.T, root string) (a, other *Anchor) {
	t.Helper()
	f := Find(filepath.Join(t.TempDir(), "keys"), noEnv)
	return f.Workspace(root).Anchor(), f.Workspace(root).Anchor()
}

func mustState(t *testing.T, a *Anchor) State {
	t.Helper()
	s, err := a.State()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// end ends a key, and reports whether it was the first to do so.
func end(t *testing.T, a *Anchor, key string, now, expires time.Time) bool {
	t.Helper()
	fresh, err := a.End(key, now, expires)
	if err != nil {
		t.Fatal(err)
	}
	return fresh
}

// TestAnchorOfTwoProcesses checks that each process sees what the other records.
func TestAnchorOfTwoProcesses(t *testing.T) {
	a, b := anchorOf(t, "/work")
	if s := mustState(t, a); s.Sequence != 0 || s.Identity {
		t.Errorf("a new anchor says %+v", s)
	}
	err := a.Change(noon, func(c *Change) error {
		for _, err := range []error{c.PlanData("sqlite:///db", "id"), c.SetData("sqlite:///db", "id"), c.RequireIdentity(), c.NextEpoch()} {
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if s := mustState(t, b); s.Data["sqlite:///db"] != "id" || len(s.Planned) > 0 || !s.Identity || s.Epoch != 1 {
		t.Errorf("the other process sees %+v", s)
	}
	if !end(t, b, "token 1", noon, time.Time{}) || end(t, a, "token 1", noon, time.Time{}) {
		t.Error("the first to end a key must be the only one")
	}
	if at, ended, err := a.Ended("token 1"); err != nil || !ended || !at.Equal(noon) {
		t.Errorf("ended %v at %v, error %v", ended, at, err)
	}
	if err := b.Void("ann", noon, noon.Add(time.Microsecond)); err != nil {
		t.Fatal(err)
	}
	if until, err := a.VoidUntil("bob", "ann"); err != nil || !until.Equal(noon.Add(time.Microsecond)) {
		t.Errorf("void until %v, error %v", until, err)
	}
}

// TestOneOfManyEnds lets processes end the same keys at the same time. Exactly one must be first.
func TestOneOfManyEnds(t *testing.T) {
	a, b := anchorOf(t, "/work")
	const rounds = 50
	var first [rounds]atomic.Int32
	var all sync.WaitGroup
	for _, one := range []*Anchor{a, b, a, b} {
		all.Go(func() {
			for i := range rounds {
				fresh, err := one.End(fmt.Sprint("approval ", i), noon, noon.Add(time.Hour))
				if err != nil {
					t.Error(err)
				}
				if fresh {
					first[i].Add(1)
				}
			}
		})
	}
	all.Wait()
	for i := range rounds {
		if n := first[i].Load(); n != 1 {
			t.Errorf("%d were first to end key %d", n, i)
		}
	}
}

// TestCountedUses lets processes use the same thing at the same time. There are never more uses
// than the limit, and they are known after the file was made smaller.
func TestCountedUses(t *testing.T) {
	a, b := anchorOf(t, "/work")
	const limit = 20
	var used atomic.Int32
	var all sync.WaitGroup
	for _, one := range []*Anchor{a, b, a, b} {
		all.Go(func() {
			for range limit {
				number, ok, err := one.Count("rule 1", limit, noon, noon.Add(time.Hour))
				if err != nil || number < 1 || number > limit {
					t.Errorf("use %d, error %v", number, err)
				}
				if ok {
					used.Add(1)
				}
			}
		})
	}
	all.Wait()
	if n := used.Load(); n != limit {
		t.Errorf("%d uses of %d", n, limit)
	}
	end(t, a, "denial x 1", noon, noon.Add(time.Hour))
	end(t, a, "denial y 1", noon, noon.Add(time.Hour))
	if keys, err := b.EndedWith("denial x ", noon); err != nil || len(keys) != 1 || keys[0] != "denial x 1" {
		t.Errorf("ended %q, error %v", keys, err)
	}
	if keys, err := b.EndedWith("denial x ", noon.Add(2*time.Hour)); err != nil || len(keys) != 0 {
		t.Errorf("ended after expiry: %q, error %v", keys, err)
	}
	for i := range 500 { // compacts the file
		if _, ok, err := a.Count("rule 2", 1000, noon, noon.Add(time.Hour)); !ok || err != nil {
			t.Fatalf("use %d: %v", i, err)
		}
	}
	if info, err := os.Stat(a.path()); err != nil || info.Size() > compactAbove+4096 {
		t.Errorf("it has %d bytes, error %v", info.Size(), err)
	}
	for key, want := range map[string]int{"rule 1": limit, "rule 2": 500, "rule 3": 0} {
		if n, err := b.Counted(key); err != nil || n != want {
			t.Errorf("%s was used %d times, want %d, error %v", key, n, want, err)
		}
	}
}

// TestForgedAnchor changes the file in every way that does not need the key. Each must be an error,
// except for a cut at the end, which only the database can tell.
func TestForgedAnchor(t *testing.T) {
	lines := func(text []byte) [][]byte {
		return bytes.SplitAfter(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
	}
	for name, forge := range map[string]func(text []byte) []byte{
		"a changed field":    func(text []byte) []byte { return bytes.Replace(text, []byte("token 1"), []byte("token 9"), 1) },
		"a changed time":     func(text []byte) []byte { return bytes.Replace(text, []byte(`"at":`), []byte(`"at":1`), 1) },
		"the first line cut": func(text []byte) []byte { return bytes.Join(lines(text)[1:], nil) },
		"a line cut out": func(text []byte) []byte {
			l := lines(text)
			return bytes.Join([][]byte{l[0], l[2], []byte("\n")}, nil)
		},
		"two lines swapped": func(text []byte) []byte { l := lines(text); return bytes.Join([][]byte{l[0], l[2], l[1]}, nil) },
		"a line twice":      func(text []byte) []byte { l := lines(text); return append(append(text, l[2]...), '\n') },
		"a line of our own": func(text []byte) []byte {
			return append(text, `{"v":1,"seq":4,"at":1,"kind":"ended","fields":["token 3","0"],"mac":""}`+"\n"...)
		},
		"no JSON": func(text []byte) []byte { return append(text, "x\n"...) },
	} {
		t.Run(name, func(t *testing.T) {
			a, fresh := anchorOf(t, "/work")
			end(t, a, "token 1", noon, time.Time{})
			end(t, a, "token 2", noon, time.Time{})
			text, err := os.ReadFile(a.path())
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(a.path(), forge(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if s, err := fresh.State(); err == nil {
				t.Errorf("it was accepted: %+v", s)
			}
			if _, err := fresh.End("token 3", noon, time.Time{}); err == nil {
				t.Error("it was extended")
			}
		})
	}
}

// TestAnchorOfAnotherPlace checks that an anchor counts only for its path and its key, and that one
// that was removed is missed by those who have seen it.
func TestAnchorOfAnotherPlace(t *testing.T) {
	a, _ := anchorOf(t, "/work")
	end(t, a, "token 1", noon, time.Time{})
	text, err := os.ReadFile(a.path())
	if err != nil {
		t.Fatal(err)
	}
	other := a.workspace.folder.Workspace("/other").Anchor()
	foreign, _ := anchorOf(t, "/work")
	end(t, foreign, "token 2", noon, time.Time{})
	for name, target := range map[string]*Anchor{"another path": other, "another key": foreign.workspace.Anchor()} {
		if err := os.MkdirAll(filepath.Dir(target.path()), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(target.path(), text, 0o600); err != nil {
			t.Fatal(err)
		}
		if s, err := target.State(); err == nil {
			t.Errorf("%s: it was accepted: %+v", name, s)
		}
	}
	if err := os.Remove(a.path()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if s, err := a.State(); err == nil {
			t.Errorf("nobody misses it: %+v", s)
		}
	}
	if err := a.Replace(noon); err != nil {
		t.Fatal(err)
	}
	if s := mustState(t, a); s.Sequence != 0 {
		t.Errorf("replaced, it says %+v", s)
	}
}

// TestLineCutByCrash checks that a part of a line, which a crash left, is neither read nor in the
// way.
func TestLineCutByCrash(t *testing.T) {
	a, b := anchorOf(t, "/work")
	end(t, a, "token 1", noon, time.Time{})
	file, err := os.OpenFile(a.path(), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString(`{"v":1,"seq":3,"at`); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	if !end(t, b, "token 2", noon, time.Time{}) || end(t, a, "token 2", noon, time.Time{}) {
		t.Error("the line after it is lost")
	}
}

// TestAnchorStaysSmall checks that what has expired is dropped after a while, but not because the
// clock jumped.
func TestAnchorStaysSmall(t *testing.T) {
	a, b := anchorOf(t, "/work")
	end(t, a, "token revoked", noon, time.Time{})
	if err := a.Change(noon, func(c *Change) error { return c.SetPlace("/old") }); err != nil {
		t.Fatal(err)
	}
	const many = 500
	for i := range many {
		end(t, a, fmt.Sprint("approval ", i), noon, noon.Add(time.Hour))
	}
	years := noon.AddDate(10, 0, 0)
	end(t, b, "approval in ten years", years, years.Add(time.Hour))
	for _, key := range []string{"token revoked", "approval 0", "approval 499"} {
		if end(t, b, key, noon, noon.Add(time.Hour)) {
			t.Errorf("%s was dropped when the clock jumped", key)
		}
	}
	month := noon.AddDate(0, 1, 0)
	for i := range keepNewest {
		end(t, b, fmt.Sprint("later ", i), month, month.Add(time.Hour))
	}
	before := mustState(t, b).Sequence
	fresh := a.workspace.Anchor()
	end(t, fresh, "last", month, month.Add(time.Hour))
	if end(t, fresh, "token revoked", month, time.Time{}) || end(t, fresh, "later 0", month, time.Time{}) {
		t.Error("what still matters was dropped")
	}
	if _, ended, err := a.Ended("approval 0"); err != nil || ended {
		t.Errorf("what has expired was not dropped: %v", err)
	}
	info, err := os.Stat(a.path())
	if err != nil || info.Size() > compactAbove {
		t.Errorf("it has %d bytes, error %v", info.Size(), err)
	}
	if s := mustState(t, a); s.Place != "/old" || s.Sequence <= before {
		t.Errorf("it says %+v after line %d", s, before)
	}
	if roots, err := a.workspace.folder.Roots(); err != nil || len(roots) != 1 || roots[0] != "/work" {
		t.Errorf("anchors of %v, error %v", roots, err)
	}
}

// TestImport checks that a workspace that was moved keeps everything but its databases.
func TestImport(t *testing.T) {
	a, _ := anchorOf(t, "/work")
	end(t, a, "token 1", noon, time.Time{})
	if err := a.Change(noon, func(c *Change) error {
		if err := c.NextEpoch(); err != nil {
			return err
		}
		return c.SetData("sqlite:///db", "id")
	}); err != nil {
		t.Fatal(err)
	}
	moved := a.workspace.folder.Workspace("/new").Anchor()
	if err := moved.Change(noon, func(c *Change) error { return c.Import(a) }); err != nil {
		t.Fatal(err)
	}
	if s := mustState(t, moved); s.Place != "/work" || s.Epoch != 1 || len(s.Data) > 0 || end(t, moved, "token 1", noon, time.Time{}) {
		t.Errorf("the new anchor says %+v", s)
	}
}

// FuzzAnchor reads arbitrary files in the place of an anchor.
func FuzzAnchor(f *testing.F) {
	f.Add([]byte("{}\n"))
	f.Add([]byte(`{"v":1,"seq":1,"at":1,"kind":"root","fields":["/work"],"mac":""}` + "\n"))
	folder := Find(filepath.Join(f.TempDir(), "keys"), noEnv)
	seed := folder.Workspace("/work").Anchor()
	if _, err := seed.End("token 1", noon, time.Time{}); err != nil {
		f.Fatal(err)
	}
	good, err := os.ReadFile(seed.path())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Fuzz(func(t *testing.T, text []byte) {
		a := folder.Workspace("/work").Anchor()
		if err := os.WriteFile(a.path(), text, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := a.State()
		whole := text[:bytes.LastIndexByte(text, '\n')+1]
		if err == nil && s.Sequence > 0 && !bytes.HasPrefix(good, whole) {
			// Spaces between the fields are not sealed; what they say is.
			if _, ended, _ := a.Ended("token 1"); ended != (s.Sequence == 2) || s.Sequence > 2 {
				t.Errorf("%q was accepted as %+v", text, s)
			}
		}
	})
}

// TestTip checks that a newer tip replaces an older one, and that a changed one is an error.
func TestTip(t *testing.T) {
	a, _ := anchorOf(t, "/work")
	w := a.workspace
	if tip, err := w.Tip(); err != nil || tip != (Tip{}) {
		t.Errorf("no tip: %+v, error %v", tip, err)
	}
	if err := w.SetTip(Tip{Day: "2026-01-09"}); err == nil {
		t.Error("a tip was stored without a key")
	}
	end(t, a, "x", noon, time.Time{})
	for _, want := range []Tip{{Day: "2026-01-09", End: 1 << 40, Hash: "long"}, {Day: "2026-01-10", End: 3, Hash: "h", Cut: "c"}} {
		if err := w.SetTip(want); err != nil {
			t.Fatal(err)
		}
		if got, err := w.Tip(); err != nil || got != want {
			t.Errorf("%+v, error %v, want %+v", got, err, want)
		}
	}
	file := filepath.Join(w.dir, tipFile)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, bytes.Replace(text, []byte(`"end":3`), []byte(`"end":2`), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	if tip, err := w.Tip(); err == nil {
		t.Errorf("a changed tip was accepted: %+v", tip)
	}
	if err := w.ForgetTip(); err != nil {
		t.Error(err)
	}
}
