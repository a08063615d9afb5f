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

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/engine/jobs"
	"remit/internal/frontends/auth"
	"remit/internal/frontends/cli"
	"remit/internal/frontends/httpapi"
	"remit/internal/frontends/httpserver"
	"remit/internal/frontends/mcp"
	"remit/internal/frontends/signedurl"
	"remit/internal/stores/workspace"
)

// grace is how long requests may go on once the program is told to end.
const grace = 30 * time.Second

// ServeStdio speaks MCP on a pair of streams until in ends.
func (a *App) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	defer loadBallast()()
	server := a.endpoint(a.engine, a.sets)
	loopback := &signedurl.Loopback{Serve: a.serveLinks}
	a.own(loopback.Base)
	return errors.Join(server.ServeStdio(ctx, cli.Local, in, out), finish(ctx, server), loopback.Close())
}

// endpoint is an MCP server for an engine.
func (a *App) endpoint(e *engine.Engine, sets []*contract.Set) *mcp.Server {
	var names []string
	for _, set := range sets {
		names = append(names, set.Name)
	}
	place := a.kept.place + "\n" + strings.Join(names, ",")
	return &mcp.Server{
		Engine: e, Version: Version, Instructions: sync.OnceValue(func() string { return a.instructions(sets, e) }),
		Tasks: &jobs.Runner{
			Engine: e, Place: place, Log: a.log,
			Store: a.database.background,
		},
		States: &mcp.States{Secret: a.database.key, Place: place, Spend: a.database.spend, Now: time.Now},
	}
}

// instructions are what a client's model is told.
func (a *App) instructions(sets []*contract.Set, e *engine.Engine) string {
	all := make([]string, len(sets))
	for i, set := range sets {
		all[i] = a.instructionsOf(set, e)
	}
	return strings.Join(all, "\n\n")
}

// instructionsOf are what it is told of one set, without the sentences about tools that
// are not served.
func (a *App) instructionsOf(set *contract.Set, e *engine.Engine) string {
	var kept []string
	for _, sentence := range strings.SplitAfter(set.Instructions, ". ") {
		words := strings.FieldsFunc(sentence, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) })
		absent := func(word string) bool { return strings.Contains(word, "_") && a.isTool(word) && !e.Serves(word) }
		if !slices.ContainsFunc(words, absent) {
			kept = append(kept, sentence)
		}
	}
	return strings.TrimSpace(strings.Join(kept, ""))
}

// isTool tells whether any set has a tool of this name, served or not.
func (a *App) isTool(name string) bool {
	return slices.ContainsFunc(a.known, func(set *contract.Set) bool { return set.Find(name) != nil })
}

// finish lets the tasks of a server end.
func finish(ctx context.Context, servers ...*mcp.Server) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	var errs []error
	for _, s := range servers {
		errs = append(errs, s.Tasks.Close(ctx))
	}
	return errors.Join(errs...)
}

// Serve answers HTTP until ctx ends. ready is told the address.
func (a *App) Serve(ctx context.Context, ready func(url string)) error {
	defer loadBallast()()
	if err := a.Reach(ctx); err != nil {
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
	entrance, err := a.newDoor(server.Exposed)
	if err != nil {
		return err
	}
	l, err := httpserver.Listen(ctx, a.settings.Addr, server.Exposed)
	if err != nil {
		return err
	}
	a.listening = a.scheme() + l.Addr().String()
	a.own(func() (string, error) { return a.listening, nil })
	defer a.noteServed(a.listening)()
	protocol := mcp.NewHTTP(entrance.Who, mcp.Limits{}, time.Now)
	protocol.SessionEnded, protocol.Log = a.stats.ObserveSession, a.log
	protocol.Challenge, protocol.Still = entrance.Challenge, entrance.Still
	mux := http.NewServeMux()
	servers, err := a.endpoints(mux, protocol)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	server.Handler, server.EndStreams = entrance.Guard(direct(mux)), protocol.EndStreams
	a.plain(mux, protocol, server, entrance)
	if err := a.addConsole(mux, server, entrance); err != nil {
		return errors.Join(err, l.Close())
	}
	ready(a.listening)
	a.warnStrange(ctx, entrance)
	if server.Exposed {
		a.warnUnnamed()
	}
	a.log.Info("serving", "root", a.settings.Root, "toolsets", strings.Join(a.settings.Toolsets, ","), "approve", string(a.settings.Approve), "read_only", a.settings.ReadOnly)
	defer a.followCalls(ctx)()
	return errors.Join(server.Serve(ctx, l, grace), finish(ctx, servers...))
}

// followCalls keeps the index of calls up to date until end is called.
func (a *App) followCalls(ctx context.Context) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var following sync.WaitGroup
	following.Go(func() { a.calls.Follow(ctx) })
	return func() { cancel(); following.Wait() }
}

