package engine

import "remit/internal/contract/jsontree"

// Paged is an Out with a list that may be cut, so that the answer stays within the
// budget of its contract.
type Paged interface {
	// Cut gives the same answer with only the first n elements of its list, and the
	// cursor that goes on after them.
	Cut(n int) any
}

// Noted is an Out that can tell of its list that there is more than it gives. It is for
// answers that are cut without a cursor.
type Noted interface {
	Notes() Notes
}

// Notes are what a caller is told beside an answer that was cut without a cursor.
type Notes struct {
	Truncated bool  // there is more than was given
	Total     int64 // how many elements there are; -1 is not known. It says nothing of an answer that is whole.
	Shown     int   // how many were given; the engine counts them
}

// Remarker is an Out with something to say beside the answer: how it was found, how fresh it is. Remarks gives an object,
// or null if there is nothing to say; what it holds is not part of the contract.
type Remarker interface {
	Remarks() jsontree.Value
}

// promised makes of what a handler gave the answer that the contract promises: the
// fields it names, within its schema and its budget. What is cut is not looked at.
func (w *work) promised(out any) (jsontree.Value, error) {
	answer, err := w.wrapped(out)
	if err != nil {
		return answer, err
	}
	if remarker, ok := out.(Remarker); ok {
		w.remarks = remarker.Remarks()
	}
	keep, fits := w.tool.Fit(&answer)
	switch {
	case w.tool.Truncate.Cursor == "":
		w.note(out, &answer, keep, fits)
	case !fits:
		if answer, err = w.wrapped(out.(Paged).Cut(keep)); err != nil { // New has seen that it is one
			return answer, err
		}
	}
	return w.tool.Conform(answer)
}

// note cuts an answer that has no cursor to go on with, if it must, and remembers what
// its caller is told of what is missing.
func (w *work) note(out any, answer *jsontree.Value, keep int, fits bool) {
	if noted, ok := out.(Noted); ok {
		w.notes = noted.Notes()
	}
	if !fits {
		total := w.tool.Cut(answer, keep)
		if !w.notes.Truncated {
			w.notes = Notes{Truncated: true, Total: int64(total)}
		}
	}
	w.notes.Shown = keep
}

// wrapped is what a handler gave as a tree, in the shape of its set.
func (w *work) wrapped(out any) (jsontree.Value, error) {
	answer, err := jsontree.Of(out)
	return w.tool.Wrap(answer), err
}
