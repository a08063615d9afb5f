// Package localsocket connects processes of one user on one machine over Unix sockets. A server
// listens in a private folder. A client that connects shows with open files that it could have done
// by itself what it asks the server to do. The package does not know what the two say afterwards.
package localsocket

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// ErrNone means that no server runs.
var ErrNone = errors.New("no server runs in this workspace")

// RefusedError means that the server cannot act for this client.
type RefusedError struct{ Why string }

func (e *RefusedError) Error() string { return e.Why }

// greeting is the first line that a server sends.
type greeting struct {
	Owner string `json:"owner"` // identifies the server
}

// Hello is what a client tells the server about itself.
type Hello struct {
	Purpose  string            `json:"purpose"`  // what the client will say afterwards
	Settings map[string]string `json:"settings"` // settings that must be equal, or digests of them
	Toolsets []string          `json:"toolsets"`
	ReadOnly bool              `json:"read_only"`
}

// welcome is the answer of the server.
type welcome struct {
	Refused string `json:"refused"` // why; "" if the client is welcome
}

const (
	suffix   = ".sock"
	maxHello = 64 << 10 // bytes
	maxFiles = 8        // that a client may send
	// maxConnections bounds the connections of a server, which take file descriptors from others.
	// Further clients work alone.
	maxConnections = 64
	// helloTimeout is how long a client may take to say who it is.
	helloTimeout = 10 * time.Second
)

// Server accepts connections.
type Server struct {
	Owner string // identifies the server
	// Check returns why the server cannot act for a client. The files are closed afterwards.
	Check func(h *Hello, files []*os.File) error
	// Serve serves a connection, and returns when it has ended or ctx is done.
	Serve func(ctx context.Context, h *Hello, conn net.Conn)
	Log   *slog.Logger
}

// Run accepts connections until ctx is done, and waits until all have ended. It closes l.
func (s *Server) Run(ctx context.Context, l *Listener) {
	var open sync.WaitGroup
	defer open.Wait()
	defer context.AfterFunc(ctx, l.close)()
	defer l.close()
	slots := make(chan struct{}, maxConnections)
	for {
		conn, err := l.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // such as too many open files
			s.Log.Warn("cannot accept a connection of a local client", "error", err)
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
			continue
		}
		select {
		case slots <- struct{}{}:
		default:
			_ = conn.Close() // the client works alone
			continue
		}
		open.Go(func() {
			defer func() { <-slots }()
			defer func() { _ = conn.Close() }() // everything was written
			s.serve(ctx, conn)
		})
	}
}

// serve checks a client and serves it.
func (s *Server) serve(ctx context.Context, conn *net.UnixConn) {
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })
	hello, err := s.admit(conn)
	if !stop() || err != nil {
		s.Log.Debug("a local client was not admitted", "error", err)
		return
	}
	s.Serve(ctx, hello, conn)
}

// admit greets a client, and answers whether it is welcome.
func (s *Server) admit(conn *net.UnixConn) (*Hello, error) {
	if err := checkPeer(conn); err != nil {
		return nil, err
	}
	if err := conn.SetDeadline(time.Now().Add(helloTimeout)); err != nil {
		return nil, err
	}
	if err := writeLine(conn, greeting{s.Owner}); err != nil {
		return nil, err
	}
	line, files, err := receive(conn)
	defer closeAll(files)
	if err != nil {
		return nil, err
	}
	hello := new(Hello)
	if err = json.Unmarshal(line, hello); err == nil {
		err = s.Check(hello, files)
	}
	var answer welcome
	if err != nil {
		answer.Refused = err.Error()
	}
	if err := errors.Join(err, writeLine(conn, answer)); err != nil {
		return nil, err
	}
	return hello, conn.SetDeadline(time.Time{})
}

// Client connects to a server.
type Client struct {
	Dir string // the folder of the sockets, which belongs to this user alone
	// Prove opens the files that show the server what this process may do.
	Prove   func(owner string) ([]*os.File, error)
	Hello   Hello
	Timeout time.Duration // of the whole exchange; a server that hangs is none
}

