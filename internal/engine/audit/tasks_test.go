package audit_test

import (
	"fmt"
	"testing"
	"time"

	"remit/internal/engine/audit"
)

// digest returns the digest that a letter stands for: 0 is no task yet, A is a task that was a
// before it was deleted.
func digest(letter byte) audit.Digest {
	switch {
	case letter == '0':
		return audit.NoTask
	case letter < 'a':
		return audit.Digest{letter + 'a' - 'A'}.Deleted()
	}
	return audit.Digest{letter}
}

func taskTime() time.Time { return time.Date(2026, 1, 9, 12, 0, 0, 0, time.UTC) }

// taskRecord returns the record of a change of task 1, such as "ab": from a to b.
func taskRecord(second int, change string) []byte {
	e := &audit.Effect{Call: fmt.Sprint("call", second)}
	e.SetRecord(&audit.Record{Time: taskTime().Add(time.Duration(second) * time.Second), Tool: "tasks/update_task", Outcome: "ok"})
	e.ChangesTask(audit.TaskChange{ID: 1, Old: digest(change[0]), New: digest(change[1])})
	return e.OutboxRecord()
}

// TestTaskLedger checks what a task is after changes whose records are in any order, and that a
// change without a record is noticed.
func TestTaskLedger(t *testing.T) {
	for name, tc := range map[string]struct {
		changes []string // by the second of the change, from 0 on
		order   []int    // of their records; nil is the same
		want    byte
		gap     string
	}{
		"added":                          {changes: []string{"0a"}, want: 'a'},
		"changed":                        {changes: []string{"0a", "ab", "bc"}, want: 'c'},
		"deleted":                        {changes: []string{"0a", "aA"}, want: 'A'},
		"first records are dropped":      {changes: []string{"ab", "bc"}, want: 'c'},
		"records are in another order":   {changes: []string{"0a", "ab", "bc", "cd"}, order: []int{0, 3, 2, 1}, want: 'd'},
		"the last record comes first":    {changes: []string{"0a", "ab", "bB"}, order: []int{2, 1, 0}, want: 'B'},
		"changed back":                   {changes: []string{"0a", "ab", "ba"}, want: 'a'},
		"changed back, in another order": {changes: []string{"0a", "ab", "ba", "ac"}, order: []int{0, 3, 1, 2}, want: 'c'},
		"changed between":                {changes: []string{"0a", "bc"}, want: 'c', gap: "call1"},
		"changed between, then more":     {changes: []string{"0a", "ab", "cd", "de"}, want: 'e', gap: "call2"},
		"put back before a change":       {changes: []string{"ab", "ac"}, want: 'c', gap: "call1"},
		"restored":                       {changes: []string{"0a", "aA", "Aa"}, want: 'a'},
		"restored without its claim":     {changes: []string{"0a", "aA", "Ab"}, order: []int{2, 0, 1}, want: 'b'},
		"deleted again":                  {changes: []string{"0a", "aA", "Aa", "aA"}, order: []int{0, 2, 3, 1}, want: 'A'},
		"changed in the trash":           {changes: []string{"0a", "aA", "Bb"}, want: 'b', gap: "call2"},
		"changed before it was deleted":  {changes: []string{"0a", "bB"}, want: 'B', gap: "call1"},
	} {
		t.Run(name, func(t *testing.T) {
			var l audit.Ledger
			for i := range tc.changes {
				if tc.order != nil {
					i = tc.order[i]
				}
				l.Add(taskRecord(i, tc.changes[i]))
			}
			got := l.Tasks.Take(1).State()
			if got.Digest != digest(tc.want) || got.Deleted != (tc.want < 'a') || got.Gap != tc.gap || got.Call != fmt.Sprint("call", len(tc.changes)-1) || l.Tasks.Changes != len(tc.changes) {
				t.Errorf("got %.8s of %s, gap %q", got.Digest, got.Call, got.Gap)
			}
		})
	}
}

// TestTasksOfOtherRecords checks which records decide what a task without a record is worth.
func TestTasksOfOtherRecords(t *testing.T) {
	record := func(tool, outcome string) []byte {
		return fmt.Appendf(nil, `{"time":"2026-01-09T11:00:00.000000Z","tool":%q,"arguments":{},"outcome":%q,"micros":1,"bytes":1}`, tool, outcome)
	}
	for name, tc := range map[string]struct {
		records [][]byte
		tasks   bool // something is recorded about the task
		older   bool
	}{
		"nothing":                {records: [][]byte{record("tasks/list_tasks", "ok"), record("trust/moved", "ok")}},
		"an earlier version":     {records: [][]byte{record("tasks/add_task", "ok")}, older: true},
		"it failed":              {records: [][]byte{record("tasks/add_task", "invalid")}},
		"upgraded":               {records: [][]byte{record("tasks/add_task", "ok"), taskRecord(1, "ab")}, tasks: true, older: true},
		"new data":               {records: [][]byte{taskRecord(1, "0a"), record("trust/new-data", "ok")}, older: true},
		"refused":                {records: [][]byte{taskRecord(1, "0a"), record("trust/new-data", "denied")}, tasks: true},
		"lost records":           {records: [][]byte{taskRecord(1, "0a"), record("trust/lost-records", "ok")}, older: true},
		"changed after new data": {records: [][]byte{record("trust/new-data", "ok"), taskRecord(1, "0a")}, tasks: true, older: true},
	} {
		t.Run(name, func(t *testing.T) {
			var l audit.Ledger
			for _, r := range tc.records {
				l.Add(r)
			}
			if got := l.Tasks.Take(1) != nil; got != tc.tasks || l.Tasks.Older != tc.older {
				t.Errorf("recorded: %v, older: %v", got, l.Tasks.Older)
			}
		})
	}
}

// TestPendingRecords checks that a record counts once that is in the outbox and in the chain.
func TestPendingRecords(t *testing.T) {
	var l audit.Ledger
	l.AddPending(taskRecord(1, "ab"))
	l.Add(taskRecord(0, "0a"))
	l.Add(taskRecord(1, "ab"))
	if got := l.Tasks.Take(1).State(); got.Digest != digest('b') || got.Gap != "" || l.Tasks.Changes != 2 {
		t.Errorf("got %+v of %d changes", got, l.Tasks.Changes)
	}
}
