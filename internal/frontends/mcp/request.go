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

// request is one request of a client, with all that is known of whoever sent it.
type request struct {
	server *Server
	id     []byte
	method string
	params jsontree.Value
	from   client
	out    outlet
	link   link

	questions *questions // to the client, while it waits; nil in the modern era over HTTP

	round  round // of a call of the modern era
	status int   // on HTTP, once it is answered

	refused error // why it was not carried out, if more rights are what it takes
}

// outlet takes messages that belong to a request and leave before its answer.
type outlet interface {
	// send may be slow, but only as slow as the request's own client.
	send(message []byte) error
	// release ends the connection that waits for the answer, where the client
	// can come back for it.
	release()
	// pausing is called while a call waits for a person; resume ends the pause.
	pausing() (resume func())
}

// link is what outlives a request: the session of a legacy client, or the stdio
// connection. Over HTTP the modern era has none.
type link interface {
	// told is what the client is told of.
	told() *subscription
}

// slim lets go of the message around a request, if that is much larger: a call may
// wait for a person for an hour.
func (q *request) slim(size int) {
	args := q.params.Field("arguments")
	if size <= 2*len(args.Raw)+4096 {
		return
	}
	kept := jsontree.Obj()
	for _, name := range []string{"name", "uri", "cursor", "taskId", "ref", "argument", "notifications", "arguments", "inputResponses", "requestState", "_meta"} {
		if v, ok := q.params.Get(name); ok {
			kept.Members = append(kept.Members, jsontree.M(name, v))
		}
	}
	q.params, q.method = kept.Clone(), strings.Clone(q.method)
}

// answer carries a request out and gives the whole message for its client.
func (q *request) answer(ctx context.Context) []byte {
	body, err := q.dispatch(ctx)
	if err != nil {
		return q.fail(err)
	}
	return body
}

// fail is the message that says why a request was not carried out.
func (q *request) fail(err error) []byte {
	q.noteRefusal(err)
	fault := faultOf(err, q.from.era)
	q.status = fault.status(q.from.era)
	return fault.reply(q.id, q.from.era)
}

// noteRefusal remembers a failure that a token with more rights would not have had.
func (q *request) noteRefusal(err error) {
	var missing *identity.ScopeError
	if errors.Is(err, identity.ErrNobody) || errors.As(err, &missing) {
		q.refused = err
	}
}

// known refuses whoever said nothing of who they are. The engine knows which tools are
// for everybody.
func (q *request) known() error {
	if q.from.Principal != "" || q.method == "tools/call" {
		return nil
	}
	return identity.Unnamed(q.from.Grant, "This server")
}

// dispatch finds the method. Some belong to one era alone.
func (q *request) dispatch(ctx context.Context) ([]byte, error) {
	if err := q.known(); err != nil {
		return nil, err
	}
	s := q.server
	switch q.method {
	case "tools/call":
		return q.callTool(ctx)
	case "tools/list":
		s.list()
		return q.listOffers("tools", s.tools)
	case "prompts/list":
		s.list()
		return q.listOffers("prompts", s.prompts)
	case "prompts/get":
		return q.getPrompt(ctx)
	case "resources/list":
		return q.listResources(ctx)
	case "resources/templates/list":
		s.list()
		return q.listOffers("resourceTemplates", s.templates)
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
		return nil, faultf(codeNoMethod, "Method not found: %s", q.method)
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
		return nil, faultf(codeNoMethod, "Method not found: %s", q.method)
	}
}

func (q *request) setLevel() ([]byte, error) {
	level, err := engine.ParseLevel(q.params.Field("level").Text)
	if err != nil {
		return nil, faultf(codeInvalidParams, "Invalid params: %v", err)
	}
	q.from.logs.Store(int32(level))
	return q.end(q.begin(0)), nil
}

// watch begins, or ends, to tell the client of a resource.
func (q *request) watch() ([]byte, error) {
	uri := q.params.Field("uri")
	if uri.Kind != jsontree.String || uri.Text == "" {
		return nil, faultf(codeInvalidParams, "Invalid params: uri must say which resource to watch")
	}
	if q.method == "resources/unsubscribe" {
		q.link.told().unwatch(uri.Text)
		return q.end(q.begin(0)), nil
	}
	if err := q.server.Engine.MayRead(q.from.Grant, uri.Text); err != nil {
		return nil, err
	}
	if err := q.link.told().watch(uri.Text); err != nil {
		return nil, err
	}
	return q.end(q.begin(0)), nil
}

// begin opens the message of a result with room for size bytes; its members follow.
func (q *request) begin(size int) []byte {
	if q.from.era == modern {
		size += len(q.server.signature())
	}
	b := make([]byte, 0, size+len(q.id)+64)
	return append(appendHead(b, q.id, q.from.era), `"result":{`...)
}

// end closes it. In the modern era every result says what it is and whose.
func (q *request) end(b []byte) []byte {
	if q.from.era == modern {
		b = append(separate(b), q.server.signature()...)
	}
	return append(b, '}', '}')
}

// endAs closes a result of the modern era that is not complete.
func (q *request) endAs(b []byte, resultType string) []byte {
	b = append(separate(b), `"resultType":"`...)
	return append(append(b, resultType...), `"}}`...)
}

// separate puts a comma after a member, unless there is none yet.
func separate(b []byte) []byte {
	if b[len(b)-1] == '{' {
		return b
	}
	return append(b, ',')
}

// cacheable tells clients of the modern era how long they may keep a result.
func (q *request) cacheable(b []byte, keep time.Duration, scope string) []byte {
	if q.from.era != modern {
		return b
	}
	b = strconv.AppendInt(append(separate(b), `"ttlMs":`...), keep.Milliseconds(), 10)
	b = append(b, `,"cacheScope":"`...)
	return append(append(b, scope...), '"')
}
