package mcp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
)

// maxLine bounds one message, and so what a client can make us hold.
const maxLine = 32 << 20

// maxRunning is how many calls of one connection run side by side; more wait
// unread, so that their answers cannot fill our memory. A call that waits for a
// person does not count.
const maxRunning = 32

// ServeStdio speaks over one pair of streams until in ends or ctx is cancelled.
// It then finishes the calls that run and sends their answers.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	c := &stdio{
		server:  s,
		out:     newWriter(out),
		running: map[string]*runningCall{},
		slots:   make(chan struct{}, maxRunning),
	}
	c.questions.send = c.out.send
	err := c.readAll(ctx, in)
	c.questions.close() // nobody is left to answer
	finished := make(chan error, 1)
	go func() {
		c.calls.Wait()
		finished <- c.out.close()
	}()
	if ctx.Err() == nil {
		return errors.Join(err, <-finished)
	}
	select { // told to end: a client that does not read cannot hold us for ever
	case outErr := <-finished:
		return errors.Join(err, outErr)
	case <-time.After(drain):
		return errors.New("gave up on answers that the client does not read")
	}
}

// drain is how long answers may take to leave once the program is told to end.
const drain = 10 * time.Second

// stdio is one connection.
type stdio struct {
	server    *Server
	out       *writer
	from      caller
	questions questions
	lane      engine.Lane

	calls sync.WaitGroup
	slots chan struct{}

	mu      sync.Mutex
	running map[string]*runningCall // by id as sent
}

// runningCall is one call under way. A client may reuse the id of a call that it
// took back, so the id alone does not tell one from the other.
type runningCall struct {
	id     []byte
	cancel context.CancelFunc
}

// readAll handles every line. Reading happens in a goroutine of its own, because
// a read of stdin cannot be interrupted when the program is told to end.
func (c *stdio) readAll(ctx context.Context, in io.Reader) error {
	lines := make(chan []byte)
	failed := make(chan error, 1)
	go func() {
		defer close(lines)
		failed <- readLines(in, func(line []byte) {
			select {
			case lines <- line:
			case <-ctx.Done():
			}
		})
	}()
	for {
		select {
		case <-ctx.Done():
			return nil
		case line, more := <-lines:
			if !more {
				return <-failed
			}
			c.receive(ctx, line)
		}
	}
}

// readLines gives each line a buffer of its own, since trees keep pointing into
// it. A line that is too long is skipped and given as nil.
func readLines(in io.Reader, visit func(line []byte)) error {
	reader := bufio.NewReaderSize(in, 1<<16)
	var line []byte
	tooLong := false
	for {
		part, err := reader.ReadSlice('\n')
		if !tooLong {
			line = append(line, part...)
			tooLong = len(line) > maxLine
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		switch {
		case tooLong:
			visit(nil)
		case len(bytes.TrimSpace(line)) > 0:
			visit(line)
		}
		line, tooLong = nil, false
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read messages: %w", err)
		}
	}
}

func (c *stdio) receive(ctx context.Context, line []byte) {
	if line == nil {
		c.out.send(errorReply(nil, codeInvalid, fmt.Sprintf("Invalid request: a message may have at most %d bytes", maxLine)))
		return
	}
	m, fault := readMessage(line)
	switch {
	case fault != nil:
		c.out.send(fault)
	case !m.isCall:
		c.questions.answer(&m)
	case !m.hasID:
		c.notified(&m)
	default:
		c.request(ctx, &m)
	}
}

func (c *stdio) notified(m *message) {
	if m.method != "notifications/cancelled" {
		return // what else a client tells us changes nothing
	}
	id := m.params.Field("requestId")
	c.mu.Lock()
	call := c.running[string(id.Raw)]
	delete(c.running, string(id.Raw))
	c.mu.Unlock()
	if call != nil {
		call.cancel()
	}
}

func (c *stdio) request(ctx context.Context, m *message) {
	id := m.id.Raw
	switch m.method {
	case "initialize":
		requested := m.params.Field("protocolVersion")
		c.from = callerFrom(&m.params)
		c.out.send(appendResult(nil, id, c.server.initializeResult(requested.Text)))
	case "ping":
		c.out.send(appendResult(nil, id, []byte("{}")))
	case "tools/list":
		c.out.send(appendResult(nil, id, c.server.toolList()))
	case "tools/call":
		c.toolCall(ctx, m)
	default:
		c.out.send(errorReply(id, codeNoMethod, "Method not found: "+m.method))
	}
}

// toolCall starts a call; its answer is sent when it is there.
func (c *stdio) toolCall(ctx context.Context, m *message) {
	name := m.params.Field("name")
	if name.Kind != jsontree.String {
		c.out.send(errorReply(m.id.Raw, codeInvalidParams, "Invalid params: name must say which tool to call"))
		return
	}
	tool, err := c.server.Engine.Find(name.Text)
	if err != nil {
		c.out.send(errorReply(m.id.Raw, codeInvalidParams, contract.AsError(err).Message))
		return
	}
	// A call that was read is finished even if the program is told to end.
	callCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	call := &runningCall{id: bytes.Clone(m.id.Raw), cancel: cancel}
	if !c.start(call) {
		cancel()
		c.out.send(errorReply(call.id, codeInvalid, "Invalid request: a call with this id is still running"))
		return
	}
	leave := func() {}
	if !tool.Hints.ReadOnly {
		callCtx, leave = c.lane.Enter(callCtx)
	}
	from := c.from // what is known of the client when the call is read
	args := slim(m)
	c.slots <- struct{}{}
	c.calls.Go(func() {
		defer func() { <-c.slots }()
		defer cancel()
		defer leave()
		c.run(callCtx, from, call, tool.Name, args)
	})
}

// slim returns the arguments of a call without the message around them, if that
// is much larger: a call may wait for a person for an hour.
func slim(m *message) jsontree.Value {
	args := m.params.Field("arguments")
	if len(m.params.Raw) > 2*len(args.Raw)+4096 {
		return args.Clone()
	}
	return args
}

// run carries a call out and answers it, unless the client took it back.
func (c *stdio) run(ctx context.Context, from caller, call *runningCall, name string, args jsontree.Value) {
	result, err := c.server.call(ctx, name, args, from, asker{c, from.canAsk})
	if !c.finish(call) {
		return
	}
	if err != nil {
		c.out.send(errorReply(call.id, codeInvalidParams, contract.AsError(err).Message))
		return
	}
	c.out.send(appendCallResult(make([]byte, 0, 2*len(result.Body)+128), call.id, &result))
}

func (c *stdio) start(call *runningCall) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, taken := c.running[string(call.id)]; taken {
		return false
	}
	c.running[string(call.id)] = call
	return true
}

// finish tells whether the call was still wanted.
func (c *stdio) finish(call *runningCall) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running[string(call.id)] != call {
		return false
	}
	delete(c.running, string(call.id))
	return true
}
