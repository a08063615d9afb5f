package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine/audit"
	"remit/internal/engine/identity"
	"remit/internal/frontends/auth"
	"remit/internal/frontends/cli"
	"remit/internal/frontends/httpserver"
	"remit/internal/stores/sqlstore"
)

// identities are those who call, and those who look: the tokens of agents, and people
// at the console.
type identities struct {
	tokens *identity.Tokens
	signIn *identity.SignIn
	app    *App
}

func (a *App) newIdentities() *identities {
	return &identities{
		app: a,
		tokens: &identity.Tokens{
			Place: a.kept.place, Exists: a.database.exists, Secret: a.database.key, Now: time.Now,
			Store: stored(a.database, func(db *sqlstore.DB) identity.TokenStore { return db.AgentTokens() }),
		},
		signIn: &identity.SignIn{
			Place: a.kept.place, Exists: a.database.exists, Secret: a.database.key, Now: time.Now, Spend: a.database.spend,
			Sessions: stored(a.database, func(db *sqlstore.DB) identity.SessionStore { return db.People() }),
		},
	}
}

// Identity gives the tokens of agents, and lets people in at the console.
func (a *App) Identity() cli.Identity { return a.who }

// Tokens keeps the promise of cli.Identity.
func (i *identities) Tokens() *identity.Tokens { return i.tokens }

// SignIn keeps the promise of cli.Identity.
func (i *identities) SignIn() *identity.SignIn { return i.signIn }

// ConsoleURL keeps the promise of cli.Identity.
func (i *identities) ConsoleURL(path string) string { return i.app.baseURL() + path }

// MayRecord keeps the promise of cli.Identity.
func (i *identities) MayRecord() error {
	if err := i.app.options.Audit.Ready(time.Now()); err != nil {
		return contract.Errorf(contract.Unavailable, "The audit record cannot be kept, so nothing was done; try again later").Because(err)
	}
	return nil
}

// Record keeps the promise of cli.Identity.
func (i *identities) Record(ctx context.Context, deed, by string, about ...jsontree.Member) error {
	return i.app.options.Audit.Write(ctx, &audit.Record{
		Time: time.Now(), Principal: by, Face: "cli", Tool: deed, Outcome: "ok", Arguments: jsontree.Obj(about...),
	}, true)
}

// baseURL is where people and agents reach the server, or would if it ran.
func (a *App) baseURL() string {
	switch {
	case a.settings.PublicURL != "":
		return a.settings.PublicURL
	case a.listening != "":
		return a.listening
	}
	if served := a.served(); served != "" {
		return served
	}
	return a.scheme() + a.settings.Addr
}

func (a *App) scheme() string {
	if a.settings.TLSCert != "" {
		return "https://"
	}
	return "http://"
}

// isSecure tells whether browsers reach the server over TLS.
func (a *App) isSecure() bool { return strings.HasPrefix(a.baseURL(), "https://") }

// originOf is what browsers say of pages at an address: without its path, and without the
// port that its scheme has anyway.
func originOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	host := strings.ToLower(u.Host)
	if port := u.Port(); port == "" || u.Scheme == "https" && port == "443" || u.Scheme == "http" && port == "80" {
		host = strings.TrimSuffix(host, ":"+port)
	}
	return u.Scheme + "://" + host
}

// approvalPage is where a person decides about a request; "" while no console is served.
func (a *App) approvalPage(id string) string {
	if a.listening == "" {
		return ""
	}
	return a.baseURL() + "/console/approvals/" + id
}

// exposure tells whether others than this machine may connect. It refuses an address at
// which anybody could call the tools, or listen to those who do.
func (a *App) exposure(ctx context.Context) (exposed bool, err error) {
	s := &a.settings
	loopback := httpserver.IsLoopback(s.Addr)
	if loopback && !s.BehindProxy {
		return false, nil
	}
	const away = "others than this machine could connect"
	switch {
	case s.Identity == "off":
		return false, fmt.Errorf("--addr %s: %s, and --identity off would let all of them call the tools; leave it out, or listen on 127.0.0.1", s.Addr, away)
	case !loopback && s.TLSCert == "" && !s.BehindProxy:
		return false, fmt.Errorf("--addr %s: %s, and read the tokens of all callers. Give --tls-cert and --tls-key, or --behind-proxy if a proxy in front speaks TLS; or listen on 127.0.0.1", s.Addr, away)
	case s.Identity == "on" || s.OIDCIssuer != "":
		return true, nil
	}
	if any, err := a.who.tokens.Any(ctx); err != nil || !any {
		return false, errors.Join(err, fmt.Errorf("--addr %s: %s, but nobody could tell who they are: make a token first with \"remit token create\", or name an issuer with --oidc-issuer", s.Addr, away))
	}
	return true, nil
}

// warnUnnamed tells whoever lets others connect, but not under which name: the addresses
// that they are given would lead nowhere.
func (a *App) warnUnnamed() {
	host, _, _ := net.SplitHostPort(a.settings.Addr) // which was listened on
	ip, err := netip.ParseAddr(host)
	if nowhere := host == "" || err == nil && ip.IsUnspecified(); a.settings.PublicURL == "" && (nowhere || a.settings.BehindProxy) {
		a.log.Warn("links and the audience of tokens name an address that others cannot reach; give --public-url", "address", a.listening)
	}
}

// warnStrange tells of tokens that were made with another key, or for another folder: they
// let nobody in, and do not close anything either.
func (a *App) warnStrange(ctx context.Context, entrance *auth.Door) {
	all, err := a.who.tokens.List(ctx)
	if err != nil || len(all) == 0 || entrance.Required(ctx) {
		return
	}
	a.log.Warn("the tokens of this workspace were made with another key or for another folder, so they let nobody in and callers need none; make new ones, or serve with --identity on", "tokens", len(all))
}

// newDoor tells who sends a request.
func (a *App) newDoor(exposed bool) (*auth.Door, error) {
	d := &auth.Door{
		Tokens: a.who.tokens, Local: identity.Identity{Principal: cli.Local}, Resource: a.baseURL, Scopes: a.scopes,
		BehindProxy: a.settings.BehindProxy, Limiter: a.options.Limiter, Audit: a.options.Audit, Log: a.log, Now: time.Now,
		DeadlineFactor: a.options.DeadlineFactor,
	}
	switch {
	case a.settings.Identity == "on" || exposed:
		d.Mode = auth.On
	case a.settings.Identity == "off":
		d.Mode = auth.Off
	}
	if a.settings.OIDCIssuer == "" {
		return d, nil
	}
	d.Issuer = &auth.OIDC{URL: a.settings.OIDCIssuer, Audience: a.settings.OIDCAudience, UserClaim: a.settings.OIDCUser}
	return d, d.Issuer.Validate()
}

// scopes are those that a token may have here.
func (a *App) scopes() []string {
	var all []string
	for _, set := range a.settings.Addressable(a.known) {
		all = append(all, identity.Scope{Set: set}.String(), identity.Scope{Set: set, Write: true}.String())
	}
	return all
}

// readers serves those who may read books, where callers are told apart.
func readers(d *auth.Door, next http.Handler) http.Handler {
	return d.Known(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := d.Who(r).Grant.Allows("books", false); err != nil {
			refuse(w, d.Challenge(w, r, err), "This needs a token that may read books")
			return
		}
		next.ServeHTTP(w, r)
	}))
}
