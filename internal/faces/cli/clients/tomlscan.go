package clients

import (
	"bytes"
	"errors"

	"github.com/pelletier/go-toml/v2/unstable"
)

// statement is a header or a pair of a TOML text, as whole lines.
type statement struct {
	start, end int      // with the end of its last line
	table      []string // of a header the table itself, of a pair the one it stands in
	key        []string // of a pair; nil for a header
	at         int      // of a pair, where its value begins
	value      string   // of a pair, as it is written
	said       string   // of a pair whose value is a string, what it says
	array      bool     // a header in two brackets
}

func (s *statement) isHeader() bool { return s.key == nil }

// scanTOML finds the statements of a text.
func scanTOML(text []byte) ([]statement, error) {
	body := bytes.TrimPrefix(text, byteOrderMark)
	mark := len(text) - len(body)
	var p unstable.Parser
	p.Reset(body[:len(body):len(body)])
	var all []statement
	var table []string
	for p.NextExpression() {
		node := p.Expression()
		s := statement{array: node.Kind == unstable.ArrayTable}
		var path []string
		var first, last unstable.Range
		for keys := node.Key(); keys.Next(); {
			if last = keys.Node().Raw; path == nil {
				first = last
			}
			path = append(path, string(keys.Node().Data))
		}
		end := int(last.Offset + last.Length)
		if node.Kind == unstable.KeyValue {
			rest := body[end:int(node.Raw.Offset+node.Raw.Length)]
			value := bytes.TrimLeft(rest, " \t=")
			end += len(rest)
			s.key, s.at, s.value = path, mark+end-len(value), string(value)
			if node.Value().Kind == unstable.String {
				s.said = string(node.Value().Data)
			}
		} else {
			table = path
		}
		s.table = table
		s.start = mark + bytes.LastIndexByte(body[:first.Offset], '\n') + 1
		s.end = len(text)
		if n := bytes.IndexByte(body[end:], '\n'); n >= 0 {
			s.end = mark + end + n + 1
		}
		all = append(all, s)
	}
	var wrong *unstable.ParserError
	if errors.As(p.Error(), &wrong) {
		return nil, syntaxError(text, mark+int(p.Range(wrong.Highlight).Offset), "%s", wrong.Message)
	}
	return all, p.Error()
}
