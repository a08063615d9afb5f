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

// What is wrong with a request, as RFC 6750 calls it.
const (
	invalidRequest    = "invalid_request"
	invalidToken      = "invalid_token"
	insufficientScope = "insufficient_scope"
)

// refusal is why a request gets no further.
type refusal struct {
	status int
	code   string        // of RFC 6750; "" if no credentials were sent
	why    string        // for the sender
	scope  string        // what would let it pass; "" if that is not known
	wait   time.Duration // when to come back; zero if waiting does not help
	cause  error         // for the log
}

func malformed(format string, args ...any) *refusal {
	return &refusal{status: http.StatusBadRequest, code: invalidRequest, why: fmt.Sprintf(format, args...)}
}

func bad(format string, args ...any) *refusal {
	return &refusal{status: http.StatusUnauthorized, code: invalidToken, why: fmt.Sprintf(format, args...)}
}

func tooOften(wait time.Duration, format string, args ...any) *refusal {
	return &refusal{status: http.StatusTooManyRequests, why: fmt.Sprintf(format, args...) + fmt.Sprintf("; try again in %d s", seconds(wait)), wait: wait}
}

// unknown is the refusal of nobody in particular.
func unknown(scope string) *refusal {
	return &refusal{status: http.StatusUnauthorized, why: "This server needs to know who calls; send the header Authorization: Bearer TOKEN", scope: scope}
}

// uncertain is the refusal of somebody whose right to call cannot be told.
func uncertain() *refusal {
	return &refusal{status: http.StatusServiceUnavailable, why: "Who calls cannot be checked right now; try again", wait: time.Second}
}

// seconds rounds up, so that whoever waits for so long passes.
func seconds(wait time.Duration) int { return int((wait + time.Second - 1) / time.Second) }

// refuse answers in the words of whoever would have been asked.
func (d *Door) refuse(w http.ResponseWriter, r *http.Request, no *refusal) {
	header := w.Header()
	if no.status == http.StatusUnauthorized || no.status == http.StatusBadRequest {
		d.challenge(w, r, no)
	}
	if no.wait > 0 {
		header.Set("Retry-After", strconv.Itoa(seconds(no.wait)))
	}
	var body jsontree.Value
	if isProtocol(r.URL.Path) {
		body = jsontree.Obj(jsontree.M("jsonrpc", jsontree.Str("2.0")), jsontree.M("error", jsontree.Obj(
			jsontree.M("code", jsontree.Int(-32600)), jsontree.M("message", jsontree.Str(no.why)))))
	} else {
		body = jsontree.Obj(jsontree.M("error", jsontree.Str(no.why)))
	}
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Type", "application/json")
	header.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(no.status)
	_, _ = w.Write(body.Append(nil)) //nolint:gosec // JSON that is not sniffed is no page; a client that has gone cannot be told
}

// challenge says in a header what would let the request pass.
func (d *Door) challenge(w http.ResponseWriter, r *http.Request, no *refusal) {
	var b strings.Builder
	b.WriteString(`Bearer realm="remit"`)
	add := func(name, value string) {
		if value != "" {
			b.WriteString(`, ` + name + `="` + quotable(value) + `"`)
		}
	}
	add("error", no.code)
	if no.code != "" {
		add("error_description", no.why)
	}
	add("scope", no.scope)
	add("resource_metadata", d.Resource()+metadataPath+resourcePath(r.URL))
	w.Header().Set("WWW-Authenticate", b.String())
}

// quotable leaves the characters that RFC 6750 lets stand between quotation marks, so
// that nothing ends the value early, or the header.
func quotable(text string) string {
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

// isProtocol tells the addresses of MCP, which answer in its words.
func isProtocol(path string) bool { return path == "/mcp" || strings.HasPrefix(path, "/mcp/") }

// resourcePath is the endpoint that metadata for a request is about: that of its
// toolset, or that of all.
func resourcePath(u *url.URL) string {
	if toolset, ok := strings.CutPrefix(u.Path, "/mcp/"); ok && toolset != "" {
		return "/mcp/" + url.PathEscape(toolset)
	}
	return "/mcp"
}

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
