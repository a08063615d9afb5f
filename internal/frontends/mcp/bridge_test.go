package mcp_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"remit/internal/engine/approval"
	"remit/internal/frontends/cli"
	"remit/internal/frontends/mcp"
)

// fakeServer is a server at the other end of a bridge. A test reads its lines and answers them.
type fakeServer struct {
	*io.PipeReader // what the bridge reads
	toServer       *io.PipeWriter
	out            *io.PipeWriter
	lines          chan string
	dead           atomic.Bool
}

func newFakeServer() *fakeServer {
	fromServer, out := io.Pipe()
	in, toServer := io.Pipe()
	s := &fakeServer{PipeReader: fromServer, toServer: toServer, out: out, lines: make(chan string, 100)}
	go func() {
		defer close(s.lines)
		for scanner := bufio.NewScanner(in); scanner.Scan(); {
			s.lines <- scanner.Text()
		}
		_ = out.Close()
	}()
	return s
}

func (s *fakeServer) Write(b []byte) (int, error) { return s.toServer.Write(b) }

func (s *fakeServer) CloseWrite() error { return s.toServer.Close() }

func (s *fakeServer) Close() error { return errors.Join(s.PipeReader.Close(), s.toServer.Close()) }

func (s *fakeServer) Alive(context.Context) error {
	if s.dead.Load() {
		return errors.New("no greeting")
	}
	return nil
}

// says sends lines to the bridge.
func (s *fakeServer) says(lines ...string) {
	for _, line := range lines {
		_, _ = io.WriteString(s.out, line+"\n") // the bridge may have given it up
	}
}

// bridgeRig is a client with a bridge.
type bridgeRig struct {
	t     *testing.T
	in    *io.PipeWriter
	lines chan string // for the client
	next  chan *fakeServer
	ended chan error
}

// newBridge starts a bridge that goes on with the servers in next, in their order.
func newBridge(t *testing.T, first mcp.Backend) *bridgeRig {
	in, client := io.Pipe()
	fromBridge, out := io.Pipe()
	r := &bridgeRig{t, client, make(chan string, 100), make(chan *fakeServer, 10), make(chan error, 1)}
	b := &mcp.Bridge{
		IsReadOnly: func(tool string) bool { return tool == "hello" }, Quiet: 10 * time.Second, Log: slog.New(slog.DiscardHandler),
		Next: func(context.Context) (mcp.Backend, error) {
			select {
			case s := <-r.next:
				return s, nil
			default:
				return nil, errors.New("the workspace is gone")
			}
		},
	}
	go func() {
		r.ended <- b.Serve(context.Background(), first, in, out)
		_ = out.Close()
		_ = in.Close()
	}()
	go func() {
		defer close(r.lines)
		for scanner := bufio.NewScanner(fromBridge); scanner.Scan(); {
			r.lines <- scanner.Text()
		}
	}()
	return r
}

func (r *bridgeRig) send(lines ...string) {
	r.t.Helper()
	for _, line := range lines {
		if _, err := io.WriteString(r.in, line+"\n"); err != nil {
			r.t.Fatal(err)
		}
	}
}

// want reads lines, each of which must contain a text.
func want(t *testing.T, who string, lines <-chan string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		select {
		case got := <-lines:
			if !strings.Contains(got, text) {
				t.Errorf("%s got %s, want %s", who, got, text)
			}
		case <-time.After(time.Hour): // of the bubble
			t.Errorf("%s got nothing, want %s", who, text)
			return
		}
	}
}

const (
	readCall    = `{"jsonrpc":"2.0","id":"read","method":"tools/call","params":{"name":"hello","arguments":{}}}`
	writeCall   = `{"jsonrpc":"2.0","id":"write","method":"tools/call","params":{"name":"write_memory_entry","arguments":{}}}`
	keyedCall   = `{"jsonrpc":"2.0","id":"keyed","method":"tools/call","params":{"name":"add_task","_meta":{"io.remit/idempotencyKey":"k"}}}`
	listening   = `{"jsonrpc":"2.0","id":"listen","method":"subscriptions/listen","params":{}}`
	initialize  = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"clientInfo":{"name":"me"}}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	closed      = `{"jsonrpc":"2.0","method":"notifications/io.remit/closed"}`
)

