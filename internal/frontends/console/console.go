// Package console is the web console: pages on which people see what agents do, and
// decide what they may.
package console

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"remit/internal/engine"
	"remit/internal/engine/approval"
	"remit/internal/engine/audit/auditindex"
	"remit/internal/engine/identity"
	"remit/internal/engine/ratelimit"
	"remit/internal/toolsets/books"
)

// Console serves the pages of one workspace. Fields do not change once it serves.
type Console struct {
	Version string
	Root    string         // the folder that is served, for people
	Engine  *engine.Engine // what people try: contracts are kept in full
	Pages   *engine.Engine // what pages are made from: the same tools, without rates
	// Approvals opens the store of approvals; to look at one that was never made leaves
	// no trace.
	Approvals func(ctx context.Context) (approval.Store, error)
	Calls     *auditindex.Index
	People    People
	Tokens    Tokens
	Settings  func() []Setting
	Health    func(ctx context.Context) map[string]error
	Clients   func(base string) []Client // how clients connect to the server at base
	Base      func() string              // where people reach the server
	Secure    bool                       // cookies travel over TLS alone
	Identity  func() string              // how callers are told apart, in words
	// TokensNeeded tells whether callers over HTTP have to send a token.
	TokensNeeded func() bool
	Audit        engine.Auditor
	Limiter      ratelimit.Limiter // of attempts to sign in
	// Address tells from where a request comes.
	Address func(r *http.Request) string
	// Preview tells what a file holds now and what it will hold once a request is
	// approved, and how people name it; not ok if the tool writes no file.
	Preview func(ctx context.Context, r approval.Request) (before, after, name string, ok bool)
	// History gives the changes of a file of a book, or of the whole book if the path is
	// empty, the newest first, at most so many.
	History func(ctx context.Context, book, path string, most int) ([]books.Change, error)
	// Changed gives a change of a file of a book by its version, with the texts before and
	// after it.
	Changed func(ctx context.Context, book, path, version string) (before, after string, c books.Change, err error)
	// Asset opens the asset of a book at a key.
	Asset func(ctx context.Context, key string) (*books.Asset, error)
	Now   func() time.Time
	Log   *slog.Logger

	known http.ServeMux // the pages alone, to tell which methods one takes
	pages sync.Map      // of what parses a template, once, by its name
	live  hub
}

// People are those who are signed in.
type People interface {
	// Redeem exchanges a one-time token for a session; cookie is its secret. An error
	// is a contract.Denied: the token is not ours, was used, or has expired.
	Redeem(ctx context.Context, token string) (cookie string, who identity.Person, expires time.Time, err error)
	// Person is who holds a cookie, and notes that they are there. An error is a
	// contract.Denied.
	Person(ctx context.Context, cookie string) (identity.Person, error)
	// Look is Person for requests that no person made.
	Look(ctx context.Context, cookie string) (identity.Person, error)
	// End ends the session of a cookie.
	End(ctx context.Context, cookie string) error
	// People are the sessions that let somebody in now, the newest first.
	People(ctx context.Context) ([]identity.Session, error)
	// SignOut ends all sessions of a person, and tells how many.
	SignOut(ctx context.Context, name string) (ended int, err error)
	// Link makes a one-time token for somebody, good for so long.
	Link(who identity.Person, good time.Duration) (token string, err error)
}

// Tokens are those of agents.
type Tokens interface {
	Create(ctx context.Context, t identity.NewToken) (secret string, made identity.Token, err error)
	List(ctx context.Context) ([]identity.Token, error)
	Revoke(ctx context.Context, name string) (identity.Token, error)
}

// Setting is a part of the effective configuration, secrets left out.
type Setting struct{ Key, Value, Origin string }

// Client is a program that Remit can be connected to, and how.
type Client struct {
	ID, Title string
	Command   string // to type in a shell; "" if there is none
	Place     string // the file that holds its configuration
	Language  string // of Snippet: json, toml
	Snippet   string // what that file must hold
	Link      string // opens the client and asks there; "" if it knows no such link
	Notes     string
}

