// Package console serves the web console: pages on which people watch what agents do, decide
// requests for approval, and manage tokens and sessions. It calls tools through the engine like
// every other front end. It imports no store: everything else that pages show comes in through the
// fields of Console.
package console

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	"remit/internal/bodies"
	"remit/internal/contract"
	"remit/internal/engine"
	"remit/internal/engine/approval"
	"remit/internal/engine/audit/auditindex"
	"remit/internal/engine/identity"
	"remit/internal/engine/passkey"
	"remit/internal/engine/ratelimit"
	"remit/internal/toolsets/books"
)

// Console serves the pages of one workspace. Do not change its fields after Register.
type Console struct {
	Version string
	Root    string         // the served folder, as pages show it
	Engine  *engine.Engine // runs the calls that people make; enforces contracts in full
	Pages   *engine.Engine // runs the calls that pages make; the same tools without rate limits
	// Own returns the engine that runs the tools which only people have: those of tasks-undo. If it
	// is nil, pages do not offer them.
	Own func() (*engine.Engine, error)
	// Approvals opens the store of approval requests. Reading from a store that does not exist yet
	// does not create it.
	Approvals func(ctx context.Context) (approval.Store, error)
	Calls     *auditindex.Index
	People    People
	Tokens    Tokens
	Settings  func() []Setting
	// Trust returns what people have trusted in the workspace.
	Trust func() Trust
	// ToolRules returns the operator's rules for tools, in the order of their names.
	ToolRules func() []ToolRule
	// Reload reads the configuration again, and returns the settings that need a restart of the
	// server.
	Reload func() (restart []string, err error)
	Health func(ctx context.Context) map[string]error
	// Clients returns how each client connects to the server at base. token is the secret of a
	// token that was just made; "" for a placeholder.
	Clients  func(base, token string) []Client
	Arrivals *Arrivals     // of MCP clients
	Base     func() string // the URL at which people reach the server
	Secure   bool          // send cookies over TLS only
	Identity func() string // how callers are identified, as a sentence
	// TokensRequired reports whether callers over HTTP must send a token.
	TokensRequired func() bool
	Audit          engine.Auditor
	Limiter        ratelimit.Limiter // limits failed sign-ins and rejected requests
	// Address returns the client address of a request.
	Address func(r *http.Request) string
	// Desk shows what requests would do, and takes decisions.
	Desk *approval.Desk
	// Passkeys are those with which people sign their approvals.
	Passkeys *passkey.Keys
	Proxied  bool // a proxy may change the host that requests name
	// History returns at most max changes of a file of a book, newest first. If the path is empty,
	// it returns those of the whole book.
	History func(ctx context.Context, book, path string, max int) ([]books.Change, error)
	// Change returns the change of a file of a book that created a version, with the text before
	// and after it.
	Change func(ctx context.Context, book, path, version string) (before, after string, c books.Change, err error)
	// Holdings says how much the workspace holds. Pages ask every few seconds. If it is nil, pages
	// do not show it.
	Holdings func(ctx context.Context) (Holdings, error)
	// Asset opens the asset of a book that has the given key.
	Asset func(ctx context.Context, key string) (*books.Asset, error)
	Now   func() time.Time
	Log   *slog.Logger
	// Bodies bounds the memory of large forms, together with other front ends. If it is nil, there
	// is no bound.
	Bodies *bodies.Budget

	routeMux  http.ServeMux // only the pages, to find out which methods a path accepts
	templates sync.Map      // functions that parse a template once, by its name
	live      hub
	topics    topicCache
	pulses    pulseCache
	started   string // when Register was called; no other process has the same
	opened    opened
}