// TestBridgeTakesOver kills a server. The next one must get the session and the calls that can be
// repeated, and the client an answer to every request.
func TestBridgeTakesOver(t *testing.T) {
	inBubble(t, "killed", func(t *testing.T) {
		first, second := newFakeServer(), newFakeServer()
		r := newBridge(t, first)
		r.next <- second
		r.send(initialize, initialized,
			`{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"debug"}}`,
			`{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"memory://a"}}`,
			`{"jsonrpc":"2.0","id":3,"method":"resources/subscribe","params":{"uri":"memory://b"}}`,
			`{"jsonrpc":"2.0","id":4,"method":"resources/unsubscribe","params":{"uri":"memory://b"}}`)
		want(t, "the first server", first.lines, "initialize", "initialized", "setLevel", "memory://a", "memory://b", "unsubscribe")
		for _, id := range []string{"0", "1", "2", "3", "4"} {
			first.says(`{"jsonrpc":"2.0","id":` + id + `,"result":{}}`)
			want(t, "the client", r.lines, `"id":`+id+`,"result"`)
		}
		r.send(writeCall, readCall, keyedCall, `{"jsonrpc":"2.0","id":"gone","method":"tools/call","params":{"name":"x"}}`,
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"gone"}}`)
		want(t, "the first server", first.lines, `"write"`, `"read"`, `"keyed"`, `"gone"`, "cancelled")
		_, _ = io.WriteString(first.out, `{"jsonrpc":"2.0","id":"read","res`) // killed
		_ = first.out.Close()
		want(t, "the client", r.lines, `"id":"write","error":{"code":-32603,"message":"The server of this workspace ended during the call`)
		want(t, "the second server", second.lines, `"method":"initialize","params":{"clientInfo":{"name":"me"}}`, initialized,
			`"params":{"level":"debug"}`, `"params":{"uri":"memory://a"}`, readCall, keyedCall)
		second.says(`{"jsonrpc":"2.0","id":"read","result":{"hello":1}}`, `{"jsonrpc":"2.0","id":"keyed","result":{}}`)
		want(t, "the client", r.lines, `{"hello":1}`, `"keyed"`)
		if err := r.in.Close(); err != nil {
			t.Error(err)
		}
		if err := <-r.ended; err != nil {
			t.Error(err)
		}
		for line := range r.lines {
			t.Errorf("the client got %s as well", line)
		}
	})
}

// TestBridgeShutdown checks that a server that shuts down loses no request: not even one that
// changes something, and no subscription. The handshake of the bridge itself stays hidden.
func TestBridgeShutdown(t *testing.T) {
	inBubble(t, "shutdown", func(t *testing.T) {
		first, second := newFakeServer(), newFakeServer()
		r := newBridge(t, first)
		r.next <- second
		r.send(initialize, listening, writeCall)
		want(t, "the first server", first.lines, "initialize", "listen", "write")
		first.says(`{"jsonrpc":"2.0","id":0,"result":{}}`, `{"jsonrpc":"2.0","id":"listen","result":{}}`, closed)
		_ = first.out.Close()
		want(t, "the client", r.lines, `"id":0`)
		line := <-second.lines
		_, rest, _ := strings.Cut(line, `"id":`)
		id, _, _ := strings.Cut(rest, ",")
		second.says(`{"jsonrpc":"2.0","id":` + id + `,"result":{}}`) // of the handshake
		want(t, "the second server", second.lines, listening, writeCall)
		second.says(`{"jsonrpc":"2.0","id":"remit-X-1","method":"elicitation/create","params":{}}`, `{"jsonrpc":"2.0","id":"write","result":{}}`)
		want(t, "the client", r.lines, "elicitation", `"write","result"`)
		_ = r.in.Close()
		<-r.ended
	})
}

// TestBridgeLeavesHungServer checks that a server that is silent is left only if it is not alive.
func TestBridgeLeavesHungServer(t *testing.T) {
	inBubble(t, "hung", func(t *testing.T) {
		first, second := newFakeServer(), newFakeServer()
		r := newBridge(t, first)
		r.next <- second
		r.send(readCall)
		want(t, "the first server", first.lines, "read")
		time.Sleep(time.Minute) // of the bubble
		if len(r.next) == 0 {
			t.Fatal("the bridge left a server that is alive")
		}
		first.dead.Store(true)
		want(t, "the second server", second.lines, "read")
		second.says(`{"jsonrpc":"2.0","id":"read","result":{}}`)
		want(t, "the client", r.lines, `"read","result"`)
		_ = r.in.Close()
		<-r.ended
	})
}

