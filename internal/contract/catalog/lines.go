package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
)

// The kinds of lines in compiled.txt. What belongs to a line stands behind tabs: of a
// set its name and JSON, of a tool its name and the length of its text. A set comes
// before its tools. The texts follow all of them, a line each and in the same order, so
// that a start reads the first few pages of the file and touches no other.
const (
	noteLine  = "#"
	setLine   = "set"
	toolLine  = "tool"
	textsLine = "texts"
)

// encodeLines writes sets as a compiled.txt.
func encodeLines(sets []*contract.Set) ([]byte, error) {
	var out, texts bytes.Buffer
	fmt.Fprintf(&out, "%s\t%s\n", noteLine, note)
	for _, set := range sets {
		about, err := aboutSet(set)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&out, "%s\t%s\t%s\n", setLine, set.Name, about)
		for _, c := range set.Contracts {
			text, err := c.Compact()
			if err != nil {
				return nil, err
			}
			fmt.Fprintf(&out, "%s\t%s\t%d\n", toolLine, c.Name, len(text))
			fmt.Fprintf(&texts, "%s\n", text)
		}
	}
	fmt.Fprintln(&out, textsLine)
	return append(out.Bytes(), texts.Bytes()...), nil
}

// aboutSet is what a set says itself, all but its name, as compact JSON.
func aboutSet(set *contract.Set) ([]byte, error) {
	data, err := json.Marshal(set)
	if err != nil {
		return nil, fmt.Errorf("write set %s: %w", set.Name, err)
	}
	tree, err := jsontree.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("read back set %s: %w", set.Name, err)
	}
	tree.Members = slices.DeleteFunc(tree.Members, func(m jsontree.Member) bool { return m.Key == "name" || m.Key == "contracts" })
	return tree.Append(nil), nil
}

// reader makes a contract of its name and its text.
type reader func(name string, text []byte) (*contract.Contract, error)

// readLines reads a compiled.txt.
func readLines(data []byte, read reader) ([]*contract.Set, error) {
	head, texts, err := cutTexts(data)
	if err != nil {
		return nil, err
	}
	var sets []*contract.Set
	for line := range bytes.Lines(head) {
		kind, content, _ := bytes.Cut(bytes.TrimSuffix(line, []byte{'\n'}), []byte{'\t'})
		name, about, _ := bytes.Cut(content, []byte{'\t'})
		switch {
		case string(kind) == setLine:
			set, err := readSet(string(name), about)
			if err != nil {
				return nil, err
			}
			sets = append(sets, set)
		case string(kind) == toolLine && len(sets) > 0:
			text, rest, err := cutText(texts, string(about))
			if err != nil {
				return nil, fmt.Errorf("read catalog: tool %s: %w", name, err)
			}
			texts = rest
			c, err := read(string(name), text)
			if err != nil {
				return nil, fmt.Errorf("read catalog: %w", err)
			}
			set := sets[len(sets)-1]
			set.Contracts = append(set.Contracts, c)
		case string(kind) != noteLine:
			return nil, errors.New("read catalog: there is a line that is neither a set nor a tool of one")
		}
	}
	for _, set := range sets {
		set.Adopt()
	}
	return sets, nil
}

// cutTexts divides a compiled.txt into the lines that name things and the texts.
func cutTexts(data []byte) (head, texts []byte, err error) {
	const boundary = "\n" + textsLine + "\n"
	i := bytes.Index(data, []byte(boundary))
	if i < 0 {
		return nil, nil, errors.New("read catalog: it has no texts")
	}
	return data[:i+len("\n")], data[i+len(boundary):], nil
}

// cutText takes the first text, which has this length, from the others.
func cutText(texts []byte, length string) (text, rest []byte, err error) {
	n, err := strconv.Atoi(length)
	if err != nil {
		return nil, nil, fmt.Errorf("the length of its text: %w", err)
	}
	if n < 0 || n >= len(texts) {
		return nil, nil, fmt.Errorf("its text has not the %d bytes that it should have", n)
	}
	return texts[:n:n], texts[n+len("\n"):], nil
}

func readSet(name string, text []byte) (*contract.Set, error) {
	set := &contract.Set{Name: name}
	tree, err := jsontree.Parse(text)
	if err == nil {
		err = tree.Decode(set)
	}
	if err != nil {
		return nil, fmt.Errorf("read catalog: set %s: %w", name, err)
	}
	return set, nil
}
