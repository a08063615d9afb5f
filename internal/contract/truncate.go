package contract

import "remit/internal/contract/jsontree"

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
