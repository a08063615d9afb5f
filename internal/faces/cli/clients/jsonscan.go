package clients

import (
	"bytes"
	"encoding/json"
)

// node is a value in a JSON text, by where it stands.
type node struct {
	start, end int
	members    []member // of an object
	object     bool
}

// member is a key of an object and its value.
type member struct {
	key   string
	start int // where the key begins
	value node
	comma int // where the comma behind it stands; -1 if there is none
}

// maxDepth keeps a hostile file from costing more than a look.
const maxDepth = 500

// jsonText is a JSON text as clients take it: with comments, with commas behind the
// last of a list, and with a mark at its start.
type jsonText struct {
	text     []byte
	root     *node // nil if there is no value
	comments []int // where those end that go to the end of their line

	at, depth int
}

// scanJSON finds every value of a text.
func scanJSON(text []byte) (*jsonText, error) {
	j := &jsonText{text: text}
	if bytes.HasPrefix(text, byteOrderMark) {
		j.at = len(byteOrderMark)
	}
	if err := j.space(); err != nil || j.at == len(text) {
		return j, err
	}
	root, err := j.value()
	if err != nil {
		return nil, err
	}
	j.root = &root
	if err := j.space(); err != nil {
		return nil, err
	}
	if j.at < len(text) {
		return nil, j.wrong("there is more behind the end")
	}
	return j, nil
}

func (j *jsonText) wrong(format string, args ...any) error {
	return syntaxError(j.text, j.at, format, args...)
}

// next is the byte that comes now; 0 at the end.
func (j *jsonText) next() byte {
	if j.at < len(j.text) {
		return j.text[j.at]
	}
	return 0
}

// space passes over white space and comments.
func (j *jsonText) space() error {
	for j.at < len(j.text) {
		switch rest := j.text[j.at:]; {
		case isSpace(rest[0]):
			j.at++
		case bytes.HasPrefix(rest, []byte("//")):
			end := bytes.IndexByte(rest, '\n')
			if end < 0 {
				end = len(rest)
			}
			j.at += end
			j.comments = append(j.comments, j.at)
		case bytes.HasPrefix(rest, []byte("/*")):
			end := bytes.Index(rest[2:], []byte("*/"))
			if end < 0 {
				return j.wrong("this comment has no end")
			}
			j.at += end + 4
		default:
			return nil
		}
	}
	return nil
}

func isSpace(b byte) bool { return b == ' ' || b == '\t' || b == '\n' || b == '\r' }

func (j *jsonText) value() (node, error) {
	if j.depth++; j.depth > maxDepth {
		return node{}, j.wrong("it is nested too deeply")
	}
	defer func() { j.depth-- }()
	switch j.next() {
	case '{':
		return j.object()
	case '[':
		return j.array()
	case '"':
		start := j.at
		_, err := j.str()
		return node{start: start, end: j.at}, err
	default:
		return j.word()
	}
}

// object reads the members between braces.
func (j *jsonText) object() (node, error) {
	o := node{start: j.at, object: true}
	err := j.list('}', func() error {
		m := member{start: j.at, comma: -1}
		if j.next() != '"' {
			return j.wrong("a name in double quotes belongs here")
		}
		var err error
		if m.key, err = j.str(); err != nil {
			return err
		}
		if err := j.space(); err != nil {
			return err
		}
		if j.next() != ':' {
			return j.wrong("a colon belongs here, between a name and its value")
		}
		j.at++
		if err := j.space(); err != nil {
			return err
		}
		m.value, err = j.value()
		o.members = append(o.members, m)
		return err
	}, func() { o.members[len(o.members)-1].comma = j.at })
	o.end = j.at
	return o, err
}

func (j *jsonText) array() (node, error) {
	a := node{start: j.at}
	err := j.list(']', func() error {
		_, err := j.value()
		return err
	}, func() {})
	a.end = j.at
	return a, err
}

// list reads what stands between two brackets, with commas between.
func (j *jsonText) list(closing byte, read func() error, comma func()) error {
	j.at++
	for needsComma := false; ; {
		if err := j.space(); err != nil {
			return err
		}
		switch next := j.next(); {
		case next == closing:
			j.at++
			return nil
		case j.at == len(j.text):
			return j.wrong("the text ends here, but %q is missing", closing)
		case needsComma && next != ',':
			return j.wrong("a comma or %q belongs here", closing)
		case needsComma:
			comma()
			j.at++
			needsComma = false
		default:
			if err := read(); err != nil {
				return err
			}
			needsComma = true
		}
	}
}

// str reads a string, and gives what it says.
func (j *jsonText) str() (string, error) {
	start := j.at
	for j.at++; ; j.at++ {
		switch j.next() {
		case '"':
			j.at++
			var text string
			if err := json.Unmarshal(j.text[start:j.at], &text); err != nil {
				return "", syntaxError(j.text, start, "this string is not right")
			}
			return text, nil
		case '\\':
			j.at++
		case 0, '\n':
			return "", syntaxError(j.text, start, "this string has no end")
		}
	}
}

// word reads a number, true, false or null.
func (j *jsonText) word() (node, error) {
	start := j.at
	for j.at < len(j.text) && !isSpace(j.text[j.at]) && bytes.IndexByte([]byte(`,:]}[{"/`), j.text[j.at]) < 0 {
		j.at++
	}
	if !json.Valid(j.text[start:j.at]) {
		j.at = start
		return node{}, j.wrong("a value belongs here")
	}
	return node{start: start, end: j.at}, nil
}

// find gives the member of a name. Two of one name are refused: programs differ in
// which of them they take.
func (j *jsonText) find(o *node, key string) (*member, error) {
	var found *member
	for i := range o.members {
		if o.members[i].key != key {
			continue
		}
		if found != nil {
			return nil, syntaxError(j.text, o.members[i].start, "%s is there twice; remove one of them", quote(key))
		}
		found = &o.members[i]
	}
	return found, nil
}
