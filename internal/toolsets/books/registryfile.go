package books

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"remit/internal/contract"
)

// brokenEntry is a registry entry that is ignored because it is invalid.
type brokenEntry struct {
	bookID string // "" if it has no valid id
	why    string
}

// parseRegistry parses a registry.yaml. It omits incomplete entries and reports them in broken. err
// means that the file as a whole cannot be parsed.
func parseRegistry(text []byte) (books []Book, broken []brokenEntry, err error) {
	listed, err := entriesOf(text)
	if err != nil {
		return nil, nil, err
	}
	known := map[string]bool{}
	for i, node := range listed {
		book, err := bookOf(node)
		if err == nil && known[book.ID] {
			err = fmt.Errorf("%s is listed already", book.ID)
		}
		if err != nil {
			broken = append(broken, brokenEntry{book.ID, fmt.Sprintf("entry %d: %v", i+1, err)})
			continue
		}
		known[book.ID] = true
		books = append(books, book)
	}
	return books, broken, nil
}

// entriesOf returns the YAML nodes of a registry's entries.
func entriesOf(text []byte) ([]ast.Node, error) {
	if err := checkCost(text); err != nil {
		return nil, err
	}
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, err
	}
	var found []ast.Node
	for _, doc := range file.Docs {
		if isEmpty(doc.Body) {
			continue
		}
		if found != nil {
			return nil, &faultError{doc.Body.GetToken().Position.Line, "there is a second document after ---"}
		}
		top := pairsOf(doc.Body)
		if top == nil {
			return nil, &faultError{doc.Body.GetToken().Position.Line, "expected books: followed by a list"}
		}
		found = []ast.Node{}
		value := valueOf(top, "books")
		if isEmpty(value) {
			continue
		}
		sequence, ok := value.(*ast.SequenceNode)
		if !ok {
			return nil, &faultError{value.GetToken().Position.Line, "books is not a list"}
		}
		found = append(found, sequence.Values...)
	}
	return found, nil
}

func isEmpty(node ast.Node) bool {
	return node == nil || node.Type() == ast.NullType || node.Type() == ast.CommentType
}

// pairsOf returns nil if a node is not a mapping.
func pairsOf(node ast.Node) []*ast.MappingValueNode {
	switch node := node.(type) {
	case *ast.MappingNode:
		return node.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{node}
	default:
		return nil
	}
}

func valueOf(pairs []*ast.MappingValueNode, key string) ast.Node {
	for _, pair := range pairs {
		if pair.Key.GetToken().Value == key {
			return pair.Value
		}
	}
	return nil
}

// bookOf parses an entry up to its first invalid field. It takes values as they are written, so a
// date needs no quotes.
func bookOf(node ast.Node) (Book, error) {
	pairs := pairsOf(node)
	var book Book
	for _, field := range []struct {
		name  string
		into  *string
		check func(string) (string, error)
	}{
		{"book_id", &book.ID, checkBookID},
		{"title", &book.Title, anyText},
		{"storage_backend", &book.Backend, oneOf("fs", "s3")},
		{"created_at", &book.Created, asTime},
		{"status", &book.Status, oneOf(active, "archived", "migrating")},
	} {
		value := valueOf(pairs, field.name)
		scalar, ok := value.(ast.ScalarNode)
		if isEmpty(value) || !ok {
			return book, fmt.Errorf("%s is missing or not text", field.name)
		}
		text, err := field.check(textOf(scalar))
		if err != nil {
			return book, fmt.Errorf("%s: %w", field.name, err)
		}
		*field.into = text
	}
	return book, nil
}

// textOf returns a value as it is written.
func textOf(node ast.ScalarNode) string {
	switch node := node.(type) {
	case *ast.StringNode:
		return node.Value
	case *ast.LiteralNode:
		return node.Value.Value
	default:
		return node.GetToken().Value
	}
}

// maxBookID is the maximum length of a book id.
const maxBookID = 50

