package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"remit/internal/contract"
	"remit/internal/engine"
	"remit/internal/engine/audit"
	"remit/internal/engine/identity"
	"remit/internal/frontends/auth"
	"remit/internal/frontends/cli"
	"remit/internal/frontends/httpserver"
	"remit/internal/stores/keyfolder"
	"remit/internal/stores/sqlstore"
)

// identities holds the tokens of agents and the sign-in of people at the console. It implements
// cli.Identity.
type identities struct {
	tokens *identity.Tokens
	signIn *identity.SignIn
	app    *App
}

func (a *App) newIdentities() *identities {
	return &identities{
		app: a,
		tokens: &identity.Tokens{
			Anchor: a.anchor, Exists: a.database.exists, Secret: a.database.key, Now: a.clock.now,
			Store: stored(a.database, func(db *sqlstore.DB) identity.TokenStore { return db.AgentTokens() }),
		},
		signIn: &identity.SignIn{
			Anchor: a.anchor, Exists: a.database.exists, Secret: a.database.key, Now: a.clock.now, UseOnce: a.database.spend,
			Sessions: stored(a.database, func(db *sqlstore.DB) identity.SessionStore { return db.ConsoleSessions() }),
		},
	}
}

// Identity returns the tokens of agents and the sign-in of people.
func (a *App) Identity() cli.Identity { return a.identities }

// Tokens implements cli.Identity.
func (i *identities) Tokens() *identity.Tokens { return i.tokens }

// SignIn implements cli.Identity.
func (i *identities) SignIn() *identity.SignIn { return i.signIn }

// ConsoleURL implements cli.Identity.
func (i *identities) ConsoleURL(path string) string { return i.app.baseURL() + path }

// CanRecord implements cli.Identity.
func (i *identities) CanRecord() error {
	if err := i.app.options.Audit.Ready(time.Now()); err != nil {
		return contract.Errorf(contract.Unavailable, "The audit record cannot be written, so nothing was done; "+
			"try again later").Because(err)
	}
	return nil
}

// Start implements cli.Identity.
func (i *identities) Start(ctx context.Context, r *audit.Record) (context.Context, *audit.Effect) {
	r.Time = time.Now()
	return audit.Start(ctx, r, i.app.options.Audit)
}

// Record implements cli.Identity.
func (i *identities) Record(ctx context.Context, r *audit.Record) error {
	r.Time = time.Now()
	return i.app.options.Audit.Write(ctx, r, true)
}

// HasRecords implements cli.Identity.
func (i *identities) HasRecords() bool {
	_, err := os.Lstat(i.app.settings.Data)
	return i.app.database.isShared() || err == nil
}

// baseURL returns the URL at which people and agents reach the server, or would reach it if it ran.
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

// isSecure reports whether browsers reach the server over TLS.
func (a *App) isSecure() bool { return strings.HasPrefix(a.baseURL(), "https://") }

// originOf returns the web origin of a URL: without its path, and without the default port of its
// scheme.
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

// approvalPage returns the URL of the page for deciding on a request, or "" while no console is
// served.
func (a *App) approvalPage(id string) string {
	if a.listening == "" {
		return ""
	}
	return a.baseURL() + "/console/approvals/" + id
}

// exposure reports whether other machines may connect. It returns an error if anyone could then
// call the tools, or read the tokens of callers.
func (a *App) exposure(ctx context.Context) (exposed bool, err error) {
	s := &a.settings
	loopback := httpserver.IsLoopback(s.Addr)
	if loopback && !s.BehindProxy {
		return false, nil
	}
	const away = "other machines could connect"
	switch {
	case s.Identity == "off":
		return false, fmt.Errorf("--addr %s: %s, and --identity off would let anyone call the tools; remove "+
			"--identity off, or listen on 127.0.0.1", s.Addr, away)
	case !loopback && s.TLSCert == "" && !s.BehindProxy:
		return false, fmt.Errorf("--addr %s: %s, and tokens would be sent unencrypted; set --tls-cert and "+
			"--tls-key, or --behind-proxy if a proxy handles TLS, or listen on 127.0.0.1", s.Addr, away)
	case s.Identity == "on" || s.OIDCIssuer != "":
		return true, nil
	}
	if any, err := a.identities.tokens.AnyCreated(ctx); err != nil || !any {
		return false, errors.Join(err, fmt.Errorf("--addr %s: %s, but there is no way to identify them; create "+
			"a token first with \"remit token create\", or set an issuer with --oidc-issuer", s.Addr, away))
	}
	return true, nil
}

