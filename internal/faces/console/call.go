package console

import (
	"time"

	"remit/internal/engine/audit/auditindex"
)

// callView is one call in full.
type callView struct {
	ID     string
	Record auditindex.Record
	Time   time.Time
	Took   time.Duration
	promise
	Changed bool // its contract has another version now
}

// Text is a part of the record that is text or a number.
func (c *callView) Text(key string) string { return textOf(&c.Record.Value, key) }

// Arguments are those of the record: redacted when it was made.
func (c *callView) Arguments() string {
	args := c.Record.Value.Field("arguments")
	return shownJSON(&args)
}

// Whole is the record as it was kept.
func (c *callView) Whole() string { return shownJSON(&c.Record.Value) }

// Bytes is the size of the answer.
func (c *callView) Bytes() int64 {
	n := c.Record.Value.Field("bytes")
	var size int64
	_ = n.Decode(&size) // 0 if it is not there
	return size
}

func (v *visit) showCall() error {
	id := v.r.PathValue("id")
	record, err := v.Calls.One(v.r.Context(), id)
	if err != nil {
		return err
	}
	view := &callView{ID: id, Record: record}
	if at, err := time.Parse(time.RFC3339Nano, view.Text("time")); err == nil {
		view.Time = at
	}
	var micros int64
	if took := record.Value.Field("micros"); took.Decode(&micros) == nil {
		view.Took = time.Duration(micros) * time.Microsecond
	}
	view.promise = v.served()[view.Text("tool")]
	view.Changed = view.Served != nil && view.Served.Version.String() != view.Text("version")
	return v.page("call", "calls", "Call of "+view.Text("tool"), view)
}
