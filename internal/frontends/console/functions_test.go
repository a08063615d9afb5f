package console

import (
	"net/url"
	"testing"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
)

func TestDistance(t *testing.T) {
	now := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	for ago, want := range map[time.Duration]string{
		0:                     "now",
		59 * time.Second:      "59 s ago",
		-3 * time.Minute:      "in 3 min",
		47 * time.Hour:        "47 h ago",
		49 * time.Hour:        "2 days ago",
		-91 * 24 * time.Hour:  "2026-10-31",
		400 * 24 * time.Hour:  "2025-06-27",
		-89*24*time.Hour - 10: "in 89 days",
	} {
		if got := distance(now.Add(-ago), now); got != want {
			t.Errorf("%s: %q, want %q", ago, got, want)
		}
	}
	want := `<time datetime="2026-08-01T11:57:00Z" title="Sat 1 Aug 2026, 11:57:00 UTC" data-time="ago">3 min ago</time>`
	if got := string(timeTag(now.Add(-3*time.Minute).In(time.FixedZone("", 7200)), now)); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestSizesAndDurations(t *testing.T) {
	for size, want := range map[any]string{
		0: "0 B", int64(1023): "1023 B", 1024: "1.0 KiB", contract.Bytes(5 << 20): "5.0 MiB", uint32(1 << 30): "1.0 GiB", int64(1 << 60): "1048576.0 TiB",
	} {
		if got, err := byteCount(size); got != want || err != nil {
			t.Errorf("%v: %q, %v, want %q", size, got, err, want)
		}
	}
	for duration, want := range map[any]string{
		time.Duration(900): "900 ns", 15 * time.Microsecond: "15 µs", 1400 * time.Microsecond: "1.4 ms", 240 * time.Millisecond: "240 ms",
		1500 * time.Millisecond: "1.5 s", contract.Duration(90 * time.Second): "1m30s",
	} {
		if got, err := took(duration); got != want || err != nil {
			t.Errorf("%v: %q, %v, want %q", duration, got, err, want)
		}
	}
	if _, err := byteCount("many"); err == nil {
		t.Error("byteCount accepts a string")
	}
	if _, err := took(nil); err == nil {
		t.Error("took accepts nil")
	}
}

func TestQuery(t *testing.T) {
	u, _ := url.Parse("/console/calls?tool=a%2Fb&page=2")
	for _, address := range []any{u, *u, u.String()} {
		got, err := query(address, "page", 3, "tool", "", "who", "a&b=c")
		if want := "/console/calls?page=3&who=a%26b%3Dc"; got != want || err != nil {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
	if u.RawQuery != "tool=a%2Fb&page=2" {
		t.Error("query changed its argument")
	}
	for _, bad := range [][]any{{u, "page"}, {u, 1, 2}, {3}, {"%zz"}} {
		if _, err := query(bad[0], bad[1:]...); err == nil {
			t.Errorf("query accepts %v", bad)
		}
	}
}

func TestClipAndJSON(t *testing.T) {
	if got := clip("äöü", 3) + clip("äöüß", 3); got != "äöüäö…" {
		t.Error(got)
	}
	value := jsontree.Obj(jsontree.M("a", jsontree.Int(1)))
	if got := prettyJSON(&value); got != "{\n  \"a\": 1\n}" {
		t.Error(got)
	}
}
