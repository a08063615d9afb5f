package imports

import (
	"bytes"
	"errors"

	"github.com/pelletier/go-toml/v2"
)

// A tomlTable is a table of a TOML document.
type tomlTable map[string]any

// maxTOMLErrors limits the invalid lines of a TOML document that are skipped.
const maxTOMLErrors = 16

// parseTOML parses as much of a TOML document as it can: it removes an invalid line and parses
// again, because even a part of a manifest locates sources.
func parseTOML(content []byte) tomlTable {
	content = bytes.Clone(content)
	for range maxTOMLErrors {
		var table map[string]any
		err := toml.Unmarshal(content, &table)
		var wrong *toml.DecodeError
		if !errors.As(err, &wrong) {
			return table
		}
		row, _ := wrong.Position()
		if !eraseLine(content, row) {
			break
		}
	}
	return nil
}

// eraseLine overwrites a line with spaces. It reports whether anything was on it.
func eraseLine(content []byte, row int) bool {
	for line := range bytes.Lines(content) {
		if row--; row > 0 {
			continue
		}
		text := bytes.TrimRight(line, "\r\n")
		any := len(bytes.TrimSpace(text)) > 0
		copy(text, bytes.Repeat([]byte{' '}, len(text)))
		return any
	}
	return false
}

// at returns the value at a path of keys.
func (t tomlTable) at(keys ...string) any {
	var value any = map[string]any(t)
	for _, key := range keys {
		table, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = table[key]
	}
	return value
}

// table returns the table at a path of keys, or nil.
func (t tomlTable) table(keys ...string) tomlTable {
	table, _ := t.at(keys...).(map[string]any)
	return table
}

// text returns the string at a path of keys, or "".
func (t tomlTable) text(keys ...string) string {
	text, _ := t.at(keys...).(string)
	return text
}

// texts returns the strings at a path of keys: those of a list, or a single one.
func (t tomlTable) texts(keys ...string) []string { return textsOf(t.at(keys...)) }

// tables returns the tables in the list at a path of keys.
func (t tomlTable) tables(keys ...string) []tomlTable {
	list, _ := t.at(keys...).([]any)
	var tables []tomlTable
	for _, v := range list {
		if table, ok := v.(map[string]any); ok {
			tables = append(tables, table)
		}
	}
	return tables
}
