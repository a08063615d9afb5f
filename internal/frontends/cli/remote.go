package cli

import (
	"context"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/toolsets/codebase"
	"remit/internal/toolsets/codebase/knowledge"
)

// A command sends requests to the server, one after the other, and gets replies until one is the
// last. Both are of the same version, so the format may change with every version.

// operation says what a request asks for.
type operation string

const (
	opKnowledge operation = "knowledge"
	opGrep      operation = "grep"
	opFiles     operation = "files"
	opMissing   operation = "missing"
	opFind      operation = "find"
	opCall      operation = "call"
	opRefused   operation = "refused"
	opAnswer    operation = "answer" // to the question in a reply
)

type remoteRequest struct {
	Op     operation
	Query  *knowledge.Query
	Lines  codebase.LineQuery
	Files  codebase.Selection
	Tool   string
	Reason engine.RefusalKind
	Call   remoteCall
	Answer remoteAnswer
}

type remoteCall struct {
	Args       []byte // JSON
	Key, Trace string
	Dialogue   bool
	Can        []engine.Capability
}

// remoteAnswer is what the person at the command line answered.
type remoteAnswer struct {
	Answers map[string][]byte // JSON, by the key of the question
	Missing engine.Capability // that the command line does not have
	Failed  string            // why there are no answers
}

// remoteReply is a part of the answer to a request.
type remoteReply struct {
	State    *knowledge.State
	Found    *codebase.Found
	Path     string
	Progress *remoteProgress
	Log      *remoteLog
	Ask      []byte // questions, as JSON

	Last      bool
	Failed    *remoteError
	Knowledge knowledgeResult
	Summary   codebase.Summary
	Complete  bool
	Missing   []string
	Tool      toolInfo
	Result    remoteResult
}

type remoteProgress struct {
	Done, Total float64
	Message     string
}

type remoteLog struct {
	Level  engine.Level
	Logger string
	Data   []byte // JSON
}

// remoteResult is the part of an engine.Result that the command line shows.
type remoteResult struct {
	Body       []byte
	Truncation engine.Truncation
	Note       string
	Replayed   bool
	Kind       contract.Kind // of the error; "" on success
	Request    string        // that a pending call waits for
}

// remoteError is an error of the server.
type remoteError struct {
	Message string
	Kind    contract.Kind          // of a contract.Error
	Empty   bool                   // knowledge.ErrEmpty
	Pattern *codebase.PatternError // a pattern that cannot be compiled
}

func newRemoteError(err error) *remoteError {
	r := &remoteError{Message: message(err), Empty: errors.Is(err, knowledge.ErrEmpty)}
	if e, ok := errors.AsType[*contract.Error](err); ok {
		r.Kind = e.Kind
	}
	errors.As(err, &r.Pattern)
	return r
}

// restored returns the error as the command line expects it.
func (e *remoteError) restored() error {
	switch {
	case e == nil:
		return nil
	case e.Pattern != nil:
		return e.Pattern
	case e.Empty:
		return knowledge.ErrEmpty
	case e.Kind != "":
		return contract.Errorf(e.Kind, "%s", e.Message)
	}
	return errors.New(e.Message)
}

// remote is a server that runs requests for this process.
type remote struct {
	conn    ServerConn
	encoder *gob.Encoder
	decoder *gob.Decoder
}

func newRemote(conn ServerConn) *remote {
	return &remote{conn, gob.NewEncoder(conn), gob.NewDecoder(conn)}
}

// do sends a request and calls each with every reply. It returns the last reply. If each returns
// false, nothing more is read, and the connection cannot be used again.
func (r *remote) do(ctx context.Context, request *remoteRequest, each func(*remoteReply) bool) (*remoteReply, error) {
	stop := sync.OnceFunc(func() { _ = r.conn.Close() }) // the server notices
	defer context.AfterFunc(ctx, stop)()
	if err := r.encoder.Encode(request); err != nil {
		return nil, r.failed(ctx)
	}
	for {
		reply := new(remoteReply)
		if err := r.decoder.Decode(reply); err != nil {
			return nil, r.failed(ctx)
		}
		switch {
		case reply.Last:
			return reply, reply.Failed.restored()
		case !each(reply):
			stop()
			return reply, nil
		}
	}
}

// failed returns why the connection has ended.
func (*remote) failed(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return errLost
}

func (r *remote) knowledge(ctx context.Context, q *knowledge.Query, report func(knowledge.State)) (found knowledgeResult, err error) {
	reply, err := r.do(ctx, &remoteRequest{Op: opKnowledge, Query: q}, func(part *remoteReply) bool {
		report(*part.State)
		return true
	})
	if reply != nil {
		found = reply.Knowledge
	}
	return found, err
}

