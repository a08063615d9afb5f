package mcp

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"remit/internal/engine"
	"remit/internal/engine/identity"
)

// maxLine bounds one message, and so what a client can make us hold.
const maxLine = 32 << 20

// How many requests of one connection run side by side; more wait unread, so that
// their answers cannot fill our memory. A call that waits for a person does not
// count.
const (
	maxRunning = 32
	maxLarge   = 2       // of those with a large message
	large      = 1 << 20 // bytes
)

// maxListening is how many subscriptions of one connection may be open.
const maxListening = 64

// ServeStdio speaks over one pair of streams until in ends or ctx is cancelled.
// It then finishes the calls that run and sends their answers.
func (s *Server) ServeStdio(ctx context.Context, principal string, in io.Reader, out io.Writer) error {
	c := &stdio{
		server: s,
		out:    newWriter(out),
		jobs:   make(chan func()),
		slots:  make(chan struct{}, maxRunning),
		larges: make(chan struct{}, maxLarge),
		ended:  make(chan struct{}),
	}
	c.from = client{Identity: identity.Identity{Principal: principal}, face: "stdio", connection: rand.Text(), version: legacyVersions[0], logs: new(atomic.Int32)}
	c.from.logs.Store(int32(engine.Info))
	c.changes = newSubscription(s, principal, nil)
	err := c.readAll(ctx, in)
	c.questions.close() // nobody is left to answer
	close(c.ended)
	c.changes.close()
	close(c.jobs)
	finished := make(chan error, 1)
	go func() {
		c.work.Wait()
		s.Engine.Left(c.from.connection)
		finished <- c.out.close()
	}()
	select {
	case outErr := <-finished:
		return errors.Join(err, outErr)
	case <-ctx.Done():
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
	from      client // as it introduced itself in the legacy era
	era       era    // of requests that do not say; the first one tells
	begun     bool
	telling   bool // a client of the legacy era is told of changes
	inflight  inflight
	questions questions
	changes   *subscription // of the legacy era
	lane      engine.Lane
	ended     chan struct{} // closed when no more is read

	work   sync.WaitGroup
	jobs   chan func() // to workers that have nothing to do
	slots  chan struct{}
	larges chan struct{}

	listening atomic.Int32 // how many subscriptions are open
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
		c.out.send(faultf(codeInvalid, "Invalid request: a message may have at most %d bytes", maxLine).reply(nil, c.era))
		return
	}
	all, batch, fault := readMessages(line, hasBatches(c.from.version))
	if fault != nil {
		c.out.send(fault.reply(fault.id, c.era))
		return
	}
	deliver := c.deliver
	if batch {
		deliver = c.gather(all)
	}
	for i := range all {
		c.handle(ctx, &all[i], len(line), batch, deliver)
	}
}

// deliver sends an answer; one that the client took back is nil.
func (c *stdio) deliver(answer []byte) {
	if answer != nil {
		c.out.send(answer)
	}
}

// gather gives the answers to a batch as one message, once all are there.
func (c *stdio) gather(all []message) func([]byte) {
	var mu sync.Mutex
	var answers [][]byte
	open := 0
	for i := range all {
		if !all[i].isAnswer() && !all[i].isNotification() {
			open++
		}
	}
	return func(answer []byte) {
		mu.Lock()
		defer mu.Unlock()
		if answer != nil {
			answers = append(answers, answer)
		}
		if open--; open == 0 && len(answers) > 0 {
			c.out.send(slices.Concat([]byte{'['}, bytes.Join(answers, []byte{','}), []byte{']'}))
		}
	}
}

func (c *stdio) handle(ctx context.Context, m *message, size int, batch bool, deliver func([]byte)) {
	switch {
	case m.isAnswer():
		c.questions.answer(m)
	case m.isNotification():
		c.inflight.cancel(cancelled(m)) // what else a client tells us changes nothing
	case batch && (m.method == "initialize" || isModern(m)):
		deliver(faultf(codeInvalid, "Invalid request: this cannot be part of a batch").reply(m.id, legacy))
	default:
		c.request(ctx, m, size, deliver)
	}
}