// Dial connects to a server that can act for this client. It tries all servers. If there is none,
// the error is ErrNone or a *RefusedError.
func (c *Client) Dial(ctx context.Context) (*Conn, error) {
	entries, err := os.ReadDir(c.Dir)
	if err != nil {
		return nil, ErrNone
	}
	err = ErrNone
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), suffix) {
			continue
		}
		conn, failed := c.dial(ctx, entry.Name())
		if failed == nil {
			return &Conn{conn, c, entry.Name()}, nil
		}
		var refused *RefusedError
		if errors.Is(err, ErrNone) || errors.As(failed, &refused) {
			err = failed
		}
	}
	return nil, err
}

// Conn is a connection to a server.
type Conn struct {
	*net.UnixConn
	client *Client
	name   string // of the socket
}

// Alive returns nil if the server still answers new connections.
func (c *Conn) Alive(ctx context.Context) error {
	probe := *c.client
	probe.Prove = func(string) ([]*os.File, error) { return nil, errGreeted }
	if _, err := probe.dial(ctx, c.name); !errors.Is(err, errGreeted) {
		return err
	}
	return nil
}

// errGreeted ends an exchange after the greeting.
var errGreeted = errors.New("the server answers")

func (c *Client) dial(ctx context.Context, name string) (_ *net.UnixConn, err error) {
	if err := checkSocket(filepath.Join(c.Dir, name)); err != nil {
		return nil, err
	}
	address, release, err := addressOf(c.Dir, name)
	if err != nil {
		return nil, err
	}
	defer release()
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	dialed, err := new(net.Dialer).DialContext(ctx, "unix", address)
	if err != nil {
		return nil, ErrNone // a server that was killed leaves its socket
	}
	conn := dialed.(*net.UnixConn)
	defer func() {
		if err != nil {
			_ = conn.Close() // nothing was asked
		}
	}()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	if err := c.introduce(conn); err != nil {
		return nil, err
	}
	if !stop() {
		return nil, ctx.Err()
	}
	return conn, nil
}

// introduce tells the server about this client, and returns an error unless it is welcome.
func (c *Client) introduce(conn *net.UnixConn) error {
	if err := checkPeer(conn); err != nil {
		return err
	}
	var hail greeting
	if err := readLine(conn, &hail); err != nil {
		return err
	}
	files, err := c.Prove(hail.Owner)
	defer closeAll(files)
	if err != nil {
		return err
	}
	hello, err := json.Marshal(&c.Hello)
	if err != nil {
		return fmt.Errorf("encode hello: %w", err)
	}
	if err := send(conn, append(hello, '\n'), files); err != nil {
		return err
	}
	var answer welcome
	if err := readLine(conn, &answer); err != nil {
		return err
	}
	if answer.Refused != "" {
		return &RefusedError{answer.Refused}
	}
	return nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close() // nothing was written
	}
}

func writeLine(conn io.Writer, v any) error {
	line, err := json.Marshal(v)
	if err == nil {
		_, err = conn.Write(append(line, '\n'))
	}
	return err
}

// readLine reads one line, and not a byte more: what follows is not ours.
func readLine(conn io.Reader, v any) error {
	line := make([]byte, 0, 256)
	for one := make([]byte, 1); len(line) < maxHello; {
		if _, err := io.ReadFull(conn, one); err != nil {
			return fmt.Errorf("read from the server: %w", err)
		}
		if one[0] == '\n' {
			return json.Unmarshal(line, v)
		}
		line = append(line, one[0])
	}
	return errors.New("the server sent a line that is too long")
}

// receive reads the line of a client, with the files that it sent.
func receive(conn *net.UnixConn) (line []byte, files []*os.File, err error) {
	buffer := make([]byte, maxHello)
	for {
		n, more, err := receivePart(conn, buffer[len(line):])
		files = append(files, more...)
		line = buffer[:len(line)+n]
		switch {
		case err != nil:
			return nil, files, fmt.Errorf("read hello: %w", err)
		case len(files) > maxFiles:
			return nil, files, errors.New("the client sent too many files")
		case bytes.HasSuffix(line, []byte{'\n'}):
			return line, files, nil
		case n == 0 || len(line) == len(buffer):
			return nil, files, errors.New("the hello of the client is incomplete or too long")
		}
	}
}
