package console

import (
	"slices"
	"strings"
	"time"

	"remit/internal/contract/jsontree"
	"remit/internal/visible"
)

// entriesOf parses the lines of a memory file, newest first. A line that is not JSON is an entry
// too: people may have written it.
func entriesOf(file, text string, whole bool) []memoryEntry {
	var entries []memoryEntry
	var last time.Time
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, "\r\n")
		if strings.TrimSpace(line) == "" {
			continue
		}
		e := memoryEntry{File: file, raw: line}
		if whole {
			e.Line = n
		}
		tree, err := jsontree.Parse([]byte(line))
		if err == nil && tree.Kind == jsontree.Object {
			e.tree = tree
			e.typeKey, e.Type = firstOf(&tree, "type", "event", "category", "kind")
			_, at := firstOf(&tree, "timestamp", "time", "date", "created_at")
			e.At = timeOf(at)
		}
		if e.At.IsZero() {
			e.At = last // assume the time of the previous entry
		}
		last = e.At
		entries = append(entries, e)
	}
	slices.Reverse(entries)
	return entries
}

// firstOf returns the first of the fields that contains a non-empty string, and that string.
func firstOf(tree *jsontree.Value, keys ...string) (key, text string) {
	for _, key := range keys {
		if value := tree.Field(key); value.Kind == jsontree.String && value.Text != "" {
			return key, value.Text
		}
	}
	return "", ""
}

func timeOf(text string) time.Time {
	for _, form := range []string{time.RFC3339, "2006-01-02T15:04:05", time.DateTime, time.DateOnly} {
		if at, err := time.Parse(form, text); err == nil {
			return at
		}
	}
	return time.Time{}
}

// fillFields sets the main text of an entry and its other fields.
func (e *memoryEntry) fillFields() {
	if e.tree.Kind != jsontree.Object {
		e.Text = clip(legible(e.raw), 4000)
		return
	}
	key, text := firstOf(&e.tree, "decision", "content", "summary", "title", "message", "text", "task", "description")
	e.Text = clip(legible(text), 4000)
	for _, m := range e.tree.Members {
		switch {
		case m.Key == e.typeKey && e.Type != "", m.Key == key && text != "":
			continue
		case m.Key == "timestamp" && !timeOf(m.Value.Text).IsZero():
			continue
		}
		e.Fields = append(e.Fields, frontField{Key: visible.Line(m.Key), Value: clip(fieldText(&m.Value), 2000)})
	}
}

// fieldText returns a value as text for people.
func fieldText(value *jsontree.Value) string {
	switch value.Kind {
	case jsontree.String, jsontree.Number, jsontree.Bool:
		return legible(value.Text)
	case jsontree.Null:
		return "none"
	case jsontree.Array:
		if texts, ok := scalars(value); ok {
			return strings.Join(texts, ", ")
		}
	}
	if short := value.Append(nil); len(short) <= 100 {
		return visible.Line(string(short))
	}
	return shownJSON(value)
}

// scalars returns the elements of an array as text. It returns false if one of them is an array or
// object.
func scalars(list *jsontree.Value) (texts []string, ok bool) {
	for i := range list.Members {
		if kind := list.Members[i].Value.Kind; kind == jsontree.Array || kind == jsontree.Object {
			return nil, false
		}
		texts = append(texts, fieldText(&list.Members[i].Value))
	}
	return texts, true
}
