package console

import (
	"slices"
	"strings"

	"remit/internal/contract/jsontree"
	"remit/internal/visible"
)

// fieldChange is a field of a record, before and after a call.
type fieldChange struct {
	Name          string
	Before, After []piece // nil if the record does not have the field
	Same          bool
}

// taskFields are the fields of a task in the order in which the tools describe it.
var taskFields = []string{"title", "description", "completed", "priority", "due_date", "depends_on", "claimed by", "last changed"}

// taskChange returns the fields of a task before and after a call. It returns nil if a text is not
// exactly the description of a task, so that a text cannot pass for fields.
func taskChange(before, after string) (fields []fieldChange) {
	a, ok := parseTask(before)
	b, valid := parseTask(after)
	if !ok || !valid || before == "" && after == "" {
		return nil
	}
	for _, name := range taskFields {
		old, had := a[name]
		now, has := b[name]
		if !had && !has {
			continue
		}
		f := fieldChange{Name: strings.ReplaceAll(name, "_", " "), Same: had && has && old == now}
		if had && has && !f.Same {
			f.Before, f.After = changedWords(wordTokens(old), wordTokens(now))
		}
		if had && f.Before == nil {
			f.Before = []piece{{Text: visible.Line(old)}}
		}
		if has && f.After == nil {
			f.After = []piece{{Text: visible.Line(now)}}
		}
		fields = append(fields, f)
	}
	return fields
}

// parseTask parses the description of a task: one field per line, each at most once, in order. The
// fields completed and priority are always there.
func parseTask(text string) (fields map[string]string, ok bool) {
	fields = map[string]string{}
	last := -1
	for line := range strings.Lines(text) {
		name, value, found := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		at := slices.Index(taskFields, name)
		if !found || at <= last {
			return nil, false
		}
		last, fields[name] = at, value
	}
	return fields, text == "" || fields["completed"] != "" && fields["priority"] != ""
}

// newEntries returns the entries that a call appends to a file of JSON lines, each as its fields;
// nil if the call does anything else.
func newEntries(before, after string) (entries [][]argument) {
	added, ok := strings.CutPrefix(after, before)
	if !ok || added == "" || before != "" && !strings.HasSuffix(before, "\n") {
		return nil
	}
	for line := range strings.Lines(added) {
		entry, err := jsontree.Parse([]byte(line))
		if err != nil || entry.Kind != jsontree.Object || len(entries) == maxEntries {
			return nil
		}
		entries = append(entries, argumentsOf([]byte(line)))
	}
	return entries
}

// maxEntries is the maximum number of entries that are shown as fields.
const maxEntries = 50
