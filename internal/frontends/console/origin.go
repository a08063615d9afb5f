package console

import (
	"context"
	"errors"
	"time"

	"remit/internal/contract/jsontree"
	"remit/internal/engine/audit"
	"remit/internal/visible"
)

// origin says who made a change and what allowed it, from the audit record of the call.
type origin struct {
	Record    string // the id of the record
	By, Via   string
	At        time.Time
	Request   string // the approval request that a person approved
	DecidedBy string // that person; "" if the request is not stored any more
	Rule      string // the standing permission that let the call pass
	Mode      bool   // nobody was asked: the operator has set --approve auto
	Terminal  bool   // a person agreed at the terminal

	record jsontree.Value
}

// originTimeout is how long a page searches the audit records for what made the changes that it
// shows.
const originTimeout = 10 * time.Second

// errNoRecords means that the records cannot be searched now.
var errNoRecords = errors.New("the audit records could not be read in time")

// origins finds the records of the calls that made changes, oldest first. The changes are those
// whose effect contains the text and fits, since a day.
func (v *visit) origins(since time.Time, text string, fits func(effect *jsontree.Value) bool) ([]origin, error) {
	if v.Calls == nil {
		return nil, errNoRecords
	}
	ctx, cancel := context.WithTimeout(v.r.Context(), originTimeout)
	defer cancel()
	records, err := v.Calls.Effects(ctx, since, text, fits)
	if err != nil {
		v.Log.Warn("cannot search the audit records for changes", "error", err)
		return nil, errNoRecords
	}
	deciders := map[string]string{}
	found := make([]origin, len(records))
	for i := range records {
		found[i] = v.originOf(ctx, &records[i], deciders)
	}
	return found, nil
}

// originOf returns what a record says. deciders holds who has decided about the requests so far.
func (v *visit) originOf(ctx context.Context, r *jsontree.Value, deciders map[string]string) origin {
	o := origin{
		Record: textOf(r, "id"), By: visible.Line(textOf(r, "principal")), Via: visible.Line(audit.FrontendOf(r)),
		Rule: textOf(r, "rule"), record: *r,
	}
	o.At, _ = time.Parse(time.RFC3339Nano, textOf(r, "time")) // shown as never
	switch approved := textOf(r, "approved"); approved {
	case "", audit.ByRule:
	case audit.ByMode:
		o.Mode = true
	case audit.ByTerminal:
		o.Terminal = true
	default:
		o.Request = approved
		by, known := deciders[approved]
		if !known {
			by = v.deciderOf(ctx, approved)
			deciders[approved] = by
		}
		o.DecidedBy = by
	}
	return o
}

// deciderOf returns the person who approved a request; "" if that is not known.
func (v *visit) deciderOf(ctx context.Context, request string) string {
	store, err := v.openApprovals(ctx)
	if err != nil {
		return ""
	}
	r, err := store.Get(ctx, request)
	if err != nil {
		return ""
	}
	return visible.Line(r.DecidedBy)
}
