package tasks

import (
	"math"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"remit/internal/contract"
)

// FuzzCursor: a cursor is taken in the one form in which it was given.
func FuzzCursor(f *testing.F) {
	list := (&ListIn{UserID: "ann"}).list()
	for _, seed := range []string{"", list.cursor(1), list.cursor(math.MaxInt64), list.cursor(300) + "=", list.cursor(-1), "\n" + list.cursor(7), "AAAAAAAAAQ"} {
		f.Add(seed, int64(1))
	}
	f.Fuzz(func(t *testing.T, cursor string, id int64) {
		after, err := list.resume(cursor)
		if err == nil && (after < 1 || list.cursor(after) != cursor) {
			t.Errorf("%q leads on from %d", cursor, after)
		}
		if id < 1 {
			return
		}
		if after, err := list.resume(list.cursor(id)); err != nil || after != id {
			t.Errorf("the cursor of %d leads on from %d, error %v", id, after, err)
		}
	})
}

// FuzzAddress: an address leads to a user whom list_tasks would take, and there is
// an address for each of those.
func FuzzAddress(f *testing.F) {
	sets, err := contract.LoadAll(os.DirFS("contracts"))
	if err != nil {
		f.Fatal(err)
	}
	s, ok := (&Tools{Served: sets}).Toolset().Shelves[0].(shelf)
	if !ok {
		f.Fatal("there is no shelf")
	}
	for _, seed := range []string{"", "tasks://ann", "task://ann/1", "task://a%2Fb/9223372036854775807", "tasks://%zz", "tasks://%ff", "task:///1", "tasks://a/b", "task://a/-1", "a b/ü%", "\x00", "task://\xff/1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if at, ok := s.placeAt(text); ok && (at.id < 0 || s.check(at.user) != nil || !utf8.ValidString(at.user) || !strings.HasPrefix(text, "task")) {
			t.Errorf("%q leads to %+v", text, at)
		}
		if s.check(text) != nil || !utf8.ValidString(text) { // what is no text never gets in
			return
		}
		if at, ok := s.placeAt(addressOf(text)); !ok || at != (place{user: text}) {
			t.Errorf("the list of %q is at %+v", text, at)
		}
		if at, ok := s.placeAt(taskAddress + url.PathEscape(text) + "/" + strconv.Itoa(12)); !ok || at != (place{text, 12}) {
			t.Errorf("a task of %q is at %+v", text, at)
		}
	})
}
