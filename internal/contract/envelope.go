package contract

import (
	"slices"
	"strings"

	"remit/internal/contract/jsontree"
)

// enveloped is the output schema of a set of shape envelope, around the schema of
// the data that its contract file states.
func enveloped(data jsontree.Value) jsontree.Value {
	done := jsontree.Obj(jsontree.M("type", jsontree.Str("boolean")), jsontree.M("description", jsontree.Str("True: it was done")))
	return jsontree.Obj(
		jsontree.M("type", jsontree.Str("object")),
		jsontree.M("properties", jsontree.Obj(jsontree.M("success", done), jsontree.M("data", data))),
		jsontree.M("required", jsontree.Arr(jsontree.Str("success"), jsontree.Str("data"))),
		jsontree.M("additionalProperties", jsontree.Boolean(false)),
	)
}

// wraps tells whether an answer of the tool is put into an envelope.
func (c *Contract) wraps() bool { return c.Shape == Envelope && !c.Content }

// Data is the schema of what the handler gives: the data within the envelope in a
// set of that shape, the whole output in any other.
func (c *Contract) Data() *jsontree.Value {
	if c.wraps() {
		if data := c.Output.Member("properties", "data"); data != nil {
			return data
		}
	}
	return &c.Output
}

// Wrap puts what a handler gives into the shape of the set.
func (c *Contract) Wrap(data jsontree.Value) jsontree.Value {
	if !c.wraps() {
		return data
	}
	return jsontree.Obj(jsontree.M("success", jsontree.Boolean(true)), jsontree.M("data", data))
}

// unwrapped is the part of an answer that Wrap was given.
func (c *Contract) unwrapped(answer *jsontree.Value) *jsontree.Value {
	if c.wraps() {
		return answer.Member("data")
	}
	return answer
}

// explainBriefly makes one Error of all problems, with the details of seeds 002 and 003:
// the value only where it was not among those that are allowed, the list of problems only
// where there is more than one. In shape named a failure with a code of its own tells
// the value under the name of its argument. The contract's own order decides which
// problem is the first.
func (c *Contract) explainBriefly(check *checker, args jsontree.Value) error {
	if len(check.problems) > 1 {
		args.Members = c.inOrder(args.Members)
		*check = checker{}
		check.check(c.input, &args, nil)
	}
	first, words := check.problems[0], check.words()
	e := Errorf(Invalid, "%s", strings.Join(words, "; "))
	if c.Shape == Named && first.Code != "" && first.Rule != "required" {
		e = e.With(first.Field, echoed(&first.Value))
	} else {
		e = e.With("field", first.Field)
	}
	if first.Rule == "enum" || first.Rule == "format" {
		e = e.With("value", echoed(&first.Value))
	}
	if len(words) > 1 {
		e = e.With("problems", words)
	}
	e.Code = first.Code
	return e
}

// inOrder gives arguments in the order of the contract; what it does not know comes
// last.
func (c *Contract) inOrder(members []jsontree.Member) []jsontree.Member {
	rank := func(m jsontree.Member) int {
		i := slices.IndexFunc(c.input.props, func(p property) bool { return p.name == m.Key })
		if i < 0 {
			return len(c.input.props)
		}
		return i
	}
	return slices.SortedStableFunc(slices.Values(members), func(a, b jsontree.Member) int { return rank(a) - rank(b) })
}
