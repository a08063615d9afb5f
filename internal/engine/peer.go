package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"remit/internal/contract/jsontree"
)

// Peer is the client at the other end of a call, while the call runs. Every
// method is safe for concurrent use.
type Peer interface {
	// Progress tells how far the call has come; a total of zero is not known.
	// It is dropped if the client did not ask to hear of it.
	Progress(done, total float64, message string)
	// Log sends a message; it is dropped if the client wants less than that.
	Log(level Level, logger string, data jsontree.Value)
	// Ask puts questions to the client and returns its answers by key. The error
	// is *SuspendedError if they come with a later round, *IncapableError if the client
	// never said that it can answer.
	Ask(ctx context.Context, questions []Question) (map[string]jsontree.Value, error)
	// Can tells whether the client declared a capability.
	Can(c Capability) bool
	// Background returns nil when a long call may go on as it is, and *DetachedError
	// when it is to go on as a task.
	Background() error
	// Release lets the connection of a long call go; the client comes back for
	// the rest, if it can.
	Release()
}

// Level is how much a log message matters.
type Level int

// The levels of RFC 5424, from the least.
const (
	Debug Level = iota
	Info
	Notice
	Warning
	Severe // "error" on the wire
	Critical
	Alert
	Emergency
)

var levelNames = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

func (l Level) String() string { return levelNames[l] }

// ParseLevel reads a level by its name.
func ParseLevel(name string) (Level, error) {
	if i := slices.Index(levelNames, name); i >= 0 {
		return Level(i), nil
	}
	return 0, fmt.Errorf("level %q: must be one of %s", name, strings.Join(levelNames, ", "))
}

// Capability is what a client must be able to do to answer a question.
type Capability string

// The capabilities, as clients declare them.
const (
	Forms    Capability = "elicitation.form"
	Links    Capability = "elicitation.url"
	Sampling Capability = "sampling"
	Roots    Capability = "roots"
	Tasks    Capability = "tasks" // the extension of that name
)

// Question is something that only the client, or the person at it, can answer. Databases
// hold it as JSON: its tags must not change.
type Question struct {
	Key    string         `json:"key"` // names its answer; the same in every round of a call
	Needs  Capability     `json:"needs"`
	Params jsontree.Value `json:"params"` // as the protocol words it
	// Guarded questions decide what a caller may do: an answer counts only if it
	// is certain that the question was put.
	Guarded bool `json:"guarded,omitempty"`
}

// Form is a question to the person at the client. fields is a flat schema of
// what they fill in; no properties leave them yes or no.
func Form(key, message string, fields jsontree.Value) Question {
	return Question{Key: key, Needs: Forms, Params: jsontree.Obj(
		jsontree.M("message", jsontree.Str(message)),
		jsontree.M("requestedSchema", fields),
	)}
}

// YesOrNo are the fields of a form that has none.
func YesOrNo() jsontree.Value {
	return jsontree.Obj(jsontree.M("type", jsontree.Str("object")), jsontree.M("properties", jsontree.Obj()))
}

// Link sends the person at the client to a page.
func Link(key, message, id, url string) Question {
	return Question{Key: key, Needs: Links, Params: jsontree.Obj(
		jsontree.M("mode", jsontree.Str("url")),
		jsontree.M("message", jsontree.Str(message)),
		jsontree.M("elicitationId", jsontree.Str(id)),
		jsontree.M("url", jsontree.Str(url)),
	)}
}

// SuspendedError ends a round of a call: its answers come with the next round, which
// runs the call again from the start. A handler returns it as it is, and has
// changed nothing before it asks.
type SuspendedError struct{ Questions []Question }

func (s *SuspendedError) Error() string {
	return fmt.Sprintf("the call waits for %d answers of the client", len(s.Questions))
}

// DetachedError ends a call in the foreground: it starts again as a task. A handler
// returns it as it is.
type DetachedError struct{}

func (*DetachedError) Error() string { return "the call goes on as a task" }

// IncapableError is a question that the client cannot answer.
type IncapableError struct{ Needs Capability }

func (i *IncapableError) Error() string {
	return fmt.Sprintf("the client did not declare the capability %s", i.Needs)
}

// errNoPeer is what a call gets that nobody can be reached for.
var errNoPeer = errors.New("the client cannot be asked while a call runs")

// noPeer is the Peer of a call that nobody can be reached for.
type noPeer struct{}

func (noPeer) Progress(float64, float64, string) {}
func (noPeer) Log(Level, string, jsontree.Value) {}
func (noPeer) Can(Capability) bool               { return false }
func (noPeer) Background() error                 { return nil }
func (noPeer) Release()                          {}

func (noPeer) Ask(context.Context, []Question) (map[string]jsontree.Value, error) {
	return nil, errNoPeer
}

// reachable returns a Peer, or noPeer if there is none.
func reachable(peer Peer) Peer {
	if peer == nil {
		return noPeer{}
	}
	return peer
}

// peerOf is the client of a call.
func peerOf(ctx context.Context) Peer {
	peer, _ := ctx.Value(peerKey{}).(Peer)
	return reachable(peer)
}

// Progress tells the client of a handler's call how far it has come.
func Progress(ctx context.Context, done, total float64, message string) {
	peerOf(ctx).Progress(done, total, message)
}

// Tell sends the client of a handler's call a log message.
func Tell(ctx context.Context, level Level, logger string, data jsontree.Value) {
	peerOf(ctx).Log(level, logger, data)
}

// Ask puts questions to the client of a handler's call. See Peer.Ask.
func Ask(ctx context.Context, questions ...Question) (map[string]jsontree.Value, error) {
	waiting, resume := stopClock(ctx)
	defer resume()
	return peerOf(ctx).Ask(waiting, questions)
}

// Can tells whether the client of a handler's call declared a capability.
func Can(ctx context.Context, c Capability) bool { return peerOf(ctx).Can(c) }

// Background is where a handler says that what follows takes long. A client that
// knows tasks gets one for it; the handler then returns the error as it is.
func Background(ctx context.Context) error { return peerOf(ctx).Background() }

// Release lets the connection of a handler's call go. See Peer.Release.
func Release(ctx context.Context) { peerOf(ctx).Release() }

// ProtocolError ends a call with an error of the protocol in place of an answer. Only
// tools that put clients to the test return one. Databases hold it as JSON: its tags must
// not change.
type ProtocolError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (f *ProtocolError) Error() string { return f.Message }

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
	reachable(r.Live).Progress(done, total, message)
}

// Log goes to the live peer.
func (r *Rounds) Log(level Level, logger string, data jsontree.Value) {
	reachable(r.Live).Log(level, logger, data)
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
func (r *Rounds) Release() { reachable(r.Live).Release() }
