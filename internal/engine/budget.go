package engine

import "remit/internal/contract/jsontree"

// Paged is an Out with a list that may be cut, so that the answer stays within the
// budget of its contract.
type Paged interface {
	// Cut gives the same answer with only the first n elements of its list, and the
	// cursor that goes on after them.
	Cut(n int) any
}

// promised makes of what a handler gave the answer that the contract promises: the
// fields it names, within its schema and its budget. What is cut is not looked at.
func (w *work) promised(out any) (jsontree.Value, error) {
	answer, err := w.wrapped(out)
	if err != nil {
		return answer, err
	}
	if keep, fits := w.tool.Fit(&answer); !fits {
		if answer, err = w.wrapped(out.(Paged).Cut(keep)); err != nil { // New has seen that it is one
			return answer, err
		}
	}
	return w.tool.Conform(answer)
}

// wrapped is what a handler gave as a tree, in the shape of its set.
func (w *work) wrapped(out any) (jsontree.Value, error) {
	answer, err := jsontree.Of(out)
	return w.tool.Wrap(answer), err
}
