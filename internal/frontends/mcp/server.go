// Package mcp speaks the Model Context Protocol: JSON-RPC in, engine calls out,
// and back, in both eras, over stdio and over streamable HTTP. It knows the
// protocol and no tool.
package mcp

import (
	"sync"
	"time"

	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/engine/identity"
	"remit/internal/engine/jobs"
)

// Server answers for one endpoint. It serves any number of connections at once.
type Server struct {
	Engine       *engine.Engine
	Tasks        *jobs.Runner  // runs calls as tasks; nil if none can
	States       *States       // of calls that wait for answers in the modern era; nil if none can wait
	Version      string        // of the program
	Instructions func() string // what a client's model is told; called for each greeting
	PageSize     int           // of lists; zero is 200

	listed    sync.Once
	tools     offers // ready to send, in the order of the list
	prompts   offers
	templates offers

	signed    sync.Once
	modernEnd []byte // what closes every result of the modern era
}

// item is an entry of a list, as it is sent.
type item []byte

// offers are the entries of a list that does not change, each with what tells whether a
// grant reaches it.
type offers struct {
	items []item
	reach []func(*identity.Grant) error
}

func (o *offers) add(i item, reach func(*identity.Grant) error) {
	o.items, o.reach = append(o.items, i), append(o.reach, reach)
}

// within are the entries that a grant reaches.
func (o *offers) within(g *identity.Grant) []item {
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

// list makes the lists that never change, the first time one is needed.
func (s *Server) list() {
	s.listed.Do(func() {
		for _, t := range s.Engine.Tools() {
			s.tools.add(toolItem(t), t.Reach)
		}
		for _, p := range s.Engine.Prompts() {
			s.prompts.add(promptItem(&p), p.Reach)
		}
		for _, t := range s.Engine.Templates() {
			s.templates.add(templateItem(&t), t.Reach)
		}
	})
}

// signature closes every result of the modern era.
func (s *Server) signature() []byte {
	s.signed.Do(func() {
		end := jsontree.Obj(jsontree.M(metaServer, s.identity()))
		s.modernEnd = append([]byte(`"resultType":"complete","_meta":`), end.Append(nil)...)
	})
	return s.modernEnd
}

// identity is how the server names itself.
func (s *Server) identity() jsontree.Value {
	return jsontree.Obj(
		jsontree.M("name", jsontree.Str("remit")),
		jsontree.M("title", jsontree.Str("Remit")),
		jsontree.M("version", jsontree.Str(s.Version)),
	)
}

// capabilities are what the server can do in an era.
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

// The time for which a client may keep what it was told.
const (
	keepFixed   = 5 * time.Minute // what changes with the program alone
	keepGranted = time.Minute     // what changes with the caller's token too
	keepCurrent = time.Second     // what files hold
)

// discover tells a client of the modern era what there is.
func (s *Server) discover(q *request) []byte {
	versions := jsontree.Strs(allVersions...)
	b := versions.Append(append(q.begin(1024), `"supportedVersions":`...))
	return q.end(q.cacheable(s.appendSelf(b, modern), keepFixed, "public"))
}

// initialize greets a client of the legacy era, whose version becomes known. A
// version that is not spoken gets the newest one that is, as the protocol asks.
func (s *Server) initialize(q *request) []byte {
	b := jsontree.AppendString(append(q.begin(1024), `"protocolVersion":`...), q.from.version)
	return q.end(s.appendSelf(b, legacy))
}

// appendSelf writes the members in which both eras say what the server is.
func (s *Server) appendSelf(b []byte, e era) []byte {
	capabilities, identity := s.capabilities(e), s.identity()
	b = capabilities.Append(append(b, `,"capabilities":`...))
	b = identity.Append(append(b, `,"serverInfo":`...))
	return jsontree.AppendString(append(b, `,"instructions":`...), s.Instructions())
}

// visitor is a client as the engine knows it.
func (q *request) visitor(peer engine.Peer) engine.Visitor {
	return engine.Visitor{
		Principal: q.from.Principal, Grant: q.from.Grant, Face: q.from.face, Client: q.from.name, Connection: q.from.connection, Peer: peer,
		Trace: q.from.trace,
	}
}
