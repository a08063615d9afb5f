package console

import (
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
)

//go:embed static
var staticFiles embed.FS

const staticPrefix = "/console/static/"

// assets returns the hashes of the static files by name, computed when the first page is rendered.
// URLs contain the hash, so that browsers may cache the files for ever.
var assets = sync.OnceValue(func() map[string]string {
	hashes := map[string]string{}
	_ = fs.WalkDir(staticFiles, "static", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := staticFiles.ReadFile(name)
		sum := sha256.Sum256(content)
		hashes[strings.TrimPrefix(name, "static/")] = hex.EncodeToString(sum[:6])
		return err
	}) // embedded files can always be read
	return hashes
})

// assetURL returns the URL of a static file.
func assetURL(name string) (string, error) {
	hash, ok := assets()[name]
	if !ok {
		return "", fmt.Errorf("no static file %s", name)
	}
	return staticPrefix + hash + "/" + name, nil
}

// stylesheets returns the URLs of all stylesheets, in order.
func stylesheets() []string { return linked(".css", "vendor/uPlot.min.css", "console.css") }

// scripts returns the URLs of all scripts, in order.
func scripts() []string {
	return linked(".js", "vendor/htmx.min.js", "vendor/uPlot.iife.min.js", "console.js")
}

// linked returns the URLs of the static files with an extension: those in first, then all others
// that are not vendored.
func linked(kind string, first ...string) []string {
	names := first
	for _, name := range slices.Sorted(maps.Keys(assets())) {
		if path.Ext(name) == kind && !strings.Contains(name, "/") && !slices.Contains(first, name) {
			names = append(names, name)
		}
	}
	var addresses []string
	for _, name := range names {
		if address, err := assetURL(name); err == nil {
			addresses = append(addresses, address)
		}
	}
	return addresses
}

// contentType returns the media type of a static file. It does not use the table of the operating
// system, which may contain anything.
func contentType(name string) string {
	known := map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
	return cmp.Or(known[path.Ext(name)], "text/plain; charset=utf-8")
}

// static responds with a static file, cached for ever, if the hash in the URL is current, and with
// Not found otherwise.
func (c *Console) static(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	content, err := staticFiles.ReadFile("static/" + name)
	if err != nil || assets()[name] != r.PathValue("hash") {
		http.Error(w, "There is no such file.", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", contentType(name))
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	_, _ = w.Write(content) //nolint:gosec // the content is an embedded file; the URL only selects it
}
