package contract

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"remit/internal/contract/jsontree"
)

// Accept checks a caller's arguments against the input schema and returns them as the handler gets
// them: without nulls of optional arguments, with text converted as x-trim and x-accepts say, and
// with defaults filled in. If they are wrong, it returns one Error of kind invalid (or too_large)
// that names every field, its value and what is allowed.
func (c *Contract) Accept(args jsontree.Value) (jsontree.Value, error) {
	if err := c.compile(); err != nil {
		return args, err
	}
	if args.Kind == jsontree.Null {
		args = jsontree.Obj()
	}
	if args.Kind != jsontree.Object {
		e := Errorf(Invalid, "the arguments must be an object, not %s", args.Kind).With("field", "")
		if c.Errors[Invalid].Schema != "" {
			e.schema = true
			e = e.With("details", []string{e.Message})
		}
		return args, e
	}
	args.Members = c.withoutNulls(args.Members)
	args.Members = c.withText(args.Members)
	args.Members = c.withDefaults(args.Members)
	var check checker
	check.check(c.input, &args, nil)
	if len(check.problems) > 0 {
		return args, c.explain(&check, args)
	}
	return args, c.checkSizes(&args)
}

// withoutNulls does not change the caller's members, because the audit record needs them later.
func (c *Contract) withoutNulls(members []jsontree.Member) []jsontree.Member {
	absent := func(m jsontree.Member) bool {
		if m.Value.Kind != jsontree.Null || c.input.requires(m.Key) {
			return false
		}
		known := c.input.prop(m.Key)
		return known != nil && !known.holds(&m.Value)
	}
	if !slices.ContainsFunc(members, absent) {
		return members
	}
	return slices.DeleteFunc(slices.Clone(members), absent)
}

func (c *Contract) withDefaults(members []jsontree.Member) []jsontree.Member {
	members = slices.Clip(members)
	for _, p := range c.input.props {
		if p.schema.fallback == nil {
			continue
		}
		if !slices.ContainsFunc(members, func(m jsontree.Member) bool { return m.Key == p.name }) {
			members = append(members, jsontree.Member{Key: p.name, Value: *p.schema.fallback})
		}
	}
	return members
}

// explain makes one Error of all problems. The first one determines code and details.
func (c *Contract) explain(check *checker, args jsontree.Value) error {
	if c.Shape == Envelope || c.Shape == Named {
		return c.explainBriefly(check, args)
	}
	first, words := check.problems[0], check.words()
	e := Errorf(Invalid, "%s", strings.Join(words, "; ")).With("field", first.Field).With("problems", words)
	if first.Rule != "required" {
		e = e.With("value", echoed(&first.Value))
	}
	e.Code = first.Code
	if c.Errors[Invalid].Schema == "" {
		return e
	}
	// The sentence is that of the first problem that has its own; details list all problems.
	own := slices.IndexFunc(check.problems, func(p Problem) bool { return p.worded })
	if e.schema = own < 0; !e.schema {
		e.Message = check.problems[own].Message
	}
	if e.schema || len(words) > 1 {
		e = e.With("details", words)
	}
	return e
}

func (c *Contract) checkSizes(args *jsontree.Value) error {
	for i := range args.Members {
		name, v := args.Members[i].Key, &args.Members[i].Value
		limit, limited := c.Size.Args[name]
		if !limited {
			continue
		}
		if size := sizeOf(v); Bytes(size) > limit {
			return Errorf(TooLarge, "%s is %d bytes; at most %d bytes (%s) are allowed", name, size, limit, limit).
				With("field", name).With("size", size).With("max", int(limit))
		}
	}
	return nil
}

// content returns the bytes that count for an argument's size: the text of a string, or the JSON of
// any other value as it was sent. Text may be long, so content copies it only if it contains
// escapes.
func content(v *jsontree.Value) []byte {
	switch inner := len(v.Raw) - len(`""`); {
	case v.Kind != jsontree.String:
		return v.Source()
	case inner == len(v.Text): // any escape is longer than the character it stands for
		return v.Raw[1 : 1+inner]
	default:
		return []byte(v.Text)
	}
}

