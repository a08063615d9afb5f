package contract

import (
	"slices"
	"strings"

	"remit/internal/contract/jsontree"
)

// headerKeyword names the HTTP header in which a client repeats an argument, so
// that what stands between can route a call without reading it.
const headerKeyword = "x-mcp-header"

// Mirror is an argument that a client repeats in an HTTP header.
type Mirror struct {
	Path   []string // the names that lead to it, from the arguments on
	Header string   // what follows Mcp-Param- in the header's name
}

// MirroredArguments lists what clients repeat in headers; nil for the usual tool.
func (c *Contract) MirroredArguments() []Mirror {
	if c.compile() != nil {
		return nil
	}
	return c.mirrors
}

// mirrors finds them where a client looks: along properties and nowhere else.
func (s *schema) mirrors(path []string) []Mirror {
	var found []Mirror
	if s.header != "" {
		found = append(found, Mirror{slices.Clone(path), s.header})
	}
	for _, p := range s.props {
		found = append(found, p.schema.mirrors(append(path, p.name))...)
	}
	return found
}

// below is the schema that names lead to.
func (s *schema) below(path []string) *schema {
	for _, name := range path {
		s = s.prop(name)
	}
	return s
}

// countHeaders counts the keyword wherever a schema can stand.
func countHeaders(doc *jsontree.Value) int {
	n := 0
	if _, stated := doc.Get(headerKeyword); stated {
		n++
	}
	MapParts(doc, func(_, _ string, part *jsontree.Value) jsontree.Value {
		n += countHeaders(part)
		return *part
	})
	return n
}

// isToken tells whether text can be part of a header's name (RFC 9110).
func isToken(text string) bool {
	const marks = "!#$%&'*+-.^_`|~"
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !letter && !strings.ContainsRune(marks, r)
	})
}
