package imports

import (
	"strings"
	"unicode/utf8"
)

// A tomlTable is a table of a TOML document. Values are tables, lists, and strings; numbers, dates and booleans are
// strings as written.
type tomlTable map[string]any

// parseTOML reads what it can of a TOML document. It is made for the manifests of Python and Rust projects: what is
// wrong is passed over line by line, because half a manifest still says where sources are.
func parseTOML(content []byte) tomlTable {
	root := tomlTable{}
	p, table := tomlParser{src: string(content)}, root
	for p.blank(true); p.at < len(p.src); p.blank(true) {
		if p.src[p.at] == '[' {
			table = p.header(root)
		} else {
			p.pair(table, 0)
		}
		p.restOfLine()
	}
	return root
}

// at gives what is at a path of keys.
func (t tomlTable) at(keys ...string) any {
	var value any = t
	for _, key := range keys {
		table, ok := value.(tomlTable)
		if !ok {
			return nil
		}
		value = table[key]
	}
	return value
}

// table gives the table at a path of keys, nil if there is none.
func (t tomlTable) table(keys ...string) tomlTable {
	table, _ := t.at(keys...).(tomlTable)
	return table
}

// text gives the string at a path of keys, "" if there is none.
func (t tomlTable) text(keys ...string) string {
	text, _ := t.at(keys...).(string)
	return text
}

// texts gives the strings at a path of keys: those of a list, or the only one.
func (t tomlTable) texts(keys ...string) []string {
	return textsOf(t.at(keys...))
}

// tables gives the tables in the list at a path of keys.
func (t tomlTable) tables(keys ...string) []tomlTable {
	list, _ := t.at(keys...).([]any)
	var tables []tomlTable
	for _, v := range list {
		if table, ok := v.(tomlTable); ok {
			tables = append(tables, table)
		}
	}
	return tables
}

// tomlDepth is how deep values may nest, and how long a dotted key may be.
const tomlDepth = 32

type tomlParser struct {
	src string
	at  int
}

// blank passes over spaces, and over line ends and comments if lines is set.
func (p *tomlParser) blank(lines bool) {
	for p.at < len(p.src) {
		switch c := p.src[p.at]; {
		case c == ' ' || c == '\t' || c == '\r' || lines && c == '\n':
			p.at++
		case lines && c == '#':
			p.restOfLine()
		default:
			return
		}
	}
}

func (p *tomlParser) restOfLine() {
	p.at = lineEnd(p.src, p.at)
}

func (p *tomlParser) take(text string) bool {
	if strings.HasPrefix(p.src[p.at:], text) {
		p.at += len(text)
		return true
	}
	return false
}

// header reads a [table] or a [[list of tables]] and gives the table that follows.
func (p *tomlParser) header(root tomlTable) tomlTable {
	p.at++
	list := p.take("[")
	keys := p.keys()
	if len(keys) == 0 {
		return tomlTable{}
	}
	last := keys[len(keys)-1]
	above := root.make(keys[:len(keys)-1])
	if !list {
		return above.make([]string{last})
	}
	table := tomlTable{}
	before, _ := above[last].([]any)
	above[last] = append(before, table)
	return table
}

// make gives the table at a path of keys, made if it is not there. Of a list of tables it is the last.
func (t tomlTable) make(keys []string) tomlTable {
	for _, key := range keys {
		switch value := t[key].(type) {
		case tomlTable:
			t = value
			continue
		case []any:
			if tables := (tomlTable{"": value}).tables(""); len(tables) > 0 {
				t = tables[len(tables)-1]
				continue
			}
		}
		table := tomlTable{}
		t[key] = table
		t = table
	}
	return t
}

// pair reads key = value into a table.
func (p *tomlParser) pair(table tomlTable, depth int) bool {
	keys := p.keys()
	if len(keys) == 0 || !p.take("=") {
		return false
	}
	value, ok := p.value(depth)
	if ok {
		table.make(keys[:len(keys)-1])[keys[len(keys)-1]] = value
	}
	return ok
}

// keys reads a dotted key.
func (p *tomlParser) keys() []string {
	var keys []string
	for len(keys) < tomlDepth {
		p.blank(false)
		key, ok := p.quoted()
		if !ok {
			start := p.at
			for p.at < len(p.src) && isTOMLBare(p.src[p.at]) {
				p.at++
			}
			if key = p.src[start:p.at]; key == "" {
				return nil
			}
		}
		keys = append(keys, key)
		p.blank(false)
		if !p.take(".") {
			return keys
		}
	}
	return nil
}

func isTOMLBare(c byte) bool {
	return isLetter(c) || isDigit(c) || c == '_' || c == '-'
}

func (p *tomlParser) value(depth int) (any, bool) {
	p.blank(false)
	if text, ok := p.quoted(); ok {
		return text, true
	}
	switch {
	case depth >= tomlDepth:
		return nil, false
	case p.take("["):
		return p.list(depth + 1)
	case p.take("{"):
		return p.inline(depth + 1)
	}
	start := p.at
	for p.at < len(p.src) && !strings.ContainsRune(",]}#\n", rune(p.src[p.at])) {
		p.at++
	}
	text := strings.TrimSpace(p.src[start:p.at])
	return text, text != ""
}

func (p *tomlParser) list(depth int) (any, bool) {
	list := []any{}
	for {
		p.blank(true)
		if p.take("]") {
			return list, true
		}
		value, ok := p.value(depth)
		if !ok {
			return nil, false
		}
		list = append(list, value)
		p.blank(true)
		if !p.take(",") && !strings.HasPrefix(p.src[p.at:], "]") {
			return nil, false
		}
	}
}

func (p *tomlParser) inline(depth int) (any, bool) {
	table := tomlTable{}
	for {
		p.blank(true)
		if p.take("}") {
			return table, true
		}
		if !p.pair(table, depth) {
			return nil, false
		}
		p.blank(true)
		if !p.take(",") && !strings.HasPrefix(p.src[p.at:], "}") {
			return nil, false
		}
	}
}

// quoted reads a string of one of the four kinds, if one begins here.
func (p *tomlParser) quoted() (string, bool) {
	for _, quote := range []string{`"""`, `'''`, `"`, `'`} {
		if p.take(quote) {
			return p.until(quote), true
		}
	}
	return "", false
}

// until reads a string up to its end: the quote, or, if it stands for one line, the end of that.
func (p *tomlParser) until(quote string) string {
	var text strings.Builder
	for p.at < len(p.src) && !p.take(quote) {
		c := p.src[p.at]
		if c == '\n' && len(quote) == 1 {
			break
		}
		p.at++
		if c != '\\' || quote[0] == '\'' || p.at == len(p.src) {
			text.WriteByte(c)
			continue
		}
		r, size := utf8.DecodeRuneInString(p.src[p.at:])
		p.at += size
		text.WriteRune(tomlEscaped(r))
	}
	return text.String()
}

// tomlEscaped says what a character after a backslash means. Code points are not worth reading: no path has them.
func tomlEscaped(r rune) rune {
	switch r {
	case 'n':
		return '\n'
	case 't':
		return '\t'
	}
	return r
}