// TestBridgeWaitsForRestart checks that a bridge looks for the next server when the client needs
// one, so that a server can be restarted in between.
func TestBridgeWaitsForRestart(t *testing.T) {
	inBubble(t, "restart", func(t *testing.T) {
		first, second, third := newFakeServer(), newFakeServer(), newFakeServer()
		r := newBridge(t, first)
		r.next <- second
		r.send(initialize)
		want(t, "the first server", first.lines, "initialize")
		first.says(`{"jsonrpc":"2.0","id":0,"result":{}}`)
		want(t, "the client", r.lines, `"id":0`)
		_ = first.out.Close()
		synctest.Wait()
		if len(r.next) == 0 {
			t.Fatal("the bridge connected although nothing was asked")
		}
		r.send(`{"jsonrpc":"2.0","id":"sub","method":"resources/subscribe","params":{"uri":"memory://a"}}`)
		want(t, "the second server", second.lines, `"initialize"`, `"sub"`)
		second.says(`{"jsonrpc":"2.0","id":"sub","result":{}}`)
		want(t, "the client", r.lines, `"sub"`)
		r.next <- third
		_ = second.out.Close()
		// At once, because the client waits for changes.
		want(t, "the third server", third.lines, `"initialize"`, "memory://a")
		_ = r.in.Close()
		<-r.ended
	})
	inBubble(t, "ends meanwhile", func(t *testing.T) {
		first := newFakeServer()
		r := newBridge(t, first)
		_ = first.out.Close()
		synctest.Wait()
		_ = r.in.Close()
		if err := <-r.ended; err != nil {
			t.Error(err)
		}
	})
}

// TestBridgeWithoutNextServer checks that requests are answered if nothing can serve them.
func TestBridgeWithoutNextServer(t *testing.T) {
	inBubble(t, "no next", func(t *testing.T) {
		first := newFakeServer()
		r := newBridge(t, first)
		r.send(readCall)
		want(t, "the server", first.lines, "read")
		_ = first.out.Close()
		want(t, "the client", r.lines, "this process cannot replace it: the workspace is gone")
		if err := <-r.ended; err == nil || !strings.Contains(err.Error(), "the workspace is gone") {
			t.Errorf("the bridge ended with %v", err)
		}
	})
}

// TestLateAnswerAnswersNothing checks that the answer to a question of one connection is not taken
// as the answer to a question of another.
func TestLateAnswerAnswersNothing(t *testing.T) {
	inBubble(t, "late", func(t *testing.T) {
		a, root := open(t, approval.Ask)
		server := newServer(a, nil, setup{})
		server.Dialogues = true
		// serve asks for approval on a new connection, answers a question and returns the new one.
		serve := func(answered string) (question string) {
			in, client := io.Pipe()
			fromServer, out := io.Pipe()
			ended := make(chan error, 1)
			go func() {
				ended <- server.ServeBridge(context.Background(), cli.LocalPrincipal, in, out)
				_ = out.Close()
			}()
			lines := bufio.NewScanner(fromServer)
			_, _ = io.WriteString(client, canElicit+"\n"+write+"\n")
			for lines.Scan() && !strings.Contains(lines.Text(), "elicitation/create") {
			}
			_, rest, _ := strings.Cut(lines.Text(), `"id":`)
			question, _, _ = strings.Cut(rest, ",")
			think()
			go func() { _, _ = io.Copy(io.Discard, fromServer) }()
			if answered != "" {
				_, _ = io.WriteString(client, `{"jsonrpc":"2.0","id":`+answered+`,"result":{"action":"accept","content":{}}}`+"\n")
				synctest.Wait()
			}
			_ = client.Close()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			return question
		}
		first := serve("")
		second := serve(first)
		if _, err := os.Stat(filepath.Join(root, ".claude/memory/decisions.jsonl")); err == nil || first == second || first == "" {
			t.Errorf("the answer to question %s answered %s", first, second)
		}
	})
}

// FuzzBridge passes any lines through a bridge: it must end, and lose no line of the server that is
// for the client.
func FuzzBridge(f *testing.F) {
	for _, line := range []string{readCall, initialize, closed, `[` + readCall + `]`, `{"jsonrpc":"2.0","id":"`, `{"jsonrpc":"2.0","id":"\`, "\x00"} {
		f.Add(line, line)
	}
	f.Fuzz(func(t *testing.T, fromClient, fromServer string) {
		first := newFakeServer()
		r := newBridge(t, first)
		go func() {
			for range first.lines {
			}
		}()
		go func() {
			_, _ = io.WriteString(first.out, fromServer+"\n")
			_ = first.out.Close()
		}()
		_, _ = io.WriteString(r.in, fromClient+"\n") // the bridge may have ended
		_ = r.in.Close()
		for range r.lines {
		}
		<-r.ended
	})
}
