package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"remit/internal/contract"
	"remit/internal/engine/audit"
)

// book is a folder of day files that grows, sealed as a store seals it.
type book struct {
	mu    sync.Mutex
	files map[string][]byte
	last  string
	clock time.Time
	face  string // by which calls come
	fault error
}

func newBook() *book {
	return &book{files: map[string][]byte{}, last: audit.Genesis, face: "http", clock: time.Date(2026, 1, 9, 10, 0, 0, 0, time.UTC)}
}

// Open gives the file as it is now.
func (b *book) Open(name string) (fs.File, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fault != nil {
		return nil, b.fault
	}
	files := fstest.MapFS{}
	for name, data := range b.files {
		files[name] = &fstest.MapFile{Data: data} // only ever added to, or replaced
	}
	return files.Open(name)
}

func (b *book) now() time.Time { return b.clock }

func (b *book) raw(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	name := audit.FileOf(b.clock.Format(time.DateOnly))
	b.files[name] = append(b.files[name], text...)
}

// add records a call that just ended.
func (b *book) add(tool, caller, outcome string, took time.Duration) {
	record := fmt.Sprintf(`{"time":%q,"principal":%q,"face":%q,"client":"c","tool":%q,"version":"1.0.0","arguments":{"n":1},"outcome":%q,"micros":%d,"bytes":7}`,
		b.clock.Format("2006-01-02T15:04:05.000000Z"), caller, b.face, tool, outcome, took.Microseconds())
	line := audit.Seal(b.last, []byte(record))
	b.last = audit.HashOf(line)
	b.raw(string(line) + "\n")
}

func (b *book) ledger() *Ledger { return &Ledger{Files: b, Now: b.now} }

// failer is a test, or a run of a property.
type failer interface {
	Helper()
	Fatal(...any)
}

// settled reads all that there is.
func settled(t failer, b *book, l *Ledger) *Ledger {
	t.Helper()
	b.clock = b.clock.Add(time.Second)
	if err := l.Refresh(); err != nil {
		t.Fatal(err)
	}
	l.loader.Wait()
	return l
}

// callers lists who made the calls of a page.
func callers(t testing.TB, l *Ledger, f Filter) (list []string) {
	t.Helper()
	page, err := l.Page(f, "", 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range page.Calls {
		list = append(list, c.Caller)
	}
	return list
}

func TestNothingYet(t *testing.T) {
	b := newBook()
	l := b.ledger()
	if n := l.Count(Filter{}); n != 0 {
		t.Errorf("%d calls before the first look", n)
	}
	settled(t, b, l)
	page, err := l.Page(Filter{Tool: "none"}, "", 10)
	if err != nil || len(page.Calls) != 0 || l.Tools(Filter{}) != nil || l.Series(Filter{}, 10) != nil {
		t.Errorf("an empty folder gives %v, %v", page, err)
	}
	if got := l.Status(); got != (Status{}) {
		t.Errorf("status %+v", got)
	}
}

// TestDamage: whatever lies among the records, they are found.
func TestDamage(t *testing.T) {
	for _, tc := range []struct {
		name   string
		write  func(b *book)
		want   []string
		broken int
	}{
		{"whole", func(b *book) { b.add("t", "ann", "ok", 0); b.add("t", "bob", "ok", 0) }, []string{"bob", "ann"}, 0},
		{"a broken line", func(b *book) { b.add("t", "ann", "ok", 0); b.raw("{no\n\n"); b.add("t", "bob", "ok", 0) }, []string{"bob", "ann"}, 2},
		{"other JSON", func(b *book) { b.raw("[]\n{}\n{\"time\":\"x\",\"tool\":\"t\"}\n7\n"); b.add("t", "bob", "ok", 0) }, []string{"bob"}, 4},
		{"a torn end", func(b *book) { b.add("t", "ann", "ok", 0); b.raw(`{"time":"2026-01`) }, []string{"ann"}, 0},
		{"only a torn end", func(b *book) { b.raw(`{"time":"2026-01`) }, nil, 0},
		{"an empty file", func(b *book) { b.raw("") }, nil, 0},
		{"several days", func(b *book) {
			b.add("t", "ann", "ok", 0)
			b.clock = b.clock.AddDate(0, 0, 3)
			b.add("t", "bob", "ok", 0)
			b.clock = b.clock.AddDate(0, 0, 1)
			b.raw("")
		}, []string{"bob", "ann"}, 0},
		{"a line of many pieces", func(b *book) {
			b.add("t", "ann", "ok", 0)
			b.raw(strings.Repeat("x", 3*pieceSize) + "\n")
			b.add("t", "bob", "ok", 0)
		}, []string{"bob", "ann"}, 1},
		{"a line that never ends", func(b *book) {
			b.add("t", "ann", "ok", 0)
			b.raw(strings.Repeat("x", longest+5*pieceSize) + "\n")
			b.add("t", "bob", "ok", 0)
		}, []string{"bob", "ann"}, 1},
		{"other files", func(b *book) {
			b.files["2026-01-08.jsonl.torn"] = []byte("x\n")
			b.files["notes.jsonl"] = []byte("x\n")
			b.add("t", "ann", "ok", 0)
		}, []string{"ann"}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBook()
			tc.write(b)
			l := settled(t, b, b.ledger())
			if diff := cmp.Diff(tc.want, callers(t, l, Filter{})); diff != "" {
				t.Errorf("read at once (-want +got):\n%s", diff)
			}
			if got := l.Status(); got.Broken != tc.broken || got.Loading || got.Full {
				t.Errorf("status %+v, want %d broken", got, tc.broken)
			}
			late := newBook()
			l = settled(t, late, late.ledger())
			tc.write(late)
			if diff := cmp.Diff(tc.want, callers(t, settled(t, late, l), Filter{})); diff != "" {
				t.Errorf("read as it came (-want +got):\n%s", diff)
			}
		})
	}
}

