// Package httpapi answers plain HTTP: a tool is a POST of its arguments, and
// scripts, load balancers and Prometheus find what they need beside it.
package httpapi

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/engine/identity"
)

// API is the plain HTTP face of one engine. Fields do not change once it serves.
type API struct {
	Engine  *engine.Engine
	Who     func(*http.Request) identity.Identity
	Version string // of the program
	Log     *slog.Logger
	MaxBody int64                                      // bytes of a request body; 0 is 32 MiB
	Health  func(ctx context.Context) map[string]error // what must work, by name; nil if nothing must
	Metrics http.Handler                               // nil if nobody counts
	// Challenge says in the headers of an answer how to be let in, if err is that nobody
	// calls or that a token lacks a scope, and gives the status; 0 if it is neither. nil
	// if everybody is known.
	Challenge func(w http.ResponseWriter, r *http.Request, err error) (status int)
	// Admit and AdmitLarge bound the requests that run and the bytes of large ones,
	// together with those of other faces; nil if nothing is bounded.
	Admit      func() (leave func(), ok bool)
	AdmitLarge func(size int64) (leave func(), ok bool)

	listOnce sync.Once
	listed   document // the answer of GET /tools, for those who may do everything
}

const defaultMaxBody = 32 << 20

// Register adds the routes of the face. It claims its paths for every method, so
// a catch-all beside it must not name one.
func (a *API) Register(mux *http.ServeMux) {
	route(mux, "/tools", methods{http.MethodGet: a.list})
	route(mux, "/tools/{name}", methods{http.MethodGet: a.describe, http.MethodPost: a.call})
	route(mux, "/health", methods{http.MethodGet: a.health})
	if a.Metrics != nil {
		route(mux, "/metrics", methods{http.MethodGet: a.onlyKnown(a.Metrics.ServeHTTP)})
	}
}

func (a *API) who(r *http.Request) identity.Identity {
	if a.Who == nil {
		return identity.Identity{}
	}
	return a.Who(r)
}

// known answers whoever said nothing of who they are, and gives false.
func (a *API) known(w http.ResponseWriter, r *http.Request) (who identity.Identity, ok bool) {
	who = a.who(r)
	if who.Principal != "" || a.Challenge == nil {
		return who, true
	}
	unnamed := identity.Unnamed(who.Grant, "This server")
	refuse(w, cmp.Or(a.Challenge(w, r, unnamed), http.StatusServiceUnavailable), contract.AsError(unnamed).Message)
	return who, false
}

// onlyKnown serves those who say who they are.
func (a *API) onlyKnown(serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if _, ok := a.known(w, r); ok {
			serve(w, r)
		}
	}
}

// methods are the handlers of one path.
type methods map[string]http.HandlerFunc

// route serves the methods of a path, and says of all others which there are. The
// mux would do that too, but not beside a catch-all.
func route(mux *http.ServeMux, path string, served methods) {
	allow := "GET, HEAD" // the mux gives HEAD to the handler of GET
	if served[http.MethodPost] != nil {
		allow += ", POST"
	}
	for method, handler := range served {
		mux.HandleFunc(method+" "+path, handler)
	}
	mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", allow)
		refuse(w, http.StatusMethodNotAllowed, r.Method+" is not allowed here; use "+strings.ReplaceAll(allow, ", ", " or "))
	})
}

// refuse answers a request that reached no tool.
func refuse(w http.ResponseWriter, status int, message string) {
	body := jsontree.Obj(jsontree.M("error", jsontree.Str(message)))
	answer(w, status, body.Append(nil))
}

// answer sends JSON that is true now, and perhaps not in a moment.
func answer(w http.ResponseWriter, status int, body []byte) {
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Type", "application/json")
	header.Set("Content-Length", strconv.Itoa(len(body)))
	header.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(body) //nolint:gosec // JSON that is not sniffed is no page; a client that has gone cannot be told
}
