package sqlstore

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// decode returns the values of a row in the order of names. The first row says which columns there
// are: an older version had fewer, and the others get their defaults.
func (t *tableImport) decode(line []byte) ([]any, error) {
	var row map[string]json.RawMessage
	if err := json.Unmarshal(line, &row); err != nil {
		return nil, fmt.Errorf("not a JSON object: %w", err)
	}
	if t.names == nil {
		t.names = slices.Sorted(maps.Keys(row))
		t.columns = slices.DeleteFunc(t.columns, func(c column) bool { return !slices.Contains(t.names, c.name) })
	}
	if len(t.columns) != len(t.names) || len(row) != len(t.names) {
		return nil, errors.New("its columns are not those of the table; it was exported by a newer version")
	}
	values := make([]any, len(t.names))
	for i := range t.columns { // sorted like the names
		c := &t.columns[i]
		value, ok := row[c.name]
		if !ok {
			return nil, fmt.Errorf("column %s is missing", c.name)
		}
		decoded, err := c.decode(value)
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", c.name, err)
		}
		if c.name == "workspace" && decoded == thisPlace && slices.Contains(placed, t.table) {
			decoded = t.place
		}
		values[i] = decoded
	}
	return values, nil
}

// decode returns what a column stores for a value that rowEncoder has written.
func (c *column) decode(value json.RawMessage) (decoded any, err error) {
	if string(value) == "null" {
		return nil, nil
	}
	switch {
	case c.isBool():
		return strconv.ParseBool(string(value))
	case !c.isText():
		return strconv.ParseInt(string(value), 10, 64)
	}
	var bytes struct {
		Base64 *string `json:"base64"`
	}
	text := ""
	if value[0] == '{' {
		if err := json.Unmarshal(value, &bytes); err != nil || bytes.Base64 == nil {
			return nil, errors.New("neither text nor bytes")
		}
		decoded, err := base64.StdEncoding.DecodeString(*bytes.Base64)
		if err != nil {
			return nil, fmt.Errorf("decode bytes: %w", err)
		}
		text = string(decoded)
	} else if err := json.Unmarshal(value, &text); err != nil {
		return nil, fmt.Errorf("not a text: %w", err)
	}
	if c.isBlob() {
		return []byte(text), nil
	}
	return text, nil
}

// insert returns the statement for some rows.
func (t *tableImport) insert(rows int) string {
	var keys, sets []string
	for _, c := range t.columns {
		if c.key > 0 {
			keys = append(keys, c.name)
		} else {
			sets = append(sets, c.name+" = excluded."+c.name)
		}
	}
	var b strings.Builder
	b.WriteString("INSERT INTO " + t.table + " (" + strings.Join(t.names, ", ") + ")")
	if t.db.shared {
		b.WriteString(" OVERRIDING SYSTEM VALUE")
	}
	b.WriteString(" VALUES ")
	n := 0
	for row := range rows {
		b.WriteString([]string{"(", ", ("}[min(row, 1)])
		for column := range t.names {
			n++
			b.WriteString([]string{"$", ", $"}[min(column, 1)] + strconv.Itoa(n))
		}
		b.WriteString(")")
	}
	b.WriteString(" ON CONFLICT (" + strings.Join(keys, ", ") + ") DO ")
	if len(sets) == 0 {
		return b.String() + "NOTHING"
	}
	return b.String() + "UPDATE SET " + strings.Join(sets, ", ")
}
