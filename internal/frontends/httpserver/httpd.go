// Package httpserver listens for HTTP: it refuses what should not be heard, bounds
// what a client can hold, and ends without losing an answer.
package httpserver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// What one connection may take.
const (
	readPatience   = 10 * time.Second // for a request to arrive; a handler that expects more extends it
	idlePatience   = 2 * time.Minute  // between two requests
	maxHeader      = 64 << 10         // bytes of all headers of a request
	maxConnections = 16_384
)

// Server answers HTTP requests until it is told to end.
type Server struct {
	Handler http.Handler
	Log     *slog.Logger
	// EndStreams ends answers that would go on for ever, when the server ends.
	EndStreams func()
	// Public tells requests that may come by any name and from any web page, because
	// they ask for nothing that is not public; nil if there are none.
	Public func(*http.Request) bool
	// Exposed says that others than this machine may connect, by whatever name: callers
	// say who they are, so a name that leads here is no danger.
	Exposed bool
	Origin  string       // where web pages of our own may come from besides, such as https://remit.example.com
	TLS     *Certificate // nil is plain HTTP

	ending atomic.Bool
	active atomic.Int64 // requests under way
	latest atomic.Int64 // when the last one came, in Unix nanoseconds
}

// IsLoopback tells whether only this machine can reach an address.
func IsLoopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	return err == nil && isLoopback(host)
}

// Listen opens the address. One that others can reach has to be allowed by whoever
// knows that callers say who they are, and that nobody can listen in.
func Listen(ctx context.Context, addr string, exposed bool) (net.Listener, error) {
	if _, _, err := net.SplitHostPort(addr); err != nil {
		return nil, fmt.Errorf("--addr %s: give a host and a port, such as 127.0.0.1:8722", addr)
	}
	if !exposed && !IsLoopback(addr) {
		return nil, fmt.Errorf("--addr %s: others than this machine could connect", addr)
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("--addr %s: another program listens there; choose another port, or port 0 for any that is free", addr)
	case err != nil:
		return nil, fmt.Errorf("--addr %s: %w", addr, err)
	}
	if bound, err := netip.ParseAddrPort(l.Addr().String()); !exposed && (err != nil || !bound.Addr().IsLoopback()) {
		return nil, errors.Join(fmt.Errorf("--addr %s: the name leads to %s, which is not loopback", addr, l.Addr()), l.Close())
	}
	return limit(l, maxConnections), nil
}

// Ending tells whether the server was told to end.
func (s *Server) Ending() bool { return s.ending.Load() }

// isLoopback tells a name of this machine that no other machine can reach.
func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		host = host[1 : len(host)-1]
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// Serve answers until ctx ends, and then finishes what is under way: every
// request that was read is answered. It gives up when grace is over.
func (s *Server) Serve(ctx context.Context, l net.Listener, grace time.Duration) error {
	server := &http.Server{
		Handler:           s.count(s.guard(l.Addr().String(), s.Handler)),
		ReadHeaderTimeout: readPatience,
		ReadTimeout:       readPatience, // the same: then net/http sets one deadline for both
		IdleTimeout:       idlePatience,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(s.Log.Handler(), slog.LevelDebug),
	}
	failed := make(chan error, 1)
	go func() { failed <- s.accept(server, l) }()
	if err := s.await(ctx, l, failed); err != nil {
		return err
	}
	closed := l.Close() // first: a new connection is refused now, rather than cut off later
	<-failed            // it ends with its listener
	s.latest.Store(time.Now().UnixNano())
	s.ending.Store(true)
	s.Log.Info("stopping; requests under way are finished first", "requests", s.active.Load())
	s.EndStreams()
	s.awaitQuiet(l)
	if l, ok := l.(*limited); ok {
		l.closeSilent()
	}
	finish, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if server.Shutdown(finish) != nil || !s.awaitAll(finish) {
		return errors.Join(fmt.Errorf("requests still ran after %s and were given up", grace), server.Close())
	}
	return closed
}

// accept answers on a listener until that is closed.
func (s *Server) accept(server *http.Server, l net.Listener) error {
	if s.TLS == nil {
		return server.Serve(l)
	}
	server.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: s.TLS.get}
	// Streams that outlive their request take over the connection, which HTTP/2 shares.
	server.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){}
	return server.ServeTLS(l, "", "")
}

// awaitAll waits for requests that let their connection go: net/http has lost
// sight of them.
func (s *Server) awaitAll(ctx context.Context) bool {
	for s.active.Load() > 0 {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(quiet / 10):
		}
	}
	return true
}

// await returns when the server is told to end, or cannot go on.
func (s *Server) await(ctx context.Context, l net.Listener, failed <-chan error) error {
	look := time.NewTicker(2 * time.Second)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-failed:
			return fmt.Errorf("serve: %w", err)
		case <-look.C:
			if l, ok := l.(*limited); ok {
				l.giveBack()
			}
		}
	}
}

