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
	// Progress reports how far the call has come; a total of zero means unknown. The peer drops it
	// unless the client asked for progress.
	Progress(done, total float64, message string)
	// Log sends a log message. The peer drops it if the client asked for a higher level.
	Log(level Level, logger string, data jsontree.Value)
	// Ask sends questions to the client and returns its answers by key. The error is
	// *SuspendedError if the answers come with a later attempt of the call, and *IncapableError if
	// the client did not declare that it can answer.
	Ask(ctx context.Context, questions []Question) (map[string]jsontree.Value, error)
	// Can reports whether the client declared a capability.
	Can(c Capability) bool
	// Background returns nil if a long call may continue as it is, and *DetachedError if it must
	// continue as a task.
	Background() error
	// Release closes the connection of a long call. The client reconnects for the rest, if it can.
	Release()
}

// Level is the severity of a log message.
type Level int

// The levels of RFC 5424, lowest first.
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

// ParseLevel returns the level with this name.
func ParseLevel(name string) (Level, error) {
	if i := slices.Index(levelNames, name); i >= 0 {
		return Level(i), nil
	}
	return 0, fmt.Errorf("level %q: must be one of %s", name, strings.Join(levelNames, ", "))
}

// Capability is a feature that a client must have to answer a question.
type Capability string

// The capabilities, as clients declare them.
const (
	Forms    Capability = "elicitation.form"
	Links    Capability = "elicitation.url"
	Sampling Capability = "sampling"
	Roots    Capability = "roots"
	Tasks    Capability = "tasks" // the extension with this name
)

// Question is something that only the client, or the person at it, can answer. Databases store it
// as JSON, so its tags must not change.
type Question struct {
	Key    string         `json:"key"` // identifies the answer; the same in every attempt of a call
	Needs  Capability     `json:"needs"`
	Params jsontree.Value `json:"params"` // in the format of the protocol
	// Guarded marks a question whose answer decides what the caller may do. An answer is accepted
	// only if an earlier attempt of this call certainly asked the question.
	Guarded bool `json:"guarded,omitempty"`
}

// Form returns a question to the person at the client. fields is a flat schema of what they fill
// in; without properties the person can only accept or decline.
func Form(key, message string, fields jsontree.Value) Question {
	return Question{Key: key, Needs: Forms, Params: jsontree.Obj(
		jsontree.M("message", jsontree.Str(message)),
		jsontree.M("requestedSchema", fields),
	)}
}

// YesOrNo returns the schema of a form without fields.
func YesOrNo() jsontree.Value {
	return jsontree.Obj(jsontree.M("type", jsontree.Str("object")), jsontree.M("properties", jsontree.Obj()))
}

// Link returns a question that sends the person at the client to a web page.
func Link(key, message, id, url string) Question {
	return Question{Key: key, Needs: Links, Params: jsontree.Obj(
		jsontree.M("mode", jsontree.Str("url")),
		jsontree.M("message", jsontree.Str(message)),
		jsontree.M("elicitationId", jsontree.Str(id)),
		jsontree.M("url", jsontree.Str(url)),
	)}
}

// SuspendedError suspends a call: the answers come with the next attempt, which runs the call again
// from the start. A handler returns it unchanged, and must not have changed anything before it
// asks.
type SuspendedError struct{ Questions []Question }

func (s *SuspendedError) Error() string {
	return fmt.Sprintf("the call waits for %d answers from the client", len(s.Questions))
}

// DetachedError ends a call in the foreground: it starts again as a task. A handler returns it
// unchanged.
type DetachedError struct{}

func (*DetachedError) Error() string { return "the call continues as a task" }

// MissingCapabilityError reports a question that the client cannot answer.
type MissingCapabilityError struct{ Needs Capability }

func (i *MissingCapabilityError) Error() string {
	return fmt.Sprintf("the client did not declare the capability %s", i.Needs)
}

// errNoPeer is the error of a call whose client is not reachable.
var errNoPeer = errors.New("the client cannot be asked while a call runs")

