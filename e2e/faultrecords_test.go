//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// auditRecord has the fields of a record that the driver compares.
type auditRecord struct {
	Time, Tool, Outcome, Call string
	Effect                    json.RawMessage
	Arguments                 struct {
		Title    string
		TaskID   any `json:"task_id"`
		Path     string
		Filename string
		FileSize int64 `json:"file_size"`
		Entry    digestValue
		Content  digestValue
		Data     digestValue `json:"binary_data"`
	}
}

// digestValue is what a record holds in place of a value.
type digestValue struct{ SHA256 string }

// begun is the outcome of a record that precedes a change. Another record of the call settles it.
const begun = "begun"

// change returns what identifies the change that a record is about among those of its tool, or ""
// if its tool changes nothing that the driver compares.
func (r *auditRecord) change() string {
	a := &r.Arguments
	switch r.Tool {
	case "tasks/add_task", "tasks/update_task":
		return a.Title
	case "tasks/complete_task", "tasks/delete_task":
		return fmt.Sprint(a.TaskID)
	case "learning-os/write_memory_entry":
		return a.Entry.SHA256
	case "books/write_content":
		return a.Path + " " + a.Content.SHA256
	case "books/delete_content", "links/upload":
		return a.Path
	case "books/upload_asset":
		if a.FileSize == 0 { // else it only asks for a link
			return a.Filename + " " + a.Data.SHA256
		}
	}
	return ""
}

// says returns what a record says about its change: done, or something else.
func (r *auditRecord) saysDone() bool { return r.Outcome == "ok" }

// recordIndex is all records, by the change that they are about.
type recordIndex map[string][]auditRecord

// readRecords reads all records.
func (b *faultBed) readRecords() recordIndex {
	b.t.Helper()
	got := b.audit("audit", "list", "--json", "--limit", "1000000")
	var all []auditRecord
	if err := json.Unmarshal([]byte(got.out), &all); err != nil || got.code != 0 {
		b.t.Fatalf("audit list: exit %d, %v: %s%s", got.code, err, clip(got.out), clip(got.errOut))
	}
	slices.Reverse(all) // the oldest first
	index := recordIndex{}
	for _, r := range all {
		if about := r.change(); about != "" {
			index[r.Tool+" "+about] = append(index[r.Tool+" "+about], r)
		}
	}
	return index
}

// unsettled returns the calls that have begun and have no outcome.
func (x recordIndex) unsettled() (calls []string) {
	for about, records := range x {
		open := map[string]bool{}
		for _, r := range records {
			if r.Outcome == begun {
				open[r.Call] = true
			}
		}
		for _, r := range records {
			if r.Outcome != begun {
				delete(open, r.Call)
			}
		}
		for call := range open {
			calls = append(calls, about+", call "+call)
		}
	}
	return calls
}

// awaitSettled waits until each call that has begun has an outcome, and returns the records.
func (b *faultBed) awaitSettled() recordIndex {
	b.t.Helper()
	for end := time.Now().Add(timeout); ; time.Sleep(500 * time.Millisecond) {
		records := b.readRecords()
		open := records.unsettled()
		if len(open) == 0 {
			return records
		}
		if time.Now().After(end) {
			b.t.Errorf("%d calls have begun and are never settled: %s", len(open), clip(strings.Join(open, "; ")))
			return records
		}
	}
}

// story returns the records of a change as text.
func (x recordIndex) story(ch *change) string {
	var lines []string
	for _, r := range x[ch.tool+" "+ch.record] {
		lines = append(lines, fmt.Sprintf("    record %s %s call=%s %s", r.Time, r.Outcome, r.Call, clip(r.Effect)))
	}
	if lines == nil {
		return "    no record"
	}
	return strings.Join(lines, "\n")
}