// newServer prepares to listen where the settings say, if that is safe.
func (a *App) newServer(ctx context.Context) (*httpserver.Server, error) {
	exposed, err := a.exposure(ctx)
	if err != nil {
		return nil, err
	}
	server := &httpserver.Server{Log: a.log, Public: a.isPublic, Exposed: exposed, Origin: originOf(a.settings.PublicURL)}
	if a.settings.TLSCert != "" {
		if server.TLS, err = httpserver.LoadCertificate(a.settings.TLSCert, a.settings.TLSKey, a.log); err != nil {
			return nil, err
		}
	}
	return server, nil
}

// endpoints adds /mcp for all toolsets that were chosen, and /mcp/{toolset} for
// each that can be had alone.
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
		mux.Handle("/mcp/"+set.Name, protocol.Endpoint(server))
	}
	mux.HandleFunc("/mcp/{toolset}", func(w http.ResponseWriter, r *http.Request) {
		why := fmt.Sprintf("There is no toolset %q here; there are %s", r.PathValue("toolset"), strings.Join(names, ", "))
		refuse(w, http.StatusNotFound, why)
	})
	return servers, nil
}

// addressable are the sets with an address of their own. One that nobody asked for
// is left out if the operator's rules do not fit its contracts: they were written
// for others.
func (a *App) addressable() []*contract.Set {
	var all []*contract.Set
	for _, name := range a.settings.Addressable(a.known) {
		sets, err := chooseTools(a.known, a.settings, []string{name})
		if err != nil {
			a.log.Warn("a toolset has no address of its own", "toolset", name, "error", err)
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
	_, _ = w.Write(body.Append(nil)) //nolint:gosec // JSON is no page; a client that is gone needs no answer
}

// plain adds what is not MCP.
func (a *App) plain(mux *http.ServeMux, protocol *mcp.HTTP, server *httpserver.Server, entrance *auth.Door) {
	api := &httpapi.API{
		Engine: a.engine, Who: entrance.Who, Challenge: entrance.Challenge, Version: Version, Log: a.log, Admit: protocol.Admit, AdmitLarge: protocol.AdmitLarge,
		Health: func(ctx context.Context) map[string]error { return a.health(ctx, server.Ending()) },
		Metrics: httpapi.Metrics(a.stats, Version,
			gauge("remit_sessions", "Sessions of MCP clients up to 2025-11-25.", protocol.Sessions),
			gauge("remit_streams", "Streams that are open.", protocol.Streams)),
	}
	api.Register(mux)
	entrance.Register(mux)
	if a.hasBooks() {
		linked := http.NewServeMux()
		a.linked(protocol.Admit).Register(linked)
		mux.Handle("/cdn/", readers(entrance, linked))
		mux.Handle("/upload/", linked) // these two are signed: they ask for no other right
		mux.Handle("/archives/", linked)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, http.StatusNotFound, fmt.Sprintf("There is nothing at %s; the console is at /, MCP at /mcp, tools at /tools", r.URL.Path))
	})
}

func gauge(name, help string, value func() int) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return float64(value()) })
}

// health is what must work for calls to succeed.
func (a *App) health(ctx context.Context, ending bool) map[string]error {
	var stopping error
	if ending { // a load balancer should send its callers elsewhere
		stopping = errors.New("the server ends")
	}
	parts := map[string]error{
		"serving":   stopping,
		"workspace": folderExists(workspace.RealPath(a.settings.Root)),
		"database":  a.database.ping(ctx),
		"audit":     a.options.Audit.Ready(time.Now()),
	}
	if a.hasBooks() {
		parts["books"] = a.stores.ping(ctx)
	}
	return parts
}

// hasBooks tells whether there are books, and tools for them are served by whichever
// address.
func (a *App) hasBooks() bool {
	served := slices.Concat(a.settings.Toolsets, a.settings.Addressable(a.known))
	return len(a.settings.Books) > 0 && slices.Contains(served, "books")
}

func folderExists(name string) error {
	info, err := os.Stat(name)
	if err == nil && !info.IsDir() {
		err = errors.New("it is no folder any more")
	}
	return err
}

// direct spares the busiest path the search for its route.
func direct(mux *http.ServeMux) http.Handler {
	busiest, _ := mux.Handler(&http.Request{Method: http.MethodPost, URL: &url.URL{Path: "/mcp"}})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/mcp" {
			busiest.ServeHTTP(w, r)
			return
		}
		if !strings.HasPrefix(r.URL.Path, "/cdn/") { // assets are there to be shown in pages of others
			httpserver.Unframed(w.Header())
		}
		mux.ServeHTTP(w, r)
	})
}
