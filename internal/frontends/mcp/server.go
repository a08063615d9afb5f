// Package mcp implements the Model Context Protocol, in both eras, over stdio and streamable HTTP.
// It translates JSON-RPC messages to engine calls and back. It contains no tools.
package mcp

import (
	"log/slog"
	"sync"
	"time"

	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/engine/identity"
	"remit/internal/engine/jobs"
)

// Server serves one endpoint. It can serve any number of connections concurrently.
type Server struct {
	Engine  *engine.Engine
	Tasks   *jobs.Runner // runs calls as tasks; nil if tasks are off
	States  *States      // of modern calls that wait for answers; nil if calls cannot wait
	Version string       // of the program
	// Returns the instructions for the client's model; called for each new client.
	Instructions func() string
	PageSize     int // of lists; zero means 200
	// Sent as a log message to a client over stdio once it is initialized, unless empty.
	Notice string
	// Whether what a stdio client answers to a question for approval counts as a person's decision.
	Dialogues bool
	Log       *slog.Logger // of a stdio session; nil for none
	// Arrived is called when a client makes itself known: with initialize, server/discover or
	// tools/list. It must not block. Nil for none.
	Arrived func(Arrival)

	listsOnce sync.Once
	tools     fixedList // encoded, in the order of the list
	prompts   fixedList
	templates fixedList

	modernEndOnce sync.Once
	modernEnd     []byte // the end of every modern result
}

// Arrival is a message with which a client makes itself known.
type Arrival struct {
	Principal string
	Client    string // the name that the client gives itself
	Frontend  string
	Version   string // of the protocol
	Method    string
}

// arrive reports a message with which a client makes itself known.
func (q *request) arrive(method string) {
	if q.server.Arrived != nil {
		q.server.Arrived(Arrival{q.from.Principal, q.from.name, q.from.frontend, q.from.version, method})
	}
}

// item is an encoded entry of a list.
type item []byte

// fixedList are the entries of a list that does not change. reach returns an error if a grant does
// not allow the entry.
type fixedList struct {
	items []item
	reach []func(*identity.Grant) error
}

func (o *fixedList) add(i item, reach func(*identity.Grant) error) {
	o.items, o.reach = append(o.items, i), append(o.reach, reach)
}

// allowed returns the entries that a grant allows.
func (o *fixedList) allowed(g *identity.Grant) []item {
	if g == nil {
		return o.items
	}
	var all []item
	for i := range o.items {
		if o.reach[i](g) == nil {
			all = append(all, o.items[i])
		}
	}
	return all
}

// list builds the fixed lists on first use.
func (s *Server) list() {
	s.listsOnce.Do(func() {
		for _, t := range s.Engine.Tools() {
			s.tools.add(toolItem(t), t.CheckScope)
		}
		for _, p := range s.Engine.Prompts() {
			s.prompts.add(promptItem(&p), p.CheckScope)
		}
		for _, t := range s.Engine.Templates() {
			s.templates.add(templateItem(&t), t.CheckScope)
		}
	})
}

// modernResultEnd returns the end of every modern result.
func (s *Server) modernResultEnd() []byte {
	s.modernEndOnce.Do(func() {
		end := jsontree.Obj(jsontree.M(metaServer, s.identity()))
		s.modernEnd = append([]byte(`"resultType":"complete","_meta":`), end.Append(nil)...)
	})
	return s.modernEnd
}

// identity returns the serverInfo object.
func (s *Server) identity() jsontree.Value {
	return jsontree.Obj(
		jsontree.M("name", jsontree.Str("remit")),
		jsontree.M("title", jsontree.Str("Remit")),
		jsontree.M("version", jsontree.Str(s.Version)),
	)
}

// capabilities returns the capabilities of the server in an era.
func (s *Server) capabilities(e era) jsontree.Value {
	changes := jsontree.M("listChanged", jsontree.Boolean(true))
	all := []jsontree.Member{
		jsontree.M("tools", jsontree.Obj(changes)),
		jsontree.M("resources", jsontree.Obj(jsontree.M("subscribe", jsontree.Boolean(true)), changes)),
		jsontree.M("prompts", jsontree.Obj(changes)),
		jsontree.M("completions", jsontree.Obj()),
		jsontree.M("logging", jsontree.Obj()),
	}
	if e == modern && s.Tasks != nil {
		all = append(all, jsontree.M("extensions", jsontree.Obj(jsontree.M(tasksExtension, jsontree.Obj()))))
	}
	return jsontree.Obj(all...)
}

// How long a client may cache a result.
const (
	ttlFixed   = 5 * time.Minute // changes only with the program
	ttlGranted = time.Minute     // changes with the caller's token too
	ttlCurrent = time.Second     // depends on files
)

// discover answers server/discover.
func (s *Server) discover(q *request) []byte {
	q.arrive(q.method)
	versions := jsontree.Strs(allVersions...)
	b := versions.Append(append(q.begin(1024), `"supportedVersions":`...))
	return q.end(q.cacheable(s.appendSelf(b, modern), ttlFixed, "public"))
}

// initialize answers initialize. If the client's version is not supported, the response has the
// newest legacy version, as the protocol requires.
func (s *Server) initialize(q *request) []byte {
	q.arrive("initialize")
	b := jsontree.AppendString(append(q.begin(1024), `"protocolVersion":`...), q.from.version)
	return q.end(s.appendSelf(b, legacy))
}

// appendSelf appends the members that describe the server in both eras.
func (s *Server) appendSelf(b []byte, e era) []byte {
	capabilities, identity := s.capabilities(e), s.identity()
	b = capabilities.Append(append(b, `,"capabilities":`...))
	b = identity.Append(append(b, `,"serverInfo":`...))
	return jsontree.AppendString(append(b, `,"instructions":`...), s.Instructions())
}

// requester returns the engine's description of the client.
func (q *request) requester(peer engine.Peer) engine.Requester {
	return engine.Requester{
		Principal: q.from.Principal, Grant: q.from.Grant, Frontend: q.from.frontend, Client: q.from.name, Connection: q.from.connection, Peer: peer,
		Trace: q.from.trace,
	}
}
