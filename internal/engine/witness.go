package engine

import (
	"time"

	"remit/internal/contract/jsontree"
)

// Witness is told what callers did, so that it can be remembered. It must not block, and keeps nothing of what it is
// handed without copying it.
type Witness interface {
	// Saw is told of every call that succeeded.
	Saw(s *Seen)
	// Left is told that a connection has ended.
	Left(connection string)
}

// Seen is a call that succeeded.
type Seen struct {
	Caller Caller
	Tool   string // set/name
	Args   *jsontree.Value
	Answer *jsontree.Value
	At     time.Time // when it began
}

// witness lets it be remembered what the call did. A repeat did nothing.
func (w *work) witness(answer *jsontree.Value) {
	if w.engine.Witness == nil || w.replayed {
		return
	}
	w.engine.Witness.Saw(&Seen{Caller: w.caller(), Tool: w.tool.ID, Args: &w.call.Args, Answer: answer, At: w.started})
}

// Left is how a face tells that a connection has ended.
func (e *Engine) Left(connection string) {
	if e.Witness != nil && connection != "" {
		e.Witness.Left(connection)
	}
}
