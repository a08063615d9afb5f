package contract

import (
	"slices"
	"strings"

	"remit/internal/contract/jsontree"
)

// enveloped returns the output schema of a set of shape envelope, around the schema of the data
// that the contract file states.
func enveloped(data jsontree.Value) jsontree.Value {
	done := jsontree.Obj(jsontree.M("type", jsontree.Str("boolean")), jsontree.M("description", jsontree.Str("True: the call succeeded")))
	return jsontree.Obj(
		jsontree.M("type", jsontree.Str("object")),
		jsontree.M("properties", jsontree.Obj(jsontree.M("success", done), jsontree.M("data", data))),
		jsontree.M("required", jsontree.Arr(jsontree.Str("success"), jsontree.Str("data"))),
		jsontree.M("additionalProperties", jsontree.Boolean(false)),
	)
}

// wraps reports whether the tool's answers are put into an envelope.
func (c *Contract) wraps() bool { return c.Shape == Envelope && !c.Content }

// Data returns the schema of what the handler returns: the data within the envelope in a set of
// shape envelope, and the whole output in any other.
func (c *Contract) Data() *jsontree.Value {
	if c.wraps() {
		if data := c.Output.Member("properties", "data"); data != nil {
			return data
		}
	}
	return &c.Output
}

// Wrap puts a handler's answer into the shape of the set.
func (c *Contract) Wrap(data jsontree.Value) jsontree.Value {
	if !c.wraps() {
		return data
	}
	return jsontree.Obj(jsontree.M("success", jsontree.Boolean(true)), jsontree.M("data", data))
}

// unwrapped returns the data that was passed to Wrap.
func (c *Contract) unwrapped(answer *jsontree.Value) *jsontree.Value {
	if c.wraps() {
		return answer.Member("data")
	}
	return answer
}

// explainBriefly makes one Error of all problems, with the details that the contract documents of
// the task and book tools specify: the value only if it was not among the allowed ones, and the
// list of problems only if there is more than one. In shape named, a failure with its own code has
// the value under the name of its argument. The order of the contract decides which problem comes
// first.
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

// inOrder returns arguments in the order of the contract. Unknown arguments come last.
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

// Body returns the part of an answer that text content, HTTP and the command line send, cut out of
// the JSON of the answer that Conform returned: all of it, or only the list if the contract says
// bare. The result shares memory with written.
func (c *Contract) Body(written []byte) []byte {
	if c.Bare == "" {
		return written
	}
	before := len(jsontree.AppendString(nil, c.Bare)) + len("{:")
	return written[before : len(written)-len("}")]
}

// BodySchema returns the schema of the answers' bodies. Like the output schema, it is null for a
// tool that answers with content.
func (c *Contract) BodySchema() jsontree.Value {
	if list := c.Output.Member("properties", c.Bare); c.Bare != "" && list != nil {
		return public(list)
	}
	return c.PublicOutput()
}

// whole returns the answer that a body was taken from.
func (c *Contract) whole(body jsontree.Value) jsontree.Value {
	if c.Bare == "" {
		return body
	}
	return jsontree.Obj(jsontree.M(c.Bare, body))
}

// bare checks that a bare body leaves out nothing but the object around the list.
func (l *linter) bare(c *Contract) {
	if c.Bare == "" {
		return
	}
	list := c.output.prop(c.Bare)
	isList := list != nil && len(list.types) == 1 && list.types[0] == "array"
	l.need(isList && !c.Content, "bare", "%q is not an array of the answer", c.Bare)
	l.need(len(c.output.props) == 1 && c.output.closed, "bare", "%q must be the only field of the answer", c.Bare)
	l.need(c.output.requires(c.Bare), "bare", "%q must be required", c.Bare)
	l.need(c.Shape != Envelope, "bare", "shape envelope needs an object, so the answer cannot be bare")
	l.need(c.Task == "", "bare", "the result of a task cannot be bare; leave out bare or task")
}

// Truncate says how an answer that is too long is shortened: which list of the data is cut at its
// end, and which field then holds the cursor that continues there. Without a cursor the rest is
// lost, and a notice beside the answer says so.
type Truncate struct {
	List   string `json:"list" yaml:"list"`
	Cursor string `json:"cursor,omitempty" yaml:"cursor"`
	Budget Bytes  `json:"budget" yaml:"budget"` // maximum size of the whole answer as JSON
}

// cursorReserve is the number of bytes reserved for the cursor and its name.
const cursorReserve = 256

// Cut keeps the first n elements of the list of a wrapped answer that has no cursor, and returns
// how many there were.
func (c *Contract) Cut(answer *jsontree.Value, n int) (total int) {
	list := c.unwrapped(answer).Member(c.Truncate.List)
	total = len(list.Members)
	list.Members = list.Members[:n]
	return total
}

// Fit reports whether a wrapped answer is within the budget of the contract. If it is not, keep is
// how many elements of the list may stay, so that there is room for a cursor, if there is one. keep
// is at least one, because a caller could never get past an empty page. A single element fits,
// however long it is.
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
			room -= cursorReserve
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
