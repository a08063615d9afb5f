package auditindex

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine/audit"
)

// RequestOf returns the id of the approval request that a record is about: the call that asked for
// it, the decision of a person, or the call that it let pass. It returns "" for other records.
func RequestOf(record *jsontree.Value) string {
	tool, arguments, asked, approved := record.Field("tool"), record.Field("arguments"), record.Field("request"), record.Field("approved")
	switch {
	case asked.Text != "":
		return asked.Text
	case strings.HasPrefix(tool.Text, "approvals/") || strings.HasPrefix(tool.Text, "rules/"):
		decided := arguments.Field("request")
		return decided.Text
	case slices.Contains([]string{audit.ByMode, audit.ByRule, audit.ByTerminal}, approved.Text):
		return ""
	}
	return approved.Text
}

// withID adds the id of a record to it.
func withID(record jsontree.Value, id string) jsontree.Value {
	record.Members = append(slices.Clip(record.Members), jsontree.M("id", jsontree.Str(id)))
	return record
}

// linksOf returns the ids that a record shares with others: of its call, of its idempotency key and
// of its approval request.
func linksOf(record *jsontree.Value) []string {
	call, key := record.Field("call"), record.Field("key")
	return slices.DeleteFunc([]string{call.Text, key.Text, RequestOf(record)}, func(id string) bool { return id == "" })
}

// Trace returns the records that belong together, oldest first, each with its id: those of a call,
// of the approval that it asked for, of the call that used it, and of its repeats with the same
// idempotency key. id is that of a record, of a call or of an approval request. The error is
// contract.NotFound if there is none. Trace reads all records, unless the record has no link.
func (x *Index) Trace(ctx context.Context, id string) ([]jsontree.Value, error) {
	wanted := []string{id}
	first, err := x.Record(ctx, id)
	switch {
	case err == nil:
		if wanted = linksOf(&first.Value); len(wanted) == 0 {
			return []jsontree.Value{withID(first.Value, id)}, nil
		}
	case contract.AsError(err).Kind != contract.NotFound:
		return nil, err
	}
	for {
		known := len(wanted)
		found, err := x.matching(ctx, wanted)
		if err != nil {
			return nil, err
		}
		for i := range found {
			for _, other := range linksOf(&found[i]) {
				if !slices.Contains(wanted, other) {
					wanted = append(wanted, other)
				}
			}
		}
		switch {
		case len(found) == 0:
			return nil, contract.Errorf(contract.NotFound, "The audit log has no record, call or approval %q; \"remit audit list\" lists ids", id)
		case len(wanted) == known:
			return found, nil
		}
	}
}

// matching returns the records that have one of the links.
func (x *Index) matching(ctx context.Context, links []string) (found []jsontree.Value, err error) {
	days, err := x.Records.Days(ctx)
	if err != nil {
		return nil, err
	}
	texts := make([][]byte, len(links))
	for i, link := range links {
		texts[i] = jsontree.AppendString(nil, link)
	}
	// Parsing takes much longer than the search for a text, and few records match.
	mayMatch := func(line []byte) bool {
		return slices.ContainsFunc(texts, func(text []byte) bool { return bytes.Contains(line, text) })
	}
	for _, day := range days {
		_, err := x.each(ctx, day.Name, 0, mayMatch, func(record jsontree.Value, c *Call) error {
			if slices.ContainsFunc(linksOf(&record), func(link string) bool { return slices.Contains(links, link) }) {
				found = append(found, withID(record, idOf(c.Position, c.Mark)))
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// each calls visit for the records of a day from a place on whose lines match, oldest first. It
// returns the place after the last one.
func (x *Index) each(
	ctx context.Context, day string, place int64, match func(line []byte) bool, visit func(jsontree.Value, *Call) error,
) (next int64, err error) {
	for {
		lines, err := x.Records.From(ctx, day, place, 1000)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil || len(lines) == 0 {
			return place, err
		}
		for i := range lines {
			place = lines[i].Next
			if !match(lines[i].Text) {
				continue
			}
			if record, call, ok := parse(day, &lines[i]); ok {
				if err := visit(record, &call); err != nil {
					return place, err
				}
			}
		}
	}
}

// PartOf says in a sentence which part a record has among those that belong together.
func PartOf(r *jsontree.Value) string {
	tool, outcome, approved := r.Field("tool"), r.Field("outcome"), r.Field("approved")
	switch {
	case strings.HasPrefix(tool.Text, "approvals/") && outcome.Text != "ok":
		return "a person tried to decide; nothing was decided"
	case strings.HasPrefix(tool.Text, "approvals/"):
		return "a person decided"
	case strings.HasPrefix(tool.Text, "rules/") && outcome.Text == "ok":
		return "a person made or revoked a rule"
	case strings.HasPrefix(tool.Text, "rules/"):
		return "a person tried to make or revoke a rule; nothing was changed"
	case outcome.Text == string(contract.Pending):
		return "the call asked for approval; nothing was changed"
	case outcome.Text == "replayed":
		return "the call was repeated with its key and got the answer of the first one; nothing was changed"
	case outcome.Text == audit.Begun:
		return "the call was about to change something"
	case outcome.Text == audit.Settled:
		return "Remit found out what an earlier attempt of the call had changed"
	case approved.Text == audit.ByRule:
		return "the call ran by a rule"
	case approved.Text != "" && approved.Text != audit.ByMode:
		return "the call ran with the approval"
	}
	return "the call ended"
}

// Ends returns where the next record of each day will begin, for Watch.
func (x *Index) Ends(ctx context.Context) (map[string]int64, error) {
	days, err := x.Records.Days(ctx)
	ends := make(map[string]int64, len(days))
	for _, day := range days {
		ends[day.Name] = day.End
	}
	return ends, err
}

// Watch calls visit for each record that was written after Ends returned places and that matches
// the filter, with its id, until ctx is done or visit fails. It looks for new records at every
// tick.
func (x *Index) Watch(
	ctx context.Context, f Filter, places map[string]int64, tick <-chan time.Time, visit func(jsontree.Value) error,
) error {
	all := func([]byte) bool { return true }
	for {
		days, err := x.Records.Days(ctx)
		if err != nil {
			return err
		}
		for _, day := range days {
			if places[day.Name] == day.End {
				continue
			}
			places[day.Name], err = x.each(ctx, day.Name, places[day.Name], all, func(record jsontree.Value, c *Call) error {
				if c.Outcome == audit.Begun || c.Outcome == audit.Settled || !f.fits(&c.Kind) || !f.covers(c.Time) || !f.selects(&record) {
					return nil
				}
				return visit(withID(record, idOf(c.Position, c.Mark)))
			})
			if err != nil {
				return err
			}
		}
		select {
		case <-tick:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// covers reports whether a time is within the filter's.
func (f *Filter) covers(at time.Time) bool {
	return !at.Before(f.From) && (f.To.IsZero() || at.Before(f.To))
}
