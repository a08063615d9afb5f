package app

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"remit/internal/contract"
	"remit/internal/frontends/auth"
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
}

var _ books.Links = (*bookLinks)(nil)

// newLinks creates links to the address at which a server of this workspace would listen.
func (a *App) newLinks() *bookLinks {
	signer := &signedurl.Signer{Secret: a.database.key, LibraryID: placeOf(a.settings.Books), Now: time.Now}
	return &bookLinks{signer: signer, cdn: a.settings.CDNURL, base: a.otherServer}
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
func (l *bookLinks) Upload(_ context.Context, u books.Upload, expires time.Time) (books.SignedUpload, error) {
	address, err := l.at(l.signer.Upload(u.Key, u.Size, u.By, expires))
	return books.SignedUpload{URL: address, Headers: map[string]string{}}, err
}

// Archive implements books.Links.
func (l *bookLinks) Archive(_ context.Context, bookID string, expires time.Time) (string, error) {
	return l.at(l.signer.Archive(bookID, expires))
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

// linked returns the handler of signed links.
func (a *App) linked(admit func() (func(), bool)) *signedurl.Handler {
	return &signedurl.Handler{Library: linkedBooks{a.books, a.settings.ReadOnly}, Signer: a.links.signer, Log: a.log, Admit: admit}
}

// serveLinks serves only links, on a free port of this machine, until ctx ends.
func (a *App) serveLinks(ctx context.Context, ready func(base string)) error {
	l, err := httpserver.Listen(ctx, "127.0.0.1:0", false)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	a.linked(nil).Register(mux)
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
func (l linkedBooks) Receive(ctx context.Context, key string, size int64, by string, body io.Reader) error {
	if l.readOnly {
		return contract.Errorf(contract.Denied, "This server is read-only: it does not accept uploads")
	}
	return l.library.Receive(ctx, books.Upload{Key: key, Size: size, By: by}, body)
}

// Archive implements signedurl.Library.
func (l linkedBooks) Archive(ctx context.Context, bookID string, w io.Writer) error {
	return l.library.WriteArchive(ctx, bookID, w, func(int, int64) {})
}
