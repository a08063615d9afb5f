package audit

import (
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"
	"time"

	"remit/internal/contract/jsontree"
)

// Digest is the SHA-256 of a task with all of its columns.
type Digest [sha256.Size]byte

// NoTask is the digest of a task that was not added yet.
var NoTask = Digest{}

// Deleted returns the digest of a task that was deleted when it had digest d.
func (d Digest) Deleted() Digest { return sha256.Sum256(d[:]) }

// tasksTable is the table that a TaskChange names.
const tasksTable = "tasks"

// TaskChange says what a call has changed in the table of tasks. The Old digest of an added task is
// NoTask, the New one of a deleted task is Old.Deleted(), which a restored task has as Old.
type TaskChange struct {
	ID       int64
	Old, New Digest
}

// value returns the change as a record holds it.
func (c *TaskChange) value() jsontree.Value {
	members := make([]jsontree.Member, 2, 4)
	members[0], members[1] = jsontree.M("table", jsontree.Str(tasksTable)), jsontree.M("id", jsontree.Int(c.ID))
	if c.Old != NoTask {
		members = append(members, jsontree.M("old", jsontree.Str(c.Old.String())))
	}
	if !c.deletes() {
		members = append(members, jsontree.M("new", jsontree.Str(c.New.String())))
	}
	return jsontree.Obj(members...)
}

func (c *TaskChange) deletes() bool { return c.New == c.Old.Deleted() }

// String returns the digest as records hold it.
func (d Digest) String() string { return base64.RawStdEncoding.EncodeToString(d[:]) }

// parseTaskChange parses what value returns. It returns false for anything else.
func parseTaskChange(v *jsontree.Value) (c TaskChange, ok bool) {
	table, id := v.Field("table"), v.Field("id")
	n, err := strconv.ParseInt(id.Text, 10, 64)
	if err != nil || table.Text != tasksTable {
		return c, false
	}
	c.ID = n
	if c.Old, ok = parseDigest(v, "old", NoTask); ok {
		c.New, ok = parseDigest(v, "new", c.Old.Deleted())
	}
	return c, ok
}

// parseDigest returns the digest in a member of v; missing if there is none.
func parseDigest(v *jsontree.Value, key string, missing Digest) (Digest, bool) {
	text, given := v.Get(key)
	if !given {
		return missing, true
	}
	sum, err := base64.RawStdEncoding.DecodeString(text.Text)
	if err != nil || len(sum) != len(missing) {
		return missing, false
	}
	return Digest(sum), true
}

// TaskLedger collects from the records what each task is now. The records of two changes of a task
// may be in another order than the changes: each says which digest it has replaced.
type TaskLedger struct {
	// Changes is how many changes were recorded.
	Changes int
	// Since is when the first change was recorded; zero if none was.
	Since time.Time
	// Older means that tasks may exist without a record if they were added before Since: an earlier
	// version of the program did not record their digests, or their records were dropped or lost.
	Older bool

	tasks map[int64]*RecordedTask
}

// RecordedTask is what the records say about a task.
type RecordedTask struct {
	start Digest // before the first change
	last  change
	loose []link // changes that do not follow last
}

// change is what a call has made of a task.
type change struct {
	now     Digest
	deleted bool
	call    string
	time    int64 // microseconds since 1970
}

// link is a change with what it has replaced.
type link struct {
	old Digest
	change
}

// add reads a change of a call.
func (l *TaskLedger) add(c *TaskChange, call string, at time.Time) {
	l.Changes++
	if l.Since.IsZero() {
		l.Since = at
	}
	// The text of the call would keep the whole record in memory.
	next, known := change{c.New, c.deletes(), strings.Clone(call), at.UnixMicro()}, l.tasks[c.ID]
	switch {
	case known == nil:
		if l.tasks == nil {
			l.tasks = map[int64]*RecordedTask{}
		}
		l.tasks[c.ID] = &RecordedTask{start: c.Old, last: next}
	case known.last.now == c.Old:
		known.last = next
	default:
		known.loose = append(known.loose, link{c.Old, next})
	}
}

// forget drops everything that was recorded before a person has decided to go on with other data,
// or without lost records.
func (l *TaskLedger) forget(at time.Time) { *l = TaskLedger{Since: at, Older: true} }

// Find returns what was recorded about a task; nil if nothing was.
func (l *TaskLedger) Find(id int64) *RecordedTask { return l.tasks[id] }

// Take is Find. It also removes what was recorded.
func (l *TaskLedger) Take(id int64) *RecordedTask {
	task := l.tasks[id]
	delete(l.tasks, id)
	return task
}

// Rest calls visit for each task that was not taken.
func (l *TaskLedger) Rest(visit func(id int64, task *RecordedTask)) {
	for id, task := range l.tasks {
		visit(id, task)
	}
}

// TaskState is what a task is after all recorded changes.
type TaskState struct {
	Digest  Digest
	Deleted bool
	Call    string // that has made the last change
	Time    time.Time
	// Gap is a call. Before it, the task was changed without a record. "" means no such change.
	Gap string
}

// State connects the changes of the task.
func (t *RecordedTask) State() TaskState {
	last, gap := t.last, ""
	if len(t.loose) > 0 {
		last, gap = t.connect()
	}
	return TaskState{last.now, last.deleted, last.call, time.UnixMicro(last.time).UTC(), gap}
}

// connect orders changes whose records are out of order. The end of a chain is a digest that more
// changes have stored than replaced. With one end the chain is complete.
func (t *RecordedTask) connect() (last change, gap string) {
	stored := map[Digest]int{t.last.now: 1}
	stored[t.start]--
	for _, l := range t.loose {
		stored[l.now]++
		stored[l.old]--
	}
	ends := 0
	for _, n := range stored {
		ends += max(n, 0)
	}
	if stored[t.last.now] > 0 {
		last = t.last
	}
	for _, l := range t.loose {
		if stored[l.now] > 0 && (last.call == "" || l.time >= last.time) {
			last = l.change
		}
		if ends > 1 && stored[l.old] < 0 {
			gap = l.call
		}
	}
	return last, gap
}
