package clients

import (
	"bytes"
	"errors"

	"github.com/pelletier/go-toml/v2/unstable"
)

// tomlTable is a table of a TOML text: the whole lines of its header, if any, and of its pairs.
type tomlTable struct {
	start, end int
	path       []string // nil for the pairs before the first header
	array      bool     // its header is [[...]]
	pairs      []tomlPair
}

// tomlPair is a key with its value. start and end enclose whole lines.
type tomlPair struct {
	start, end int
	key        []string
	at         int    // offset of the value
	value      string // source text of the value
	text       string // decoded value, if it is a string
}

// scanTOML returns the tables of a text. The first has no header.
func scanTOML(text []byte) ([]tomlTable, error) {
	body := bytes.TrimPrefix(text, byteOrderMark)
	mark := len(text) - len(body)
	var p unstable.Parser
	p.Reset(body[:len(body):len(body)])
	all := []tomlTable{{start: mark, end: mark}}
	for p.NextExpression() {
		node := p.Expression()
		var path []string
		var first, last unstable.Range
		for keys := node.Key(); keys.Next(); {
			if last = keys.Node().Raw; path == nil {
				first = last
			}
			path = append(path, string(keys.Node().Data))
		}
		stop := int(last.Offset + last.Length)
		if node.Kind == unstable.KeyValue {
			stop = int(node.Raw.Offset + node.Raw.Length)
		}
		start, end := mark+bytes.LastIndexByte(body[:first.Offset], '\n')+1, len(text)
		if n := bytes.IndexByte(body[stop:], '\n'); n >= 0 {
			end = mark + stop + n + 1
		}
		if node.Kind != unstable.KeyValue {
			all = append(all, tomlTable{start: start, end: end, path: path, array: node.Kind == unstable.ArrayTable})
			continue
		}
		value := bytes.TrimLeft(body[last.Offset+last.Length:stop], " \t=")
		pair := tomlPair{start: start, end: end, key: path, at: mark + stop - len(value), value: string(value)}
		if node.Value().Kind == unstable.String {
			pair.text = string(node.Value().Data)
		}
		table := &all[len(all)-1]
		table.end, table.pairs = end, append(table.pairs, pair)
	}
	if wrong, ok := errors.AsType[*unstable.ParserError](p.Error()); ok {
		return nil, syntaxError(text, mark+int(p.Range(wrong.Highlight).Offset), "%s", wrong.Message)
	}
	return all, p.Error()
}
