package console

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine/audit"
	"remit/internal/engine/audit/auditindex"
	"remit/internal/toolsets/books"
	"remit/internal/visible"
)

const (
	maxRelated     = 100              // records that a page shows
	relatedTimeout = 10 * time.Second // to search all records for them
)

// related is the list of the records that belong to a call or an approval request, oldest first.
// The block "related" of templates/parts.html shows it.
type related struct {
	ID         string // of the record, call or request
	Records    []relatedRecord
	More       int  // records that are not shown
	Unreadable bool // the records could not be read in time
}

// relatedRecord is one of the records that belong together.
type relatedRecord struct {
	ID, Part, Caller, Via, Tool, Outcome string
	Principal                            string // the caller as it is recorded
	Time                                 time.Time
	Current                              bool // the page is about this record
	Change                               *recordedChange
}

// recordedChange is what a call has changed, or was about to change.
type recordedChange struct {
	Verb, Name string
	Href       string // a page that shows it; "" if there is none
	State      string // "" if it was made
	Detail     string // what else the record says: lines, size, versions
}

// related finds the records that belong to the record, call or approval request with an id.
func (v *visit) related(id string) (list related) {
	list.ID = id
	if v.Calls == nil {
		return list
	}
	ctx, cancel := context.WithTimeout(v.r.Context(), relatedTimeout)
	defer cancel()
	records, err := v.Calls.Trace(ctx, id)
	if err != nil {
		if contract.AsError(err).Kind == contract.NotFound {
			return list // they were dropped, or belong to an earlier version
		}
		v.Log.Warn("cannot find related audit records", "id", id, "error", err)
		list.Unreadable = true
		return list
	}
	last := map[string]*jsontree.Value{} // the last record of each call
	for i := range records {
		last[textOf(&records[i], "call")] = &records[i]
	}
	list.More = max(0, len(records)-maxRelated)
	for i := range records[list.More:] {
		r := &records[list.More+i]
		one := relatedRecord{
			Principal: textOf(r, "principal"), ID: textOf(r, "id"), Part: auditindex.PartOf(r), Caller: visible.Line(textOf(r, "principal")),
			Via:  visible.Line(strings.TrimSpace(audit.FrontendOf(r) + " " + textOf(r, "client"))),
			Tool: visible.Line(audit.CurrentTool(textOf(r, "tool"))), Outcome: visible.Line(textOf(r, "outcome")),
			Change: changeOf(r, last[textOf(r, "call")]),
		}
		one.Time, _ = time.Parse(time.RFC3339Nano, textOf(r, "time")) // shown as never
		one.Current = one.ID == id
		list.Records = append(list.Records, one)
	}
	if len(list.Records) == 1 && list.Records[0].Current && list.Records[0].Change == nil {
		list.Records = nil // the page shows it already
	}
	return list
}

// changeOf returns what a record says about a change, or nil. last is the last record of the call,
// which says whether the change was made.
func changeOf(r, last *jsontree.Value) *recordedChange {
	effect := r.Field("effect")
	if effect.Kind != jsontree.Object {
		return nil
	}
	c := describeChange(&effect)
	c.Verb, c.Name = visible.Line(c.Verb), visible.Line(c.Name)
	step := textOf(&effect, "step")
	if step == "" {
		step = "1"
	}
	lists := func(key string) bool {
		numbers := last.Field(key)
		return slices.ContainsFunc(numbers.Members, func(m jsontree.Member) bool { return m.Value.Text == step })
	}
	switch {
	case lists("undone"):
		c.State, c.Href = "not made", ""
	case lists("unknown") || textOf(last, "outcome") == audit.Begun:
		c.State = "unknown whether it was made"
	}
	return &c
}

// describeChange describes the effect of a record: a task, an entry of a memory file, or a book.
func describeChange(effect *jsontree.Value) recordedChange {
	op, path := textOf(effect, "op"), textOf(effect, "path")
	book, file, version, inBook := books.ParseChange(path, textOf(effect, "line"))
	_, existed := effect.Get("old")
	_, remains := effect.Get("new")
	switch {
	case textOf(effect, "table") != "":
		verb := "change"
		if !existed {
			verb = "add"
		} else if !remains {
			verb = "delete"
		}
		return recordedChange{Verb: verb, Name: "task " + textOf(effect, "id"), Href: "/console/tasks"}
	case textOf(effect, "store") == audit.MemoryStore:
		return recordedChange{Verb: op, Name: path, Href: "/console/memory?" + url.Values{"file": {path}}.Encode(), Detail: sizeOf(effect)}
	case inBook:
		return recordedChange{Verb: op, Name: book + "/" + file, Href: shownChange(book, books.Change{Path: file, Version: version}).Diff, Detail: versionsOf(effect)}
	}
	return recordedChange{Verb: op, Name: path}
}

// sizeOf says how many lines an entry of a memory file has, and how large it is.
func sizeOf(effect *jsontree.Value) string {
	lines, size := textOf(effect, "lines"), textOf(effect, "size")
	if lines == "" {
		return ""
	}
	unit := " lines, "
	if lines == "1" {
		unit = " line, "
	}
	return "+" + lines + unit + size + " B"
}

// versionsOf names the content before and after a change by the beginnings of their hashes.
func versionsOf(effect *jsontree.Value) string {
	short := func(key string) string {
		hash := textOf(effect, key)
		return hash[:min(len(hash), 7)]
	}
	switch before, after := short("old"), short("new"); {
	case before == "" && after == "":
		return ""
	case before == "":
		return "new, " + after
	case after == "":
		return before + ", deleted"
	default:
		return before + " → " + after
	}
}
