// Package httpapi serves the plain HTTP API: calling tools by POST, the tool list, health checks
// and Prometheus metrics. It does not authenticate callers; package auth does.
package httpapi

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"remit/internal/bodies"
	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/engine/approval"
	"remit/internal/engine/identity"
)

// API is the plain HTTP front end of an engine. Its fields must not change after the first request.
type API struct {
	Engine   *engine.Engine
	Identity func(*http.Request) identity.Identity
	Version  string // of the program
	Log      *slog.Logger
	// Returns the results of the health checks by name; may be nil.
	Health  func(ctx context.Context) map[string]error
	Metrics http.Handler // nil if metrics are off
	// Where people decide about requests; nil if they cannot here.
	Desk *approval.Desk
	// Address returns where a request comes from, and Rejected records one that tried to decide
	// without being a person. They are needed with Desk.
	Address  func(*http.Request) string
	Rejected func(r *http.Request, reason string)
	// Challenge sets the headers that tell the client how to authenticate if err means that the
	// caller is anonymous or that the token lacks a scope. It returns the status of the response,
	// or 0 for other errors. It is nil if every caller is known.
	Challenge func(w http.ResponseWriter, r *http.Request, err error) (status int)
	// Admit limits the requests in progress and Bodies the memory of large ones, together with
	// other front ends. If they are nil, there is no limit.
	Admit  func() (leave func(), ok bool)
	Bodies *bodies.Budget

	listOnce sync.Once
	toolList document // the response of GET /tools for callers without restrictions
}

// Register adds the routes. It handles every method of its paths, so a catch-all route beside it
// must not name a method.
func (a *API) Register(mux *http.ServeMux) {
	route(mux, "/tools", methods{http.MethodGet: a.list})
	route(mux, "/tools/{name}", methods{http.MethodGet: a.describe, http.MethodPost: a.call})
	route(mux, "/health", methods{http.MethodGet: a.health})
	if a.Desk != nil {
		a.registerApprovals(mux)
	}
	if a.Metrics != nil {
		route(mux, "/metrics", methods{http.MethodGet: a.requireIdentity(a.Metrics.ServeHTTP)})
	}
}

func (a *API) who(r *http.Request) identity.Identity {
	if a.Identity == nil {
		return identity.Identity{}
	}
	return a.Identity(r)
}

// identify returns the caller's identity. It answers anonymous callers itself and returns false.
func (a *API) identify(w http.ResponseWriter, r *http.Request) (who identity.Identity, ok bool) {
	who = a.who(r)
	if who.Principal != "" || a.Challenge == nil {
		return who, true
	}
	unnamed := identity.AnonymousError(who.Grant, "This server")
	writeError(w, cmp.Or(a.Challenge(w, r, unnamed), http.StatusServiceUnavailable), contract.AsError(unnamed).Message)
	return who, false
}

// requireIdentity rejects anonymous callers.
func (a *API) requireIdentity(serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if _, ok := a.identify(w, r); ok {
			serve(w, r)
		}
	}
}

// methods are the handlers of one path.
type methods map[string]http.HandlerFunc

// route serves the methods of a path and answers 405 to all others. The mux would do that too, but
// not beside a catch-all.
func route(mux *http.ServeMux, path string, handlers methods) {
	var allowed []string
	if handlers[http.MethodGet] != nil {
		allowed = append(allowed, "GET", "HEAD") // the mux passes HEAD to the handler of GET
	}
	if handlers[http.MethodPost] != nil {
		allowed = append(allowed, "POST")
	}
	allow := strings.Join(allowed, ", ")
	for method, handler := range handlers {
		mux.HandleFunc(method+" "+path, handler)
	}
	mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", allow)
		writeError(w, http.StatusMethodNotAllowed, r.Method+" is not allowed here; use "+strings.ReplaceAll(allow, ", ", " or "))
	})
}

// writeError answers a request that reached no tool.
func writeError(w http.ResponseWriter, status int, message string) {
	body := jsontree.Obj(jsontree.M("error", jsontree.Str(message)))
	writeJSON(w, status, body.Append(nil))
}

// writeJSON sends JSON that must not be cached.
func writeJSON(w http.ResponseWriter, status int, body []byte) {
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Type", "application/json")
	header.Set("Content-Length", strconv.Itoa(len(body)))
	header.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(body) //nolint:gosec // JSON with nosniff is not rendered as a page
}
