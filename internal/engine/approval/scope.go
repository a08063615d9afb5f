package approval

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/visible"
)

// Scope says which arguments the calls of a rule have. Exactly one field is set. A Scope that was
// not made by Scopes or ParseScope matches nothing.
type Scope struct {
	// Exact is the hash of the arguments, in their canonical form.
	Exact string `json:"exact,omitempty"`
	// Where has one condition for each argument: calls with further arguments do not match, and
	// neither do calls without one of these.
	Where []Condition `json:"where,omitempty"`
	// Any matches all arguments that the contract accepts.
	Any bool `json:"any,omitempty"`
}

// Condition is what one argument, or one member of an argument, must be.
type Condition struct {
	Name string    `json:"name"`
	Is   Predicate `json:"is"`
	// Value is the canonical JSON of the value, or the folder.
	Value string      `json:"value,omitempty"`
	Where []Condition `json:"where,omitempty"` // of the members of an object
}

// Predicate is a kind of condition.
type Predicate string

// The predicates. Any other one matches nothing.
const (
	isEqual  Predicate = "equal"
	isUnder  Predicate = "under" // a path beneath a folder
	isAny    Predicate = "any"
	isObject Predicate = "object"
)

// ParseScope parses the text of a scope. It returns an error for everything that String does not
// return.
func ParseScope(text string) (Scope, error) {
	var s Scope
	decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&s); err != nil {
		return Scope{}, fmt.Errorf("read scope: %w", err)
	}
	kinds := 0
	for _, set := range []bool{s.Exact != "", s.Where != nil, s.Any} {
		if set {
			kinds++
		}
	}
	if kinds != 1 || !areValid(s.Where) || s.String() != text {
		return Scope{}, errors.New("read scope: it is not one that Remit wrote")
	}
	return s, nil
}

func areValid(where []Condition) bool {
	names := map[string]bool{}
	for _, c := range where {
		if names[c.Name] || c.Is != isObject && c.Where != nil || c.Is == isUnder && !isPlainPath(c.Value) || !areValid(c.Where) ||
			!slices.Contains([]Predicate{isEqual, isUnder, isAny, isObject}, c.Is) {
			return false
		}
		names[c.Name] = true
	}
	return true
}

// String returns the text that ParseScope parses.
func (s Scope) String() string {
	text, err := json.Marshal(s)
	if err != nil {
		return "" // not possible: there are only texts in it
	}
	return string(text)
}

// Matches reports whether a call with these arguments is in the scope. linked says that a path
// among them leads over a link, so that its name says nothing about where it is.
func (s Scope) Matches(args *jsontree.Value, linked bool) bool {
	switch {
	case s.Any:
		return true
	case linked:
		return false
	case s.Exact != "":
		return s.Exact == hashOf(args)
	}
	return s.Where != nil && match(s.Where, args)
}

func hashOf(args *jsontree.Value) string {
	sum := sha256.Sum256(args.Canonical())
	return hex.EncodeToString(sum[:])
}

// match reports whether an object has exactly the members of the conditions, and all are met. Names
// of conditions are distinct, so a member that is there twice does not match.
func match(where []Condition, v *jsontree.Value) bool {
	if v.Kind != jsontree.Object || len(v.Members) != len(where) {
		return false
	}
	return !slices.ContainsFunc(where, func(c Condition) bool {
		value, found := v.Get(c.Name)
		return !found || !c.matches(&value)
	})
}

func (c *Condition) matches(v *jsontree.Value) bool {
	switch c.Is {
	case isEqual:
		return string(v.Canonical()) == c.Value
	case isUnder:
		return v.Kind == jsontree.String && isPlainPath(v.Text) && strings.HasPrefix(v.Text, c.Value+"/")
	case isObject:
		return match(c.Where, v)
	}
	return c.Is == isAny
}

// isPlainPath reports whether a path is relative and clean, and every program takes it for the
// same: no escapes, no other separators, nothing that some systems drop or that is not visible.
func isPlainPath(name string) bool {
	if name == "" || name == "." || !utf8.ValidString(name) || path.IsAbs(name) || path.Clean(name) != name {
		return false
	}
	if strings.ContainsAny(name, `\:%~*?"<>|`) || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return false
	}
	return !slices.ContainsFunc(strings.Split(name, "/"), func(segment string) bool {
		return segment == ".." || strings.TrimFunc(segment, unicode.IsSpace) != segment || strings.TrimRight(segment, ". ") != segment
	})
}

// Words returns the scope as people read it, after "with". Values are quoted.
func (s Scope) Words() string {
	switch {
	case s.Any:
		return "any arguments"
	case s.Exact != "":
		return "exactly the arguments of the request"
	}
	var fixed, free []string
	describe("", s.Where, &fixed, &free)
	if len(free) > 0 {
		fixed = append(fixed, "any "+strings.Join(free, ", any "))
	}
	if len(fixed) == 0 {
		return "no arguments"
	}
	return strings.Join(fixed, ", ") + ", and no other arguments"
}

