package console

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"remit/internal/engine/audit"
	"remit/internal/engine/identity"
)

// relatedFixture returns a console with records, each without what all have, in a log of one day.
func relatedFixture(t *testing.T, records ...string) *fixture {
	t.Helper()
	c := newToolFixture(t)
	var day []byte
	last := audit.InitialHash
	for i, record := range records {
		line := audit.Seal(last, fmt.Appendf(nil,
			`{"time":"2026-08-01T11:%02d:%02d.000000Z","frontend":"http","version":"1.2.3","micros":7,"bytes":8,%s}`, i/60, i%60, record))
		last = audit.HashOf(line)
		day = append(append(day, line...), '\n')
	}
	c.Calls = callsIn(fstest.MapFS{"2026-08-01.jsonl": {Data: day}}, c.Now)
	t.Cleanup(c.Calls.Close)
	return c
}

var approvedStory = []string{
	`"principal":"agent:<script>alert(1)</script>","client":"\u202e<img src=x>","tool":"demo/write","outcome":"pending","request":"k3v9q2xa7m"`,
	`"principal":"agent:b","tool":"demo/look","outcome":"ok"`,
	`"principal":"cli:grace","tool":"approvals/approve","arguments":{"request":"k3v9q2xa7m"},"outcome":"ok"`,
	`"principal":"agent:a","tool":"demo/write","outcome":"begun","approved":"k3v9q2xa7m","key":"f00","call":"CALL",` +
		`"effect":{"store":"memory","op":"append","path":"a&b.jsonl","at":0,"lines":1,"size":9,"new":"00"}`,
	`"principal":"agent:a","tool":"demo/write","outcome":"ok","approved":"k3v9q2xa7m","key":"f00","call":"CALL"`,
	`"principal":"agent:a","tool":"demo/write","outcome":"replayed","key":"f00"`,
}

// TestRelatedRecords checks that each page of a call, and that of its approval, link all records
// that belong together.
func TestRelatedRecords(t *testing.T) {
	c := relatedFixture(t, approvedStory...)
	c.addRequest(t, "k3v9q2xa7m", "agent:a", `{}`)
	viewer := c.as(identity.Viewer)
	parts := []string{"the call asked for approval", "a person decided", "about to change something", "ran with the approval", "was repeated"}
	page := viewer("GET", "/console/approvals/k3v9q2xa7m", nil)
	wants(t, page, 200, append(parts, "cli:grace", `append <a class="mono" href="/console/memory?file=a%26b.jsonl">a&amp;b.jsonl</a>`)...)
	lacks(t, page, "<script>alert", "<img", "\u202e", "unknown whether", "demo/look")
	links := callLink.FindAllStringSubmatch(page.Body.String(), -1)
	if len(links) != len(parts) {
		t.Fatalf("the page of the approval links %d records, want %d", len(links), len(parts))
	}
	for i, link := range links {
		one := viewer("GET", "/console/calls/"+link[1], nil)
		wants(t, one, 200, append(parts, "(this record)")...)
		lacks(t, one, "<script>alert", "<img", "\u202e")
		others := callLink.FindAllStringSubmatch(one.Body.String(), -1)
		if len(others) != len(parts)-1 || strings.Contains(fmt.Sprint(others), link[1]) {
			t.Errorf("record %d links %d records: %v", i, len(others), others)
		}
	}
	list := viewer("GET", "/console/calls?period=all", nil)
	marked := regexp.MustCompile(`href="/console/calls/([^"]+)#related"`).FindAllStringSubmatch(list.Body.String(), -1)
	if len(marked) != 4 { // not the read, and a call that has begun is one with its last record
		t.Errorf("the list links the related records of %d calls, want 4", len(marked))
	}
	read := callLink.FindAllStringSubmatch(viewer("GET", "/console/calls?tool=demo/look", nil).Body.String(), -1)
	lacks(t, viewer("GET", "/console/calls/"+read[0][1], nil), `id="related"`)
}