// How long no request must have come before connections are closed, and how long
// that is waited for at most.
const (
	quiet       = 150 * time.Millisecond
	quietAtMost = time.Second
)

// awaitQuiet lets clients finish on the connections they have: each answer tells
// them not to use it again. To close a connection at once would lose a request
// that is already on its way. Where there is none open, there is nothing to wait for.
func (s *Server) awaitQuiet(l net.Listener) {
	counts, _ := l.(*limited)
	for deadline := time.Now().Add(quietAtMost); time.Now().Before(deadline); time.Sleep(quiet / 30) {
		idle := s.active.Load() == 0
		if idle && (counts != nil && counts.open.Load() == 0 || time.Since(time.Unix(0, s.latest.Load())) > quiet) {
			return
		}
	}
}

// count keeps track of requests under way.
func (s *Server) count(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.active.Add(1)
		defer s.active.Add(-1)
		if s.ending.Load() {
			s.latest.Store(time.Now().UnixNano())
			w.Header()["Connection"] = []string{"close"}
		}
		if 0 <= r.ContentLength && r.ContentLength <= restOfNetHTTP {
			next.ServeHTTP(w, r)
			return
		}
		tracked := *r // net/http goes by the body of its own
		body := &body{ReadCloser: r.Body, left: r.ContentLength}
		tracked.Body = body
		next.ServeHTTP(w, &tracked)
		if !body.whole && !body.unasked(r) {
			takeRest(w, r)
		}
	})
}

// restOfNetHTTP is how much of an unread body net/http takes in by itself.
const restOfNetHTTP = 256 << 10

// body knows whether all of it was read.
type body struct {
	io.ReadCloser
	left  int64 // less than zero if its length is not known
	whole bool
}

// unasked tells a body that the client sends only when it is told to, and that
// nobody has asked for.
func (b *body) unasked(r *http.Request) bool {
	return r.Header["Expect"] != nil && b.left == r.ContentLength
}

// Read reads on.
func (b *body) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	b.left -= int64(n)
	b.whole = b.whole || b.left == 0 || errors.Is(err, io.EOF)
	return n, err
}

// How much of a request that was refused unread is taken in all the same, and how
// long that may take.
const (
	restAtMost   = 128 << 20
	restPatience = 5 * time.Second
)

// takeRest reads what a handler left of a request. A connection that is closed
// with unread data is reset, and then the client never sees why it was refused.
func takeRest(w http.ResponseWriter, r *http.Request) {
	control := http.NewResponseController(w)
	if control.Flush() != nil || control.SetReadDeadline(time.Now().Add(restPatience)) != nil {
		return
	}
	_, _ = io.CopyN(io.Discard, r.Body, restAtMost) // whatever ends it, the connection is closed next
}

// guard refuses requests that a web page of somebody else may have sent: a name
// that only leads here, or a page that is not of this machine.
func (s *Server) guard(addr string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch origins := r.Header["Origin"]; {
		case s.Public != nil && s.Public(r):
			next.ServeHTTP(w, r)
		case !s.Exposed && r.Host != addr && !isLoopback(hostOf(r.Host)):
			s.forbid(w, r, "This server answers to names of this machine alone; use the address that it printed at its start")
		case len(origins) > 1 || len(origins) == 1 && !s.isOurs(origins[0], r.Host):
			s.forbid(w, r, "This server takes no requests from web pages of other machines")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// forbid answers in the words of whoever would have been asked.
func (s *Server) forbid(w http.ResponseWriter, r *http.Request, why string) {
	s.Log.Info("refused", "path", r.URL.Path, "host", r.Host, "origin", r.Header.Get("Origin"))
	Unframed(w.Header())
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusForbidden)
	if strings.HasPrefix(r.URL.Path, "/mcp") {
		fmt.Fprintf(w, `{"jsonrpc":"2.0","error":{"code":-32600,"message":%q}}`, why)
	} else {
		fmt.Fprintf(w, `{"error":%q}`, why)
	}
}

// Unframed keeps browsers from showing an answer within a page, or as one that runs
// something. Pages say more about themselves.
func Unframed(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
}

// hostOf leaves out the port. What is no port may lead elsewhere: localhost:80@evil.
func hostOf(hostport string) string {
	if host, port, err := net.SplitHostPort(hostport); err == nil && strings.Trim(port, "0123456789") == "" {
		return host
	}
	return hostport
}

// isOurs tells whether a web page is our own, or of this machine.
func (s *Server) isOurs(origin, host string) bool {
	if !s.Exposed {
		return isLocalOrigin(origin)
	}
	return origin != "" && origin == s.Origin || origin == "https://"+host || s.TLS == nil && origin == "http://"+host
}

func isLocalOrigin(origin string) bool {
	for _, scheme := range []string{"http://", "https://"} {
		if rest, ok := strings.CutPrefix(origin, scheme); ok {
			return isLoopback(hostOf(rest))
		}
	}
	return false
}