// warnNoPublicURL logs a warning if other machines may connect but no public URL is set, because
// the URLs that they get would not work.
func (a *App) warnNoPublicURL() {
	host, _, _ := net.SplitHostPort(a.settings.Addr) // already validated by Listen
	ip, err := netip.ParseAddr(host)
	if nowhere := host == "" || err == nil && ip.IsUnspecified(); a.settings.PublicURL == "" && (nowhere || a.settings.BehindProxy) {
		a.log.Warn("links and the audience of tokens contain an address that other machines cannot reach; set "+
			"--public-url", "address", a.listening)
	}
}

// warnForeignTokens logs a warning about tokens that were made with another key, or for another
// folder. They are invalid, but callers still need tokens: a copied database and a lost key look
// the same.
func (a *App) warnForeignTokens(ctx context.Context) {
	all, err := a.identities.tokens.List(ctx)
	if err != nil || len(all) == 0 || slices.ContainsFunc(all, func(t identity.Token) bool { return !t.Foreign }) {
		return
	}
	a.log.Warn("the tokens of this workspace were created with another key or for another folder, so they are "+
		"invalid; create new ones with \"remit token create\", or delete them with \"remit token reset\"", "tokens", len(all))
}

// newAuth returns the authentication of requests.
func (a *App) newAuth(exposed bool) (*auth.Authenticator, error) {
	d := &auth.Authenticator{
		Tokens: &rememberedTokens{Tokens: a.identities.tokens}, LocalIdentity: identity.Identity{Principal: cli.LocalPrincipal}, BaseURL: a.baseURL, Scopes: a.scopes,
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
	// Without the issuer, callers would need no token at the next start.
	if err := a.anchor.file.Change(a.anchor.now(), func(c *keyfolder.Change) error { return c.RequireIdentity() }); err != nil {
		a.log.Debug("the key folder cannot be written", "error", err)
	}
	d.Issuer = &auth.OIDC{URL: a.settings.OIDCIssuer, Audience: a.settings.OIDCAudience, UserClaim: a.settings.OIDCUser}
	return d, d.Issuer.Validate()
}

// scopes returns the scopes that a token may have here.
func (a *App) scopes() []string {
	var all []string
	for _, set := range a.settings.EndpointToolsets(a.known) {
		all = append(all, identity.Scope{Set: set}.String(), identity.Scope{Set: set, Write: true}.String())
	}
	return all
}

// readers lets only callers that may read books pass, if callers are identified. It records whom it
// refuses.
func (a *App) readers(d *auth.Authenticator, next http.Handler) http.Handler {
	identified := d.RequireIdentity(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := d.Identity(r).Grant.Allows("books", false); err != nil {
			refuse(w, d.Challenge(w, r, err), "This requires a token with permission to read books")
			return
		}
		next.ServeHTTP(w, r)
	}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who := d.Identity(r)
		if who.Principal == "" || who.Grant.Allows("books", false) != nil {
			// Fails only for uses with an effect.
			_ = a.engine.RecordLink(r.Context(), &engine.LinkUse{
				Kind: engine.AssetLink, Principal: who.Principal, Client: r.UserAgent(), Path: strings.TrimPrefix(r.URL.Path, "/cdn/"),
				Address: d.ClientAddress(r), Started: time.Now(), Err: contract.Errorf(contract.Denied, "It needs a token with the scope books:read"),
			})
		}
		identified.ServeHTTP(w, r)
	})
}