// TestRelatedChanges checks how the changes of a call are shown, and whether they were made.
func TestRelatedChanges(t *testing.T) {
	const version = "20260801T110000.000000000Z-0001"
	book := func(step int, path string) string {
		return fmt.Sprintf(`"tool":"books/write_content","outcome":"begun","call":"BOOK","effect":{"store":"fs","op":"write","path":"books/go/%s",`+
			`"size":9,"new":"00","line":".history/go/log/%s/%s.ada.json","step":%d}`, path, path, strings.ReplaceAll(version, ".", ""), step)
	}
	c := relatedFixture(t,
		`"tool":"tasks/add_task","outcome":"ok","call":"ADD","effect":{"table":"tasks","id":7,"new":"x"}`,
		`"tool":"tasks/delete_task","outcome":"ok","call":"DELETE","effect":{"table":"tasks","id":8,"old":"x"}`,
		`"tool":"tasks/update_task","outcome":"ok","call":"CHANGE","effect":{"table":"tasks","id":9,"old":"x","new":"y"}`,
		book(1, "lessons/a b.md"), book(2, "assets/x.png"), book(3, "lessons/c.md"), book(4, "lessons/d.md"),
		`"tool":"books/write_content","outcome":"unavailable","call":"BOOK","undone":[3],"unknown":[4]`,
		`"tool":"books/write_content","outcome":"begun","call":"OPEN","effect":{"store":"fs","op":"register","path":"books/<b>/","line":"registry.yaml"}`)
	v := &visit{Console: c.Console, r: httptest.NewRequest(http.MethodGet, "/", nil)}
	diff := "/console/books/go/changes/" + strings.ReplaceAll(version, ".", "") + "/lessons/"
	for call, want := range map[string][]recordedChange{
		"ADD":    {{Verb: "add", Name: "task 7", Href: "/console/tasks"}},
		"DELETE": {{Verb: "delete", Name: "task 8", Href: "/console/tasks"}},
		"CHANGE": {{Verb: "change", Name: "task 9", Href: "/console/tasks"}},
		"BOOK": {
			{Verb: "write", Name: "go/lessons/a b.md", Href: diff + "a%20b.md", Detail: "new, 00"},
			{Verb: "write", Name: "go/assets/x.png", Detail: "new, 00"},
			{Verb: "write", Name: "go/lessons/c.md", State: "not made", Detail: "new, 00"},
			{Verb: "write", Name: "go/lessons/d.md", Href: diff + "d.md", State: "unknown whether it was made", Detail: "new, 00"},
		},
		"OPEN": {{Verb: "register", Name: "books/<b>/", State: "unknown whether it was made"}},
	} {
		var got []recordedChange
		for _, r := range v.related(call).Records {
			if r.Change != nil {
				got = append(got, *r.Change)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %+v, want %+v", call, got, want)
		}
	}
}

// TestManyRelatedRecords checks that a page shows the newest of many records, and that a log that
// cannot be read does not hide the rest of the page.
func TestManyRelatedRecords(t *testing.T) {
	records := make([]string, maxRelated+5)
	for i := range records {
		records[i] = `"tool":"demo/write","outcome":"pending","request":"k3v9q2xa7m"`
	}
	c := relatedFixture(t, records...)
	c.addRequest(t, "k3v9q2xa7m", "agent:a", `{}`)
	viewer := c.as(identity.Viewer)
	wants(t, viewer("GET", "/console/approvals/k3v9q2xa7m", nil), 200, "5 earlier records are not shown", "remit audit show k3v9q2xa7m")
	c.Calls.Records = audit.Folder{FS: brokenFolder{}}
	wants(t, viewer("GET", "/console/approvals/k3v9q2xa7m", nil), 200, "cannot be shown now", "Write something")
}

// brokenFolder is a folder that cannot be read.
type brokenFolder struct{}

func (brokenFolder) Open(string) (fs.File, error) { return nil, errors.New("the disk is broken") }
