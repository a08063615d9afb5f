package auditindex_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine/audit"
	"remit/internal/engine/audit/auditindex"
	"remit/internal/engine/audit/auditindex/auditindextest"
)

// addCall records a call of a session, with more members after its outcome.
func addCall(b *auditindextest.Folder, caller, session, args, more string) {
	b.AddRecord(fmt.Sprintf(`{"time":%q,"principal":%q,"frontend":"http","client":"c","session":%q,"tool":"demo/write","version":"1.0.0","arguments":%s,%s,"micros":5,"bytes":7}`,
		b.Clock.Format("2006-01-02T15:04:05.000000Z"), caller, session, args, more))
}

// findFolder returns records of two agents, some of which match each filter.
func findFolder() *auditindextest.Folder {
	b := auditindextest.NewFolder()
	addCall(b, "agent:a", "S1", `{"path":"docs/Setup.md","limit":7}`, `"outcome":"ok"`)
	addCall(b, "agent:b", "S2", `{"path":"docs/other.md","content":{"bytes":11,"sha256":"64ec88ca00b268e5"}}`, `"outcome":"ok"`)
	b.Add("t", "agent:a", "ok", 0) // an old record, without a session
	b.Pass(24 * time.Hour)
	addCall(b, "agent:a", "S1", `{"path":"a\"b\\c"}`, `"outcome":"begun","call":"C1","effect":{"store":"memory","op":"append","path":"stack.jsonl","at":0,"lines":1,"size":3},"owner":"o"`)
	addCall(b, "agent:b", "S2", `{"say":"Grüße"}`, `"outcome":"conflict","code":"STALE","message":"Content of Setup changed"`)
	addCall(b, "agent:a", "S1", `{"path":"a\"b\\c"}`, `"outcome":"ok","call":"C1"`)
	addCall(b, "agent:a", "S3", `{"path":"x"}`, `"outcome":"internal","call":"C2","made":[1]`)
	addCall(b, "agent:a", "S3", `{"path":"x"}`, `"outcome":"denied","call":"C3"`)
	return b
}

// sessionsOf returns the session, path and outcome of entries.
func linesOf(found auditindex.Found) (lines []string) {
	for i := range found.Entries {
		r := &found.Entries[i].Record
		session, outcome, args := r.Field("session"), r.Field("outcome"), r.Field("arguments")
		path := args.Field("path")
		lines = append(lines, strings.TrimSpace(session.Text+" "+outcome.Text+" "+path.Text))
	}
	return lines
}

func TestFind(t *testing.T) {
	b := findFolder()
	for name, records := range map[string]audit.Reader{"files": audit.Folder{FS: b}, "numbers": auditindextest.Numbered{Folder: b}} {
		x := auditindextest.IndexOf(b, records, &auditindextest.Memory{})
		if err := x.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		tests := []struct {
			name   string
			filter auditindex.Filter
			want   []string
		}{
			{"a caller", auditindex.Filter{Caller: "agent:b"}, []string{"S2 conflict", "S2 ok docs/other.md"}},
			{"text in an argument", auditindex.Filter{Text: "setup.MD"}, []string{"S1 ok docs/Setup.md"}},
			{"text in the words of an error", auditindex.Filter{Text: "setup"}, []string{"S2 conflict", "S1 ok docs/Setup.md"}},
			{"its code", auditindex.Filter{Text: "stale"}, []string{"S2 conflict"}},
			{"text and caller", auditindex.Filter{Text: "setup", Caller: "agent:a"}, []string{"S1 ok docs/Setup.md"}},
			{"escaped text", auditindex.Filter{Text: `A"B\c`}, []string{`S1 ok a"b\c`}},
			{"a number", auditindex.Filter{Text: "7"}, []string{"S1 ok docs/Setup.md"}},
			{"other letters", auditindex.Filter{Text: "grüße"}, []string{"S2 conflict"}},
			{"the name of an argument is no text", auditindex.Filter{Text: "path"}, nil},
			{"neither is the name of a tool", auditindex.Filter{Text: "demo/"}, nil},
			{"the hash of a redacted value", auditindex.Filter{Text: "64ec88ca"}, nil},
			{"its size", auditindex.Filter{Text: "11"}, nil},
			{"a session", auditindex.Filter{Session: "S1"}, []string{`S1 ok a"b\c`, "S1 ok docs/Setup.md"}},
			{"no such session", auditindex.Filter{Session: "S"}, nil},
			{"changes", auditindex.Filter{Changes: true}, []string{"S3 internal x", `S1 ok a"b\c`}},
			{"a session's failures", auditindex.Filter{Session: "S3", Outcome: auditindex.Failed}, []string{"S3 denied x", "S3 internal x"}},
			{"a time", auditindex.Filter{Text: "setup", From: b.Now()}, []string{"S2 conflict"}},
			{"a tool", auditindex.Filter{Text: "setup", Tool: "write"}, []string{"S2 conflict", "S1 ok docs/Setup.md"}},
		}
		for _, test := range tests {
			t.Run(name+"/"+test.name, func(t *testing.T) {
				found, err := x.Find(t.Context(), test.filter, "", 50)
				if diff := cmp.Diff(test.want, linesOf(found)); err != nil || diff != "" || found.Older != "" {
					t.Errorf("%v, older %q\n%s", err, found.Older, diff)
				}
				latest, err := x.Latest(t.Context(), test.filter, 50)
				if err != nil || len(latest) != len(test.want) {
					t.Errorf("Latest: %d, want %d; %v", len(latest), len(test.want), err)
				}
				var paged []string
				for cursor := ""; ; {
					part, err := x.Find(t.Context(), test.filter, cursor, 1)
					if err != nil {
						t.Fatal(err)
					}
					paged = append(paged, linesOf(part)...)
					if cursor = part.Older; cursor == "" {
						break
					}
				}
				if diff := cmp.Diff(test.want, paged); diff != "" {
					t.Error("one call at a time:", diff)
				}
			})
		}
	}
}

