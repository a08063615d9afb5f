package cli

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/toolsets/codebase"
	"remit/internal/toolsets/codebase/knowledge"
)

// scripted is a server that answers each request with the replies of a test, and ends when there
// are none.
func scripted(t *testing.T, replies ...[]*remoteReply) *remote {
	t.Helper()
	ours, theirs := net.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer theirs.Close()
		encoder, decoder := gob.NewEncoder(theirs), gob.NewDecoder(theirs)
		for _, answer := range replies {
			if decoder.Decode(new(remoteRequest)) != nil {
				return
			}
			for _, reply := range answer {
				if encoder.Encode(reply) != nil {
					return
				}
			}
		}
		if len(replies) == 0 {
			_ = decoder.Decode(new(remoteRequest))
		}
	}()
	t.Cleanup(func() { ours.Close(); <-ended })
	return newRemote(ours)
}

// TestServerEndsDuringCall checks what happens to a call whose server ends: it is repeated only if
// that is certainly safe.
func TestServerEndsDuringCall(t *testing.T) {
	tool := func(readOnly bool) []*remoteReply {
		return []*remoteReply{{Last: true, Tool: toolInfo{Input: []byte(`{}`), ReadOnly: readOnly}}}
	}
	for _, tc := range []struct {
		name    string
		replies [][]*remoteReply
		key     string
		lost    bool
	}{
		{"before the call is sent", nil, "", true},
		{"a tool that reads", [][]*remoteReply{tool(true), {}}, "", true},
		{"a write with a key", [][]*remoteReply{tool(false), {}}, "k", true},
		{"a write", [][]*remoteReply{tool(false), {}}, "", false},
		{"a write, after progress", [][]*remoteReply{tool(false), {{Progress: &remoteProgress{1, 2, "half"}}}}, "", false},
	} {
		r := scripted(t, tc.replies...)
		_, err := r.call(context.Background(), engine.Call{Tool: "add_task", Key: tc.key, Args: jsontree.Obj(), Peer: answering{}})
		if errors.Is(err, errLost) != tc.lost || !tc.lost && !strings.Contains(message(err), "it is not known whether the call was carried out") {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

// TestServerEndsDuringSearch checks that a search goes on alone unless something was printed.
func TestServerEndsDuringSearch(t *testing.T) {
	ctx := context.Background()
	alone := errors.New("the workspace is opened here")
	program := &Program{Open: func(context.Context, Settings, *slog.Logger) (Workspace, error) { return nil, alone }}
	newSession := func(replies ...[]*remoteReply) *session {
		return &session{program: program, log: slog.New(slog.DiscardHandler), server: scripted(t, replies...)}
	}
	all := func(codebase.Found) bool { return true }
	if _, err := newSession().Grep(ctx, codebase.LineQuery{}, all); !errors.Is(err, alone) {
		t.Errorf("grep: %v", err)
	}
	if _, err := newSession().Files(ctx, codebase.Selection{}, func(string) bool { return true }); !errors.Is(err, alone) {
		t.Errorf("files: %v", err)
	}
	if _, err := newSession().Missing(ctx, codebase.Selection{}); !errors.Is(err, alone) {
		t.Errorf("missing: %v", err)
	}
	report := func(knowledge.State) {}
	if _, err := newSession([]*remoteReply{{State: &knowledge.State{Done: 1}}}).knowledge(ctx, nil, report); !errors.Is(err, alone) {
		t.Errorf("knowledge: %v", err)
	}
	found := &codebase.Found{Path: "a\xff", Count: 1}
	_, err := newSession([]*remoteReply{{Found: found}}).Grep(ctx, codebase.LineQuery{}, all)
	if err == nil || !strings.Contains(err.Error(), "the output is incomplete") {
		t.Errorf("grep after output: %v", err)
	}
}

// TestRemoteErrors checks that the errors of a server are those of the workspace.
func TestRemoteErrors(t *testing.T) {
	pattern := &codebase.PatternError{Pattern: "(", Column: 1, Reason: "open"}
	for _, err := range []error{pattern, knowledge.ErrEmpty, contract.Errorf(contract.NotFound, "no such tool"), errors.New("disk is full")} {
		var text bytes.Buffer
		var got remoteReply
		if failed := errors.Join(gob.NewEncoder(&text).Encode(&remoteReply{Failed: newRemoteError(err)}), gob.NewDecoder(&text).Decode(&got)); failed != nil {
			t.Fatal(failed)
		}
		back := got.Failed.restored()
		if message(back) != message(err) || contract.AsError(back).Kind != contract.AsError(err).Kind {
			t.Errorf("%v became %v", err, back)
		}
		var wrong *codebase.PatternError
		if errors.As(err, &wrong) != errors.As(back, &wrong) || errors.Is(err, knowledge.ErrEmpty) != errors.Is(back, knowledge.ErrEmpty) {
			t.Errorf("%v became %T", err, back)
		}
	}
}

// answering is a peer that answers every question.
type answering struct{ terminal }

func (answering) Can(engine.Capability) bool { return true }

func (answering) Progress(float64, float64, string) {}

func (answering) Ask(_ context.Context, questions []engine.Question) (map[string]jsontree.Value, error) {
	if questions[0].Key != "sure" {
		return nil, &engine.MissingCapabilityError{Needs: engine.Links}
	}
	return map[string]jsontree.Value{"sure": jsontree.Obj(jsontree.M("action", jsontree.Str("accept")))}, nil
}

// TestRemoteQuestions checks that questions of the server reach the person, and the answers the
// server.
func TestRemoteQuestions(t *testing.T) {
	ours, theirs := net.Pipe()
	defer ours.Close()
	server := &commandConn{encoder: gob.NewEncoder(theirs), answers: make(chan *remoteRequest, 1)}
	decoder := gob.NewDecoder(theirs)
	type result struct {
		answers map[string]jsontree.Value
		err     error
	}
	results := make(chan result, 2)
	go func() {
		defer theirs.Close()
		for range 2 { // find and call
			var request remoteRequest
			if decoder.Decode(&request) != nil {
				return
			}
			if request.Op == opFind {
				server.send(&remoteReply{Last: true})
			}
		}
		for _, key := range []string{"sure", "other"} {
			go func() {
				request := new(remoteRequest)
				if decoder.Decode(request) == nil {
					server.answers <- request
				}
			}()
			peer := &commandPeer{server, nil}
			answers, err := peer.Ask(context.Background(), []engine.Question{engine.Form(key, "Sure?", engine.YesOrNo())})
			results <- result{answers, err}
		}
		server.send(&remoteReply{Last: true, Result: remoteResult{Body: []byte(`{}`), Kind: contract.Pending, Note: "n"}})
	}()
	got, err := newRemote(ours).call(context.Background(), engine.Call{Tool: "x", Args: jsontree.Obj(), Peer: answering{}})
	note := got.Metadata.Field("note")
	if err != nil || got.Err.Kind != contract.Pending || string(got.Body) != "{}" || note.Text != "n" {
		t.Errorf("%+v %v", got, err)
	}
	first, second := <-results, <-results
	sure := first.answers["sure"]
	action := sure.Field("action")
	var missing *engine.MissingCapabilityError
	if first.err != nil || action.Text != "accept" || !errors.As(second.err, &missing) || missing.Needs != engine.Links {
		t.Errorf("%+v, %+v", first, second)
	}
}

// FuzzCommandServer sends any bytes to a server, which must end the connection.
func FuzzCommandServer(f *testing.F) {
	for _, request := range []remoteRequest{{Op: opAnswer}, {Op: "unknown"}} {
		var text bytes.Buffer
		if err := gob.NewEncoder(&text).Encode(&request); err != nil {
			f.Fatal(err)
		}
		f.Add(text.Bytes())
	}
	f.Add([]byte("\x00\xff"))
	f.Fuzz(func(_ *testing.T, text []byte) {
		for decoder := gob.NewDecoder(bytes.NewReader(text)); ; {
			var request remoteRequest
			if decoder.Decode(&request) != nil {
				break
			}
			if slices.Contains([]operation{opKnowledge, opFind, opCall, opRefused}, request.Op) {
				return // they need a workspace
			}
		}
		server := &CommandServer{Code: nothing{}}
		server.Serve(context.Background(), struct {
			io.Reader
			io.Writer
		}{bytes.NewReader(text), io.Discard})
	})
}

// nothing is an empty project.
type nothing struct{}

func (nothing) Grep(context.Context, codebase.LineQuery, func(codebase.Found) bool) (codebase.Summary, error) {
	return codebase.Summary{}, nil
}

func (nothing) Files(context.Context, codebase.Selection, func(string) bool) (bool, error) {
	return true, nil
}

func (nothing) Missing(context.Context, codebase.Selection) ([]string, error) { return nil, nil }

// recording returns fixed results and keeps what it was asked.
type recording struct {
	nothing
	found []codebase.Found
	query codebase.LineQuery
}

func (r *recording) Grep(_ context.Context, q codebase.LineQuery, each func(codebase.Found) bool) (codebase.Summary, error) {
	r.query = q
	for _, f := range r.found {
		if !each(f) {
			return codebase.Summary{}, errors.New("the command has ended")
		}
	}
	return codebase.Summary{Matches: 9, Bytes: 77}, nil
}

func (r *recording) Missing(_ context.Context, s codebase.Selection) ([]string, error) {
	return s.Paths, nil
}

// TestRemoteGrep checks that a query and the found lines are the same on both sides, byte for byte,
// and that a search that was ended counts what it has found.
func TestRemoteGrep(t *testing.T) {
	code := &recording{found: []codebase.Found{
		{Path: "a\xff", Count: 2, Lines: []codebase.Line{
			{Number: 1, Column: 2, Text: "\xffé\x00\r\n", Before: []string{"\xfe\n"}, After: []string{""}, Offset: 1 << 40, Spans: [][]int{{0, 1}, {3, 3}}},
		}},
		{Path: "b", Count: 1, Bytes: 5},
	}}
	ours, theirs := net.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		(&CommandServer{Code: code}).Serve(context.Background(), theirs)
	}()
	r := newRemote(ours)
	query := codebase.LineQuery{
		Selection: codebase.Selection{Folder: "s", Paths: []string{"..", "\xff"}, Globs: []string{"!a"}, Types: []string{"go"}, NotTypes: []string{"c"}},
		Patterns:  []string{"a", `\xff`}, Word: true, Multiline: true, Before: 1, After: 2, PerFile: 3, ByTime: true,
	}
	var got []codebase.Found
	summary, err := r.grep(t.Context(), query, func(f codebase.Found) bool { got = append(got, f); return true })
	if err != nil || summary != (codebase.Summary{Matches: 9, Bytes: 77}) {
		t.Errorf("%+v, %v", summary, err)
	}
	if diff := cmp.Diff(code.found, got) + cmp.Diff(query, code.query); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if missing, err := r.missing(t.Context(), query.Selection); err != nil || !slices.Equal(missing, query.Paths) {
		t.Errorf("missing %q, %v", missing, err)
	}
	summary, err = r.grep(t.Context(), query, func(codebase.Found) bool { return false })
	if err != nil || summary.Matches != 2 || summary.Matched != 1 || !summary.Incomplete {
		t.Errorf("ended: %+v, %v", summary, err)
	}
	theirs.Close()
	<-ended
}
