// Package httpserver runs the HTTP server. It rejects requests from foreign web pages, limits what
// a client can hold, and shuts down without losing a response. It does not authenticate callers;
// package auth does.
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
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Limits of one connection.
const (
	// To receive a request; a handler that expects more data extends it.
	readTimeout    = 10 * time.Second
	idleTimeout    = 2 * time.Minute // between two requests
	maxHeaderBytes = 64 << 10        // bytes of all headers of a request
	maxConnections = 16_384
)

// Server answers HTTP requests until it is stopped.
type Server struct {
	Handler http.Handler
	Log     *slog.Logger
	// EndStreams ends open event streams when the server shuts down.
	EndStreams func()
	// Public reports whether a request reads only public data, so that any host name and origin is
	// allowed. It may be nil.
	Public func(*http.Request) bool
	// Exposed means that other machines may connect, under any host name. This is safe because
	// callers must authenticate.
	Exposed bool
	// Origin is the public URL's origin, such as https://remit.example.com, or "". If it is set,
	// no other host name is served, except addresses of this machine.
	Origin  string
	Proxied bool         // a proxy terminates TLS
	TLS     *Certificate // nil for plain HTTP
	// AdmitsOtherUser reports whether a request is served although it comes from another user of
	// this machine. It is asked only if the server is not exposed. If it is nil, none is served.
	AdmitsOtherUser func(*http.Request) bool
	// Rejected is told of requests that are rejected before any handler sees them. It may be nil.
	Rejected func(r *http.Request, reason string)

	ending      atomic.Bool
	active      atomic.Int64 // requests in progress
	lastRequest atomic.Int64 // when the last request arrived, in Unix nanoseconds
}

// IsLoopback reports whether only this machine can reach an address.
func IsLoopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	return err == nil && isLoopback(host)
}

// Listen opens a TCP listener. It returns an error for an address that other machines can reach
// unless exposed is true. The caller must ensure that an exposed server authenticates its callers
// and uses encryption.
func Listen(ctx context.Context, addr string, exposed bool) (net.Listener, error) {
	if _, _, err := net.SplitHostPort(addr); err != nil {
		return nil, fmt.Errorf("--addr %s: give a host and a port, such as 127.0.0.1:8722", addr)
	}
	if !exposed && !IsLoopback(addr) {
		return nil, fmt.Errorf("--addr %s: other machines could connect; use a loopback address", addr)
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("--addr %s: the address is in use; choose another port, or port 0 for any free one", addr)
	case err != nil:
		return nil, fmt.Errorf("--addr %s: %w", addr, err)
	}
	if bound, err := netip.ParseAddrPort(l.Addr().String()); !exposed && (err != nil || !bound.Addr().IsLoopback()) {
		return nil, errors.Join(fmt.Errorf("--addr %s: the name resolves to %s, which is not a loopback address", addr, l.Addr()), l.Close())
	}
	return limitConnections(l, connectionLimit()), nil
}

// ShuttingDown reports whether the server is shutting down.
func (s *Server) ShuttingDown() bool { return s.ending.Load() }

// isLoopback reports whether a host is localhost or a loopback address.
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

// Serve answers requests until ctx ends, and then shuts down: every request that was read is
// answered. It returns an error if requests are still running after grace.
func (s *Server) Serve(ctx context.Context, l net.Listener, grace time.Duration) error {
	server := &http.Server{
		Handler:           s.trackRequests(s.guard(l.Addr().String(), s.Handler)),
		ReadHeaderTimeout: readTimeout,
		ReadTimeout:       readTimeout, // equal, so that net/http sets one deadline for both
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ConnState:         noteState,
		ErrorLog:          slog.NewLogLogger(s.Log.Handler(), slog.LevelDebug),
	}
	if !s.Exposed && l.Addr().Network() == "tcp" {
		isOtherUser, end := newPeerFinder(s.Log)
		defer end()
		if isOtherUser != nil {
			server.ConnContext = markOtherUsers(isOtherUser)
		}
	}
	failed := make(chan error, 1)
	go func() { failed <- s.accept(server, l) }()
	if err := s.waitForEnd(ctx, l, failed); err != nil {
		return err
	}
	closed := l.Close() // first, so that a new connection is refused now rather than cut off later
	<-failed            // Serve returns once the listener is closed
	s.lastRequest.Store(time.Now().UnixNano())
	s.ending.Store(true)
	s.Log.Info("shutting down; finishing requests in progress", "requests", s.active.Load())
	s.EndStreams()
	s.waitForQuiet(l)
	if l, ok := l.(*limitedListener); ok {
		l.closeUnused()
	}
	finish, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if server.Shutdown(finish) != nil || !s.waitForRequests(finish) {
		return errors.Join(fmt.Errorf("requests still running after %s were aborted", grace), server.Close())
	}
	return closed
}

// accept serves connections until the listener is closed.
func (s *Server) accept(server *http.Server, l net.Listener) error {
	if s.TLS == nil {
		return server.Serve(l)
	}
	server.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: s.TLS.get}
	// Streams that outlive their request hijack the connection, which HTTP/2 does not allow.
	server.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){}
	return server.ServeTLS(l, "", "")
}

// waitForRequests waits for requests that hijacked their connection: Shutdown does not wait for
// them.
func (s *Server) waitForRequests(ctx context.Context) bool {
	for s.active.Load() > 0 {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(quietTime / 10):
		}
	}
	return true
}

// waitForEnd returns when ctx ends, or with an error when serving fails.
func (s *Server) waitForEnd(ctx context.Context, l net.Listener, failed <-chan error) error {
	var warn sync.Once
	ticker := time.NewTicker(2 * time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-failed:
			return fmt.Errorf("serve: %w", err)
		case <-ticker.C:
			if l, ok := l.(*limitedListener); ok {
				l.releaseMemory()
			}
			if _, limit, closed := Connections(l); closed > 0 {
				warn.Do(func() {
					s.Log.Warn("idle connections are closed, because too many are open; raise the limit of file descriptors if they are yours",
						"limit", limit)
				})
			}
		}
	}
}

// At shutdown, connections are closed once no request has arrived for quietTime, and after
// maxQuietWait at the latest.
const (
	quietTime    = 150 * time.Millisecond
	maxQuietWait = time.Second
)

// waitForQuiet lets clients finish on their open connections: each response asks them not to reuse
// the connection. Closing connections at once would lose requests that are on their way. It returns
// at once if no connection is open.
func (s *Server) waitForQuiet(l net.Listener) {
	listener, _ := l.(*limitedListener)
	for deadline := time.Now().Add(maxQuietWait); time.Now().Before(deadline); time.Sleep(quietTime / 30) {
		idle := s.active.Load() == 0
		if idle && (listener != nil && listener.open.Load() == 0 || time.Since(time.Unix(0, s.lastRequest.Load())) > quietTime) {
			return
		}
	}
}

// trackRequests keeps track of requests in progress.
func (s *Server) trackRequests(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.active.Add(1)
		defer s.active.Add(-1)
		if s.ending.Load() {
			s.lastRequest.Store(time.Now().UnixNano())
			w.Header()["Connection"] = []string{"close"}
		}
		if r.ContentLength == 0 || 0 < r.ContentLength && r.ContentLength <= netHTTPDiscardBytes && !r.Close {
			next.ServeHTTP(w, r)
			return
		}
		tracked := *r // net/http still needs the body of its own request
		body := &body{ReadCloser: r.Body, left: r.ContentLength}
		tracked.Body = body
		next.ServeHTTP(w, &tracked)
		if !body.whole && !body.awaitsContinue(r) {
			discardBody(w, r)
		}
	})
}

// netHTTPDiscardBytes is how many unread bytes of a body net/http discards by itself, unless the
// client asked to close the connection.
const netHTTPDiscardBytes = 256 << 10

// body records whether it was read completely.
type body struct {
	io.ReadCloser
	left  int64 // negative if the length is unknown
	whole bool
}

// awaitsContinue reports whether the client waits for 100 Continue and the handler has not read the
// body.
func (b *body) awaitsContinue(r *http.Request) bool {
	return r.Header["Expect"] != nil && b.left == r.ContentLength
}

// Read implements io.Reader.
func (b *body) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	b.left -= int64(n)
	b.whole = b.whole || b.left == 0 || errors.Is(err, io.EOF)
	return n, err
}

// How many bytes of a rejected request are read and discarded, and for how long.
const (
	maxDiscardBytes = 128 << 20
	discardTimeout  = 5 * time.Second
)

// discardBody discards the unread rest of a request. Closing a connection with unread data resets
// it, and then the client does not see the response.
func discardBody(w http.ResponseWriter, r *http.Request) {
	control := http.NewResponseController(w)
	if control.Flush() != nil || control.SetReadDeadline(time.Now().Add(discardTimeout)) != nil {
		return
	}
	// The connection is closed next in any case.
	_, _ = io.CopyN(io.Discard, r.Body, maxDiscardBytes)
}

