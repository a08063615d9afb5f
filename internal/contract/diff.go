package contract

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"remit/internal/contract/jsontree"
)

// Bump is the part of the version that a change must raise.
type Bump int

// The bumps, from none to the largest.
const (
	None  Bump = iota
	Patch      // bug fixes, documentation, and the rest
	Minor      // new optional parameters or response fields
	Major      // breaking changes to parameters or response
)

func (b Bump) String() string { return [...]string{"none", "PATCH", "MINOR", "MAJOR"}[b] }

// MarshalText writes the bump's name.
func (b Bump) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// Change is one difference between two contracts.
type Change struct {
	Bump  Bump   `json:"bump"`
	Where string `json:"where"` // input.file, output.size, approval, ...
	What  string `json:"what"`  // what changed, and which rule makes it this bump
}

// Compare lists the changes from old to updated, the largest bump first.
func Compare(old, updated *Contract) []Change {
	d := &differ{}
	d.schemas("input", &old.Input, &updated.Input)
	d.answers(old, updated)
	d.promises(old, updated)
	d.rest(old, updated)
	slices.SortStableFunc(d.changes, func(a, b Change) int { return int(b.Bump - a.Bump) })
	return d.changes
}

// MaxBump returns the largest bump among changes.
func MaxBump(changes []Change) Bump {
	needed := None
	for _, c := range changes {
		needed = max(needed, c.Bump)
	}
	return needed
}

// ToolReview is the review of one tool's changes.
type ToolReview struct {
	Tool    string   `json:"tool"` // set/name
	Old     Version  `json:"old"`
	New     Version  `json:"new"`
	Needed  Bump     `json:"needed"`
	Enough  bool     `json:"enough"` // the version was raised enough
	Changes []Change `json:"changes"`
}

// Review reviews every tool that differs between two catalogs.
func Review(old, updated []*Set) []ToolReview {
	var reviews []ToolReview
	for _, set := range old {
		for _, c := range set.Contracts {
			if r := review(c, Find(updated, set.Name, c.Name)); len(r.Changes) > 0 {
				r.Tool = set.Name + "/" + c.Name
				reviews = append(reviews, r)
			}
		}
	}
	for _, set := range updated {
		for _, c := range set.Contracts {
			if Find(old, set.Name, c.Name) == nil {
				added := Change{Minor, "tool", "it is new"}
				reviews = append(reviews, ToolReview{Tool: set.Name + "/" + c.Name, New: c.Version, Needed: Minor, Enough: true, Changes: []Change{added}})
			}
		}
	}
	return reviews
}

func review(old, updated *Contract) ToolReview {
	if updated == nil {
		removed := Change{Major, "tool", "it was removed, which breaks every caller"}
		return ToolReview{Old: old.Version, Needed: Major, Changes: []Change{removed}}
	}
	r := ToolReview{Old: old.Version, New: updated.Version, Changes: Compare(old, updated)}
	if bumpBetween(updated.Version, old.Version) > None {
		r.Changes = append(r.Changes, Change{Patch, "version", fmt.Sprintf("it went back from %s to %s, so callers cannot tell which is newer", old.Version, updated.Version)})
	}
	r.Needed = MaxBump(r.Changes)
	r.Enough = bumpBetween(old.Version, updated.Version) >= r.Needed
	return r
}

// Find returns the contract of a tool in a set, or nil.
func Find(sets []*Set, set, name string) *Contract {
	if i := slices.IndexFunc(sets, func(s *Set) bool { return s.Name == set }); i >= 0 {
		return sets[i].Find(name)
	}
	return nil
}

// bumpBetween returns the bump from old to updated. A lower version counts as no bump.
func bumpBetween(old, updated Version) Bump {
	for _, part := range []struct {
		raised int
		bump   Bump
	}{{updated.Major - old.Major, Major}, {updated.Minor - old.Minor, Minor}, {updated.Patch - old.Patch, Patch}} {
		switch {
		case part.raised > 0:
			return part.bump
		case part.raised < 0:
			return None
		}
	}
	return None
}

