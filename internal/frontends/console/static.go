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

// assets are the hashes of the static files by their name, worked out when the first
// page is made. An address holds the hash, so that browsers may keep what is there for
// good.
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
	}) // what is embedded can be read
	return hashes
})

// assetURL is where browsers find a static file.
func assetURL(name string) (string, error) {
	hash, ok := assets()[name]
	if !ok {
		return "", fmt.Errorf("there is no static file %s", name)
	}
	return staticPrefix + hash + "/" + name, nil
}

// stylesheets and scripts are the addresses of all there are.
func stylesheets() []string { return linked(".css", "vendor/uPlot.min.css", "console.css") }

func scripts() []string {
	return linked(".js", "vendor/htmx.min.js", "vendor/uPlot.iife.min.js", "console.js")
}

// linked are the addresses of the files of a kind: some first, then all others that are
// ours.
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

// contentType is that of a static file; the system's own table may hold anything.
func contentType(name string) string {
	known := map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
	return cmp.Or(known[path.Ext(name)], "text/plain; charset=utf-8")
}

// static answers with a file for good if it is the one that the address names, and not
// at all otherwise.
func (c *Console) static(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	content, err := staticFiles.ReadFile("static/" + name)
	if err != nil || assets()[name] != r.PathValue("hash") {
		http.Error(w, "There is no such file.", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", contentType(name))
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	_, _ = w.Write(content) //nolint:gosec // it is a file of ours, and the address only names it
}
