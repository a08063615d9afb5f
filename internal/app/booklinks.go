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

// bookLinks makes the addresses that the tools of books hand out.
type bookLinks struct {
	signer *signedurl.Signer
	cdn    string                 // where assets are, if not with us
	base   func() (string, error) // where we serve links, or whoever does
}

var _ books.Links = (*bookLinks)(nil)

// newLinks makes links that lead to where a server of this workspace would listen.
func (a *App) newLinks() *bookLinks {
	signer := &signedurl.Signer{Secret: a.database.key, Place: placeOf(a.settings.Books), Now: time.Now}
	return &bookLinks{signer: signer, cdn: a.settings.CDNURL, base: a.elsewhere}
}

// placeOf is what links are bound to: the same for all who have the same books.
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

// elsewhere is the address of a server that runs beside this program.
func (a *App) elsewhere() (string, error) {
	if a.settings.PublicURL != "" {
		return a.settings.PublicURL, nil
	}
	if _, port, err := net.SplitHostPort(a.settings.Addr); err != nil || port == "0" {
		return "", contract.Errorf(contract.Unavailable, "No server is there to serve links; name its address with --addr or --public-url")
	}
	return a.scheme() + a.settings.Addr, nil
}

// own makes links lead to where this program serves them itself.
func (a *App) own(base func() (string, error)) {
	if a.settings.PublicURL == "" {
		a.links.base = base
	}
}

// Asset keeps the promise of books.Links.
func (l *bookLinks) Asset(_ context.Context, key string) (string, error) {
	if l.cdn != "" {
		return l.cdn + "/" + key, nil
	}
	return l.at(signedurl.AssetPath(key), nil)
}

// Upload keeps the promise of books.Links.
func (l *bookLinks) Upload(_ context.Context, u books.Upload, expires time.Time) (books.Signed, error) {
	address, err := l.at(l.signer.Upload(u.Key, u.Size, u.By, expires))
	return books.Signed{URL: address, Headers: map[string]string{}}, err
}

// Archive keeps the promise of books.Links.
func (l *bookLinks) Archive(_ context.Context, bookID string, expires time.Time) (string, error) {
	return l.at(l.signer.Archive(bookID, expires))
}

// at puts an address of ours behind where it is served.
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

// linked serves what links lead to.
func (a *App) linked(admit func() (func(), bool)) *signedurl.Handler {
	return &signedurl.Handler{Library: linkedBooks{a.books, a.settings.ReadOnly}, Signer: a.links.signer, Log: a.log, Admit: admit}
}

// serveLinks serves links alone, on any port of this machine, until ctx ends.
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

// isPublic tells requests that may come by another name than ours, or from web pages: those
// that follow a link, where links are meant for others, and those of clients that look
// where tokens come from.
func (a *App) isPublic(r *http.Request) bool {
	return a.settings.PublicURL != "" && signedurl.Leads(r) || auth.IsMetadata(r)
}

// linkedBooks are the books as links reach them.
type linkedBooks struct {
	library  *books.Library
	readOnly bool
}

// Asset keeps the promise of signedurl.Library.
func (l linkedBooks) Asset(ctx context.Context, key string) (*signedurl.Asset, error) {
	asset, err := l.library.Asset(ctx, key)
	if err != nil {
		return nil, err
	}
	return &signedurl.Asset{ReadSeekCloser: asset.Body, Size: asset.Size, Modified: asset.Modified, MIME: asset.MIME, Version: asset.Version}, nil
}

// Receive keeps the promise of signedurl.Library.
func (l linkedBooks) Receive(ctx context.Context, key string, size int64, by string, body io.Reader) error {
	if l.readOnly {
		return contract.Errorf(contract.Denied, "This server only reads: it takes no uploads")
	}
	return l.library.Receive(ctx, books.Upload{Key: key, Size: size, By: by}, body)
}

// Archive keeps the promise of signedurl.Library.
func (l linkedBooks) Archive(ctx context.Context, bookID string, w io.Writer) error {
	return l.library.WriteArchive(ctx, bookID, w, func(int, int64) {})
}