type differ struct{ changes []Change }

func (d *differ) add(b Bump, where, format string, args ...any) {
	d.changes = append(d.changes, Change{b, where, fmt.Sprintf(format, args...)})
}

// schemas compares two schemas member by member. at begins with input or output: a looser rule is
// harmless in the input and breaking in the output.
func (d *differ) schemas(at string, old, updated *jsontree.Value) {
	d.properties(at, old, updated)
	d.required(at, old, updated)
	for _, keyword := range keywords() {
		was, had := old.Get(keyword)
		is, has := updated.Get(keyword)
		if had != has || had && !was.Equal(&is) {
			d.keyword(at, keyword, &was, &is)
		}
	}
}

// answers compares the outputs of two tools: fields, or content blocks.
func (d *differ) answers(old, updated *Contract) {
	switch {
	case old.Content == updated.Content:
		d.schemas("output", &old.Output, &updated.Output)
	case updated.Content:
		d.add(Major, "output", "the answer went from fields to content, a breaking change to the response")
	default:
		d.add(Major, "output", "the answer went from content to fields, a breaking change to the response")
	}
}

func (d *differ) properties(at string, old, updated *jsontree.Value) {
	was, is := propertiesOf(old), propertiesOf(updated)
	for i := range was.Members {
		name := was.Members[i].Key
		if other, ok := is.Get(name); ok {
			d.schemas(at+"."+name, &was.Members[i].Value, &other)
		} else {
			d.add(Major, at+"."+name, "the field was removed, a breaking change to %s", sideOf(at))
		}
	}
	for i := range is.Members {
		name := is.Members[i].Key
		if _, ok := was.Get(name); ok {
			continue
		}
		switch isInput := strings.HasPrefix(at, "input"); {
		case isInput && isRequired(updated, name):
			d.add(Major, at+"."+name, "a required field was added, a breaking change to %s", sideOf(at))
		case isInput:
			d.add(Minor, at+"."+name, "an optional field was added, a new part of %s", sideOf(at))
		default:
			d.add(Minor, at+"."+name, "a field was added, a new part of %s", sideOf(at))
		}
	}
}

// propertiesOf returns an empty object if schema is not a schema; lint reports that.
func propertiesOf(schema *jsontree.Value) jsontree.Value {
	if p := schema.Field("properties"); p.Kind == jsontree.Object {
		return p
	}
	return jsontree.Obj()
}

func sideOf(at string) string {
	if strings.HasPrefix(at, "input") {
		return "the parameters"
	}
	return "the response"
}

// isRequired reports whether a schema lists a field as required.
func isRequired(schema *jsontree.Value, name string) bool {
	list := schema.Field("required")
	return list.Has(name)
}

// keyword reviews one changed keyword. Any change of type, enum, required, pattern or format breaks
// some caller. A changed bound is breaking only if it rejects what was accepted before.
func (d *differ) keyword(at, keyword string, was, is *jsontree.Value) {
	shownWas, shownIs := orNothing(was), orNothing(is)
	switch keyword {
	case "properties", "required": // compared one by one
	case "title", "description", "examples", "deprecated", "x-message":
		d.add(Patch, at, "%s was reworded, a documentation change", keyword)
	case "x-redact":
		d.add(Patch, at, "%s went from %s to %s, which affects only the audit record", keyword, shownWas, shownIs)
	case "x-accepts":
		d.accepted(at, was, shownWas, shownIs)
	case "default":
		d.add(Minor, at, "default went from %s to %s, which changes what an absent argument means", shownWas, shownIs)
	case "items":
		d.schemas(at+"[]", was, is)
	case "minLength", "minimum", "minItems":
		d.bound(at, keyword, isTighter(was, is, 1), shownWas, shownIs)
	case "maxLength", "maximum", "maxItems":
		d.bound(at, keyword, isTighter(was, is, -1), shownWas, shownIs)
	case "anyOf", "additionalProperties":
		if d.parts(at, keyword, was, is) {
			return
		}
		fallthrough
	default:
		d.add(Major, at, "%s went from %s to %s, a breaking change to %s", keyword, shownWas, shownIs, sideOf(at))
	}
}

