package mcp

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"remit/internal/contract/jsontree"
)

// closedNotice is the last line of a server that shuts down to a bridge. It says that requests
// without a response were not begun.
const closedNotice = `{"jsonrpc":"2.0","method":"notifications/io.remit/closed"}`

// ServeBridge serves a connection of a Bridge until the bridge closes it or ctx is done. Unlike
// over stdio, the questions to the client have ids that no other connection uses, because the
// client may answer a question after its server has ended.
func (s *Server) ServeBridge(ctx context.Context, principal string, in io.Reader, out io.Writer) error {
	err := s.serveStream(ctx, principal, rand.Text()+"-", in, out)
	if err == nil && ctx.Err() != nil {
		_, err = io.WriteString(out, closedNotice+"\n")
	}
	return err
}

// Backend is a connection to a server that calls ServeBridge.
type Backend interface {
	io.ReadWriteCloser
	// CloseWrite tells the server that no more requests come.
	CloseWrite() error
	// Alive returns an error if the server no longer answers.
	Alive(ctx context.Context) error
}

// Bridge passes the messages of a stdio client on to a server in another process. If that server
// ends, it goes on with the next one, and the client keeps its session.
type Bridge struct {
	// Next connects to the server to go on with.
	Next func(ctx context.Context) (Backend, error)
	// IsReadOnly reports whether a tool certainly changes nothing, so that calls can be repeated.
	IsReadOnly func(tool string) bool
	// Quiet is how long a server may send nothing during a request before the bridge checks whether
	// it is alive.
	Quiet time.Duration
	Log   *slog.Logger
}

// Serve passes on messages until in ends or ctx is done, and the running requests are answered.
func (b *Bridge) Serve(ctx context.Context, first Backend, in io.Reader, out io.Writer) error {
	s := &bridged{
		Bridge: b, ctx: context.WithoutCancel(ctx), out: newWriter(out), backend: first, ownID: rand.Text(),
		pending: map[string]*pending{}, finished: make(chan struct{}),
	}
	go s.readServer(first)
	go s.watch()
	read := make(chan error, 1)
	go func() { read <- readLines(in, s.fromClient) }()
	var err error
	select {
	case err = <-read:
	case <-ctx.Done():
	case <-s.finished:
	}
	go s.endInput() // it waits while a server that hangs does not read
	select {
	case <-s.finished:
	case <-ctx.Done():
		select {
		case <-s.finished:
		case <-time.After(drainTimeout):
			return errors.New("the last requests were not answered in time")
		}
	}
	return errors.Join(err, s.err, s.out.close())
}

// bridged is the session of a client.
type bridged struct {
	*Bridge
	ctx   context.Context
	out   *writer
	ownID string // of requests of the bridge itself

	sending sync.Mutex // held while something is sent to the backend, and while it is replaced

	mu        sync.Mutex
	backend   Backend // nil if the next message connects; changed only while sending is held
	ended     bool    // the client sends nothing more; changed only while sending is held
	last      int     // number of the last request
	pending   map[string]*pending
	handshake []handshake
	heard     int  // number of messages from servers
	closed    bool // the backend has sent closedNotice

	finish   sync.Once
	finished chan struct{}
	err      error
}

// pending is a request without a response.
type pending struct {
	number int
	message
}

// handshake is a message that a new server must get before others.
type handshake struct {
	about string // a later message about the same replaces it
	message
}

// line returns a request or notification as it is sent.
func (m *message) line(id []byte) []byte {
	b := []byte(`{"jsonrpc":"2.0"`)
	if id != nil {
		b = append(append(b, `,"id":`...), id...)
	}
	b = jsontree.AppendString(append(b, `,"method":`...), m.method)
	if m.params.Kind != jsontree.Null {
		b = m.params.Append(append(b, `,"params":`...))
	}
	return append(b, '}', '\n')
}

