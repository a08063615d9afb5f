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

// FuzzCursor: resume accepts a cursor only in the exact form in which it was issued.
func FuzzCursor(f *testing.F) {
	list := (&ListIn{UserID: "ann"}).list()
	for _, seed := range []string{"", list.cursor(1), list.cursor(math.MaxInt64), list.cursor(300) + "=", list.cursor(-1), "\n" + list.cursor(7), "AAAAAAAAAQ"} {
		f.Add(seed, int64(1))
	}
	f.Fuzz(func(t *testing.T, cursor string, id int64) {
		after, err := list.resume(cursor)
		if err == nil && (after < 1 || list.cursor(after) != cursor) {
			t.Errorf("%q continues after %d", cursor, after)
		}
		if id < 1 {
			return
		}
		if after, err := list.resume(list.cursor(id)); err != nil || after != id {
			t.Errorf("the cursor of %d continues after %d, error %v", id, after, err)
		}
	})
}

// FuzzAddress: an address names a user that list_tasks accepts, and each such user has an address.
func FuzzAddress(f *testing.F) {
	sets, err := contract.LoadAll(os.DirFS("contracts"))
	if err != nil {
		f.Fatal(err)
	}
	s, ok := (&Tools{Served: sets}).Toolset().Resources[0].(resources)
	if !ok {
		f.Fatal("the toolset has no resources")
	}
	for _, seed := range []string{"", "tasks://ann", "task://ann/1", "task://a%2Fb/9223372036854775807", "tasks://%zz", "tasks://%ff", "task:///1", "tasks://a/b", "task://a/-1", "a b/ü%", "\x00", "task://\xff/1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if at, ok := s.parseURI(text); ok && (at.id < 0 || s.check(at.user) != nil || !utf8.ValidString(at.user) || !strings.HasPrefix(text, "task")) {
			t.Errorf("%q leads to %+v", text, at)
		}
		if s.check(text) != nil || !utf8.ValidString(text) { // invalid UTF-8 never reaches the tool
			return
		}
		if at, ok := s.parseURI(listURI(text)); !ok || at != (place{user: text}) {
			t.Errorf("the list of %q is at %+v", text, at)
		}
		if at, ok := s.parseURI(taskScheme + url.PathEscape(text) + "/" + strconv.Itoa(12)); !ok || at != (place{text, 12}) {
			t.Errorf("a task of %q is at %+v", text, at)
		}
	})
}