// request finds out who asks, and starts to answer.
func (c *stdio) request(ctx context.Context, m *message, size int, deliver func([]byte)) {
	q := &request{server: c.server, id: m.id, method: m.method, params: m.params, out: &slot{conn: c, large: size > large}, link: c, questions: &c.questions}
	if fault := c.introduce(m, q); fault != nil {
		deliver(fault.reply(m.id, q.from.era))
		return
	}
	switch m.method {
	case "tools/call":
		if _, err := q.tool(); err != nil {
			deliver(faultOf(err, q.from.era).reply(q.id, q.from.era))
			return
		}
		c.start(ctx, q, size, deliver)
	case "prompts/get", "resources/list", "resources/read", "completion/complete",
		"tasks/get", "tasks/update", "tasks/cancel", "subscriptions/listen":
		c.start(ctx, q, size, deliver)
	default:
		deliver(q.answer(ctx)) // at once, in the order in which they came
		if m.method == "initialize" {
			c.tell()
		}
	}
}

// introduce finds out who sends a request. The first one tells the era of those
// that do not say it themselves.
func (c *stdio) introduce(m *message, q *request) *rpcError {
	var fault *rpcError
	first := !c.begun
	c.begun = true
	switch {
	case isModern(m) || c.era == modern && m.method != "initialize":
		if q.from, fault = modernClient(m, c.from.Identity, "stdio"); fault == nil {
			fault = q.from.checkVersion()
		}
		q.from.connection = c.from.connection
		if first && fault == nil {
			c.era = modern
		}
	case m.method == "initialize":
		c.era = legacy
		q.from = greet(m, c.from)
		c.from = q.from
	default:
		q.from = c.from
	}
	q.from.trace = tracedBy(m)
	return fault
}

// greet is what a client of the legacy era says of itself in initialize.
func greet(m *message, from client) client {
	from.era = legacy
	from.version = legacyVersions[0]
	if wanted := m.params.Field("protocolVersion"); slices.Contains(legacyVersions, wanted.Text) {
		from.version = plainVersion(wanted.Text)
	}
	info, capabilities := m.params.Field("clientInfo"), m.params.Field("capabilities")
	from.declare(&info, &capabilities)
	return from
}

// start runs a request side by side with others; its answer is sent when it is
// there, unless the client took it back.
func (c *stdio) start(ctx context.Context, q *request, size int, deliver func([]byte)) {
	q.id = bytes.Clone(q.id)
	q.slim(size)
	// A request that was read is finished even if the program is told to end.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	call := &running{cancel}
	if !c.inflight.begin(q.id, call) {
		cancel()
		deliver(faultf(codeInvalid, "Invalid request: a request with this id is still running").reply(q.id, q.from.era))
		return
	}
	if q.method == "subscriptions/listen" {
		c.work.Go(func() {
			defer cancel()
			c.listen(ctx, q, call)
		})
		return
	}
	leave := func() {}
	if c.writes(q) {
		ctx, leave = c.lane.Enter(ctx)
	}
	place := q.out.(*slot)
	place.take()
	c.do(func() {
		defer place.give()
		defer cancel()
		defer leave()
		answer := q.answer(ctx)
		if !c.inflight.finish(q.id, call) {
			answer = nil
		}
		deliver(answer)
	})
}

// do runs a job on a worker that waits for one, or on a new one. Workers stay: a
// new goroutine would have to grow its stack for every call.
func (c *stdio) do(job func()) {
	select {
	case c.jobs <- job:
	default:
		c.work.Go(func() {
			job()
			for job := range c.jobs {
				job()
			}
		})
	}
}

// writes tells a call that changes something: such keep their order.
func (c *stdio) writes(q *request) bool {
	if q.method != "tools/call" {
		return false
	}
	tool, err := q.tool()
	return err == nil && !tool.Hints.ReadOnly
}