// People manages the sessions of people.
type People interface {
	// Peek returns the person whom a one-time token signs in, without using it. It returns a
	// contract.Denied error if the token is unknown or expired.
	Peek(token string) (identity.Person, error)
	// Redeem exchanges a one-time token for a session and returns the secret of its cookie. It
	// returns a contract.Denied error if the token is unknown, used or expired.
	Redeem(ctx context.Context, token string) (cookie string, who identity.Person, expires time.Time, err error)
	// Person returns the person whose session has the cookie, and records their activity, which
	// keeps the session alive. It returns a contract.Denied error if there is no such session.
	Person(ctx context.Context, cookie string) (identity.Person, error)
	// PersonWithoutTouch is like Person, but does not record activity. It is for requests that a
	// page makes by itself.
	PersonWithoutTouch(ctx context.Context, cookie string) (identity.Person, error)
	// End ends the session that has the cookie.
	End(ctx context.Context, cookie string) error
	// People returns the valid sessions, newest first.
	People(ctx context.Context) ([]identity.Session, error)
	// SignOut ends all sessions of a person and returns their number.
	SignOut(ctx context.Context, name string) (ended int, err error)
	// EndSession ends the valid session with this id and returns it. It returns a contract.NotFound
	// error if there is none.
	EndSession(ctx context.Context, id string) (identity.Session, error)
	// Link creates a one-time sign-in token for a person. It is valid for the given time.
	Link(who identity.Person, valid time.Duration) (token string, err error)
}

// Tokens manages the tokens of agents.
type Tokens interface {
	Create(ctx context.Context, t identity.NewToken) (secret string, made identity.Token, err error)
	List(ctx context.Context) ([]identity.Token, error)
	Revoke(ctx context.Context, name string) (identity.Token, error)
	// Narrow takes rights from a live token, which gets another id.
	Narrow(ctx context.Context, id string, n identity.Narrowing) (identity.Token, error)
}

// Setting is one value of the effective configuration, without secrets.
type Setting struct{ Key, Value, Origin string }

// Trust is what the configuration file of the workspace asks for beyond the defaults, and what
// people have trusted of it. Values contain no passwords.
type Trust struct {
	File    string
	Entries []TrustedEntry
}

// TrustedEntry is a key of the configuration file. By is "" if nobody has trusted its value.
type TrustedEntry struct {
	Key, Value string
	InForce    bool
	By         string
	At         time.Time
}

// ToolRule is what the operator changed about a tool.
type ToolRule struct {
	Tool string // its name
	File string // the configuration file that contains the rule
	Rule contract.Tightening
	// Contract is the contract as it was before; nil if no served toolset has the tool.
	Contract *contract.Contract
}

// Client describes how a program connects to Remit.
type Client struct {
	ID, Title string
	Command   string // the shell command that connects it; "" if there is none
	File      string // the file that holds its configuration
	Language  string // of Snippet: json, toml
	Snippet   string // the text to put into that file
	// A URL that opens the client and installs the server; "" if the client has none.
	Link  string
	Notes string
	// Snippet and Link contain the token itself, because the client reads no environment variables.
	Literal bool
}

// Holdings is how much a workspace holds now.
type Holdings struct {
	Tasks       int64
	MemoryFiles int64
	MemoryBytes int64
	// Database is the size of the database, with the indexes of code and calls.
	Database  int64
	Records   int64 // size of the audit records
	Free, All int64 // of the disk with the data folder; 0 if unknown
}

// The front end names in the records of calls that people make. Reads of a page are recorded too,
// because the page may show private data, but they are not calls that a person made.
const (
	frontendConsole = "console" // a person called a tool or changed something
	frontendPage    = "page"    // a page read what it shows
)

// Register adds the routes of the console to mux: the overview at /, everything else below
// /console/.
func (c *Console) Register(mux *http.ServeMux) {
	c.started = strconv.FormatInt(c.Now().UnixMicro(), 36)
	for _, r := range c.routes() {
		mux.HandleFunc(r.pattern, c.guarded(r))
		c.routeMux.HandleFunc(r.pattern, http.NotFound)
	}
	c.registerPublic(mux)
	for _, rest := range []string{"/console/", "/{$}"} {
		mux.HandleFunc(rest, c.protected((*visit).notFound))
	}
}

