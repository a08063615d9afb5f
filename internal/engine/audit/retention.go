package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"slices"

	"remit/internal/contract/jsontree"
)

// RetentionTool is the tool of records that say which records were dropped.
const RetentionTool = "audit/retention"

// Cut says which records were dropped because of their age. It is part of the chain, as the
// arguments of a record, and sealed, so that nobody else can remove records and say so.
type Cut struct {
	Through string `json:"through"` // the last day that was dropped
	Records int64  `json:"records"` // how many records were dropped so far
	Next    string `json:"next"`    // the hash that the first record after them refers to
	// Passkeys are the public keys of passkeys that dropped records registered, by id.
	Passkeys map[string]string `json:"passkeys,omitempty"`
	Seal     string            `json:"seal"`
}

// Value returns the arguments of the record.
func (c *Cut) Value() (jsontree.Value, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return jsontree.Value{}, err
	}
	return jsontree.Parse(text)
}

var cutMark = []byte(`"tool":"` + RetentionTool + `"`)

// cutIn returns the cut that a record describes.
func cutIn(line []byte) (c Cut, ok bool) {
	if !bytes.Contains(line, cutMark) {
		return c, false
	}
	var record struct {
		Tool, Outcome string
		Arguments     Cut
	}
	err := json.Unmarshal(line, &record)
	return record.Arguments, err == nil && record.Tool == RetentionTool && record.Outcome == "ok"
}

// Retained reads the records that are left after older ones were dropped. It is for one use.
type Retained struct {
	Reader
	// Valid reports whether a cut is sealed with the key of the workspace.
	Valid func(Cut) bool

	found *Cut
}

// Cut returns the newest cut; the zero Cut if all records are there, or if none explains what is
// missing.
func (r *Retained) Cut(ctx context.Context) (Cut, error) {
	if r.found == nil {
		c, err := r.find(ctx)
		if err != nil {
			return Cut{}, err
		}
		r.found = &c
	}
	return *r.found, nil
}

func (r *Retained) find(ctx context.Context) (none Cut, err error) {
	days, err := r.Reader.Days(ctx)
	if err != nil || len(days) == 0 {
		return none, err
	}
	first, err := r.From(ctx, days[0].Name, 0, 1)
	if err != nil {
		return none, err
	}
	if len(first) > 0 {
		if _, prev, _, ok := split(first[0].Text); ok && string(prev) == InitialHash {
			return none, nil
		}
	}
	for _, day := range slices.Backward(days) {
		for place := int64(math.MaxInt64); ; {
			lines, err := r.Before(ctx, day.Name, place, 1000)
			if err != nil {
				return none, err
			}
			if len(lines) == 0 {
				break
			}
			for _, line := range lines {
				if c, ok := cutIn(line.Text); ok && r.Valid(c) {
					return c, nil
				}
			}
			place = lines[len(lines)-1].Offset
		}
	}
	return none, nil
}

// Days implements Reader. It leaves out days that were to be dropped, but are still there.
func (r *Retained) Days(ctx context.Context) ([]Day, error) {
	c, err := r.Cut(ctx)
	if err != nil {
		return nil, err
	}
	days, err := r.Reader.Days(ctx)
	return slices.DeleteFunc(days, func(d Day) bool { return d.Name <= c.Through }), err
}

// Start returns the hash that the first record refers to.
func (r *Retained) Start(ctx context.Context) (string, error) {
	c, err := r.Cut(ctx)
	if err != nil || c.Through == "" {
		return InitialHash, err
	}
	return c.Next, nil
}

// startOf returns the hash that the first of the records must refer to.
func startOf(ctx context.Context, records Reader) (string, error) {
	if r, ok := records.(interface {
		Start(ctx context.Context) (string, error)
	}); ok {
		return r.Start(ctx)
	}
	return InitialHash, nil
}

// PlanCut returns the cut that drops the records before a day, without its seal, and the days that
// it drops. It drops nothing if the chain is broken there. It leaves out the newest day, and all
// days from the first on with a change that was begun and not settled. The checks get each record
// that is dropped, and their errors prevent it.
func (r *Retained) PlanCut(ctx context.Context, day string, checks ...func(record []byte) error) (c Cut, drop []string, err error) {
	last, err := r.Cut(ctx)
	if err != nil {
		return c, nil, err
	}
	days, err := r.Days(ctx)
	if len(days) > 0 {
		days = days[:len(days)-1]
	}
	days = slices.DeleteFunc(days, func(d Day) bool { return d.Name >= day })
	open := &openCalls{}
	checks = append(checks, func(line []byte) error { open.note(line); return nil })
	counts, before := map[string]int{}, ""
	for _, d := range days {
		open.day = d.Name
		if counts[d.Name], err = verifyDay(ctx, r, d.Name, before, checks); err != nil {
			return c, nil, err
		}
		if counts[d.Name] > 0 {
			before = d.Name
		}
	}
	if err == nil {
		err = open.settle(ctx, r, day)
	}
	c.Records = last.Records
	for _, d := range days {
		if err != nil || open.blocks(d.Name) {
			break
		}
		drop, c.Through, c.Records = append(drop, d.Name), d.Name, c.Records+int64(counts[d.Name])
	}
	if err != nil || len(drop) == 0 {
		return Cut{}, nil, err
	}
	c.Next, err = r.nextHash(ctx, c.Through)
	return c, drop, err
}

// nextHash returns what the first record after a day refers to.
func (r *Retained) nextHash(ctx context.Context, through string) (string, error) {
	days, err := r.Days(ctx)
	for _, d := range days {
		if err != nil || d.Name <= through {
			continue
		}
		lines, err := r.From(ctx, d.Name, 0, 1)
		if err != nil {
			return "", err
		}
		if len(lines) > 0 {
			_, prev, _, ok := split(lines[0].Text)
			if !ok {
				return "", &BrokenError{FileOf(d.Name), 1, "it is not a valid audit record"}
			}
			return string(prev), nil
		}
	}
	return "", err
}

// openCalls are the calls that have begun to change something and have no other record.
type openCalls struct {
	day   string            // of the records that are noted
	calls map[string]string // the day of each call
}

// note notes a record.
func (o *openCalls) note(line []byte) {
	if !bytes.Contains(line, []byte(`,"call":"`)) {
		return
	}
	var record struct{ Call, Outcome string }
	if json.Unmarshal(line, &record) != nil || record.Call == "" {
		return
	}
	if record.Outcome == "begun" && o.day != "" {
		if o.calls == nil {
			o.calls = map[string]string{}
		}
		o.calls[record.Call] = o.day
	} else if record.Outcome != "begun" {
		delete(o.calls, record.Call)
	}
}

// settle looks for the other records of the calls in the days from one on.
func (o *openCalls) settle(ctx context.Context, records Reader, from string) error {
	o.day = ""
	days, err := records.Days(ctx)
	for _, d := range days {
		for place := int64(0); d.Name >= from && len(o.calls) > 0; {
			lines, err := records.From(ctx, d.Name, place, 1000)
			if err != nil {
				return err
			}
			if len(lines) == 0 {
				break
			}
			for _, line := range lines {
				o.note(line.Text)
			}
			place = lines[len(lines)-1].Next
		}
	}
	return err
}

// blocks reports whether a call of a day, or of one before it, is open.
func (o *openCalls) blocks(day string) bool {
	for _, of := range o.calls {
		if of <= day {
			return true
		}
	}
	return false
}
