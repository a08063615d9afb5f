package mcp

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/engine/identity"
)

// request is one request of a client.
type request struct {
	server *Server
	id     []byte
	method string
	params jsontree.Value
	from   client
	out    messageSender
	conn   conn

	questions *questions // to the client, during the request; nil in the modern era over HTTP

	continuation continuation // of a call of the modern era
	status       int          // on HTTP, set with the response

	denied error // set if a token with more rights would have been accepted
}

// messageSender sends messages that belong to a request and come before its response.
type messageSender interface {
	// send sends a message. It may block, but only as long as the request's own client does.
	send(message []byte) error
	// release closes the connection that waits for the response, if the client can resume it.
	release()
	// pausing is called while a call waits for a person; resume ends the pause.
	pausing() (resume func())
}

// conn is what outlives a request: the session of a legacy client, or the stdio connection. Modern
// requests over HTTP have none.
type conn interface {
	// notifications returns the client's subscription.
	notifications() *subscription
}

// trim drops the rest of a message that is much larger than its arguments, because a call may wait
// for a person for an hour.
func (q *request) trim(size int) {
	args := q.params.Field("arguments")
	if size <= 2*len(args.Raw)+4096 {
		return
	}
	kept := jsontree.Obj()
	for _, name := range []string{
		"name", "uri", "cursor", "taskId", "ref", "argument", "notifications", "arguments", "inputResponses", "requestState", "_meta",
	} {
		if v, ok := q.params.Get(name); ok {
			kept.Members = append(kept.Members, jsontree.M(name, v))
		}
	}
	q.params, q.method = kept.Clone(), strings.Clone(q.method)
}

// answer runs a request and returns the complete response.
func (q *request) answer(ctx context.Context) []byte {
	body, err := q.dispatch(ctx)
	if err != nil {
		return q.fail(err)
	}
	return body
}

// fail returns the error response of a request.
func (q *request) fail(err error) []byte {
	q.recordDenial(err)
	fault := toRPCError(err, q.from.era)
	q.status = fault.status(q.from.era)
	return fault.reply(q.id, q.from.era)
}

// recordDenial records an error that a token with more rights would avoid.
func (q *request) recordDenial(err error) {
	var missing *identity.ScopeError
	if errors.Is(err, identity.ErrAnonymous) || errors.As(err, &missing) {
		q.denied = err
	}
}

// requireIdentity rejects anonymous callers. Tool calls pass, because the engine decides which
// tools anonymous callers may use.
func (q *request) requireIdentity() error {
	if q.from.Principal != "" || q.method == "tools/call" {
		return nil
	}
	return identity.AnonymousError(q.from.Grant, "This server")
}

// dispatch calls the handler of the method. Some methods exist in one era only.
func (q *request) dispatch(ctx context.Context) ([]byte, error) {
	if err := q.requireIdentity(); err != nil {
		return nil, err
	}
	s := q.server
	switch q.method {
	case "tools/call":
		return q.callTool(ctx)
	case "tools/list":
		q.arrive(q.method)
		s.list()
		return q.listFixed("tools", s.tools)
	case "prompts/list":
		s.list()
		return q.listFixed("prompts", s.prompts)
	case "prompts/get":
		return q.getPrompt(ctx)
	case "resources/list":
		return q.listResources(ctx)
	case "resources/templates/list":
		s.list()
		return q.listFixed("resourceTemplates", s.templates)
	case "resources/read":
		return q.readResource(ctx)
	case "completion/complete":
		return q.complete(ctx)
	}
	if q.from.era == modern {
		return q.dispatchModern(ctx)
	}
	return q.dispatchLegacy()
}

func (q *request) dispatchModern(ctx context.Context) ([]byte, error) {
	switch q.method {
	case "server/discover":
		return q.server.discover(q), nil
	case "tasks/get", "tasks/update", "tasks/cancel":
		return q.task(ctx)
	default:
		return nil, rpcErrorf(codeNoMethod, "Method not found: %s", q.method)
	}
}

func (q *request) dispatchLegacy() ([]byte, error) {
	switch q.method {
	case "initialize":
		return q.server.initialize(q), nil
	case "ping":
		return q.end(q.begin(0)), nil
	case "logging/setLevel":
		return q.setLevel()
	case "resources/subscribe", "resources/unsubscribe":
		return q.watch()
	default:
		return nil, rpcErrorf(codeNoMethod, "Method not found: %s", q.method)
	}
}

func (q *request) setLevel() ([]byte, error) {
	level, err := engine.ParseLevel(q.params.Field("level").Text)
	if err != nil {
		return nil, rpcErrorf(codeInvalidParams, "Invalid params: %v", err)
	}
	q.from.logs.Store(int32(level))
	return q.end(q.begin(0)), nil
}

// watch handles resources/subscribe and resources/unsubscribe.
func (q *request) watch() ([]byte, error) {
	uri := q.params.Field("uri")
	if uri.Kind != jsontree.String || uri.Text == "" {
		return nil, rpcErrorf(codeInvalidParams, "Invalid params: uri must be the URI of a resource")
	}
	if q.method == "resources/unsubscribe" {
		q.conn.notifications().unwatch(uri.Text)
		return q.end(q.begin(0)), nil
	}
	if err := q.server.Engine.CheckRead(q.from.Grant, uri.Text); err != nil {
		return nil, err
	}
	if err := q.conn.notifications().watch(uri.Text); err != nil {
		return nil, err
	}
	return q.end(q.begin(0)), nil
}

// begin appends the start of a result with room for size bytes. The members follow.
func (q *request) begin(size int) []byte {
	if q.from.era == modern {
		size += len(q.server.modernResultEnd())
	}
	b := make([]byte, 0, size+len(q.id)+64)
	return append(appendHead(b, q.id, q.from.era), `"result":{`...)
}

// end appends the end of a result. In the modern era it includes the type of the result and the
// server.
func (q *request) end(b []byte) []byte {
	if q.from.era == modern {
		b = append(separate(b), q.server.modernResultEnd()...)
	}
	return append(b, '}', '}')
}

// endAs appends the end of a modern result that is not complete.
func (q *request) endAs(b []byte, resultType string) []byte {
	b = append(separate(b), `"resultType":"`...)
	return append(append(b, resultType...), `"}}`...)
}

// separate appends a comma, unless the object is still empty.
func separate(b []byte) []byte {
	if b[len(b)-1] == '{' {
		return b
	}
	return append(b, ',')
}

// cacheable appends how long clients of the modern era may cache a result.
func (q *request) cacheable(b []byte, ttl time.Duration, scope string) []byte {
	if q.from.era != modern {
		return b
	}
	b = strconv.AppendInt(append(separate(b), `"ttlMs":`...), ttl.Milliseconds(), 10)
	b = append(b, `,"cacheScope":"`...)
	return append(append(b, scope...), '"')
}