// route is a page, with the role that it requires. If serve returns an error, the visitor gets the
// error page for its kind.
type route struct {
	pattern string // in the syntax of http.ServeMux: "GET /console/tasks"
	needs   identity.Role
	serve   func(v *visit) error
}

// routes returns all pages that require a signed-in person.
func (*Console) routes() []route {
	return []route{
		{"GET /{$}", identity.Viewer, (*visit).overview},
		{"GET " + pulsePath, identity.Viewer, (*visit).showPulse},
		{"GET /console/approvals", identity.Viewer, (*visit).inbox},
		{"GET /console/approvals/{id}", identity.Viewer, (*visit).request},
		{"GET /console/approvals/{id}/state", identity.Viewer, (*visit).requestState},
		{"GET /console/approvals/{id}/lines", identity.Viewer, (*visit).requestLines},
		{"GET /console/approvals/{id}/records", identity.Viewer, (*visit).requestRecords},
		{"GET /console/approvals/{id}/toast", identity.Viewer, (*visit).requestToast},
		{"POST /console/approvals/decide", identity.Approver, (*visit).decideSeveral},
		{"POST /console/approvals/withdraw", identity.Approver, (*visit).withdrawSeveral},
		{"POST /console/approvals/{id}/decide", identity.Approver, (*visit).decide},
		{"POST /console/approvals/{id}/withdraw", identity.Approver, (*visit).withdraw},
		{"POST /console/approvals/{id}/passkey", identity.Approver, (*visit).askApproval},
		{"GET /console/approvals/{id}/rule", identity.Approver, (*visit).ruleForm},
		{"POST /console/approvals/{id}/rule", identity.Approver, (*visit).makeRule},
		{"POST /console/approvals/{id}/rule/passkey", identity.Approver, (*visit).askRule},
		{"GET /console/access", identity.Viewer, (*visit).access},
		{"POST /console/access/{rule}/revoke", identity.Approver, (*visit).revokeRule},
		{"GET /console/access/{rule}/revoke", identity.Approver, (*visit).confirmRevokeRule},
		{"GET /console/access/tokens/new", identity.Admin, (*visit).newTokenForm},
		{"POST /console/access/tokens", identity.Admin, (*visit).makeToken},
		{"GET /console/access/tokens/{id}/narrow", identity.Admin, (*visit).narrowForm},
		{"POST /console/access/tokens/{id}/narrow", identity.Admin, (*visit).narrowToken},
		{"GET /console/access/tokens/{id}/revoke", identity.Admin, (*visit).confirmRevokeToken},
		{"POST /console/access/tokens/{id}/revoke", identity.Admin, (*visit).revokeToken},
		{"GET /console/access/links/new", identity.Admin, (*visit).newLinkForm},
		{"POST /console/access/links", identity.Admin, (*visit).makeLink},
		{"GET /console/access/people/signout", identity.Admin, (*visit).confirmSignOut},
		{"POST /console/access/people/signout", identity.Admin, (*visit).signOutOther},
		{"GET /console/access/sessions/{id}/end", identity.Admin, (*visit).confirmEndSession},
		{"POST /console/access/sessions/{id}/end", identity.Admin, (*visit).endSession},
		{"GET /console/passkeys", identity.Approver, (*visit).passkeys},
		{"POST /console/passkeys", identity.Approver, (*visit).addPasskey},
		{"POST /console/passkeys/add", identity.Approver, (*visit).askNewPasskey},
		{"POST /console/passkeys/{id}/remove", identity.Approver, (*visit).removePasskey},
		{"GET /console/passkeys/{id}/remove", identity.Approver, (*visit).confirmRemovePasskey},
		{"POST /console/passkeys/{id}/passkey", identity.Approver, (*visit).askRemoval},
		{"GET /console/settings", identity.Admin, (*visit).settings},
		{"POST /console/settings/reload", identity.Admin, (*visit).reload},
		{"GET /console/connect", identity.Viewer, (*visit).connect},
		{"GET /console/connect/live", identity.Viewer, (*visit).connectUpdate},
		{"POST /console/connect/token", identity.Admin, (*visit).connectToken},
		{"GET " + eventsPath, identity.Viewer, (*visit).events},
		{"POST /console/logout", identity.Viewer, (*visit).signOut},
		{"GET /console/tools", identity.Viewer, (*visit).listTools},
		{"GET /console/tools/{name}", identity.Viewer, (*visit).showTool},
		// Tools that write require Approver.
		{"POST /console/tools/{name}/try", identity.Viewer, (*visit).tryTool},
		{"GET /console/calls", identity.Viewer, (*visit).listCalls},
		{"GET " + livePath, identity.Viewer, (*visit).listCalls},
		{"GET /console/calls/series", identity.Viewer, (*visit).callSeries},
		{"GET /console/calls/{id}", identity.Viewer, (*visit).showCall},
		{"GET " + agentsPath, identity.Viewer, (*visit).listAgents},
		{"GET " + agentsPath + "/{name}", identity.Viewer, (*visit).showAgent},
		{"GET " + agentsPath + "/{name}/export", identity.Viewer, (*visit).exportAgent},
		{"GET /console/tasks", identity.Viewer, (*visit).showTasks},
		{"GET /console/tasks/{id}", identity.Viewer, (*visit).showTasks},
		{"GET /console/tasks/{id}/history", identity.Viewer, (*visit).taskHistory},
		{"POST /console/tasks", identity.Approver, (*visit).addTask},
		{"POST /console/tasks/{id}", identity.Approver, (*visit).saveTask},
		{"POST /console/tasks/{id}/done", identity.Approver, (*visit).completeTask},
		{"POST /console/tasks/{id}/reopen", identity.Approver, (*visit).reopenTask},
		{"POST /console/tasks/{id}/move", identity.Approver, (*visit).moveTask},
		{"POST /console/tasks/{id}/release", identity.Approver, (*visit).releaseTask},
		{"POST /console/tasks/{id}/delete", identity.Approver, (*visit).deleteTask},
		{"POST /console/tasks/{id}/restore", identity.Approver, (*visit).restoreTask},
		{"POST /console/tasks/{id}/undo", identity.Approver, (*visit).undoTask},
		{"GET /console/books", identity.Viewer, (*visit).showBooks},
		{"GET /console/books/{book}", identity.Viewer, (*visit).showBook},
		{"GET /console/books/{book}/read/{path...}", identity.Viewer, (*visit).showLesson},
		{"GET /console/books/{book}/past/{path...}", identity.Viewer, (*visit).lessonPast},
		{"GET /console/books/{book}/new", identity.Approver, (*visit).newLesson},
		{"GET /console/books/{book}/edit/{path...}", identity.Approver, (*visit).editLesson},
		{"POST /console/books/{book}/edit/{path...}", identity.Approver, (*visit).saveLesson},
		{"POST /console/books/{book}/preview/{path...}", identity.Approver, (*visit).previewLesson},
		{"POST /console/books/{book}/restore/{path...}", identity.Approver, (*visit).restoreLesson},
		{"GET /console/books/{book}/changes/{version}/{path...}", identity.Viewer, (*visit).showVersion},
		{"GET /console/books/{book}/asset/{path...}", identity.Viewer, (*visit).sendAsset},
		{"GET /console/search", identity.Viewer, (*visit).searchAll},
		{"GET /console/search/found/{source}", identity.Viewer, (*visit).searchGroup},
		{"GET /console/search/project", identity.Viewer, (*visit).showSearch},
		{"GET /console/files/{path...}", identity.Viewer, (*visit).showFile},
		{"GET /console/memory", identity.Viewer, (*visit).showMemory},
	}
}

// visit is one request to the console.
type visit struct {
	*Console
	w      http.ResponseWriter
	r      *http.Request
	person identity.Person
	memory bodies.Memory // of the form, if it is large
	// clientCtx ends when the browser disconnects. The context of r ends earlier, after
	// pageTimeout.
	clientCtx context.Context
}