// accepted reviews a further accepted type, which does not affect callers that send the others.
func (d *differ) accepted(at string, was *jsontree.Value, shownWas, shownIs string) {
	if was.Kind == jsontree.Null {
		d.add(Minor, at, "x-accepts went from %s to %s, which does not affect existing callers", shownWas, shownIs)
		return
	}
	d.add(Major, at, "x-accepts went from %s to %s, a breaking change to %s", shownWas, shownIs, sideOf(at))
}

// required compares the lists of required fields. properties reports new and removed fields, so
// required skips them.
func (d *differ) required(at string, old, updated *jsontree.Value) {
	was, is := propertiesOf(old), propertiesOf(updated)
	for i := range was.Members {
		name := was.Members[i].Key
		if _, kept := is.Get(name); !kept {
			continue
		}
		switch before, after := isRequired(old, name), isRequired(updated, name); {
		case before && !after:
			d.add(Major, at+"."+name, "the field is no longer required, a breaking change to %s", sideOf(at))
		case after && !before:
			d.add(Major, at+"."+name, "the field became required, a breaking change to %s", sideOf(at))
		}
	}
}

// parts compares the subschemas of a keyword one by one, if they correspond.
func (d *differ) parts(at, keyword string, was, is *jsontree.Value) bool {
	switch {
	case keyword == "additionalProperties" && was.Kind == jsontree.Object && is.Kind == jsontree.Object:
		d.schemas(at+".*", was, is)
		return true
	case keyword == "anyOf" && len(was.Members) == len(is.Members):
		for i := range was.Members {
			d.schemas(fmt.Sprintf("%s(%d)", at, i+1), &was.Members[i].Value, &is.Members[i].Value)
		}
		return true
	default:
		return false
	}
}

// isTighter reports whether a bound rejects more than it did. The direction is 1 for a lower bound
// and -1 for an upper one; an absent bound rejects nothing.
func isTighter(was, is *jsontree.Value, direction int) bool {
	if is.Kind != jsontree.Number || was.Kind != jsontree.Number {
		return is.Kind == jsontree.Number
	}
	return jsontree.CompareNumbers(is.Text, was.Text) == direction
}

func (d *differ) bound(at, keyword string, tighter bool, was, is string) {
	breaks := tighter == strings.HasPrefix(at, "input")
	if breaks {
		d.add(Major, at, "%s went from %s to %s, a breaking change to %s", keyword, was, is, sideOf(at))
	} else {
		d.add(Minor, at, "%s went from %s to %s, which does not affect existing callers", keyword, was, is)
	}
}

func orNothing(v *jsontree.Value) string {
	if v.Kind == jsontree.Null {
		return "nothing"
	}
	return cut(string(v.Append(nil)))
}

// promises compares everything else that a caller's program may depend on.
func (d *differ) promises(old, updated *Contract) {
	if old.Name != updated.Name {
		d.add(Major, "name", "the tool was renamed from %s to %s", old.Name, updated.Name)
	}
	if old.Shape != updated.Shape {
		d.add(Major, "shape", "errors went from shape %s to %s, a breaking change to the response", old.Shape, updated.Shape)
	}
	if old.Access == Public && updated.Access != Public {
		d.add(Major, "access", "the tool is no longer public")
	}
	if !old.Approval.Required && updated.Approval.Required {
		d.add(Major, "approval", "calls that ran at once now need approval")
	}
	d.tasks(old.Task, updated.Task)
	d.sizes(old, updated)
	d.truncation(old.Truncate, updated.Truncate)
	if old.Bare != updated.Bare {
		d.add(Major, "bare", "it went from %q to %q, a breaking change to the response", old.Bare, updated.Bare)
	}
	for _, kind := range Kinds() {
		was, is := old.Errors[kind], updated.Errors[kind]
		if old.Status(kind) != updated.Status(kind) {
			d.add(Major, "errors."+string(kind), "the HTTP status went from %d to %d, a breaking change to the response", old.Status(kind), updated.Status(kind))
		}
		if level := codeLevel(old, kind); was.Code != is.Code && level == Minor {
			d.add(Minor, "errors."+string(kind), "the code went from %q, which means any failure, to %q", was.Code, is.Code)
		} else if was.Code != is.Code {
			d.add(Major, "errors."+string(kind), "the code went from %q to %q, a breaking change to the response", was.Code, is.Code)
		}
		for _, detail := range was.Details {
			if !slices.Contains(is.Details, detail) {
				d.add(Major, "errors."+string(kind), "the detail %s was removed, a breaking change to the response", detail)
			}
		}
		for _, detail := range is.Details {
			if !slices.Contains(was.Details, detail) {
				d.add(Minor, "errors."+string(kind), "the detail %s was added, a new part of the response", detail)
			}
		}
	}
}

