package app

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"remit/internal/contract"
	"remit/internal/engine"
	"remit/internal/engine/identity"
	"remit/internal/frontends/auth"
	"remit/internal/frontends/cli"
	"remit/internal/frontends/httpserver"
	"remit/internal/frontends/signedurl"
	"remit/internal/stores/workspace"
	"remit/internal/toolsets/books"
)

// bookLinks creates the URLs that the book tools return. It implements books.Links.
type bookLinks struct {
	signer *signedurl.Signer
	cdn    string                 // base URL of the assets, if a CDN serves them
	base   func() (string, error) // returns the base URL of the server of the links
	ends   bool                   // that server ends with the session
	// local returns an error if callers over HTTP need a token.
	local func(ctx context.Context) error
}

var _ books.Links = (*bookLinks)(nil)

// newLinks creates links to the address at which a server of this workspace would listen.
func (a *App) newLinks() *bookLinks {
	signer := &signedurl.Signer{Secret: a.database.key, LibraryID: a.storage.place + "\n" + placeOf(a.settings.Books), Now: a.clock.now}
	return &bookLinks{signer: signer, cdn: a.settings.CDNURL, base: a.otherServer, local: func(ctx context.Context) error {
		authn, err := a.newAuth(false)
		if err != nil {
			return err
		}
		return authn.CheckAnonymous(ctx)
	}}
}

// placeOf returns what links are bound to: it is the same for all processes with the same books.
func placeOf(places []string) string {
	var all []string
	for _, place := range places {
		if folder, ok := strings.CutPrefix(place, folderScheme); ok {
			all = append(all, folderScheme+workspace.RealPath(folder))
		} else if u, err := url.Parse(place); err == nil {
			all = append(all, u.Scheme+"://"+u.Host+strings.TrimRight(u.Path, "/")+"?endpoint="+u.Query().Get("endpoint"))
		}
	}
	return strings.Join(all, "\n")
}

// otherServer returns the base URL of the server that serves the links if this program does not:
// --public-url, or the address in --addr.
func (a *App) otherServer() (string, error) {
	if a.settings.PublicURL != "" {
		return a.settings.PublicURL, nil
	}
	if _, port, err := net.SplitHostPort(a.settings.Addr); err != nil || port == "0" {
		return "", contract.Errorf(contract.Unavailable, "No server is configured to serve links; set its "+
			"address with --addr or --public-url")
	}
	return a.scheme() + a.settings.Addr, nil
}

// serveOwnLinks makes links point to the URL at which this program serves them itself.
func (a *App) serveOwnLinks(base func() (string, error)) {
	if a.settings.PublicURL == "" {
		a.links.base = base
	}
}

// Asset implements books.Links.
func (l *bookLinks) Asset(_ context.Context, key string) (string, error) {
	if l.cdn != "" {
		return l.cdn + "/" + key, nil
	}
	return l.at(signedurl.AssetPath(key), nil)
}

// Upload implements books.Links.
func (l *bookLinks) Upload(ctx context.Context, u books.Upload) (books.Link, error) {
	return l.signed(ctx, func(link signedurl.Link) (string, error) { return l.signer.Upload(signedurl.Upload(u), link) })
}

// Archive implements books.Links.
func (l *bookLinks) Archive(ctx context.Context, bookID string) (books.Link, error) {
	return l.signed(ctx, func(link signedurl.Link) (string, error) { return l.signer.Archive(bookID, link) })
}

// signed returns a link for the caller. It does not outlive the caller's credential.
func (l *bookLinks) signed(ctx context.Context, sign func(signedurl.Link) (string, error)) (books.Link, error) {
	credential, err := l.credential(ctx)
	if err != nil {
		return books.Link{}, err
	}
	now := l.signer.Now().UTC().Truncate(time.Second)
	expires := now.Add(books.LinkTTL)
	if end := credential.Expires.UTC().Truncate(time.Second); !credential.Expires.IsZero() && end.Before(expires) {
		expires = end
	}
	if !expires.After(now) {
		return books.Link{}, contract.Errorf(contract.Denied, "The token expires within a second, so it gets no link; use another token")
	}
	address, err := l.at(sign(signedurl.Link{By: engine.CallerOf(ctx).Principal, Credential: credential.String(), Expires: expires}))
	return books.Link{URL: address, Issued: now, Expires: expires}, err
}

// credential returns what the links of a caller are bound to.
func (l *bookLinks) credential(ctx context.Context) (identity.Credential, error) {
	caller := engine.CallerOf(ctx)
	if grant := engine.GrantOf(ctx); grant != nil {
		return grant.Credential, nil
	}
	switch caller.Frontend {
	case "stdio", "cli":
		// The caller needs no token, whatever callers over HTTP need. But a link that was issued
		// before they needed one ends when they do.
		err := l.local(ctx)
		if err == nil || contract.AsError(err).Kind != contract.Denied {
			return identity.Credential{Kind: identity.LocalCredential}, err
		}
		return identity.Credential{Kind: identity.ProcessCredential}, nil
	case "console", "page":
		return identity.Credential{Kind: identity.PersonCredential, ID: strings.TrimPrefix(caller.Principal, "console:")}, nil
	}
	return identity.Credential{Kind: identity.LocalCredential}, nil
}