// fromClient passes on a line of the client.
func (s *bridged) fromClient(line []byte) {
	if line == nil {
		s.out.send(rpcErrorf(codeInvalid, "Invalid request: a message may have at most %d bytes", maxLine).reply(nil, legacy))
		return
	}
	all, _, fault := readMessages(line, true)
	if !bytes.HasSuffix(line, []byte{'\n'}) {
		line = append(line, '\n')
	}
	s.sending.Lock()
	defer s.sending.Unlock()
	if s.ended {
		return
	}
	var lines [][]byte
	if s.backend == nil {
		lines = s.takeOver()
	}
	if fault == nil { // otherwise the server answers with an error
		s.note(all)
	}
	if s.backend == nil && !s.connect(lines) {
		return // it was answered
	}
	_, _ = s.backend.Write(line) // a failure ends the backend, and the requests are noted
}

// note remembers what the next server must know.
func (s *bridged) note(all []message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range all {
		m := &all[i]
		switch {
		case m.isAnswer():
		case m.isNotification():
			delete(s.pending, string(cancelled(m)))
			logRootsChanged(s.Log, m)
		default:
			s.last++
			if _, taken := s.pending[string(m.id)]; !taken {
				s.pending[string(m.id)] = &pending{s.last, *m}
			}
		}
		s.noteHandshake(m)
	}
}

func (s *bridged) noteHandshake(m *message) {
	about := m.method
	switch m.method {
	case "initialize", "notifications/initialized", "logging/setLevel":
	case "resources/subscribe", "resources/unsubscribe":
		uri := m.params.Field("uri")
		about = "subscription " + uri.Text
	default:
		return
	}
	s.handshake = slices.DeleteFunc(s.handshake, func(h handshake) bool { return h.about == about })
	if m.method != "resources/unsubscribe" {
		s.handshake = append(s.handshake, handshake{about, *m})
	}
}

// readServer passes on the lines of a server until its connection ends.
func (s *bridged) readServer(from Backend) {
	for reader := bufio.NewReaderSize(from, 1<<16); ; {
		line, err := reader.ReadBytes('\n')
		if err != nil { // a part of a line is of a server that was killed
			s.replace(from)
			return
		}
		s.fromServer(line[:len(line)-1])
	}
}

func (s *bridged) fromServer(line []byte) {
	if s.isForClient(line) {
		s.out.send(line)
	}
}

// isForClient reports whether a line of a server is for the client, and notes which requests it
// answers.
func (s *bridged) isForClient(line []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard++
	if string(line) == closedNotice {
		s.closed = true
		return false
	}
	id, failed := responseID(line)
	switch request := s.pending[string(id)]; {
	case id == nil && bytes.HasPrefix(line, []byte{'['}):
		s.noteBatch(line)
	case string(id) == `"`+s.ownID+`"`:
		return false
	case request != nil && request.method == "subscriptions/listen" && !failed && !s.ended:
		return false // the connection ends, but not the subscription of the client
	default:
		delete(s.pending, string(id))
	}
	return true
}

func (s *bridged) noteBatch(line []byte) {
	all, _, _ := readMessages(line, true)
	for i := range all {
		delete(s.pending, string(all[i].id))
	}
}

// responseID returns the id of a response, as appendHead writes it, or nil if the line is something
// else.
func responseID(line []byte) (id []byte, failed bool) {
	rest, ok := bytes.CutPrefix(line, []byte(`{"jsonrpc":"2.0","id":`))
	if !ok {
		return nil, false
	}
	end, quoted := 0, len(rest) > 0 && rest[0] == '"'
	for end++; end < len(rest) && (quoted || rest[end] != ','); end++ {
		switch rest[end] {
		case '"':
			quoted = false
		case '\\':
			end++
		}
	}
	if end >= len(rest) || bytes.HasPrefix(rest[end:], []byte(`,"method":`)) {
		return nil, false
	}
	return rest[:end], bytes.HasPrefix(rest[end:], []byte(`,"error":`))
}

// endInput tells the server that the client sends nothing more.
func (s *bridged) endInput() {
	s.sending.Lock()
	defer s.sending.Unlock()
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	if s.backend == nil {
		s.end(nil)
		return
	}
	_ = s.backend.CloseWrite() // a failure ends the backend
}