// TestFollowing: what other processes do to the files while they are looked at.
func TestFollowing(t *testing.T) {
	b := newBook()
	b.add("t", "ann", "ok", 0)
	l := settled(t, b, b.ledger())
	before := l.Version()
	b.raw(`{"time":"2026-01-09T10:00:00.000000Z","tool":"t","princ`)
	if settled(t, b, l); l.Version() != before {
		t.Error("half a line counts as something new")
	}
	b.raw(`ipal":"bob","outcome":"ok"}` + "\n")
	if got := callers(t, settled(t, b, l), Filter{}); !slices.Equal(got, []string{"bob", "ann"}) {
		t.Errorf("after a line that came in two parts: %v", got)
	}
	if l.Version() == before {
		t.Error("the version did not grow")
	}
	b.add("t", "cid", "ok", 0)
	if err := l.Refresh(); err != nil || l.Count(Filter{}) != 2 {
		t.Error("files are looked at again within the pause")
	}
	old := audit.FileOf(b.clock.Format(time.DateOnly))
	b.clock = b.clock.AddDate(0, 0, 1)
	b.add("t", "dan", "ok", 0)
	settled(t, b, l)
	b.files[old] = append(b.files[old], `{"time":"2026-01-09T23:59:59.000000Z","tool":"t","principal":"late","outcome":"ok"}`+"\n"...)
	if got := callers(t, settled(t, b, l), Filter{}); !slices.Equal(got, []string{"dan", "late", "cid", "bob", "ann"}) {
		t.Errorf("after midnight: %v", got)
	}
	delete(b.files, old)
	if got := callers(t, settled(t, b, l), Filter{}); !slices.Equal(got, []string{"dan"}) {
		t.Errorf("after a file vanished: %v", got)
	}
	name := audit.FileOf(b.clock.Format(time.DateOnly))
	b.files[name] = []byte(`{"time":"2026-01-10T10:00:00Z","tool":"t","principal":"eve","outcome":"ok"}` + "\n")
	if got := callers(t, settled(t, b, l), Filter{}); !slices.Equal(got, []string{"eve"}) {
		t.Errorf("after a file was replaced: %v", got)
	}
	b.files[name] = append(b.files[name], bytes.Repeat([]byte(strings.Repeat("x", 9999)+"\n"), farBehind/10_000+1)...)
	b.add("t", "fay", "ok", 0)
	if got := callers(t, settled(t, b, l), Filter{}); !slices.Equal(got, []string{"fay", "eve"}) {
		t.Errorf("after much was added: %v", got)
	}
}

// TestLongYesterday: what was read of a long day is kept, since nothing was added to it.
func TestLongYesterday(t *testing.T) {
	b := newBook()
	b.add("t", "ann", "ok", 0)
	b.raw(strings.Repeat(strings.Repeat("x", 9999)+"\n", farBehind/10_000+1))
	b.clock = b.clock.AddDate(0, 0, 1)
	b.add("t", "bob", "ok", 0)
	l := settled(t, b, b.ledger())
	before := l.Version()
	if got := callers(t, l, Filter{}); !slices.Equal(got, []string{"bob", "ann"}) {
		t.Fatalf("read %v", got)
	}
	if settled(t, b, l); l.Version() != before {
		t.Error("yesterday was read anew")
	}
}

