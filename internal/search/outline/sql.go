package outline

import "strings"

// outlineSQL outlines CREATE statements.
func outlineSQL(content []byte) []Symbol {
	s := newScanner("sql", content)
	for i := 0; i < len(s.tokens); {
		last := s.sqlEnd(i)
		if strings.EqualFold(s.text(i), "create") {
			s.created(i+1, last)
		}
		i = last + 1
	}
	return s.found
}

// sqlEnd returns the semicolon that ends a statement, ignoring those between BEGIN and END.
func (s *scanner) sqlEnd(i int) int {
	depth, creates := 0, strings.EqualFold(s.text(i), "create")
	for ; i < len(s.tokens); i = s.past(i) {
		switch strings.ToLower(s.text(i)) {
		case ";":
			if depth <= 0 {
				return i
			}
		case "begin", "case":
			if creates && !strings.EqualFold(s.text(i-1), "end") {
				depth++
			}
		case "end":
			if next := strings.ToLower(s.text(i + 1)); next != "if" && next != "loop" && next != "while" {
				depth--
			}
		}
	}
	return len(s.tokens) - 1
}

// created reads the kind and the name after CREATE.
func (s *scanner) created(i, last int) {
	for ; i < last; i++ {
		switch word := strings.ToLower(s.text(i)); word {
		case "or", "replace", "temp", "temporary", "unlogged", "unique", "materialized", "global", "local", "external",
			"recursive", "virtual", "constraint", "clustered", "nonclustered":
		case "table", "view", "function", "procedure", "trigger", "index", "type", "schema", "sequence", "extension", "domain",
			"database", "policy", "role", "aggregate":
			s.createdName(word, i+1, last)
			return
		default:
			return
		}
	}
}

// createdName reads the name of what is created, quoted, in brackets or plain.
func (s *scanner) createdName(kind string, i, last int) {
	name, at := "", -1
	for ; i < last; i++ {
		switch text := s.text(i); strings.ToLower(text) {
		case "if", "not", "exists", "concurrently":
			continue
		case `"`, "`", "[", "]":
			continue
		case ".":
			name += text
			continue
		}
		if !s.isName(i) || name != "" && !strings.HasSuffix(name, ".") || len(name) > maxName {
			break
		}
		name += s.text(i)
		if at < 0 {
			at = i
		}
	}
	if at >= 0 {
		s.addNamed(kind, name, at, last)
	}
}