// noPeer is the Peer of a call whose client is not reachable.
type noPeer struct{}

func (noPeer) Progress(float64, float64, string) {}
func (noPeer) Log(Level, string, jsontree.Value) {}
func (noPeer) Can(Capability) bool               { return false }
func (noPeer) Background() error                 { return nil }
func (noPeer) Release()                          {}

func (noPeer) Ask(context.Context, []Question) (map[string]jsontree.Value, error) {
	return nil, errNoPeer
}

// reachable returns peer, or noPeer if it is nil.
func reachable(peer Peer) Peer {
	if peer == nil {
		return noPeer{}
	}
	return peer
}

// peerOf returns the client of a call.
func peerOf(ctx context.Context) Peer {
	peer, _ := ctx.Value(peerKey{}).(Peer)
	return reachable(peer)
}

// Progress reports to the client of a handler's call how far it has come.
func Progress(ctx context.Context, done, total float64, message string) {
	peerOf(ctx).Progress(done, total, message)
}

// LogMessage sends a log message to the client of a handler's call.
func LogMessage(ctx context.Context, level Level, logger string, data jsontree.Value) {
	peerOf(ctx).Log(level, logger, data)
}

// Ask sends questions to the client of a handler's call. See Peer.Ask.
func Ask(ctx context.Context, questions ...Question) (map[string]jsontree.Value, error) {
	waiting, resume := stopClock(ctx)
	defer resume()
	return peerOf(ctx).Ask(waiting, questions)
}

// Can reports whether the client of a handler's call declared a capability.
func Can(ctx context.Context, c Capability) bool { return peerOf(ctx).Can(c) }

// ContinueAsTask announces that the rest of a handler takes long. If the client supports tasks,
// ContinueAsTask returns an error that the handler must return unchanged, and the call starts again
// as a task.
func ContinueAsTask(ctx context.Context) error { return peerOf(ctx).Background() }

// CloseConnection closes the connection of a handler's call. See Peer.CloseConnection.
func CloseConnection(ctx context.Context) { peerOf(ctx).Release() }

// ProtocolError ends a call with an error of the protocol instead of an answer. Only tools that
// test clients return one. Databases store it as JSON, so its tags must not change.
type ProtocolError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (f *ProtocolError) Error() string { return f.Message }

// DeferredPeer is the Peer of a client that answers between the attempts of a call, not while it
// runs. Ask returns the answers that exist already, and suspends the call for all others.
type DeferredPeer struct {
	Live    Peer                      // receives progress and logs; may be nil
	Answers map[string]jsontree.Value // of all earlier attempts, by key
	// Asked reports whether an earlier attempt certainly asked the question; nil if there was none.
	Asked  func(key string) bool
	Client func(Capability) bool // what the client declared; nil to ask Live
	Detach bool                  // a long call must continue as a task
}

// Progress passes the progress to Live.
func (r *DeferredPeer) Progress(done, total float64, message string) {
	reachable(r.Live).Progress(done, total, message)
}

// Log passes the message to Live.
func (r *DeferredPeer) Log(level Level, logger string, data jsontree.Value) {
	reachable(r.Live).Log(level, logger, data)
}

// Ask returns the answers if all exist, and suspends the call for the missing ones otherwise.
func (r *DeferredPeer) Ask(_ context.Context, questions []Question) (map[string]jsontree.Value, error) {
	given := make(map[string]jsontree.Value, len(questions))
	var open []Question
	for _, q := range questions {
		if !r.Can(q.Needs) {
			return nil, &MissingCapabilityError{q.Needs}
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

// Can reports whether the client declared a capability.
func (r *DeferredPeer) Can(c Capability) bool {
	if r.Client == nil {
		return r.Live.Can(c)
	}
	return r.Client(c)
}

// Background suspends the call if it can continue as a task.
func (r *DeferredPeer) Background() error {
	if r.Detach {
		return &DetachedError{}
	}
	return nil
}

// Release calls Release of Live.
func (r *DeferredPeer) Release() { reachable(r.Live).Release() }
