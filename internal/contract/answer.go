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

// Body is the part of an answer that texts, HTTP and the command line give, out of the
// JSON that Conform's answer is written as: all of it, or the list of a contract that
// says bare. It is a part of the same memory.
func (c *Contract) Body(written []byte) []byte {
	if c.Bare == "" {
		return written
	}
	before := len(jsontree.AppendString(nil, c.Bare)) + len("{:")
	return written[before : len(written)-len("}")]
}

// BodySchema is the schema of the bodies of answers. Like the output schema it is null
// for a tool that answers with content.
func (c *Contract) BodySchema() jsontree.Value {
	if list := c.Output.Member("properties", c.Bare); c.Bare != "" && list != nil {
		return public(list)
	}
	return c.PublicOutput()
}

// whole is the answer that a body belongs to.
func (c *Contract) whole(body jsontree.Value) jsontree.Value {
	if c.Bare == "" {
		return body
	}
	return jsontree.Obj(jsontree.M(c.Bare, body))
}

// bare checks that nothing but the list is left out of the body.
func (l *linter) bare(c *Contract) {
	if c.Bare == "" {
		return
	}
	list := c.output.prop(c.Bare)
	isList := list != nil && len(list.types) == 1 && list.types[0] == "array"
	l.need(isList && !c.Content, "bare", "%q is not an array of the answer", c.Bare)
	l.need(len(c.output.props) == 1 && c.output.closed, "bare", "%q must be all that there is in the answer", c.Bare)
	l.need(c.output.requires(c.Bare), "bare", "%q must be required", c.Bare)
	l.need(c.Shape != Envelope, "bare", "an envelope holds an object")
	l.need(c.Task == "", "bare", "what a task came to has its fields; leave out one of the two")
}

// Truncate says how an answer that is too long gets shorter: which list of the
// data loses its end, and which field then holds the cursor that goes on there. Without
// a cursor the end is lost, and the caller is told so beside the answer.
type Truncate struct {
	List   string `json:"list" yaml:"list"`
	Cursor string `json:"cursor,omitempty" yaml:"cursor"`
	Budget Bytes  `json:"budget" yaml:"budget"` // of the whole answer, as JSON
}

// cursorRoom is kept free for the cursor, with its name.
const cursorRoom = 256

// Cut leaves the first n elements of the list of an answer, wrapped, that has no cursor
// to go on with, and tells how many there were.
func (c *Contract) Cut(answer *jsontree.Value, n int) (total int) {
	list := c.unwrapped(answer).Member(c.Truncate.List)
	total = len(list.Members)
	list.Members = list.Members[:n]
	return total
}

// Fit tells whether an answer, wrapped, is within the budget that the contract states.
// If it is not, keep is how many elements of the list may stay, so that there is room
// for a cursor, if there is one; it is at least one, since an answer without any would never come to an
// end. A single element fits, however long it is.
func (c *Contract) Fit(answer *jsontree.Value) (keep int, fits bool) {
	list := c.unwrapped(answer).Member(c.Truncate.List)
	if list == nil || c.Truncate == (Truncate{}) {
		return 0, true
	}
	keep = len(list.Members)
	least, most := answer.Sizes()
	if most <= int(c.Truncate.Budget) {
		return keep, true
	}
	body := answer.Append(make([]byte, 0, least))
	if size := len(body); keep > 1 && size > int(c.Truncate.Budget) {
		room := int(c.Truncate.Budget)
		if c.Truncate.Cursor != "" {
			room -= cursorRoom
		}
		for keep > 1 && size > room {
			keep--
			body = list.Members[keep].Value.Append(body[:0])
			size -= len(body) + len(",")
		}
		return keep, false
	}
	return keep, true
}