func checkBookID(text string) (string, error) {
	fits := func(r rune) bool { return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' }
	if len(text) < 3 || len(text) > maxBookID || strings.ContainsFunc(text, func(r rune) bool { return !fits(r) }) {
		return "", fmt.Errorf("%q must be 3 to 50 lower-case letters, digits and hyphens", text)
	}
	return text, nil
}

func anyText(text string) (string, error) {
	if text = strings.TrimSpace(text); text == "" {
		return "", errors.New("it is empty")
	}
	return text, nil
}

func oneOf(allowed ...string) func(string) (string, error) {
	return func(text string) (string, error) {
		if !slices.Contains(allowed, text) {
			return "", fmt.Errorf("%q is not one of %s", text, strings.Join(allowed, ", "))
		}
		return text, nil
	}
}

// asTime returns an RFC 3339 time unchanged and converts the other time formats of YAML to RFC
// 3339.
func asTime(text string) (string, error) {
	if _, err := time.Parse(time.RFC3339, text); err == nil {
		return text, nil
	}
	for _, form := range []string{"2006-1-2t15:4:5.999999999Z07:00", "2006-1-2 15:4:5.999999999 Z07:00", "2006-1-2 15:4:5.999999999Z07:00", "2006-1-2T15:4:5.999999999", "2006-1-2 15:4:5.999999999", time.DateOnly} {
		if at, err := time.Parse(form, text); err == nil {
			return at.UTC().Format(time.RFC3339), nil
		}
	}
	return "", fmt.Errorf("%q is not a time", text)
}

// faultError is an error in a registry that is valid YAML.
type faultError struct {
	line int
	why  string
}

func (e *faultError) Error() string { return fmt.Sprintf("line %d: %s", e.line, e.why) }

// lineOf returns the line of an error in a registry.
func lineOf(err error) int {
	if fault, ok := errors.AsType[*faultError](err); ok {
		return fault.line
	}
	if syntax, ok := errors.AsType[yaml.Error](err); ok && syntax.GetToken() != nil {
		return syntax.GetToken().Position.Line
	}
	return 1
}

// appendBook adds a book to the text of a registry and leaves the rest unchanged.
func appendBook(text []byte, book *Book) ([]byte, error) {
	before, err := entriesOf(text)
	if err != nil {
		return nil, brokenRegistry(err)
	}
	if len(before) >= maxEntries {
		return nil, contract.Errorf(contract.Unavailable, "The book %s cannot be added: registry.yaml has %d entries, and no more are read", book.ID, len(before)).
			With("path", registryKey)
	}
	added := appendEntry(string(text), book)
	after, broken, err := parseRegistry([]byte(added))
	if total := len(after) + len(broken); err != nil || total != len(before)+1 || !slices.Contains(after, *book) {
		return nil, contract.Errorf(contract.Unavailable, "The book %s cannot be added to registry.yaml in its current form; add it there by hand, or write the list with one dash per book", book.ID).
			With("path", registryKey).Because(err)
	}
	return []byte(added), nil
}

// appendEntry inserts an entry after the last one. The caller must parse the result to verify it.
func appendEntry(text string, book *Book) string {
	newline := "\n"
	if strings.Contains(text, "\r\n") {
		newline = "\r\n"
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	at, indent := endOfList(lines)
	if at < 0 { // there is no list yet
		for len(lines) > 0 && strings.TrimSpace(lines[len(lines)-1]) == "" {
			lines = lines[:len(lines)-1]
		}
		lines = append(lines, "books:"+strings.TrimSuffix(newline, "\n"))
		at, indent = len(lines)-1, "  "
	}
	entry := []string{
		"- book_id: " + quoted(book.ID), "  title: " + quoted(book.Title), "  storage_backend: " + book.Backend,
		"  created_at: " + strconv.Quote(book.Created), "  status: " + book.Status,
	}
	for i := range entry {
		entry[i] = indent + entry[i] + strings.TrimSuffix(newline, "\n")
	}
	if !strings.HasSuffix(lines[at], "\r") {
		lines[at] += strings.TrimSuffix(newline, "\n")
	}
	return strings.Join(slices.Insert(lines, at+1, entry...), "\n") + "\n"
}

// endOfList returns the last line of the list of books and the indentation of its entries. The line
// is -1 if there is no list.
func endOfList(lines []string) (at int, indent string) {
	at, indent = -1, "  "
	found := false
	for i, line := range lines {
		trimmed := strings.TrimSpace(line)
		if trimmed == "" || strings.HasPrefix(trimmed, "#") {
			continue
		}
		isItem := trimmed == "-" || strings.HasPrefix(trimmed, "- ")
		top := line[0] != ' ' && !isItem
		if at >= 0 && top {
			break
		}
		if top && strings.HasPrefix(line, "books:") {
			lines[i] = withoutEmptyList(line)
			at = i
			continue
		}
		if at < 0 {
			continue
		}
		if isItem && !found {
			found, indent = true, line[:strings.IndexByte(line, '-')]
		}
		at = i
	}
	return at, indent
}

// withoutEmptyList removes an explicit empty value, so that entries can follow.
func withoutEmptyList(line string) string {
	rest, comment, commented := strings.Cut(strings.TrimPrefix(line, "books:"), "#")
	switch strings.ReplaceAll(strings.TrimSpace(rest), " ", "") {
	case "[]", "~", "null":
		if commented {
			return "books: #" + comment
		}
		return "books:"
	default:
		return line
	}
}

// quoted encodes a text as a YAML scalar on one line.
func quoted(text string) string {
	data, err := yaml.Marshal(text)
	if plain := strings.TrimSuffix(string(data), "\n"); err == nil && !strings.Contains(plain, "\n") && !bytes.ContainsAny(data, "#") {
		return plain
	}
	return strconv.Quote(text)
}

// titleOf derives a title from a book's id.
func titleOf(bookID string) string {
	words := strings.FieldsFunc(bookID, func(r rune) bool { return r == '-' })
	for i, word := range words {
		words[i] = strings.ToUpper(word[:1]) + word[1:]
	}
	if len(words) == 0 {
		return bookID
	}
	return strings.Join(words, " ")
}
