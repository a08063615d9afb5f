package mcp

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"remit/internal/contract/jsontree"
	"remit/internal/engine"
)

// peer is the client of a request as the engine reaches it. In the legacy era it
// can be asked while a call runs; in the modern era it answers in rounds.
func (q *request) peer(ctx context.Context, tool *engine.Tool) (engine.Peer, *round, error) {
	if q.from.era == legacy {
		return live{q}, &q.round, nil
	}
	digest := ""
	if tool != nil {
		digest = tool.Digest
	}
	if err := q.readRound(ctx, digest); err != nil {
		return nil, nil, err
	}
	rounds := &engine.Rounds{
		Live:    live{q},
		Answers: q.round.answers,
		Detach:  tool != nil && tool.Task != "" && q.from.tasks && q.server.Tasks != nil,
	}
	if q.round.asked != nil {
		rounds.Asked = func(key string) bool { return q.round.asked[key] }
	}
	return rounds, &q.round, nil
}

// elseAsk ends a round with the question that err holds, or the request with err.
func (q *request) elseAsk(r *round, err error) ([]byte, error) {
	wait, ok := errors.AsType[*engine.SuspendedError](err)
	if q.from.era == legacy || !ok {
		return nil, err
	}
	next := engine.Round{Number: r.before.Number + 1}
	return q.ask(r, &engine.Need{Questions: wait.Questions, Next: next}, "")
}

// live is a client that hears of a call while it runs.
type live struct{ q *request }

var _ engine.Peer = live{}

// Progress tells a client that gave a token for it.
func (p live) Progress(done, total float64, message string) {
	meta := p.q.params.Field("_meta")
	token := meta.Field("progressToken")
	if token.Kind != jsontree.String && token.Kind != jsontree.Number {
		return
	}
	b := append([]byte(`{"progressToken":`), token.Raw...)
	b = appendNumber(append(b, `,"progress":`...), done)
	if total > 0 {
		b = appendNumber(append(b, `,"total":`...), total)
	}
	if message != "" {
		b = jsontree.AppendString(append(b, `,"message":`...), message)
	}
	_ = p.q.out.send(notification("notifications/progress", append(b, '}'))) // who is gone needs no news
}

func appendNumber(b []byte, n float64) []byte { return strconv.AppendFloat(b, n, 'f', -1, 64) }

// Log tells a client that wants to hear of messages of this level.
func (p live) Log(level engine.Level, logger string, data jsontree.Value) {
	if p.q.from.logs == nil || int32(level) < p.q.from.logs.Load() {
		return
	}
	params := jsontree.Obj(jsontree.M("level", jsontree.Str(level.String())))
	if logger != "" {
		params.Members = append(params.Members, jsontree.M("logger", jsontree.Str(logger)))
	}
	params.Members = append(params.Members, jsontree.M("data", data))
	_ = p.q.out.send(notification("notifications/message", params.Append(nil))) // who is gone needs no news
}

// Can tells what the client declared.
func (p live) Can(c engine.Capability) bool { return p.q.from.can(c) }

// Background has no task to offer.
func (live) Background() error { return nil }

// Release lets the connection go.
func (p live) Release() { p.q.out.release() }

// Ask puts the questions to the client, one after the other: a person reads one
// at a time.
func (p live) Ask(ctx context.Context, questions []engine.Question) (map[string]jsontree.Value, error) {
	for _, question := range questions {
		if !p.q.from.can(question.Needs) {
			return nil, &engine.IncapableError{Needs: question.Needs}
		}
	}
	engine.Placed(ctx) // later writes do not wait for a person
	defer p.q.out.pausing()()
	answers := make(map[string]jsontree.Value, len(questions))
	for _, question := range questions {
		m, err := p.q.questions.put(ctx, p.q.out.send, questionMethod(question.Needs), question.Params.Append(nil))
		if err != nil {
			return nil, fmt.Errorf("ask the client: %w", err)
		}
		if m.failed {
			return nil, errors.New("the client answered with an error")
		}
		answers[question.Key] = m.result
	}
	return answers, nil
}

func questionMethod(c engine.Capability) string {
	switch c {
	case engine.Sampling:
		return "sampling/createMessage"
	case engine.Roots:
		return "roots/list"
	default:
		return "elicitation/create"
	}
}
