package app

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"time"

	"remit/internal/contract"
	"remit/internal/engine"
	"remit/internal/engine/approval"
	"remit/internal/engine/ratelimit"
	"remit/internal/engine/stats"
	"remit/internal/frontends/auth"
	"remit/internal/frontends/cli/clients"
	"remit/internal/frontends/console"
	"remit/internal/frontends/httpserver"
	"remit/internal/toolsets/learning"
)

// newConsole makes the pages for people.
func (a *App) newConsole(server *httpserver.Server, entrance *auth.Door) (*console.Console, error) {
	pages, err := a.pagesEngine()
	if err != nil {
		return nil, err
	}
	needsToken := func() bool { return entrance.Required(context.Background()) }
	return &console.Console{
		Version: Version, Root: a.settings.Root, Engine: a.engine, Pages: pages,
		Approvals: a.Approvals, Calls: a.calls, People: a.who.signIn, Tokens: a.who.tokens,
		Settings:     a.consoleSettings,
		Clients:      func(base string) []console.Client { return a.consoleClients(base, needsToken()) },
		TokensNeeded: needsToken,
		Health:       func(ctx context.Context) map[string]error { return a.health(ctx, server.Ending()) },
		Base:         a.baseURL, Secure: a.isSecure(), Identity: func() string { return identityWords(entrance) },
		Audit: a.options.Audit, Limiter: ratelimit.NewMemory(), Address: entrance.Address,
		Preview: a.preview, History: a.books.History, Changed: a.books.Changed, Asset: a.books.Asset,
		Now: time.Now, Log: a.log,
	}, nil
}

// pagesEngine is what pages are made from: people turn them faster than agents may call.
// What pages read is in the audit alone: figures and traces are of calls.
func (a *App) pagesEngine() (*engine.Engine, error) {
	options := a.options
	options.Limiter = nil
	options.Witness = nil // what people look at is no session of work
	options.Observer, options.Telemetry = &stats.Stats{}, nil
	return a.newEngine(a.sets, options)
}

// identityWords say how callers are told apart.
func identityWords(entrance *auth.Door) string {
	if !entrance.Required(context.Background()) {
		return "Callers over HTTP need not say who they are: only this machine can connect. The first token changes that."
	}
	if entrance.Issuer != nil {
		return "Callers over HTTP send a token of " + entrance.Issuer.URL + ", or one that was made here."
	}
	return "Callers over HTTP send a token that was made here, in the settings or with remit token create."
}

func (a *App) consoleSettings() []console.Setting {
	var shown []console.Setting
	for _, v := range a.settings.Values() {
		shown = append(shown, console.Setting{Key: v.Key, Value: v.Value, Origin: string(v.Origin)})
	}
	return shown
}

// tokenVariable is where clients find the token that they send.
const tokenVariable = "REMIT_TOKEN"

// consoleClients tells how each client connects to the server that runs.
func (a *App) consoleClients(base string, needsToken bool) []console.Client {
	system, err := clients.SystemOf(runtime.GOOS, a.settings.Env)
	if err != nil {
		a.log.Debug("where clients keep their configuration is not known", "error", err)
	}
	program, _ := os.Executable() // "" then: people see that something is missing
	var all []console.Client
	for _, c := range clients.All() {
		one := console.Client{ID: c.Name, Title: c.Title, Place: c.File(system), Language: c.Language(), Notes: strings.Join(c.Notes, " ")}
		running := clients.Server{Name: "remit", URL: base + "/mcp"}
		if needsToken {
			running.TokenEnv, running.Token = tokenVariable, "THE TOKEN ITSELF"
		}
		if one.Snippet, err = c.Snippet(running); err != nil { // it takes no address: it starts the program itself
			running = clients.Server{Name: "remit", Command: program, Args: []string{"stdio", "--root", a.settings.Root}}
			one.Snippet, _ = c.Snippet(running)
		}
		one.Command = c.Command(running)
		if links := c.Links(running); len(links) > 0 {
			one.Link = links[0].URL
		}
		all = append(all, one)
	}
	return all
}

// preview is what a file holds before and after a call that waits for approval.
func (a *App) preview(ctx context.Context, r approval.Request) (before, after, name string, ok bool) {
	_, tool, _ := strings.Cut(r.Tool, "/")
	if tool == "write_memory_entry" {
		return a.previewEntry(ctx, r)
	}
	if !a.hasBooks() {
		return "", "", "", false
	}
	p, ok, err := a.books.Propose(ctx, tool, r.Arguments)
	if err != nil {
		a.log.Warn("what a request would change cannot be shown", "request", r.ID, "error", err)
	}
	return p.Before, p.After, p.Book + "/" + p.Path, ok && err == nil
}

// previewTail is how much of a memory file is shown above a new entry.
const previewTail = 4 << 10

func (a *App) previewEntry(ctx context.Context, r approval.Request) (before, after, name string, ok bool) {
	file, entry, err := learning.Appended(r.Arguments)
	if err != nil {
		return "", "", "", false
	}
	tail, err := a.kept.memory.Tail(ctx, file, a.memoryPolicy(r.Tool), previewTail)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && contract.AsError(err).Kind != contract.NotFound {
		return "", "", "", false
	}
	return string(tail.Text), string(tail.Text) + string(entry), path.Join(memoryFolder, file), true
}

// memoryPolicy is what the set of a tool lets be read.
func (a *App) memoryPolicy(tool string) *contract.PathPolicy {
	set, _, _ := strings.Cut(tool, "/")
	i := slices.IndexFunc(a.known, func(s *contract.Set) bool { return s.Name == set })
	if i < 0 {
		return nil
	}
	reader := a.known[i].Find("read_repo_file")
	if reader == nil {
		return nil
	}
	return reader.PathPolicy("path")
}

// addConsole serves the pages.
func (a *App) addConsole(mux *http.ServeMux, server *httpserver.Server, entrance *auth.Door) error {
	pages, err := a.newConsole(server, entrance)
	if err != nil {
		return err
	}
	pages.Register(mux)
	others := server.EndStreams
	server.EndStreams = func() { others(); pages.EndStreams() }
	return nil
}
