package engine

import (
	"context"

	"remit/internal/contract/jsontree"
)

// Rounds is the Peer of a client that answers between the rounds of a call, not
// while it runs. What it has answered is there; whatever else is asked suspends
// the call.
type Rounds struct {
	Live    Peer                      // hears of progress and logs; nil if nobody does
	Answers map[string]jsontree.Value // of all earlier rounds, by key
	Asked   func(key string) bool     // whether an earlier round certainly put the question; nil if there was none
	Client  func(Capability) bool     // what the client declared; nil if the live peer knows
	Detach  bool                      // a long call is to go on as a task
}

// Progress goes to the live peer.
func (r *Rounds) Progress(done, total float64, message string) {
	if r.Live != nil {
		r.Live.Progress(done, total, message)
	}
}

// Log goes to the live peer.
func (r *Rounds) Log(level Level, logger string, data jsontree.Value) {
	if r.Live != nil {
		r.Live.Log(level, logger, data)
	}
}

// Ask returns the answers if all are there, and suspends the call for the rest.
func (r *Rounds) Ask(_ context.Context, questions []Question) (map[string]jsontree.Value, error) {
	given := make(map[string]jsontree.Value, len(questions))
	var open []Question
	for _, q := range questions {
		if !r.Can(q.Needs) {
			return nil, &IncapableError{q.Needs}
		}
		if answer, ok := r.Answers[q.Key]; ok && (!q.Guarded || r.Asked != nil && r.Asked(q.Key)) {
			given[q.Key] = answer
		} else {
			open = append(open, q)
		}
	}
	if len(open) > 0 {
		return nil, &SuspendedError{open}
	}
	return given, nil
}

// Can tells what the client declared.
func (r *Rounds) Can(c Capability) bool {
	if r.Client == nil {
		return r.Live.Can(c)
	}
	return r.Client(c)
}

// Background ends the call in the foreground if it can go on as a task.
func (r *Rounds) Background() error {
	if r.Detach {
		return &DetachedError{}
	}
	return nil
}

// Release goes to the live peer.
func (r *Rounds) Release() {
	if r.Live != nil {
		r.Live.Release()
	}
}