func (r *remote) grep(ctx context.Context, q codebase.LineQuery, each func(codebase.Found) bool) (codebase.Summary, error) {
	ended := codebase.Summary{Incomplete: true, Reason: "the search was ended"}
	reply, err := r.do(ctx, &remoteRequest{Op: opGrep, Lines: q}, func(part *remoteReply) bool {
		ended.Matches += part.Found.Count
		ended.Matched += min(part.Found.Count, 1)
		return each(*part.Found)
	})
	switch {
	case err != nil:
		return codebase.Summary{}, err
	case !reply.Last: // each has returned false
		return ended, nil
	}
	return reply.Summary, nil
}

func (r *remote) missing(ctx context.Context, only codebase.Selection) ([]string, error) {
	reply, err := r.do(ctx, &remoteRequest{Op: opMissing, Files: only}, nil)
	if err != nil {
		return nil, err
	}
	return reply.Missing, nil
}

func (r *remote) files(ctx context.Context, only codebase.Selection, each func(path string) bool) (complete bool, err error) {
	reply, err := r.do(ctx, &remoteRequest{Op: opFiles, Files: only}, func(part *remoteReply) bool { return each(part.Path) })
	return err == nil && (reply.Complete || !reply.Last), err
}

func (r *remote) find(ctx context.Context, tool string) (toolInfo, error) {
	reply, err := r.do(ctx, &remoteRequest{Op: opFind, Tool: tool}, nil)
	if err != nil {
		return toolInfo{}, err
	}
	return reply.Tool, nil
}

func (r *remote) refused(ctx context.Context, kind engine.RefusalKind, tool string) error {
	_, err := r.do(ctx, &remoteRequest{Op: opRefused, Reason: kind, Tool: tool}, nil)
	return err
}

// call calls a tool. If the server ends meanwhile, the error is errLost only if the call can be
// repeated.
func (r *remote) call(ctx context.Context, call engine.Call) (engine.Result, error) {
	about, err := r.find(ctx, call.Tool)
	if errors.Is(err, errLost) {
		return engine.Result{}, err // the call was not sent
	}
	request := &remoteRequest{Op: opCall, Tool: call.Tool, Call: remoteCall{
		Args: call.Args.Append(nil), Key: call.Key, Trace: call.Trace, Dialogue: call.Dialogue,
	}}
	for _, c := range []engine.Capability{engine.Tasks, engine.Forms} {
		if call.Peer.Can(c) {
			request.Call.Can = append(request.Call.Can, c)
		}
	}
	reply, err := r.do(ctx, request, func(part *remoteReply) bool { return r.passOn(ctx, call.Peer, part) })
	if errors.Is(err, errLost) && call.Key == "" && !about.ReadOnly {
		err = unknownOutcome(call.Tool)
	}
	if err != nil {
		return engine.Result{}, err
	}
	got := &reply.Result
	result := engine.Result{Body: got.Body, Truncation: got.Truncation, Replayed: got.Replayed}
	if got.Note != "" {
		result.Metadata = jsontree.Obj(jsontree.M("note", jsontree.Str(got.Note)))
	}
	if got.Kind != "" {
		result.Err = (&contract.Error{Kind: got.Kind}).With("approval", map[string]any{"id": got.Request})
	}
	return result, nil
}

// passOn passes what the server says during a call on to the peer.
func (r *remote) passOn(ctx context.Context, peer engine.Peer, part *remoteReply) bool {
	switch {
	case part.Progress != nil:
		peer.Progress(part.Progress.Done, part.Progress.Total, part.Progress.Message)
	case part.Log != nil:
		if data, err := jsontree.Parse(part.Log.Data); err == nil {
			peer.Log(part.Log.Level, part.Log.Logger, data)
		}
	case part.Ask != nil:
		// A failure ends the connection.
		_ = r.encoder.Encode(&remoteRequest{Op: opAnswer, Answer: r.ask(ctx, peer, part.Ask)})
	}
	return true
}

func (*remote) ask(ctx context.Context, peer engine.Peer, text []byte) remoteAnswer {
	var questions []engine.Question
	if err := json.Unmarshal(text, &questions); err != nil {
		return remoteAnswer{Failed: fmt.Sprintf("read the question: %v", err)}
	}
	given, err := peer.Ask(ctx, questions)
	if missing, ok := errors.AsType[*engine.MissingCapabilityError](err); ok {
		return remoteAnswer{Missing: missing.Needs}
	}
	if err != nil {
		return remoteAnswer{Failed: err.Error()}
	}
	answer := remoteAnswer{Answers: map[string][]byte{}}
	for key, value := range given {
		answer.Answers[key] = value.Append(nil)
	}
	return answer
}
