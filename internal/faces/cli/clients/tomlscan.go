package clients

import (
	"bytes"
	"strconv"
	"strings"
)

// statement is a header or a pair of a TOML text, as whole lines.
type statement struct {
	start, end int      // with the end of its last line
	table      []string // of a header the table itself, of a pair the one it stands in
	key        []string // of a pair; nil for a header
	at         int      // of a pair, where its value begins
	value      string   // of a pair, as it is written
	array      bool     // a header in two brackets
}

func (s *statement) isHeader() bool { return s.key == nil }

// tomlText reads a TOML text as far as it takes to know where each statement is:
// values are passed over, not understood.
type tomlText struct {
	text      []byte
	at, depth int
	table     []string
	all       []statement
}

func scanTOML(text []byte) ([]statement, error) {
	t := &tomlText{text: text}
	if bytes.HasPrefix(text, byteOrderMark) {
		t.at = len(byteOrderMark)
	}
	for t.at < len(text) {
		start := t.at
		t.blanks()
		switch t.next() {
		case 0, '\n', '\r', '#':
		case '[':
			if err := t.header(start); err != nil {
				return nil, err
			}
		default:
			if err := t.pair(start); err != nil {
				return nil, err
			}
		}
		if err := t.lineEnd(); err != nil {
			return nil, err
		}
		if n := len(t.all); n > 0 && t.all[n-1].start == start {
			t.all[n-1].end = t.at
		}
	}
	return t.all, nil
}

func (t *tomlText) wrong(format string, args ...any) error {
	return syntaxError(t.text, t.at, format, args...)
}

func (t *tomlText) next() byte {
	if t.at < len(t.text) {
		return t.text[t.at]
	}
	return 0
}

func (t *tomlText) blanks() {
	for t.next() == ' ' || t.next() == '\t' {
		t.at++
	}
}

// lineEnd passes over a comment and the end of the line.
func (t *tomlText) lineEnd() error {
	t.blanks()
	if t.next() == '#' {
		for t.at < len(t.text) && t.next() != '\n' {
			t.at++
		}
	}
	if bytes.HasPrefix(t.text[t.at:], []byte("\r\n")) {
		t.at++
	}
	if t.at < len(t.text) && t.next() != '\n' {
		return t.wrong("the line should end here")
	}
	t.at = min(t.at+1, len(t.text))
	return nil
}

func (t *tomlText) header(start int) error {
	t.at++
	array := t.next() == '['
	closing := "]"
	if array {
		t.at++
		closing = "]]"
	}
	path, err := t.path()
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(t.text[t.at:], []byte(closing)) {
		return t.wrong("%s belongs here", closing)
	}
	t.at += len(closing)
	t.table = path
	t.all = append(t.all, statement{start: start, table: path, array: array})
	return nil
}

func (t *tomlText) pair(start int) error {
	key, err := t.path()
	if err != nil {
		return err
	}
	if t.next() != '=' {
		return t.wrong("= belongs here, between a name and its value")
	}
	t.at++
	t.blanks()
	from := t.at
	if err := t.value(); err != nil {
		return err
	}
	t.all = append(t.all, statement{start: start, table: t.table, key: key, at: from, value: string(t.text[from:t.at])})
	return nil
}

// path reads names with dots between.
func (t *tomlText) path() ([]string, error) {
	var path []string
	for {
		t.blanks()
		name, err := t.name()
		if err != nil {
			return nil, err
		}
		path = append(path, name)
		t.blanks()
		if t.next() != '.' {
			return path, nil
		}
		t.at++
	}
}

func (t *tomlText) name() (string, error) {
	start := t.at
	if quote := t.next(); quote == '"' || quote == '\'' {
		if err := t.str(); err != nil {
			return "", err
		}
		name, ok := tomlString(string(t.text[start:t.at]))
		if !ok {
			return "", syntaxError(t.text, start, "this name is not right")
		}
		return name, nil
	}
	for b := t.next(); b == '-' || b == '_' || b >= '0' && b <= '9' || b >= 'A' && b <= 'Z' || b >= 'a' && b <= 'z'; b = t.next() {
		t.at++
	}
	if t.at == start {
		return "", t.wrong("a name belongs here")
	}
	return string(t.text[start:t.at]), nil
}

// value passes over a value.
func (t *tomlText) value() error {
	if t.depth++; t.depth > maxDepth {
		return t.wrong("it is nested too deeply")
	}
	defer func() { t.depth-- }()
	switch t.next() {
	case '"', '\'':
		return t.str()
	case '[':
		return t.list(']', t.value)
	case '{':
		return t.list('}', func() error {
			if _, err := t.path(); err != nil {
				return err
			}
			if t.next() != '=' {
				return t.wrong("= belongs here, between a name and its value")
			}
			t.at++
			t.blanks()
			return t.value()
		})
	}
	start := t.at
	for t.at < len(t.text) && bytes.IndexByte([]byte(",]}#\r\n\"'[{="), t.next()) < 0 {
		t.at++
	}
	if len(bytes.TrimSpace(t.text[start:t.at])) == 0 {
		return t.wrong("a value belongs here")
	}
	return nil
}

// list passes over what stands between two brackets, over any number of lines.
func (t *tomlText) list(closing byte, read func() error) error {
	t.at++
	for needsComma := false; ; {
		t.gap()
		switch next := t.next(); {
		case next == closing:
			t.at++
			return nil
		case t.at >= len(t.text):
			return t.wrong("the text ends here, but %q is missing", closing)
		case needsComma && next != ',':
			return t.wrong("a comma or %q belongs here", closing)
		case needsComma:
			t.at++
			needsComma = false
		default:
			if err := read(); err != nil {
				return err
			}
			needsComma = true
		}
	}
}

// gap passes over white space and comments, over any number of lines.
func (t *tomlText) gap() {
	for t.at < len(t.text) {
		switch b := t.next(); {
		case isSpace(b):
			t.at++
		case b == '#':
			for t.at < len(t.text) && t.next() != '\n' {
				t.at++
			}
		default:
			return
		}
	}
}

// str passes over a string in any of the four kinds of quotes.
func (t *tomlText) str() error {
	start, quote := t.at, t.next()
	long := bytes.HasPrefix(t.text[t.at:], bytes.Repeat([]byte{quote}, 3))
	if long {
		t.at += 3
	} else {
		t.at++
	}
	for ; t.at < len(t.text); t.at++ {
		switch b := t.next(); {
		case b == '\\' && quote == '"':
			t.at++
		case b == '\n' && !long:
			return syntaxError(t.text, start, "this string has no end")
		case b == quote && !long:
			t.at++
			return nil
		case b == quote && bytes.HasPrefix(t.text[t.at:], bytes.Repeat([]byte{quote}, 3)):
			t.at += 3
			for i := 0; i < 2 && t.next() == quote; i++ { // up to two may stand right before the end
				t.at++
			}
			return nil
		}
	}
	t.at = len(t.text)
	return syntaxError(t.text, start, "this string has no end")
}

// tomlString gives what a string of one line says.
func tomlString(written string) (string, bool) {
	written = strings.TrimSpace(written)
	if len(written) < 2 || strings.HasPrefix(written, `"""`) || strings.HasPrefix(written, "'''") {
		return "", false
	}
	if written[0] == '\'' {
		return written[1 : len(written)-1], written[len(written)-1] == '\''
	}
	text, err := strconv.Unquote(written) // the escapes of TOML are among those of Go, but for \e
	return text, err == nil && written[0] == '"'
}