// sizeOf returns the length of content.
func sizeOf(v *jsontree.Value) int {
	if v.Kind == jsontree.String {
		return len(v.Text)
	}
	return len(v.Source())
}

// Conform reduces a handler's answer to the fields that the output schema names, in its order, and
// checks it against the schema. A violation is a fault of Remit and not of the caller, so the error
// has kind internal.
func (c *Contract) Conform(answer jsontree.Value) (jsontree.Value, error) {
	if err := c.compile(); err != nil {
		return answer, err
	}
	if !c.output.keepsAll(&answer) {
		answer = c.output.project(answer)
	}
	var check checker
	check.check(c.output, &answer, nil)
	if len(check.problems) == 0 {
		return answer, nil
	}
	return answer, Errorf(Internal, "Internal error").
		Because(fmt.Errorf("the answer breaks its contract: %s", strings.Join(check.words(), "; ")))
}

// keepsAll reports whether project would leave v unchanged. That is so for nearly all answers, and
// this check needs no copy.
func (s *schema) keepsAll(v *jsontree.Value) bool {
	if v.Kind != jsontree.Array && v.Kind != jsontree.Object {
		return true
	}
	if len(s.all) > 0 || len(s.anyOf) > 0 {
		return false
	}
	next := 0 // index of the first property that may still follow
	for i := range v.Members {
		m := &v.Members[i]
		known := s.within(v, m)
		if v.Kind == jsontree.Object && s.closed {
			for next < len(s.props) && s.props[next].name != m.Key {
				next++
			}
			if next == len(s.props) {
				return false
			}
			known = s.props[next].schema
			next++
		}
		if known != nil && !known.keepsAll(&m.Value) {
			return false
		}
	}
	return true
}

// project returns v with only the fields that the schema names. It does not change the members of
// v. Fields that if, then and else name are only checked, because removing one could change the
// decision.
func (s *schema) project(v jsontree.Value) jsontree.Value {
	switch {
	case v.Kind == jsontree.Object && s.closed:
		v = s.projectPromised(v)
	case v.Kind == jsontree.Object || v.Kind == jsontree.Array:
		v = s.projectKnown(v)
	default:
		return v
	}
	for _, part := range s.all {
		v = part.project(v)
	}
	return s.projectAnyOf(v)
}

// projectPromised keeps the fields that a closed object names, in its order.
func (s *schema) projectPromised(v jsontree.Value) jsontree.Value {
	kept := make([]jsontree.Member, 0, len(s.props))
	for _, p := range s.props {
		if member, ok := v.Get(p.name); ok {
			kept = append(kept, jsontree.Member{Key: p.name, Value: p.schema.project(member)})
		}
	}
	v.Members = kept
	return v
}

// projectKnown projects elements, and the members that an open object names. Other members stay
// unchanged.
func (s *schema) projectKnown(v jsontree.Value) jsontree.Value {
	v.Members = slices.Clone(v.Members)
	for i := range v.Members {
		if known := s.within(&v, &v.Members[i]); known != nil {
			v.Members[i].Value = known.project(v.Members[i].Value)
		}
	}
	return v
}

// projectAnyOf projects to the first option that the result matches.
func (s *schema) projectAnyOf(v jsontree.Value) jsontree.Value {
	for _, option := range s.anyOf {
		if projected := option.project(v); option.holds(&projected) {
			return projected
		}
	}
	return v
}

// Redacted returns arguments as the audit record may store them. Arguments that the contract marks,
// and long ones, are replaced by their size and the start of their hash. Unknown arguments, and
// those with the name of a secret, are replaced by their size alone, because a short text can be
// guessed from its hash.
func (c *Contract) Redacted(args *jsontree.Value) jsontree.Value {
	const maxArguments = 64 // maximum number of arguments; no contract has this many
	if args.Kind == jsontree.Null {
		return jsontree.Obj()
	}
	if args.Kind != jsontree.Object || len(args.Members) > maxArguments || c.compile() != nil {
		return onlySize(args)
	}
	return c.input.redactedMembers(args)
}