// TestTrouble: files that cannot be read are told of, and read once they can.
func TestTrouble(t *testing.T) {
	b := newBook()
	b.add("t", "ann", "ok", 0)
	l := settled(t, b, b.ledger())
	b.fault = errors.New("the disk is away")
	b.clock = b.clock.Add(time.Second)
	if err := l.Refresh(); !errors.Is(err, b.fault) || !errors.Is(l.Status().Err, b.fault) {
		t.Errorf("Refresh = %v", err)
	}
	if n := l.Count(Filter{}); n != 1 {
		t.Errorf("%d calls at hand", n)
	}
	b.fault = nil
	b.add("t", "bob", "ok", 0)
	if settled(t, b, l); l.Count(Filter{}) != 2 || l.Status().Err != nil {
		t.Errorf("after the trouble: %+v", l.Status())
	}
}

// TestNewestFirst: the newest are there at once, older ones follow, and no more than
// are wanted.
func TestNewestFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBook()
		for range 3 {
			for i := range 2000 {
				b.add("t", fmt.Sprint(i), "ok", 0)
			}
			b.clock = b.clock.AddDate(0, 0, 1)
		}
		l := b.ledger()
		l.Most = 3000
		if err := l.Refresh(); err != nil {
			t.Fatal(err)
		}
		if got := callers(t, l, Filter{}); got[0] != "1999" {
			t.Errorf("the newest is %v", got[0])
		}
		synctest.Wait()
		got := l.Status()
		if got.Calls < 3000 || got.Calls > 3000+3000/8 || !got.Full || got.Loading {
			t.Errorf("status %+v", got)
		}
		for range 3000 {
			b.add("t", "new", "ok", 0)
		}
		settled(t, b, l)
		if n := l.Count(Filter{Caller: "new"}); n != 3000 || l.Status().Calls > 3000+3000/8 {
			t.Errorf("%d new calls, %+v", n, l.Status())
		}
		if n := len(l.words.texts); n > 500 {
			t.Errorf("%d words are kept of calls that are not", n)
		}
		l.Close()
	})
}

// TestRoomAgain: when a file vanishes there is room for older records, without a gap
// and none twice.
func TestRoomAgain(t *testing.T) {
	b := newBook()
	add := func(from, to int) {
		for i := from; i < to; i++ {
			b.add("t", fmt.Sprint(i), "ok", 0)
		}
	}
	add(0, 4000)
	l := b.ledger()
	l.Most = 2000
	settled(t, b, l)
	b.clock = b.clock.AddDate(0, 0, 1)
	add(4000, 5000)
	settled(t, b, l)
	delete(b.files, audit.FileOf(b.clock.Format(time.DateOnly)))
	settled(t, b, l)
	page, err := l.Page(Filter{}, "", 5000)
	if err != nil || len(page.Calls) < 2000 {
		t.Fatalf("%d calls, %v", len(page.Calls), err)
	}
	for i, c := range page.Calls {
		if c.Caller != fmt.Sprint(3999-i) {
			t.Fatalf("call %d is %s, want %d", i, c.Caller, 3999-i)
		}
	}
}

func TestCloseEndsLoading(t *testing.T) {
	b := newBook()
	for range 20_000 {
		b.add("t", "ann", "ok", 0)
	}
	l := b.ledger()
	if err := l.Refresh(); err != nil {
		t.Fatal(err)
	}
	l.Close()
	n := l.Count(Filter{})
	if n == 0 {
		t.Error("nothing is at hand")
	}
	b.clock = b.clock.Add(time.Second)
	if err := l.Refresh(); err != nil || l.Count(Filter{}) != n {
		t.Errorf("it goes on loading after Close: %v", err)
	}
}

func TestPagesRefuse(t *testing.T) {
	b := newBook()
	b.add("t", "ann", "ok", 0)
	l := settled(t, b, b.ledger())
	for _, cursor := range []string{"x", "older.", "older.2026-01-09", "older.2026-01-09.-1", "newer.older.2026-01-09.0", "2026-01-09.0", "older.2026-99-09.0"} {
		if _, err := l.Page(Filter{}, cursor, 10); contract.AsError(err).Kind != contract.Invalid {
			t.Errorf("cursor %q: %v", cursor, err)
		}
	}
}
