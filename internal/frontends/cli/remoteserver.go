package cli

import (
	"context"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/toolsets/codebase"
	"remit/internal/toolsets/codebase/knowledge"
)

// CommandServer runs requests of commands in other processes.
type CommandServer struct {
	Version   string
	Engine    *engine.Engine
	Code      CodeSearcher
	Knowledge *knowledge.Index
}

// Serve serves a connection of a command until the command closes it or ctx is done.
func (s *CommandServer) Serve(ctx context.Context, conn io.ReadWriter) {
	c := &commandConn{server: s, encoder: gob.NewEncoder(conn), requests: make(chan *remoteRequest), answers: make(chan *remoteRequest, 1)}
	here, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	go func() {
		defer end() // the command has ended, and with it what it asked for
		for decoder := gob.NewDecoder(conn); ; {
			request := new(remoteRequest)
			if decoder.Decode(request) != nil {
				return
			}
			to := c.requests
			if request.Op == opAnswer {
				to = c.answers
			}
			select {
			case to <- request:
			case <-here.Done():
				return
			}
		}
	}()
	for {
		select {
		case <-here.Done():
			return
		case <-ctx.Done():
			return
		case request := <-c.requests:
			c.run(here, ctx, request)
		}
	}
}

// commandConn is a connection of a command.
type commandConn struct {
	server   *CommandServer
	mu       sync.Mutex
	encoder  *gob.Encoder
	requests chan *remoteRequest
	answers  chan *remoteRequest
}

// send sends a reply and reports whether that succeeded.
func (c *commandConn) send(r *remoteReply) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.encoder.Encode(r) == nil
}

// run runs a request. A call continues while the server shuts down, everything else ends: the
// command can repeat it.
func (c *commandConn) run(here, serving context.Context, request *remoteRequest) {
	reply, err := &remoteReply{Last: true}, error(nil)
	reading, cancel := context.WithCancel(here)
	defer cancel()
	defer context.AfterFunc(serving, cancel)()
	switch request.Op {
	case opKnowledge:
		reply.Knowledge, err = searchKnowledge(reading, c.server.Knowledge, request.Query, func(s knowledge.State) { c.send(&remoteReply{State: &s}) })
	case opGrep:
		reply.Summary, err = c.server.Code.Grep(reading, request.Lines, func(f codebase.Found) bool { return c.send(&remoteReply{Found: &f}) })
	case opFiles:
		reply.Complete, err = c.server.Code.Files(reading, request.Files, func(path string) bool { return c.send(&remoteReply{Path: path}) })
	case opMissing:
		reply.Missing, err = c.server.Code.Missing(reading, request.Files)
	case opFind:
		reply.Tool, err = findTool(c.server.Engine, request.Tool)
	case opRefused:
		from := engine.Requester{Principal: LocalPrincipal, Frontend: viaTerminal, Client: "remit/" + c.server.Version}
		c.server.Engine.Refused(here, request.Reason, from, request.Tool)
	case opCall:
		reply.Result, err = c.call(here, request)
	default:
		err = fmt.Errorf("unknown operation %q", request.Op)
	}
	if serving.Err() != nil && errors.Is(err, context.Canceled) {
		return // the command goes on alone
	}
	if err != nil {
		reply.Failed = newRemoteError(err)
	}
	c.send(reply)
}

func (c *commandConn) call(ctx context.Context, request *remoteRequest) (r remoteResult, err error) {
	args, err := jsontree.Parse(request.Call.Args)
	if err != nil {
		return r, fmt.Errorf("read the arguments: %w", err)
	}
	result, err := c.server.Engine.Call(ctx, engine.Call{
		Tool: request.Tool, Args: args, Key: request.Call.Key, Trace: request.Call.Trace, Dialogue: request.Call.Dialogue,
		Principal: LocalPrincipal, Frontend: "cli", Client: "remit/" + c.server.Version, Peer: &commandPeer{c, request.Call.Can},
	})
	if err != nil {
		return r, err
	}
	note := result.Metadata.Field("note")
	r = remoteResult{Body: result.Body, Truncation: result.Truncation, Note: note.Text, Replayed: result.Replayed}
	if result.Err != nil {
		r.Kind, r.Request = result.Err.Kind, requestOf(result.Err)
	}
	return r, nil
}

// commandPeer is the command line in another process.
type commandPeer struct {
	conn *commandConn
	can  []engine.Capability
}

var _ engine.Peer = (*commandPeer)(nil)

// Progress implements engine.Peer.
func (p *commandPeer) Progress(done, total float64, message string) {
	p.conn.send(&remoteReply{Progress: &remoteProgress{done, total, message}})
}

// Log implements engine.Peer.
func (p *commandPeer) Log(level engine.Level, logger string, data jsontree.Value) {
	p.conn.send(&remoteReply{Log: &remoteLog{level, logger, data.Append(nil)}})
}

// Can implements engine.Peer.
func (p *commandPeer) Can(c engine.Capability) bool { return slices.Contains(p.can, c) }

// Background implements engine.Peer.
func (*commandPeer) Background() error { return nil }

// Release implements engine.Peer.
func (*commandPeer) Release() {}

// Ask implements engine.Peer.
func (p *commandPeer) Ask(ctx context.Context, questions []engine.Question) (map[string]jsontree.Value, error) {
	text, err := json.Marshal(questions)
	if err != nil {
		return nil, fmt.Errorf("encode the questions: %w", err)
	}
	p.conn.send(&remoteReply{Ask: text}) // a failure ends ctx
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case request := <-p.conn.answers:
		return request.Answer.restored()
	}
}

// restored returns the answers as an engine.Peer does.
func (a *remoteAnswer) restored() (map[string]jsontree.Value, error) {
	switch {
	case a.Missing != "":
		return nil, &engine.MissingCapabilityError{Needs: a.Missing}
	case a.Failed != "":
		return nil, errors.New(a.Failed)
	}
	answers := map[string]jsontree.Value{}
	for key, text := range a.Answers {
		value, err := jsontree.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("read the answer: %w", err)
		}
		answers[key] = value
	}
	return answers, nil
}