// codeLevel returns how much a new code for calls that were refused breaks. If the old one was that
// of internal errors, it told callers nothing.
func codeLevel(old *Contract, kind Kind) Bump {
	refused := kind == Denied || kind == Limited || kind == Pending
	if refused && old.Errors[kind].Code == old.Errors[Internal].Code {
		return Minor
	}
	return Major
}

// tasks compares whether a call may become a task. A new option does not affect clients that never
// ask for a task; every other change affects some client.
func (d *differ) tasks(was, is TaskMode) {
	switch {
	case was == is:
	case was == "" && is == TaskOptional:
		d.add(Minor, "task", "the tool can run as a task, a new part of the response")
	default:
		d.add(Major, "task", "it went from %q to %q, a breaking change to the response", was, is)
	}
}

// truncation compares how a long answer is truncated. A caller that follows the cursor does not
// depend on where the answer ends, but must find the list and the cursor.
func (d *differ) truncation(was, is Truncate) {
	switch {
	case was == is || is == Truncate{}:
	case was == Truncate{} && is.Cursor == "":
		d.add(Major, "truncate", "a long answer is cut without a cursor, a breaking change to the response")
	case was == Truncate{}:
		d.add(Minor, "truncate", "a long answer is cut and continues at %s, a new part of the response", is.Cursor)
	case was.List != is.List || was.Cursor != is.Cursor:
		d.add(Major, "truncate", "it went from %s and %q to %s and %q, a breaking change to the response", was.List, was.Cursor, is.List, is.Cursor)
	}
}

func (d *differ) sizes(old, updated *Contract) {
	if updated.Size.Request < old.Size.Request {
		d.add(Major, "size.request", "went from %s to %s, a breaking change to the parameters", old.Size.Request, updated.Size.Request)
	}
	for _, arg := range slices.Sorted(maps.Keys(updated.Size.Args)) {
		limit := updated.Size.Args[arg]
		if was, had := old.Size.Args[arg]; !had || limit < was {
			d.add(Major, "size.args."+arg, "the limit is now %s, a breaking change to the parameters", limit)
		}
	}
}

// rest finds all other differences, so that every change needs a bump.
func (d *differ) rest(old, updated *Contract) {
	was, is := fieldsOf(old), fieldsOf(updated)
	for _, name := range slices.Sorted(maps.Keys(was)) {
		if was[name] != is[name] && !slices.ContainsFunc(d.changes, func(c Change) bool {
			return c.Where == name || strings.HasPrefix(c.Where, name+".")
		}) {
			d.add(Patch, name, "it was changed, with no breaking change to parameters or response")
		}
	}
}

func fieldsOf(c *Contract) map[string]string {
	data, err := json.Marshal(c)
	if err != nil {
		return nil
	}
	tree, err := jsontree.ParseTrusted(data)
	if err != nil {
		return nil
	}
	fields := map[string]string{}
	for _, name := range []string{"title", "description", "summary", "target", "hints", "access", "input", "output", "bare", "rate", "deadline", "size", "paths", "approval", "truncate", "errors", "examples"} {
		v := tree.Field(name)
		fields[name] = string(v.Canonical())
	}
	return fields
}