func describe(prefix string, where []Condition, fixed, free *[]string) {
	for _, c := range where {
		name := prefix + visible.Line(c.Name)
		switch c.Is {
		case isEqual:
			*fixed = append(*fixed, name+" "+visible.Clip(visible.Line(c.Value), maxTextLine))
		case isUnder:
			*fixed = append(*fixed, name+" beneath "+strconv.Quote(c.Value+"/"))
		case isAny:
			*free = append(*free, name)
		case isObject:
			describe(name+".", c.Where, fixed, free)
		}
	}
}

// NamedScope is a scope that a person may choose for a rule.
type NamedScope struct {
	Name string // such as exact, values, under:lessons, any:path, tool
	Scope
}

// maxFolders is how many folders above a path are offered as scopes.
const maxFolders = 3

// Scopes returns the scopes for rules that are made from a call of a tool with these arguments,
// from narrow to wide. The values in them come from arguments that the contract knows as names:
// paths, ids, types and choices. All of them match the call itself.
func Scopes(c *contract.Contract, args *jsontree.Value) []NamedScope {
	made := []NamedScope{{"exact", Scope{Exact: hashOf(args)}}}
	add := func(name string, s Scope) {
		same := func(other NamedScope) bool { return other.String() == s.String() }
		if !slices.ContainsFunc(made, same) && s.Matches(args, false) {
			made = append(made, NamedScope{name, s})
		}
	}
	if args.Kind == jsontree.Object && len(args.Members) > 0 {
		properties := c.Input.Field("properties")
		base := conditions(c, &properties, args, "")
		if hasFree(base) { // otherwise it is as narrow as exact
			add("values", Scope{Where: base})
		}
		last, isPath := lastName(c, &properties, args)
		if value, ok := args.Get(last); ok && isPath && isPlainPath(value.Text) {
			for folder, n := path.Dir(value.Text), 0; folder != "." && n < maxFolders; folder, n = path.Dir(folder), n+1 {
				add("under:"+folder, Scope{Where: with(base, last, Condition{Name: last, Is: isUnder, Value: folder})})
			}
		}
		if last != "" {
			add("any:"+last, Scope{Where: with(base, last, Condition{Name: last, Is: isAny})})
		}
	}
	return append(made, NamedScope{"tool", Scope{Any: true}})
}

// conditions returns one condition for each member of an object: names must be equal, everything
// else may be anything.
func conditions(c *contract.Contract, properties, v *jsontree.Value, prefix string) []Condition {
	where := make([]Condition, 0, len(v.Members))
	for i := range v.Members {
		m := &v.Members[i]
		schema := properties.Field(m.Key)
		inner := schema.Field("properties")
		switch {
		case m.Value.Kind == jsontree.Object && len(inner.Members) > 0:
			where = append(where, Condition{Name: m.Key, Is: isObject, Where: conditions(c, &inner, &m.Value, prefix+m.Key+".")})
		case isName(c, prefix+m.Key, &schema, &m.Value):
			where = append(where, Condition{Name: m.Key, Is: isEqual, Value: string(m.Value.Canonical())})
		default:
			where = append(where, Condition{Name: m.Key, Is: isAny})
		}
	}
	return where
}

func hasFree(where []Condition) bool {
	return slices.ContainsFunc(where, func(c Condition) bool { return c.Is == isAny || hasFree(c.Where) })
}

// with returns the conditions with another one for an argument.
func with(where []Condition, name string, c Condition) []Condition {
	where = slices.Clone(where)
	for i := range where {
		if where[i].Name == name {
			where[i] = c
		}
	}
	return where
}

// isName reports whether an argument names what a call is about, or chooses what it does.
func isName(c *contract.Contract, name string, schema, v *jsontree.Value) bool {
	_, hasEnum := schema.Get("enum")
	_, hasConst := schema.Get("const")
	if v.Kind == jsontree.Bool || hasEnum || hasConst || name == c.Owner {
		return true
	}
	if v.Kind != jsontree.String && v.Kind != jsontree.Number {
		return false
	}
	_, last, _ := cutLast(name, ".")
	return isPathName(c, last) || slices.Contains([]string{"id", "type", "kind", "name", "user"}, last) ||
		slices.ContainsFunc([]string{"_id", "_type", "_kind", "_name"}, func(end string) bool { return strings.HasSuffix(last, end) })
}

func isPathName(c *contract.Contract, name string) bool {
	return slices.ContainsFunc(c.Paths, func(p contract.PathPolicy) bool { return p.Arg == name }) ||
		slices.Contains([]string{"path", "file", "filename", "folder"}, name) ||
		strings.HasSuffix(name, "_path") || strings.HasSuffix(name, "_file")
}

func cutLast(text, separator string) (before, after string, found bool) {
	at := strings.LastIndex(text, separator)
	if at < 0 {
		return "", text, false
	}
	return text[:at], text[at+len(separator):], true
}

// lastName returns the argument that names the thing most closely: the last one in the order of the
// contract that is a free name, not a choice and not the owner of the data.
func lastName(c *contract.Contract, properties, args *jsontree.Value) (name string, isPath bool) {
	for _, p := range properties.Members {
		value, given := args.Get(p.Key)
		_, hasEnum := p.Value.Get("enum")
		if given && !hasEnum && p.Key != c.Owner && value.Kind == jsontree.String && isName(c, p.Key, &p.Value, &value) {
			name, isPath = p.Key, isPathName(c, p.Key)
		}
	}
	return name, isPath
}
