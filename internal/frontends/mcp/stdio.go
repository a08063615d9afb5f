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

	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/engine/identity"
)

// maxLine is the maximum size of one message in bytes, which limits the memory that a client can
// use.
const maxLine = 32 << 20

// Limits of one connection. Further requests wait unread, so that their responses cannot fill the
// memory. A call that waits for a person does not count.
const (
	maxRunning      = 32
	maxLargeRunning = 2       // of requests with a large message
	large           = 1 << 20 // bytes
)

// maxListening is the maximum number of open subscriptions of one connection.
const maxListening = 64

// ServeStdio serves one pair of streams until in ends or ctx is canceled. It then finishes the
// running calls and sends their responses.
func (s *Server) ServeStdio(ctx context.Context, principal string, in io.Reader, out io.Writer) error {
	return s.serveStream(ctx, principal, "", in, out)
}

// serveStream is ServeStdio with a prefix for the ids of questions to the client.
func (s *Server) serveStream(ctx context.Context, principal, questionPrefix string, in io.Reader, out io.Writer) error {
	c := &stdio{
		server:     s,
		out:        newWriter(out),
		jobs:       make(chan func()),
		slots:      make(chan struct{}, maxRunning),
		largeSlots: make(chan struct{}, maxLargeRunning),
		ended:      make(chan struct{}),
		questions:  questions{prefix: questionPrefix},
	}
	c.from = client{
		Identity: identity.Identity{Principal: principal}, frontend: "stdio", connection: rand.Text(),
		version: legacyVersions[0], logs: new(atomic.Int32),
	}
	c.from.logs.Store(int32(engine.Info))
	c.changes = newSubscription(s, principal, nil)
	err := c.readAll(ctx, in)
	c.questions.close() // no more answers can arrive
	close(c.ended)
	c.changes.close()
	close(c.jobs)
	finished := make(chan error, 1)
	go func() {
		c.work.Wait()
		s.Engine.ConnectionClosed(c.from.connection)
		finished <- c.out.close()
	}()
	select {
	case outErr := <-finished:
		return errors.Join(err, outErr)
	case <-ctx.Done():
	}
	select { // shutting down: a client that does not read must not block the exit
	case outErr := <-finished:
		return errors.Join(err, outErr)
	case <-time.After(drainTimeout):
		return errors.New("the client did not read the last responses")
	}
}

// drainTimeout is how long responses may take to be written during shutdown.
const drainTimeout = 10 * time.Second

// stdio is one connection.
type stdio struct {
	server    *Server
	out       *writer
	from      client // as declared in initialize
	era       era    // of requests that do not state it; set by the first request
	started   bool
	notifying bool // notifications to a legacy client have started
	inflight  inflight
	questions questions
	changes   *subscription // of the legacy era
	queue     engine.OrderedQueue
	ended     chan struct{} // closed when nothing more is read

	work       sync.WaitGroup
	jobs       chan func() // for idle workers
	slots      chan struct{}
	largeSlots chan struct{}

	listening atomic.Int32 // number of open subscriptions
}

// readAll handles every line. It reads in a separate goroutine, because a read of stdin cannot be
// interrupted at shutdown.
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

// readLines calls visit with each line. Every line has its own buffer, because parsed messages
// point into it. A line that is too long is skipped and reported as nil.
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
		c.out.send(rpcErrorf(codeInvalid, "Invalid request: a message may have at most %d bytes", maxLine).reply(nil, c.era))
		return
	}
	all, batch, fault := readMessages(line, hasBatches(c.from.version))
	if fault != nil {
		c.server.Engine.Refused(ctx, engine.NoCall, (&request{from: c.from}).requester(nil), fault.text)
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

// deliver sends a response. It ignores nil, the response of a canceled request.
func (c *stdio) deliver(answer []byte) {
	if answer != nil {
		c.out.send(answer)
	}
}

// gather returns a function that collects the responses to a batch and sends them as one message.
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
		c.inflight.cancel(cancelled(m)) // other notifications cancel nothing
		logRootsChanged(c.server.Log, m)
		if m.method == "notifications/initialized" && c.server.Notice != "" {
			livePeer{&request{from: c.from, out: &slot{conn: c}}}.Log(engine.Warning, "remit", jsontree.Str(c.server.Notice))
		}
	case batch && (m.method == "initialize" || isModern(m)):
		deliver(rpcErrorf(codeInvalid, "Invalid request: this cannot be part of a batch").reply(m.id, legacy))
	default:
		c.request(ctx, m, size, deliver)
	}
}