// TestFindAddsChanges checks that an entry has the records that announced its changes.
func TestFindAddsChanges(t *testing.T) {
	b := findFolder()
	x := indexed(t, b)
	for _, f := range []auditindex.Filter{{Caller: "agent:a"}, {Changes: true}} {
		found, err := x.Find(t.Context(), f, "", 50)
		if err != nil {
			t.Fatal(err)
		}
		var paths []string
		for _, e := range found.Entries {
			for i := range e.Changes {
				effect := e.Changes[i].Field("effect")
				path := effect.Field("path")
				paths = append(paths, path.Text)
			}
		}
		if diff := cmp.Diff([]string{"stack.jsonl"}, paths); diff != "" {
			t.Error(diff)
		}
	}
}

// TestFindIsBounded checks that a search of many records ends early, says down to which time it
// searched, and finds everything if it is continued.
func TestFindIsBounded(t *testing.T) {
	b := auditindextest.NewFolder()
	addCall(b, "agent:a", "S1", `{"path":"needle"}`, `"outcome":"ok"`)
	var many bytes.Buffer
	line := audit.Seal(b.Last, fmt.Appendf(nil, `{"time":"2026-01-09T10:00:01.000000Z","principal":"agent:b","frontend":"http","client":"c","tool":"t","version":"1","arguments":{},"outcome":"ok","micros":1,"bytes":1}`))
	for range 60_000 {
		many.Write(line)
		many.WriteByte('\n')
	}
	b.Raw(many.String())
	x := indexOf(b)
	first, err := x.Find(t.Context(), auditindex.Filter{Text: "needle"}, "", 50)
	if err != nil || len(first.Entries) != 0 || first.Older == "" || first.Searched.IsZero() {
		t.Fatalf("%+v, %v", first, err)
	}
	second, err := x.Find(t.Context(), auditindex.Filter{Text: "needle"}, first.Older, 50)
	if err != nil || len(second.Entries) != 1 || second.Older != "" || !second.Searched.IsZero() {
		t.Fatalf("%+v, %v", second, err)
	}
	for _, cursor := range []string{"x", "newer.2026-01-09.0", "older.x"} {
		if _, err := x.Find(t.Context(), auditindex.Filter{Text: "needle"}, cursor, 50); contract.AsError(err).Kind != contract.Invalid {
			t.Errorf("cursor %q: %v", cursor, err)
		}
	}
}

// TestCSV checks the columns, and that a spreadsheet does not take a value for a formula.
func TestCSV(t *testing.T) {
	r, err := jsontree.Parse([]byte(`{"time":"t","principal":"=1+1","face":"http","client":"-x","session":"S","arguments":{"a":1},"micros":12,"message":"@no, never","id":"i"}`))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := auditindex.CSVPrinter(&out)(r); err != nil {
		t.Fatal(err)
	}
	want := "time,principal,frontend,client,tool,version,outcome,approved,request,call,micros,bytes,id,arguments,session,code,message\n" +
		`t,'=1+1,http,'-x,,,,,,,12,,i,"{""a"":1}",S,,"'@no, never"` + "\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}