// at prepends the base URL to a path.
func (l *bookLinks) at(address string, err error) (string, error) {
	if err != nil {
		return "", err
	}
	base, err := l.base()
	if err != nil {
		return "", err
	}
	return base + address, nil
}

// linked returns the handler of signed links. reader returns who asks for an asset.
func (a *App) linked(authn *auth.Authenticator, reader func(*http.Request) string, admit func() (func(), bool)) *signedurl.Handler {
	return &signedurl.Handler{
		Library: linkedBooks{a.books, a.settings.ReadOnly}, Signer: a.links.signer, Log: a.log, Admit: admit,
		Guard: &linkGuard{app: a, authn: authn, reader: reader, credentials: identity.CredentialCheck{
			Tokens: a.identities.tokens, SignIn: a.identities.signIn, Issuer: a.settings.OIDCIssuer, Local: authn.CheckAnonymous,
		}},
	}
}

// linkGuard checks and records the uses of links. It implements signedurl.Guard.
type linkGuard struct {
	app         *App
	authn       *auth.Authenticator
	reader      func(*http.Request) string
	credentials identity.CredentialCheck
}

// Reader implements signedurl.Guard.
func (g *linkGuard) Reader(r *http.Request) string { return g.reader(r) }

// Address implements signedurl.Guard.
func (g *linkGuard) Address(r *http.Request) string { return g.authn.ClientAddress(r) }

// Check implements signedurl.Guard. A person needs the role that the console requires for writing.
func (g *linkGuard) Check(ctx context.Context, l signedurl.Link, writes bool) error {
	needs := identity.Viewer
	if writes {
		needs = identity.Approver
	}
	return g.credentials.Check(ctx, l.Credential, needs, l.Issued)
}

// Spent implements signedurl.Guard.
func (g *linkGuard) Spent(ctx context.Context, l signedurl.Link) (bool, error) {
	if !g.app.database.exists() {
		return false, nil
	}
	db, err := g.app.database.open(ctx)
	if err != nil {
		return false, err
	}
	return db.Used(ctx, spentLink(l))
}

// Spend implements signedurl.Guard.
func (g *linkGuard) Spend(ctx context.Context, l signedurl.Link) (bool, error) {
	return g.app.database.spend(ctx, spentLink(l), time.Now(), l.Expires)
}

// spentLink returns the name of an upload link among the things that can be used once.
func spentLink(l signedurl.Link) string { return "upload " + l.ID }

// Ready implements signedurl.Guard.
func (g *linkGuard) Ready() error { return g.app.options.Audit.Ready(time.Now()) }

// Context implements signedurl.Guard.
func (g *linkGuard) Context(ctx context.Context, u *engine.LinkUse) context.Context {
	return g.app.engine.LinkContext(ctx, u)
}

// Record implements signedurl.Guard.
func (g *linkGuard) Record(ctx context.Context, u *engine.LinkUse) error {
	return g.app.engine.RecordLink(ctx, u)
}

// serveLinks serves only links, on a free port of this machine, until ctx ends.
func (a *App) serveLinks(ctx context.Context, ready func(base string)) error {
	l, err := httpserver.Listen(ctx, "127.0.0.1:0", false)
	if err != nil {
		return err
	}
	authn, err := a.newAuth(false)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	mux := http.NewServeMux()
	// The server refuses other users of the machine, so each caller is the user of the session.
	a.linked(authn, func(*http.Request) string { return cli.LocalPrincipal }, nil).Register(mux)
	server := &httpserver.Server{Handler: mux, Log: a.log, EndStreams: func() {}}
	ready("http://" + l.Addr().String())
	return server.Serve(ctx, l, grace)
}

// isPublic reports whether a request may come under another host name, or from web pages. That
// holds for requests that follow a signed link, if links are public, and for requests of clients
// that look up the authorization server.
func (a *App) isPublic(r *http.Request) bool {
	return a.settings.PublicURL != "" && signedurl.Matches(r) || auth.IsMetadata(r)
}

// linkedBooks gives signed links access to the books. It implements signedurl.Library.
type linkedBooks struct {
	library  *books.Library
	readOnly bool
}

// Asset implements signedurl.Library.
func (l linkedBooks) Asset(ctx context.Context, key string) (*signedurl.Asset, error) {
	asset, err := l.library.Asset(ctx, key)
	if err != nil {
		return nil, err
	}
	return &signedurl.Asset{ReadSeekCloser: asset.Body, Size: asset.Size, Modified: asset.Modified, MIME: asset.MIME, Version: asset.Version}, nil
}

// Receive implements signedurl.Library.
func (l linkedBooks) Receive(ctx context.Context, u signedurl.Upload, body io.Reader, arrived func(hash string) error) error {
	if l.readOnly {
		return contract.Errorf(contract.Denied, "This server is read-only: it does not accept uploads")
	}
	return l.library.Receive(ctx, books.Upload(u), body, arrived)
}

// Archive implements signedurl.Library.
func (l linkedBooks) Archive(ctx context.Context, bookID string, w io.Writer) error {
	return l.library.WriteArchive(ctx, bookID, w, func(int, int64) {})
}