// The faces by which people's calls come in. A page that reads what it shows is recorded
// too, because it may show what is private, but nobody called a tool.
const (
	faceConsole = "console" // somebody did something
	facePage    = "page"    // a page was looked at
)

// Register adds the routes of the face: the overview at /, all else beneath
// /console/.
func (c *Console) Register(mux *http.ServeMux) {
	for _, r := range c.routes() {
		mux.HandleFunc(r.pattern, c.guarded(r))
		c.known.HandleFunc(r.pattern, http.NotFound)
	}
	c.registerPublic(mux)
	for _, rest := range []string{"/console/", "/{$}"} {
		mux.HandleFunc(rest, c.protected((*visit).noPage))
	}
}

// route is a page: who may see it, and what makes it. An error becomes a page of its
// own, by its kind.
type route struct {
	pattern string // as http.ServeMux has it: "GET /console/tasks"
	needs   identity.Role
	serve   func(v *visit) error
}

// routes are all pages that need a signed-in person.
func (*Console) routes() []route {
	return []route{
		{"GET /{$}", identity.Viewer, (*visit).overview},
		{"GET /console/overview/{part}", identity.Viewer, (*visit).overviewPart},
		{"GET /console/approvals", identity.Viewer, (*visit).inbox},
		{"GET /console/approvals/{id}", identity.Viewer, (*visit).request},
		{"GET /console/approvals/{id}/state", identity.Viewer, (*visit).requestState},
		{"POST /console/approvals/{id}/decide", identity.Approver, (*visit).decide},
		{"GET /console/settings", identity.Admin, (*visit).settings},
		{"POST /console/settings/tokens", identity.Admin, (*visit).makeToken},
		{"POST /console/settings/tokens/{id}/revoke", identity.Admin, (*visit).revokeToken},
		{"POST /console/settings/links", identity.Admin, (*visit).makeLink},
		{"POST /console/settings/signout", identity.Admin, (*visit).signOutOther},
		{"GET /console/connect", identity.Viewer, (*visit).connect},
		{"GET " + eventsPath, identity.Viewer, (*visit).events},
		{"POST /console/logout", identity.Viewer, (*visit).signOut},
		{"GET /console/tools", identity.Viewer, (*visit).listTools},
		{"GET /console/tools/{name}", identity.Viewer, (*visit).showTool},
		{"POST /console/tools/{name}/try", identity.Viewer, (*visit).tryTool}, // and more for a tool that writes
		{"GET /console/calls", identity.Viewer, (*visit).listCalls},
		{"GET " + livePath, identity.Viewer, (*visit).listCalls},
		{"GET /console/calls/series", identity.Viewer, (*visit).callSeries},
		{"GET /console/calls/{id}", identity.Viewer, (*visit).showCall},
		{"GET /console/tasks", identity.Viewer, func(v *visit) error { return v.showTasks(taskForm{}) }},
		{"POST /console/tasks", identity.Approver, (*visit).addTask},
		{"POST /console/tasks/{id}/done", identity.Approver, (*visit).completeTask},
		{"GET /console/books", identity.Viewer, (*visit).showBooks},
		{"GET /console/books/{book}", identity.Viewer, (*visit).showBook},
		{"GET /console/books/{book}/read/{path...}", identity.Viewer, (*visit).showLesson},
		{"GET /console/books/{book}/changes/{version}/{path...}", identity.Viewer, (*visit).showVersion},
		{"GET /console/books/{book}/asset/{path...}", identity.Viewer, (*visit).sendAsset},
		{"GET /console/search", identity.Viewer, (*visit).showSearch},
		{"GET /console/files/{path...}", identity.Viewer, (*visit).showFile},
		{"GET /console/memory", identity.Viewer, (*visit).showMemory},
	}
}

// visit is one request of a person.
type visit struct {
	*Console
	w      http.ResponseWriter
	r      *http.Request
	person identity.Person
	// lasting ends when the browser goes; the context of r ends earlier, when a page
	// should long have been made.
	lasting context.Context
}
