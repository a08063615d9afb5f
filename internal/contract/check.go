package contract

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"remit/internal/contract/jsontree"
)

// Accept checks a caller's arguments against the input schema and returns them
// as the handler gets them: nulls of optional arguments dropped, defaults filled
// in. What is wrong comes back as one Error of kind invalid (or too_large) that
// names every field, its value and what is allowed.
func (c *Contract) Accept(args jsontree.Value) (jsontree.Value, error) {
	if err := c.compile(); err != nil {
		return args, err
	}
	if args.Kind == jsontree.Null {
		args = jsontree.Obj()
	}
	if args.Kind != jsontree.Object {
		return args, Errorf(Invalid, "the arguments must be an object, not %s", args.Kind).With("field", "")
	}
	args.Members = c.withoutNulls(args.Members)
	args.Members = c.withDefaults(args.Members)
	var check checker
	check.check(c.input, &args, nil)
	if len(check.problems) > 0 {
		return args, c.explain(check.problems)
	}
	return args, c.checkSizes(&args)
}

func (c *Contract) withoutNulls(members []jsontree.Member) []jsontree.Member {
	return slices.DeleteFunc(members, func(m jsontree.Member) bool {
		if m.Value.Kind != jsontree.Null || c.input.requires(m.Key) {
			return false
		}
		known := c.input.prop(m.Key)
		return known != nil && !known.allowsNull()
	})
}

func (c *Contract) withDefaults(members []jsontree.Member) []jsontree.Member {
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

// explain makes one Error of all problems; the first gives code and details.
func (c *Contract) explain(problems []Problem) error {
	words := make([]string, len(problems))
	for i, p := range problems {
		words[i] = p.Message
	}
	first := problems[0]
	e := Errorf(Invalid, "%s", strings.Join(words, "; ")).With("field", first.Field).With("problems", words)
	if first.Rule != "required" {
		e.Details["value"] = first.Value
	}
	e.Code = first.Code
	return e
}

func (c *Contract) checkSizes(args *jsontree.Value) error {
	for name, limit := range c.Size.Args {
		v, ok := args.Get(name)
		if !ok {
			continue
		}
		size := len(v.Raw)
		if v.Kind == jsontree.String {
			size = len(v.Text)
		}
		if Bytes(size) > limit {
			return Errorf(TooLarge, "%s is %d bytes; at most %d bytes (%s) are allowed", name, size, limit, limit).
				With("field", name).With("size", size).With("max", int(limit))
		}
	}
	return nil
}

// Conform reduces a handler's answer to the fields that the output schema names,
// in its order, and checks the rest of the promise. A failure is ours, not the
// caller's: the error's kind is internal.
func (c *Contract) Conform(answer jsontree.Value) (jsontree.Value, error) {
	if err := c.compile(); err != nil {
		return answer, err
	}
	answer = c.output.project(answer)
	var check checker
	check.check(c.output, &answer, nil)
	if len(check.problems) == 0 {
		return answer, nil
	}
	words := make([]string, len(check.problems))
	for i, p := range check.problems {
		words[i] = p.Message
	}
	return answer, Errorf(Internal, "Internal error").
		Because(fmt.Errorf("the answer breaks its contract: %s", strings.Join(words, "; ")))
}

func (s *schema) project(v jsontree.Value) jsontree.Value {
	switch {
	case v.Kind == jsontree.Array && s.items != nil:
		for i := range v.Members {
			v.Members[i].Value = s.items.project(v.Members[i].Value)
		}
	case v.Kind == jsontree.Object && s.closed:
		kept := make([]jsontree.Member, 0, len(s.props))
		for _, p := range s.props {
			if member, ok := v.Get(p.name); ok {
				kept = append(kept, jsontree.Member{Key: p.name, Value: p.schema.project(member)})
			}
		}
		v.Members = kept
	}
	return v
}

// Redacted returns arguments as the audit record may keep them: what the
// contract marks, what looks like a secret by its name, and whatever is long, is
// replaced by its size and the start of its hash.
func (c *Contract) Redacted(args *jsontree.Value) jsontree.Value {
	if args.Kind != jsontree.Object {
		return digestOf(args)
	}
	out := jsontree.Value{Kind: jsontree.Object, Members: slices.Clone(args.Members)}
	for i := range out.Members {
		m := &out.Members[i]
		var known *schema
		if c.compile() == nil {
			known = c.input.prop(m.Key)
		}
		if known == nil || known.redact || isSecretName(m.Key) || isLong(&m.Value) {
			m.Value = digestOf(&m.Value)
		}
	}
	return out
}

const longest = 256

func isLong(v *jsontree.Value) bool { return len(v.Text) > longest || len(v.Raw) > longest }

func isSecretName(name string) bool {
	lower := strings.ToLower(name)
	return slices.ContainsFunc([]string{"secret", "password", "token", "api_key", "apikey", "credential"},
		func(word string) bool { return strings.Contains(lower, word) })
}

func digestOf(v *jsontree.Value) jsontree.Value {
	body := v.Raw
	if v.Kind == jsontree.String {
		body = []byte(v.Text)
	}
	sum := sha256.Sum256(body)
	return jsontree.Obj(
		jsontree.M("bytes", jsontree.Int(int64(len(body)))),
		jsontree.M("sha256", jsontree.Str(hex.EncodeToString(sum[:8]))),
	)
}
