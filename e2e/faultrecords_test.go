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
	Recovered                 bool
	// Undone and Unknown are the announced changes that were not made, and those of which that is
	// not known yet.
	Undone, Unknown []int
	Effect          struct { // the change that is announced
		Op, Path string
		Step     int // 0 is the first
	}
	Arguments struct {
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

// recordedCall is the records of one call, the oldest first.
type recordedCall []auditRecord

// isSettled reports whether it is recorded what a call changed: a call that has begun has a later
// record that does not leave the outcome of a change open.
func (c recordedCall) isSettled() bool {
	last := c[len(c)-1]
	return last.Outcome != begun && len(last.Unknown) == 0
}

// saysDone returns how many records say that the call changed what it was meant to: it succeeded,
// or one of the changes that it announced was made.
func (c recordedCall) saysDone() (times int) {
	var announced []int
	for _, r := range c {
		if r.Outcome == begun && r.Effect.Op != "register" {
			announced = append(announced, max(1, r.Effect.Step))
		}
	}
	for _, r := range c {
		made := slices.ContainsFunc(announced, func(step int) bool { return !slices.Contains(r.Undone, step) })
		if r.Outcome != begun && len(r.Unknown) == 0 && (made || announced == nil && r.Outcome == "ok") {
			times++
		}
	}
	return times
}

// recordIndex is all records, by the change that they are about.
type recordIndex map[string][]auditRecord

// calls returns the calls that are about a change.
func (x recordIndex) calls(about string) (calls []recordedCall) {
	at := map[string]int{}
	for _, r := range x[about] {
		i, known := at[r.Call]
		if !known || r.Call == "" {
			i = len(calls)
			at[r.Call] = i
			calls = append(calls, nil)
		}
		calls[i] = append(calls[i], r)
	}
	return calls
}

// readRecords reads all records of the chain. "remit audit list" shows one line per call, so it
// leaves out what a call has announced.
func (b *faultBed) readRecords() recordIndex {
	b.t.Helper()
	lines, err := b.chain()
	if err != nil {
		b.t.Fatal(err)
	}
	index := recordIndex{}
	for _, line := range lines {
		var r auditRecord
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			continue // it is being written; "remit audit verify" finds any other
		}
		if about := r.change(); about != "" {
			index[r.Tool+" "+about] = append(index[r.Tool+" "+about], r)
		}
	}
	return index
}

// unsettled returns the changes with a call that has begun and whose outcome is not known.
func (x recordIndex) unsettled() (open []string) {
	for about := range x {
		for _, call := range x.calls(about) {
			if !call.isSettled() {
				open = append(open, about+", call "+call[0].Call)
			}
		}
	}
	return open
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
		lines = append(lines, fmt.Sprintf("    record %s %s call=%s announced=%v undone=%v unknown=%v recovered=%v",
			r.Time, r.Outcome, r.Call, r.Effect, r.Undone, r.Unknown, r.Recovered))
	}
	if lines == nil {
		return "    no record"
	}
	return strings.Join(lines, "\n")
}
