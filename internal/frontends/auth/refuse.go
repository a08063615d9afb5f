package auth

import (
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"remit/internal/contract/jsontree"
)

// Error codes of RFC 6750.
const (
	invalidRequest    = "invalid_request"
	invalidToken      = "invalid_token"
	insufficientScope = "insufficient_scope"
)

// refusal describes why a request is rejected.
type refusal struct {
	status  int
	code    string        // an error code of RFC 6750; "" if no credentials were sent
	message string        // sent to the client
	scope   string        // the scope that the call needs; "" if unknown
	wait    time.Duration // when to retry; zero if waiting does not help
	cause   error         // for the log
}

func malformedf(format string, args ...any) *refusal {
	return &refusal{status: http.StatusBadRequest, code: invalidRequest, message: fmt.Sprintf(format, args...)}
}

func invalidTokenf(format string, args ...any) *refusal {
	return &refusal{status: http.StatusUnauthorized, code: invalidToken, message: fmt.Sprintf(format, args...)}
}

func rateLimitedf(wait time.Duration, format string, args ...any) *refusal {
	message := fmt.Sprintf(format, args...) + fmt.Sprintf("; try again in %d s", seconds(wait))
	return &refusal{status: http.StatusTooManyRequests, message: message, wait: wait}
}

// unauthenticated returns the refusal of an anonymous caller.
func unauthenticated(scope string) *refusal {
	return &refusal{
		status: http.StatusUnauthorized, message: "This server requires a token; send the header Authorization: Bearer TOKEN", scope: scope,
	}
}

// unavailable returns the refusal of a caller whose credentials cannot be checked at the moment.
func unavailable() *refusal {
	return &refusal{status: http.StatusServiceUnavailable, message: "Credentials cannot be checked right now; try again", wait: time.Second}
}

// seconds rounds up, so that a client that waits this long is accepted.
func seconds(wait time.Duration) int { return int((wait + time.Second - 1) / time.Second) }

// refuse writes the response: a JSON-RPC error for MCP endpoints, plain JSON for others.
func (d *Authenticator) refuse(w http.ResponseWriter, r *http.Request, ref *refusal) {
	header := w.Header()
	if ref.status == http.StatusUnauthorized || ref.status == http.StatusBadRequest {
		d.challenge(w, r, ref)
	}
	if ref.wait > 0 {
		header.Set("Retry-After", strconv.Itoa(seconds(ref.wait)))
	}
	var body jsontree.Value
	if isMCP(r.URL.Path) {
		body = jsontree.Obj(jsontree.M("jsonrpc", jsontree.Str("2.0")), jsontree.M("error", jsontree.Obj(
			jsontree.M("code", jsontree.Int(-32600)), jsontree.M("message", jsontree.Str(ref.message)))))
	} else {
		body = jsontree.Obj(jsontree.M("error", jsontree.Str(ref.message)))
	}
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Type", "application/json")
	header.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(ref.status)
	_, _ = w.Write(body.Append(nil)) //nolint:gosec // JSON with nosniff is not rendered as a page
}

// challenge sets WWW-Authenticate, which tells the client what the request needs.
func (d *Authenticator) challenge(w http.ResponseWriter, r *http.Request, ref *refusal) {
	var b strings.Builder
	b.WriteString(`Bearer realm="remit"`)
	add := func(name, value string) {
		if value != "" {
			b.WriteString(`, ` + name + `="` + sanitizeQuoted(value) + `"`)
		}
	}
	add("error", ref.code)
	if ref.code != "" {
		add("error_description", ref.message)
	}
	add("scope", ref.scope)
	add("resource_metadata", d.BaseURL()+metadataPath+resourcePath(r.URL))
	w.Header().Set("WWW-Authenticate", b.String())
}

// sanitizeQuoted replaces the characters that RFC 6750 does not allow in a quoted string, so that
// the text cannot end the value or the header.
func sanitizeQuoted(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '"' || r == '\\':
			return '\''
		case r < ' ' || r > '~':
			return '?'
		}
		return r
	}, text)
}

// isMCP reports whether a path belongs to MCP, whose errors are JSON-RPC.
func isMCP(path string) bool { return path == "/mcp" || strings.HasPrefix(path, "/mcp/") }

// resourcePath returns the path of the MCP endpoint whose metadata applies to a request: that of
// its toolset or, by default, /mcp.
func resourcePath(u *url.URL) string {
	if toolset, ok := strings.CutPrefix(u.Path, "/mcp/"); ok && toolset != "" {
		return "/mcp/" + url.PathEscape(toolset)
	}
	return "/mcp"
}

// metadataPath is the well-known path of RFC 9728. The path of the resource follows it.
const metadataPath = "/.well-known/oauth-protected-resource"

// Register adds the protected resource metadata (RFC 9728), from which clients learn where to get
// tokens.
func (d *Authenticator) Register(mux *http.ServeMux) {
	for _, resource := range []string{"", "/mcp", "/mcp/{toolset}"} {
		mux.HandleFunc("GET "+metadataPath+resource, d.metadata)
		mux.HandleFunc("OPTIONS "+metadataPath+resource, d.preflight)
	}
}

// IsMetadata reports whether a request reads the metadata. It is public, so any origin and any host
// name may read it.
func IsMetadata(r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodOptions {
		return false
	}
	rest, ok := strings.CutPrefix(r.URL.Path, metadataPath)
	// An unclean path may be routed elsewhere.
	return ok && (rest == "" || rest[0] == '/') && path.Clean(r.URL.Path) == r.URL.Path
}

func (d *Authenticator) metadata(w http.ResponseWriter, r *http.Request) {
	resource := d.BaseURL()
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
	_, _ = w.Write(about.Append(nil)) // a client that has disconnected gets no response
}

// preflight allows web pages to send the headers of MCP clients.
func (d *Authenticator) preflight(w http.ResponseWriter, _ *http.Request) {
	header := w.Header()
	header.Set("Access-Control-Allow-Origin", "*")
	header.Set("Access-Control-Allow-Methods", "GET")
	header.Set("Access-Control-Allow-Headers", "*")
	w.WriteHeader(http.StatusNoContent)
}