func (s *schema) redactedMembers(v *jsontree.Value) jsontree.Value {
	out := jsontree.Value{Kind: v.Kind, Members: slices.Clone(v.Members)}
	for i := range out.Members {
		m := &out.Members[i]
		known := s.within(v, m)
		if IsSecretName(m.Key) {
			known = nil
		}
		m.Value = known.redacted(&m.Value)
		m.Key = cut(m.Key)
	}
	return out
}

func (s *schema) redacted(v *jsontree.Value) jsontree.Value {
	switch {
	case s == nil:
		return onlySize(v)
	case s.redact || len(v.Source()) > maxValue:
		return DigestOf(v)
	case v.Kind == jsontree.Array || v.Kind == jsontree.Object:
		return s.redactedMembers(v)
	default:
		return *v
	}
}

// maxValue is the size from which a value is not shown or recorded as a whole.
const maxValue = 256

// IsSecretName reports whether values with this name must not be recorded or shown.
func IsSecretName(name string) bool {
	lower := strings.ToLower(name)
	return slices.ContainsFunc([]string{"secret", "password", "passwd", "token", "api_key", "api-key", "apikey", "credential", "authorization", "cookie", "signature"},
		func(word string) bool { return strings.Contains(lower, word) })
}

func onlySize(v *jsontree.Value) jsontree.Value {
	return jsontree.Obj(jsontree.M("bytes", jsontree.Int(int64(len(content(v))))))
}

// DigestOf returns what records hold in place of a value: its size and the start of its hash.
func DigestOf(v *jsontree.Value) jsontree.Value {
	body := content(v)
	sum := sha256.Sum256(body)
	return jsontree.Obj(
		jsontree.Member{Key: "bytes", Value: jsontree.Int(int64(len(body)))},
		jsontree.Member{Key: "sha256", Value: jsontree.Str(hex.EncodeToString(sum[:8]))},
	)
}

// acceptedType reads x-accepts. Only integer is allowed, because only an integer has one common
// spelling.
func acceptedType(v *jsontree.Value) (string, error) {
	if v.Kind != jsontree.String || v.Text != "integer" {
		return "", fmt.Errorf(`must be "integer", not %s`, orNothing(v))
	}
	return v.Text, nil
}

// withText returns arguments with an integer converted to its digits where x-accepts says so, and
// with white space removed where x-trim says so. It does not change the caller's members, because
// the audit record needs them later.
func (c *Contract) withText(members []jsontree.Member) []jsontree.Member {
	own := false
	for i := range members {
		known := c.input.prop(members[i].Key)
		if known == nil {
			continue
		}
		text, changed := known.textOf(&members[i].Value)
		if !changed {
			continue
		}
		if !own {
			members, own = slices.Clone(members), true
		}
		sent := members[i].Value
		members[i].Value = jsontree.Str(text)
		if sent.Kind == jsontree.Number {
			members[i].Value.Raw = sent.Raw // for errors that name the value as it was sent
		}
	}
	return members
}

// textOf returns the text that an argument is converted to, and whether that differs from what was
// sent.
func (s *schema) textOf(v *jsontree.Value) (text string, changed bool) {
	switch {
	case v.Kind == jsontree.String && s.trim:
		text = strings.TrimSpace(v.Text)
		return text, text != v.Text
	case v.Kind == jsontree.Number && s.accepts != "":
		return v.Text, isDigits(strings.TrimPrefix(v.Text, "-"))
	default:
		return "", false
	}
}

// isDigits reports whether a number consists of digits only. It rejects 1e3 and 2.0, which are
// integers too, because ids are not written like that.
func isDigits(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }
