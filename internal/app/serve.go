package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/prometheus/client_golang/prometheus"

	"remit/internal/bodies"
	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/engine/jobs"
	"remit/internal/frontends/auth"
	"remit/internal/frontends/cli"
	"remit/internal/frontends/console"
	"remit/internal/frontends/httpapi"
	"remit/internal/frontends/httpserver"
	"remit/internal/frontends/mcp"
	"remit/internal/frontends/signedurl"
)

// grace is how long running requests may continue after the program is asked to end.
const grace = 30 * time.Second

// bodyMemory is how much memory the bodies of requests in progress may use together, in bytes.
const bodyMemory = 256 << 20

// ServeStdio serves MCP on a pair of streams until in ends.
func (a *App) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	return a.serveStdio(ctx, (*mcp.Server).ServeStdio, in, out)
}

// serveStdio serves a stdio client in this process, with a method of mcp.Server.
func (a *App) serveStdio(
	ctx context.Context, serve func(s *mcp.Server, ctx context.Context, principal string, in io.Reader, out io.Writer) error,
	in io.Reader, out io.Writer,
) error {
	defer loadBallast()()
	server := a.stdioServer(a.engine, a.sets)
	server.Log = a.log
	loopback := &signedurl.Loopback{Serve: a.serveLinks}
	a.serveOwnLinks(loopback.Base)
	a.links.ends = a.settings.PublicURL == ""
	a.announced.start()
	if _, err := os.Stat(a.settings.Data); err == nil { // otherwise nothing is stored yet
		a.describeProcess("stdio", "")
	}
	return errors.Join(serve(server, ctx, cli.LocalPrincipal, in, out), finish(ctx, server), loopback.Close())
}

// endpoint returns an MCP server for an engine.
func (a *App) endpoint(e *engine.Engine, sets []*contract.Set) *mcp.Server {
	place := a.storage.place + "\n" + strings.Join(namesOf(sets), ",")
	return &mcp.Server{
		Engine: e, Version: Version, Instructions: sync.OnceValue(func() string { return a.instructions(sets, e) }),
		Tasks: &jobs.Runner{
			Engine: e, Workspace: place, Log: a.log,
			Store: a.database.background, Now: a.database.now,
		},
		Arrived: func(c mcp.Arrival) {
			a.arrivals.Note(console.Arrival{
				At: time.Now(), Principal: c.Principal, Client: c.Client, Frontend: c.Frontend, Version: c.Version, Method: c.Method,
			})
		},
		States: &mcp.States{Secret: a.database.key, Workspace: place, UseOnce: a.database.spend, Now: a.clock.now},
	}
}

// instructions returns the instructions for a client's model.
func (a *App) instructions(sets []*contract.Set, e *engine.Engine) string {
	all := make([]string, len(sets))
	for i, set := range sets {
		all[i] = a.instructionsOf(set, e)
	}
	return strings.Join(all, "\n\n")
}

// instructionsOf returns the instructions of one set, without the sentences about tools that are
// not served.
func (a *App) instructionsOf(set *contract.Set, e *engine.Engine) string {
	var kept []string
	for _, sentence := range strings.SplitAfter(set.Instructions, ". ") {
		words := strings.FieldsFunc(sentence, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) })
		tools := slices.DeleteFunc(words, func(word string) bool { return !strings.Contains(word, "_") || !a.isTool(word) })
		if slices.ContainsFunc(tools, func(name string) bool { return !e.Serves(name) }) {
			continue
		}
		slices.Sort(tools)
		for _, name := range slices.Compact(tools) {
			if offered := e.Offered(set.Name, name); offered != "" {
				sentence = strings.ReplaceAll(sentence, name, offered)
			}
		}
		kept = append(kept, sentence)
	}
	return strings.TrimSpace(strings.Join(kept, ""))
}

// isTool reports whether any set has a tool of this name, served or not.
func (a *App) isTool(name string) bool {
	return slices.ContainsFunc(a.known, func(set *contract.Set) bool { return set.Find(name) != nil })
}

// finish waits for the background tasks of servers.
func finish(ctx context.Context, servers ...*mcp.Server) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	var errs []error
	for _, s := range servers {
		errs = append(errs, s.Tasks.Close(ctx))
	}
	return errors.Join(errs...)
}

// Serve serves HTTP until ctx ends. It calls ready with the URL.
func (a *App) Serve(ctx context.Context, ready func(url string)) error {
	defer loadBallast()()
	if err := a.PingDatabase(ctx); err != nil {
		return err
	}
	if a.hasBooks() {
		if err := a.stores.reach(ctx); err != nil {
			return err
		}
	}
	server, err := a.newServer(ctx)
	if err != nil {
		return err
	}
	authn, err := a.newAuth(server.Exposed)
	if err != nil {
		return err
	}
	server.AdmitsOtherUser, server.Rejected = authn.AdmitsOtherUser, authn.RecordRejected
	l, err := httpserver.Listen(ctx, a.settings.Addr, server.Exposed)
	if err != nil {
		return err
	}
	a.listening = a.scheme() + l.Addr().String()
	a.serveOwnLinks(func() (string, error) { return a.listening, nil })
	defer a.noteServed(a.listening)()
	a.describeProcess("serve", a.listening)
	protocol := mcp.NewHTTP(authn.Identity, mcp.Limits{}, time.Now)
	protocol.SessionEnded, protocol.Log = a.stats.ObserveSession, a.log
	protocol.Challenge, protocol.StillAllowed = authn.Challenge, authn.StillAllowed
	protocol.Bodies = bodies.NewBudget(bodyMemory, jsontree.MaxValues)
	mux := http.NewServeMux()
	servers, err := a.endpoints(mux, protocol)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	server.Handler, server.EndStreams = authn.Guard(direct(mux)), protocol.EndStreams
	connections := func() (open, limit, closed int64) { return httpserver.Connections(l) }
	a.plain(mux, protocol, server, authn, storageMetrics{a, connections})
	if err := a.addConsole(mux, server, authn, protocol.Bodies); err != nil {
		return errors.Join(err, l.Close())
	}
	if a.settings.OnHangup {
		onHangup(func() { _, _ = a.reload() }) // it logs what happened
	}
	defer a.serveLocal(ctx)()
	ready(a.listening)
	a.announced.start()
	a.warnForeignTokens(ctx)
	if err := a.anchor.check(ctx); err != nil {
		a.log.Warn("nothing is written until the data of this workspace is known to be its own", "error", err)
	}
	if server.Exposed {
		a.warnNoPublicURL()
	}
	a.log.Info("serving", "root", a.settings.Root, "toolsets", strings.Join(a.settings.Toolsets, ","),
		"approve", string(a.settings.Approve), "read_only", a.settings.ReadOnly)
	defer a.inBackground(ctx, a.calls.Follow)()
	defer a.inBackground(ctx, a.watchDamage)()
	defer a.inBackground(ctx, a.loadKnowledge)()
	defer a.followRetention(ctx)()
	return errors.Join(server.Serve(ctx, l, grace), finish(ctx, servers...))
}

// inBackground runs work until end is called.
func (a *App) inBackground(ctx context.Context, work func(context.Context)) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { work(ctx) })
	return func() { cancel(); running.Wait() }
}

// newServer prepares a server for the configured address, if that is safe.
func (a *App) newServer(ctx context.Context) (*httpserver.Server, error) {
	exposed, err := a.exposure(ctx)
	if err != nil {
		return nil, err
	}
	server := &httpserver.Server{Log: a.log, Public: a.isPublic, Exposed: exposed, Origin: originOf(a.settings.PublicURL), Proxied: a.settings.BehindProxy}
	if a.settings.TLSCert != "" {
		if server.TLS, err = httpserver.LoadCertificate(a.settings.TLSCert, a.settings.TLSKey, a.log); err != nil {
			return nil, err
		}
	}
	return server, nil
}

// endpoints adds /mcp for all selected toolsets, and /mcp/{toolset} for each toolset that can be
// used alone.
func (a *App) endpoints(mux *http.ServeMux, protocol *mcp.HTTP) ([]*mcp.Server, error) {
	servers := []*mcp.Server{a.endpoint(a.engine, a.sets)}
	mux.Handle("/mcp", protocol.Endpoint(servers[0]))
	var names []string
	for _, set := range a.addressable() {
		alone := []*contract.Set{set}
		e, err := a.newEngine(alone, a.options)
		if err != nil {
			return nil, err
		}
		server := a.endpoint(e, alone)
		servers = append(servers, server)
		names = append(names, set.Name)
		handler := protocol.Endpoint(server)
		mux.Handle("/mcp/"+set.Name, handler)
		if set.Namespace != "" {
			mux.Handle("/mcp/"+set.Namespace, handler)
		}
	}
	mux.HandleFunc("/mcp/{toolset}", func(w http.ResponseWriter, r *http.Request) {
		why := fmt.Sprintf("There is no toolset %q; available: %s", r.PathValue("toolset"), strings.Join(names, ", "))
		refuse(w, http.StatusNotFound, why)
	})
	return servers, nil
}

// addressable returns the sets that have a URL of their own. A set that was not selected is left
// out if the operator's rules do not fit its contracts, because the rules were written for other
// sets.
func (a *App) addressable() []*contract.Set {
	var all []*contract.Set
	for _, name := range a.settings.EndpointToolsets(a.known) {
		sets, err := chooseTools(a.known, a.settings, []string{name})
		if err != nil {
			a.log.Warn("a toolset is not served at a URL of its own", "toolset", name, "error", err)
			continue
		}
		all = append(all, sets...)
	}
	return all
}

func refuse(w http.ResponseWriter, status int, why string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	body := jsontree.Obj(jsontree.M("error", jsontree.Str(why)))
	_, _ = w.Write(body.Append(nil)) //nolint:gosec // JSON is not a page; a client that has gone needs no answer
}

// plain adds the routes that are not MCP.
func (a *App) plain(
	mux *http.ServeMux, protocol *mcp.HTTP, server *httpserver.Server, authn *auth.Authenticator, metrics prometheus.Collector,
) {
	api := &httpapi.API{
		Engine: a.engine, Identity: authn.Identity, Challenge: authn.Challenge, Version: Version, Log: a.log,
		Admit: protocol.Admit, Bodies: protocol.Bodies, Desk: a.desk, Address: authn.ClientAddress, Rejected: authn.RecordRejected,
		Health: func(ctx context.Context) map[string]error { return a.health(ctx, server.ShuttingDown()) },
		Metrics: httpapi.Metrics(a.stats, Version, metrics,
			gauge("remit_sessions", "Open sessions of MCP clients with protocol versions up to 2025-11-25.", protocol.Sessions),
			gauge("remit_streams", "Open streams.", protocol.Streams)),
	}
	api.Register(mux)
	authn.Register(mux)
	if a.hasBooks() {
		linked := http.NewServeMux()
		a.linked(authn, func(r *http.Request) string { return authn.Identity(r).Principal }, protocol.Admit).Register(linked)
		mux.Handle("/cdn/", a.readers(authn, linked))
		mux.Handle("/upload/", linked) // these two are signed, and need no other permission
		mux.Handle("/archives/", linked)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, http.StatusNotFound, fmt.Sprintf("There is nothing at %s; the console is at /, MCP at /mcp, tools at /tools", r.URL.Path))
	})
}

func gauge(name, help string, value func() int) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return float64(value()) })
}

// health returns the state of everything that calls depend on.
func (a *App) health(ctx context.Context, ending bool) map[string]error {
	var stopping error
	if ending { // so that a load balancer sends its callers to another replica
		stopping = errors.New("the server is shutting down")
	}
	parts := map[string]error{
		"serving":   stopping,
		"workspace": a.root.Check(),
		"data":      a.data.check(),
		"memory":    a.storage.checkMemory(),
		"database":  a.databaseHealth(ctx),
		"audit":     a.auditHealth(ctx),
	}
	if a.database.isShared() {
		parts["clock"] = a.database.checkClock(ctx)
	}
	if a.hasBooks() {
		parts["books"] = a.checkLibrary(ctx)
	}
	return parts
}

// hasBooks reports whether a library is configured and the book tools are served at any URL.
func (a *App) hasBooks() bool {
	served := slices.Concat(a.settings.Toolsets, a.settings.EndpointToolsets(a.known))
	return len(a.settings.Books) > 0 && slices.Contains(served, "books")
}

// direct skips the route lookup for the most frequent path.
func direct(mux *http.ServeMux) http.Handler {
	busiest, _ := mux.Handler(&http.Request{Method: http.MethodPost, URL: &url.URL{Path: "/mcp"}})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/mcp" {
			busiest.ServeHTTP(w, r)
			return
		}
		if !strings.HasPrefix(r.URL.Path, "/cdn/") { // other sites may embed assets in their pages
			httpserver.SetSecurityHeaders(w.Header())
		}
		mux.ServeHTTP(w, r)
	})
}