// replace goes on with another server after the connection to one has ended.
func (s *bridged) replace(old Backend) {
	_ = old.Close() // a blocked write returns
	s.sending.Lock()
	defer s.sending.Unlock()
	lines := s.takeOver()
	switch {
	case s.ended && len(lines) == 0:
		s.end(nil)
	case s.ended || s.waits():
		s.connect(lines)
	default: // a server that is restarted gets the time for that
		s.setBackend(nil)
	}
}

// waits reports whether the client waits for messages of a server.
func (s *bridged) waits() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.pending) > 0 || slices.ContainsFunc(s.handshake, func(h handshake) bool { return h.method == "resources/subscribe" })
}

func (s *bridged) setBackend(b Backend) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.backend = b
}

// connect connects to the next server and sends it lines. It returns false if there is none.
func (s *bridged) connect(lines [][]byte) bool {
	next, err := s.Next(s.ctx)
	if err != nil {
		s.failAll(err)
		s.end(err)
		return false
	}
	s.setBackend(next)
	go s.readServer(next)
	for _, line := range lines {
		_, _ = next.Write(line) // a failure ends the backend
	}
	if s.ended {
		_ = next.CloseWrite()
	}
	return true
}

// takeOver returns the lines that the next server gets first. It answers the requests whose outcome
// is not known.
func (s *bridged) takeOver() (lines [][]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var repeated [][]byte
	for _, request := range slices.SortedFunc(maps.Values(s.pending), byNumber) {
		if s.closed || s.canRepeat(&request.message) {
			repeated = append(repeated, request.line(request.id))
			continue
		}
		s.out.send(rpcErrorf(codeInternal, "The server of this workspace ended during the call, so it is not known whether the call "+
			"was carried out. Check that before you call again.").reply(request.id, legacy))
		delete(s.pending, string(request.id))
	}
	if s.ended && len(repeated) == 0 {
		return nil
	}
	for i := range s.handshake {
		h := &s.handshake[i]
		switch _, waits := s.pending[string(h.id)]; {
		case h.isNotification():
			lines = append(lines, h.line(nil))
		case !waits:
			lines = append(lines, h.line(jsontree.AppendString(nil, s.ownID)))
		}
	}
	s.closed = false
	return append(lines, repeated...)
}

func byNumber(a, b *pending) int { return cmp.Compare(a.number, b.number) }

// canRepeat reports whether a request that a server may have carried out can be sent again.
func (s *bridged) canRepeat(m *message) bool {
	switch m.method {
	case "tools/call":
		name := m.params.Field("name")
		_, keyed := metaOf(m).Get(metaKey)
		return keyed || s.IsReadOnly(name.Text)
	case "tasks/update":
		return false
	}
	return true
}

// failAll answers all requests, because there is no server to go on with.
func (s *bridged) failAll(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, request := range slices.SortedFunc(maps.Values(s.pending), byNumber) {
		s.out.send(rpcErrorf(codeInternal, "The server of this workspace has ended, and this process cannot replace it: %v", err).
			reply(request.id, legacy))
	}
	clear(s.pending)
}

func (s *bridged) end(err error) {
	s.finish.Do(func() {
		s.err = err
		close(s.finished)
	})
}

// watch closes the connection to a server that no longer answers.
func (s *bridged) watch() {
	ticker := time.NewTicker(s.Quiet)
	defer ticker.Stop()
	for before := -1; ; {
		select {
		case <-s.finished:
			return
		case <-ticker.C:
		}
		s.mu.Lock()
		heard, waits := s.heard, len(s.pending) > 0
		s.mu.Unlock()
		if !waits {
			heard = -1
		}
		if waits && heard == before {
			s.check()
		}
		before = heard
	}
}

func (s *bridged) check() {
	s.mu.Lock()
	backend := s.backend
	s.mu.Unlock()
	if backend == nil {
		return
	}
	if err := backend.Alive(s.ctx); err != nil {
		s.Log.Warn("the server of this workspace does not answer", "error", fmt.Errorf("check the server: %w", err))
		_ = backend.Close()
	}
}