// request identifies the client and starts the request.
func (c *stdio) request(ctx context.Context, m *message, size int, deliver func([]byte)) {
	q := &request{
		server: c.server, id: m.id, method: m.method, params: m.params,
		out: &slot{conn: c, large: size > large}, conn: c, questions: &c.questions,
	}
	if fault := c.identify(m, q); fault != nil {
		deliver(fault.reply(m.id, q.from.era))
		return
	}
	switch m.method {
	case "tools/call":
		if _, err := q.tool(); err != nil {
			q.refusedTool(ctx)
			deliver(toRPCError(err, q.from.era).reply(q.id, q.from.era))
			return
		}
		c.start(ctx, q, size, deliver)
	case "prompts/get", "resources/list", "resources/read", "completion/complete",
		"tasks/get", "tasks/update", "tasks/cancel", "subscriptions/listen":
		c.start(ctx, q, size, deliver)
	default:
		deliver(q.answer(ctx)) // at once, in the order of arrival
		if m.method == "initialize" {
			c.startNotifications()
		}
	}
}

// identify identifies the client of a request. The first request determines the era of the requests
// that do not state one.
func (c *stdio) identify(m *message, q *request) *rpcError {
	var fault *rpcError
	first := !c.started
	c.started = true
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
		q.from = legacyClient(m, c.from)
		c.from = q.from
	default:
		q.from = c.from
	}
	q.from.trace = messageTrace(m)
	return fault
}

// legacyClient returns the client as described in initialize.
func legacyClient(m *message, from client) client {
	from.era = legacy
	from.version = legacyVersions[0]
	if wanted := m.params.Field("protocolVersion"); slices.Contains(legacyVersions, wanted.Text) {
		from.version = cloneVersion(wanted.Text)
	}
	info, capabilities := m.params.Field("clientInfo"), m.params.Field("capabilities")
	from.declare(&info, &capabilities)
	return from
}

// start runs a request concurrently with others. Its response is sent when it is ready, unless the
// client canceled the request.
func (c *stdio) start(ctx context.Context, q *request, size int, deliver func([]byte)) {
	q.id = bytes.Clone(q.id)
	q.trim(size)
	// A request that was read is finished even during shutdown.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	call := &running{cancel}
	if !c.inflight.begin(q.id, call) {
		cancel()
		deliver(rpcErrorf(codeInvalid, "Invalid request: a request with this id is still running").reply(q.id, q.from.era))
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
		ctx, leave = c.queue.Enter(ctx)
	}
	slot := q.out.(*slot)
	slot.acquire()
	c.runJob(func() {
		defer slot.free()
		defer cancel()
		defer leave()
		answer := q.answer(ctx)
		if !c.inflight.finish(q.id, call) {
			answer = nil
		}
		deliver(answer)
	})
}

// runJob runs a job on an idle worker or on a new one. Workers are reused, because a new goroutine
// would have to grow its stack for every call.
func (c *stdio) runJob(job func()) {
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

// writes reports whether a request may change something. Such requests keep their order.
func (c *stdio) writes(q *request) bool {
	if q.method != "tools/call" {
		return false
	}
	tool, err := q.tool()
	return err == nil && !tool.Hints.ReadOnly
}
