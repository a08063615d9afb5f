package imports

import (
	"bytes"
	"errors"

	"github.com/pelletier/go-toml/v2"
)

// A tomlTable is a table of a TOML document, as the library gives it.
type tomlTable map[string]any

// mostTOMLErrors is how many wrong lines of a TOML document are passed over.
const mostTOMLErrors = 16

// parseTOML reads what it can of a TOML document: half a manifest still says where sources are, so a line that is wrong is
// left out and the rest is read again.
func parseTOML(content []byte) tomlTable {
	content = bytes.Clone(content)
	for range mostTOMLErrors {
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

// eraseLine overwrites a line with spaces. It tells whether anything was on it.
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

// at gives what is at a path of keys.
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

// table gives the table at a path of keys, nil if there is none.
func (t tomlTable) table(keys ...string) tomlTable {
	table, _ := t.at(keys...).(map[string]any)
	return table
}

// text gives the string at a path of keys, "" if there is none.
func (t tomlTable) text(keys ...string) string {
	text, _ := t.at(keys...).(string)
	return text
}

// texts gives the strings at a path of keys: those of a list, or the only one.
func (t tomlTable) texts(keys ...string) []string { return textsOf(t.at(keys...)) }

// tables gives the tables in the list at a path of keys.
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