// guard rejects requests of other users of this machine, and requests that a foreign web page may
// have sent: those with a foreign host name (DNS rebinding), a foreign origin, or fetch metadata of
// another site.
func (s *Server) guard(addr string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case fromOtherUser(r) && (s.AdmitsOtherUser == nil || !s.AdmitsOtherUser(r)):
			s.reject(w, r, "another user", "This connection belongs to another user of this machine, or its user cannot be "+
				"determined; send a token as the header Authorization: Bearer TOKEN. The user who runs the server creates one with: remit token create")
		case s.Public != nil && s.Public(r):
			next.ServeHTTP(w, r)
		case !s.isOwnHost(r, addr):
			s.reject(w, r, "host", "This server accepts only its own host names; use the URL that it printed at its start, or its public URL")
		case !s.isOwnOrigin(r.Header["Origin"], r.Host):
			s.reject(w, r, "origin", "This server does not accept requests from web pages of other sites or ports")
		case isForeignFetch(r):
			s.reject(w, r, "fetch site", "This server does not accept requests from web pages of other sites or ports; open the URL directly")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// reject answers 403: a JSON-RPC error for MCP endpoints, plain JSON for others.
func (s *Server) reject(w http.ResponseWriter, r *http.Request, reason, message string) {
	s.Log.Info("request rejected", "path", r.URL.Path, "reason", reason, "host", r.Host, "origin", r.Header.Get("Origin"))
	if s.Rejected != nil {
		s.Rejected(r, reason)
	}
	SetSecurityHeaders(w.Header())
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusForbidden)
	if strings.HasPrefix(r.URL.Path, "/mcp") {
		fmt.Fprintf(w, `{"jsonrpc":"2.0","error":{"code":-32600,"message":%q}}`, message)
	} else {
		fmt.Fprintf(w, `{"error":%q}`, message)
	}
}

// SetSecurityHeaders sets headers that keep browsers from framing a response, sniffing its type or
// running content in it. The console's pages set their own policy.
func SetSecurityHeaders(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
}

// hostOf removes the port. It leaves anything else alone, such as localhost:80@evil, which may lead
// elsewhere.
func hostOf(hostport string) string {
	if host, port, err := net.SplitHostPort(hostport); err == nil && strings.Trim(port, "0123456789") == "" {
		return host
	}
	return hostport
}

// isOwnHost reports whether a request names this server: a loopback address, the address that it
// came to, or, if other machines may connect, the host of the public URL. Without a public URL, any
// name may be ours.
func (s *Server) isOwnHost(r *http.Request, addr string) bool {
	if r.Host == addr || isLoopback(hostOf(r.Host)) {
		return true
	}
	if !s.Exposed || s.Origin == "" || s.isPublicHost(r.Host) {
		return s.Exposed
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return ok && r.Host == local.String()
}

// isPublicHost reports whether a host, with or without a port, is that of the public URL.
func (s *Server) isPublicHost(host string) bool {
	scheme, public, _ := strings.Cut(s.Origin, "://")
	if _, _, err := net.SplitHostPort(public); err != nil { // the usual port
		host = strings.TrimSuffix(host, map[string]string{"https": ":443", "http": ":80"}[scheme])
	}
	return public != "" && strings.EqualFold(host, public)
}

// isOwnOrigin reports whether a request was not sent by a web page, or by one of this server: at
// its public URL, or at another host that it accepts. All programs on a machine share its host
// names, so scheme and port must be ours too.
func (s *Server) isOwnOrigin(origins []string, host string) bool {
	switch {
	case len(origins) != 1:
		return len(origins) == 0
	case s.Origin != "" && origins[0] == s.Origin:
		return true
	case s.isPublicHost(host):
		return false
	case s.TLS != nil || s.Proxied && s.Origin == "" && !isLoopback(hostOf(host)):
		return origins[0] == "https://"+host
	}
	return origins[0] == "http://"+host
}

// isForeignFetch reports whether a browser says that a page of another site or port caused the
// request. A link to one of our pages is allowed: its page cannot read the response.
func isForeignFetch(r *http.Request) bool {
	site := r.Header["Sec-Fetch-Site"]
	switch {
	case len(site) == 0, len(site) == 1 && (site[0] == "same-origin" || site[0] == "none"):
		return false
	default:
		return r.Method != http.MethodGet || r.Header.Get("Sec-Fetch-Mode") != "navigate" || r.Header.Get("Sec-Fetch-Dest") != "document"
	}
}
