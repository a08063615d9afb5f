package app

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"time"

	"remit/internal/contract/catalog"
	"remit/internal/frontends/cli"
	"remit/internal/frontends/localsocket"
	"remit/internal/frontends/mcp"
)

const (
	// dialTimeout is how long a server may take to accept this process. A server that hangs is not
	// used.
	dialTimeout = 2 * time.Second
	// quietServer is how long a server may send nothing during a request before a bridge checks
	// whether it hangs.
	quietServer = 10 * time.Second
)

// dialServer connects to a server of the workspace that may act for a process with these settings.
func dialServer(ctx context.Context, s *cli.Settings, purpose string, log *slog.Logger) (*localsocket.Conn, error) {
	if !s.Bridge || !isLocal(s) {
		return nil, localsocket.ErrNone
	}
	dir, err := socketFolder(s, false)
	if err != nil {
		return nil, localsocket.ErrNone // no server could have listened
	}
	factor, err := deadlineFactor(*s)
	if err != nil {
		return nil, err
	}
	client := &localsocket.Client{
		Dir: dir, Timeout: time.Duration(factor) * dialTimeout,
		Prove: func(owner string) ([]*os.File, error) { return openProof(s, dir, owner) },
		Hello: localsocket.Hello{Purpose: purpose, Settings: comparable(s), Toolsets: s.Toolsets, ReadOnly: s.ReadOnly},
	}
	conn, err := client.Dial(ctx)
	if err != nil && !errors.Is(err, localsocket.ErrNone) {
		log.Info("a server runs in this workspace, but this process works alone", "reason", err)
	}
	return conn, err
}

// connect implements cli.Program.Connect.
func connect(ctx context.Context, s cli.Settings, log *slog.Logger) cli.ServerConn {
	conn, err := dialServer(ctx, &s, purposeCommand, log)
	if err != nil {
		return nil
	}
	return conn
}

// bridge implements cli.Program.Bridge.
func bridge(ctx context.Context, s cli.Settings, log *slog.Logger, open cli.Opener, in io.Reader, out io.Writer) (bool, error) {
	first, err := dialServer(ctx, &s, purposeMCP, log)
	if err != nil {
		return false, nil //nolint:nilerr // then this process works alone
	}
	log.Debug("this process uses the server that runs in the workspace")
	alone := &aloneServer{open: open, log: log}
	b := &mcp.Bridge{IsReadOnly: isReadOnly, Quiet: quietServer, Log: log, Next: func(ctx context.Context) (mcp.Backend, error) {
		if alone.ended == nil {
			if next, err := dialServer(ctx, &s, purposeMCP, log); err == nil {
				return next, nil
			}
		}
		return alone.start(ctx)
	}}
	return true, errors.Join(b.Serve(ctx, first, in, out), alone.close())
}

// isReadOnly reports whether all tools with this name only read.
func isReadOnly(tool string) bool {
	known, err := catalog.Load()
	found := false
	for _, set := range known {
		if c := set.Find(tool); c != nil {
			if !c.Hints.ReadOnly {
				return false
			}
			found = true
		}
	}
	return err == nil && found
}

// aloneServer is the server in this process that a bridge goes on with.
type aloneServer struct {
	open  cli.Opener
	log   *slog.Logger
	app   *App
	ended chan error // nil until start
}

// start opens the workspace and serves it to the bridge.
func (s *aloneServer) start(ctx context.Context) (mcp.Backend, error) {
	if s.ended != nil {
		return nil, errors.Join(errors.New("the session has ended"), <-s.ended)
	}
	s.log.Info("the server of this workspace ended, so this process goes on alone")
	w, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	s.app, s.ended = w.(*App), make(chan error, 1)
	requests, toServer := io.Pipe()
	fromServer, responses := io.Pipe()
	go func() {
		err := s.app.serveStdio(ctx, (*mcp.Server).ServeBridge, requests, responses)
		_ = requests.CloseWithError(io.ErrClosedPipe)
		_ = responses.Close()
		s.ended <- err
	}()
	return pipes{fromServer, toServer}, nil
}

func (s *aloneServer) close() error {
	if s.app == nil {
		return nil
	}
	return s.app.Close()
}

// pipes is a connection within this process.
type pipes struct {
	*io.PipeReader
	to *io.PipeWriter
}

func (p pipes) Write(b []byte) (int, error) { return p.to.Write(b) }

func (p pipes) CloseWrite() error { return p.to.Close() }

func (p pipes) Close() error { return errors.Join(p.PipeReader.Close(), p.to.Close()) }

func (pipes) Alive(context.Context) error { return nil }
