package door

import (
	"net/http"
	"net/url"
	"path"
	"strings"

	"remit/internal/contract/jsontree"
)

// metadataPath is where RFC 9728 has clients look. The path of the resource follows.
const metadataPath = "/.well-known/oauth-protected-resource"

// Register adds what clients read to find out where tokens come from (RFC 9728).
func (d *Door) Register(mux *http.ServeMux) {
	for _, resource := range []string{"", "/mcp", "/mcp/{toolset}"} {
		mux.HandleFunc("GET "+metadataPath+resource, d.metadata)
		mux.HandleFunc("OPTIONS "+metadataPath+resource, d.preflight)
	}
}

// IsMetadata tells the requests that any web page may send, by whatever name the
// server goes there: what they read is public.
func IsMetadata(r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodOptions {
		return false
	}
	rest, ok := strings.CutPrefix(r.URL.Path, metadataPath)
	return ok && (rest == "" || rest[0] == '/') && path.Clean(r.URL.Path) == r.URL.Path // or it may lead elsewhere
}

func (d *Door) metadata(w http.ResponseWriter, r *http.Request) {
	resource := d.Resource()
	if toolset := r.PathValue("toolset"); toolset != "" {
		resource += "/mcp/" + url.PathEscape(toolset)
	} else if r.URL.Path != metadataPath {
		resource += "/mcp"
	}
	about := jsontree.Obj(jsontree.M("resource", jsontree.Str(resource)))
	add := func(name string, value jsontree.Value) {
		about.Members = append(about.Members, jsontree.M(name, value))
	}
	if d.Issuer != nil {
		add("authorization_servers", jsontree.Strs(d.Issuer.URL))
	}
	if d.Scopes != nil {
		add("scopes_supported", jsontree.Strs(d.Scopes()...))
	}
	add("bearer_methods_supported", jsontree.Strs("header"))
	add("resource_name", jsontree.Str("Remit"))
	header := w.Header()
	header.Set("Access-Control-Allow-Origin", "*")
	header.Set("Cache-Control", "public, max-age=300")
	header.Set("Content-Type", "application/json")
	header.Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(about.Append(nil)) // a client that has gone cannot be told
}

// preflight lets web pages send the headers that clients of MCP send.
func (d *Door) preflight(w http.ResponseWriter, _ *http.Request) {
	header := w.Header()
	header.Set("Access-Control-Allow-Origin", "*")
	header.Set("Access-Control-Allow-Methods", "GET")
	header.Set("Access-Control-Allow-Headers", "*")
	w.WriteHeader(http.StatusNoContent)
}
