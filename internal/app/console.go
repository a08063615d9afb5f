package app

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"remit/internal/bodies"
	"remit/internal/contract/catalog"
	"remit/internal/engine"
	"remit/internal/engine/ratelimit"
	"remit/internal/engine/stats"
	"remit/internal/frontends/auth"
	"remit/internal/frontends/cli"
	"remit/internal/frontends/cli/clients"
	"remit/internal/frontends/console"
	"remit/internal/frontends/httpserver"
)

// newConsole creates the web console.
func (a *App) newConsole(server *httpserver.Server, authn *auth.Authenticator) (*console.Console, error) {
	pages, err := a.pagesEngine()
	if err != nil {
		return nil, err
	}
	needsToken := func() bool { return authn.Required(context.Background()) }
	rules := sync.OnceValue(a.toolRules) // few people look at them
	return &console.Console{
		Version: Version, Root: a.settings.Root, Engine: a.engine, Pages: pages, Own: a.OwnEngine(),
		Approvals: a.Approvals, Calls: a.calls, People: a.identities.signIn, Tokens: a.identities.tokens,
		Settings: a.consoleSettings, Reload: a.reload, Trust: a.consoleTrust, ToolRules: rules,
		Clients:        func(base, token string) []console.Client { return a.consoleClients(base, token, needsToken()) },
		Arrivals:       &a.arrivals,
		TokensRequired: needsToken,
		Health:         func(ctx context.Context) map[string]error { return a.health(ctx, server.ShuttingDown()) },
		Base:           a.baseURL, Secure: a.isSecure(), Identity: func() string { return identityText(authn) },
		Audit: a.options.Audit, Limiter: ratelimit.NewMemory(), Address: authn.ClientAddress,
		Passkeys: a.passkeys, Proxied: a.settings.BehindProxy,
		Desk: a.desk, History: a.books.History, Change: a.books.ChangeTexts, Asset: a.books.Asset, Holdings: a.holdings,
		Now: time.Now, Log: a.log,
	}, nil
}

// pagesEngine returns the engine for the pages of the console. It has no rate limit, because people
// open pages faster than agents may call. Its calls are recorded in the audit log only, because
// metrics and traces are for the calls of agents.
func (a *App) pagesEngine() (*engine.Engine, error) {
	options := a.options
	options.Limiter = nil
	options.Activity = nil // page views are not part of a work session
	options.Observer, options.Telemetry = &stats.Stats{}, nil
	return a.newEngine(a.sets, options)
}

// OwnEngine returns a function that returns the engine for the tools that only people have, on the
// command line and in the console: they restore deleted tasks and take changes back. The engine is
// made when it is first needed, because its contracts take time to load.
func (a *App) OwnEngine() func() (*engine.Engine, error) {
	return sync.OnceValues(func() (*engine.Engine, error) {
		known, sets, err := loadTools(a.settings, a.secrets, []string{"tasks-undo"})
		if err != nil {
			return nil, err
		}
		return a.newEngineOf(known, sets, a.options)
	})
}

// identityText describes how callers are identified.
func identityText(authn *auth.Authenticator) string {
	if !authn.Required(context.Background()) {
		return "HTTP callers need no token, because only this machine can connect. Tokens become required as " +
			"soon as the first one is created."
	}
	if authn.Issuer != nil {
		return "HTTP callers must send a token from " + authn.Issuer.URL + ", or one created here."
	}
	return "HTTP callers must send a token created here, on the page Access or with \"remit token create\"."
}

func (a *App) consoleSettings() []console.Setting {
	var shown []console.Setting
	for _, v := range a.settingsInForce() {
		origin := string(v.Origin)
		if slices.ContainsFunc(a.settings.TrustedAll, func(e cli.Entry) bool { return e.Key == v.Key }) && v.Origin == cli.FromFile {
			origin = "file (REMIT_TRUST=all)"
		}
		shown = append(shown, console.Setting{Key: v.Key, Value: v.Value, Origin: origin})
	}
	return shown
}

// consoleTrust returns what the configuration file of the workspace asks for, and what is trusted
// of it now.
func (a *App) consoleTrust() console.Trust {
	settings := a.settings // a copy: reading the decisions notes problems in it
	shown := console.Trust{File: settings.Config}
	for _, e := range settings.TrustShown(newTrustStore(settings.Keys, settings.Env)) {
		shown.Entries = append(shown.Entries, console.TrustedEntry(e))
	}
	return shown
}

// toolRules returns the operator's rules for tools, with the contracts as they were before.
func (a *App) toolRules() (list []console.ToolRule) {
	known, err := catalog.Load(a.settings.Toolsets...)
	if err != nil {
		a.log.Warn("reading the contracts again failed", "error", err)
	}
	for _, name := range slices.Sorted(maps.Keys(a.settings.Tools)) {
		rule := console.ToolRule{Tool: name, File: a.settings.Config, Rule: a.settings.Tools[name]}
		for _, set := range known {
			for _, c := range set.Contracts {
				if c.Name == name && (rule.Contract == nil || slices.Contains(a.settings.Toolsets, set.Name)) {
					rule.Contract = c
				}
			}
		}
		list = append(list, rule)
	}
	return list
}

// tokenVariable is the environment variable in which clients find their token.
const tokenVariable = "REMIT_TOKEN"

// consoleClients returns how each client connects to the running server, with a token if there is
// one.
func (a *App) consoleClients(base, token string, needsToken bool) []console.Client {
	system, err := clients.NewSystem(runtime.GOOS, a.settings.Env)
	if err != nil {
		a.log.Debug("the configuration folder of clients is unknown", "error", err)
	}
	program, _ := os.Executable() // if it fails, the path is visibly missing
	var all []console.Client
	for _, c := range clients.All() {
		one := console.Client{ID: c.Name, Title: c.Title, File: c.File(system), Language: c.Language(), Notes: strings.Join(c.Notes, " ")}
		running := clients.Server{Name: "remit", URL: base + "/mcp"}
		if needsToken || token != "" {
			running.TokenEnv, running.Token = tokenVariable, cmp.Or(token, "THE TOKEN ITSELF")
			one.Literal = c.NeedsToken(running)
		}
		// It does not support URLs, so it starts the program itself.
		if one.Snippet, err = c.Snippet(running); err != nil {
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

// addConsole adds the pages of the console to mux.
func (a *App) addConsole(mux *http.ServeMux, server *httpserver.Server, authn *auth.Authenticator, forms *bodies.Budget) error {
	pages, err := a.newConsole(server, authn)
	if err != nil {
		return err
	}
	pages.Bodies = forms
	pages.Register(mux)
	others := server.EndStreams
	server.EndStreams = func() { others(); pages.EndStreams() }
	return nil
}
