package mcp

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"

	"remit/internal/contract/jsontree"
)

// RootsQuestion asks a stdio client for its roots before a server is chosen for its session. It
// answers initialize itself, because a client may be asked only after that.
type RootsQuestion struct {
	Version string // of the program
	// Instructions returns the instructions for the client's model.
	Instructions func() (string, error)
	Timeout      time.Duration // for the answer of the client
}

// RootsAnswer is the beginning of a session.
type RootsAnswer struct {
	// URIs are the roots in the order of the client; nil if Reason says why they are not known.
	URIs   []string
	Reason error
	// Asked reports whether the client has roots and was asked for them.
	Asked bool
	// The streams for the server of the session. In repeats what the client has sent so far, and
	// Out drops the second response to initialize.
	In  io.Reader
	Out io.Writer
}

var errNoAnswer = errors.New("the client did not answer roots/list in time")

// Ask reads messages until the client has answered, and then returns the streams for the server. It
// fails only if the client cannot be served.
func (r *RootsQuestion) Ask(ctx context.Context, in io.Reader, out io.Writer) (*RootsAnswer, error) {
	source := newInterruptible(in, ctx.Done())
	s := &rootsSession{RootsQuestion: r, source: source, reader: bufio.NewReaderSize(source, 1<<16), out: out}
	answer := &RootsAnswer{Out: out}
	var err error
	if answer.Asked, answer.Reason, err = s.begin(); answer.Asked && answer.Reason == nil {
		answer.URIs, answer.Reason = s.roots(ctx)
	}
	if answer.Asked {
		answer.Out = &withoutFirstLine{out: out}
	}
	source.interrupt = nil
	answer.In = io.MultiReader(bytes.NewReader(append(bytes.Join(s.held, nil), s.partial...)), s.reader)
	return answer, err
}

// rootsSession is a session before its server is chosen.
type rootsSession struct {
	*RootsQuestion
	source  *interruptible
	reader  *bufio.Reader
	out     io.Writer
	held    [][]byte // the lines for the server
	size    int      // of held
	partial []byte   // the beginning of the next line
}

// next reads a line and keeps it for the server. A line that is too long is left to the server.
func (s *rootsSession) next() (*message, error) {
	for {
		part, err := s.reader.ReadSlice('\n')
		s.partial = append(s.partial, part...)
		switch {
		case s.size+len(s.partial) > maxLine:
			return nil, fmt.Errorf("the client sent more than %d bytes", maxLine)
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil:
			return nil, err
		}
		line := s.partial
		s.partial, s.held, s.size = nil, append(s.held, line), s.size+len(line)
		if all, _, fault := readMessages(line, false); fault == nil {
			return &all[0], nil
		}
		if len(bytes.TrimSpace(line)) > 0 { // the server answers with an error
			return &message{}, nil
		}
	}
}

// begin answers initialize and waits until the client may be asked. It reports whether the client
// has roots.
func (s *rootsSession) begin() (asked bool, reason, err error) {
	m, reason := s.next()
	if reason != nil || m.method != "initialize" || m.isNotification() || isModern(m) {
		return false, reason, nil
	}
	from := legacyClient(m, client{})
	if !from.roots {
		return false, nil, nil
	}
	instructions, err := s.Instructions()
	if err != nil {
		return false, nil, err
	}
	self := &Server{Version: s.Version, Instructions: func() string { return instructions }}
	if err := s.send(self.initialize(&request{server: self, id: m.id, from: from})); err != nil {
		return false, nil, err
	}
	for {
		// A request shows that the client has finished its initialization.
		switch m, reason = s.next(); {
		case reason != nil:
			return true, reason, nil
		case m.method != "" && m.method != "ping" && m.method != "notifications/cancelled":
			return true, nil, nil
		}
	}
}

// roots asks the client.
func (s *rootsSession) roots(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.Timeout, errNoAnswer)
	defer cancel()
	s.source.interrupt = ctx.Done()
	id := "remit-roots-" + rand.Text()
	if err := s.send(question(id, "roots/list", []byte("{}"))); err != nil {
		return nil, err
	}
	for {
		m, err := s.next()
		switch {
		case errors.Is(err, errInterrupted):
			return nil, context.Cause(ctx)
		case err != nil:
			return nil, err
		case m.isAnswer() && string(m.id) == `"`+id+`"`:
			s.held = s.held[:len(s.held)-1]
			return rootURIs(m)
		}
	}
}

// rootURIs returns the URIs in an answer to roots/list.
func rootURIs(m *message) ([]string, error) {
	list := m.result.Field("roots")
	switch {
	case m.failed:
		return nil, errors.New("the client answered roots/list with an error")
	case list.Kind != jsontree.Array:
		return nil, errors.New("the client answered roots/list without a list of roots")
	case len(list.Members) == 0:
		return nil, errors.New("the client has no roots")
	}
	uris := make([]string, len(list.Members))
	for i := range list.Members {
		uri := list.Members[i].Value.Field("uri")
		uris[i] = uri.Text
	}
	return uris, nil
}

func (s *rootsSession) send(line []byte) error {
	_, err := s.out.Write(append(slices.Clip(line), '\n'))
	return err
}

// interruptible reads in a goroutine, because a read of stdin cannot be interrupted.
type interruptible struct {
	chunks    chan []byte
	err       error           // of the last read; set before chunks is closed
	rest      []byte          // of the last chunk
	interrupt <-chan struct{} // ends a Read with errInterrupted
}

var errInterrupted = errors.New("interrupted")

func newInterruptible(in io.Reader, interrupt <-chan struct{}) *interruptible {
	r := &interruptible{chunks: make(chan []byte), interrupt: interrupt}
	go func() {
		defer close(r.chunks)
		buffer := make([]byte, 1<<16)
		for r.err == nil {
			var n int
			n, r.err = in.Read(buffer)
			r.chunks <- bytes.Clone(buffer[:n])
		}
	}()
	return r
}

func (r *interruptible) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		select {
		case chunk, more := <-r.chunks:
			if !more {
				return 0, r.err
			}
			r.rest = chunk
		case <-r.interrupt:
			return 0, errInterrupted
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// withoutFirstLine drops the first line that is written.
type withoutFirstLine struct {
	out     io.Writer
	dropped bool
}

func (w *withoutFirstLine) Write(p []byte) (int, error) {
	rest := p
	if !w.dropped {
		var line []byte
		line, rest, w.dropped = bytes.Cut(p, []byte{'\n'})
		if len(line) == len(p) || len(rest) == 0 {
			return len(p), nil
		}
	}
	if _, err := w.out.Write(rest); err != nil {
		return 0, err
	}
	return len(p), nil
}

// logRootsChanged logs that a client has other roots now. The session stays in its workspace.
func logRootsChanged(log *slog.Logger, m *message) {
	if log != nil && m.method == "notifications/roots/list_changed" {
		log.Info("the client changed its roots; this session stays in its workspace")
	}
}
