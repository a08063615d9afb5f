package mcp

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/engine/identity"
	"remit/internal/engine/telemetry"
)

// era is one of the two generations of the protocol.
type era int

const (
	legacy era = iota // initialize and sessions, up to 2025-11-25
	modern            // stateless requests, from 2026-07-28
)

// The supported versions, newest first.
var (
	modernVersions = []string{"2026-07-28"}
	legacyVersions = []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}
	allVersions    = slices.Concat(modernVersions, legacyVersions)
)

// Keys of _meta.
const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaClient       = "io.modelcontextprotocol/clientInfo"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaLogLevel     = "io.modelcontextprotocol/logLevel"
	metaServer       = "io.modelcontextprotocol/serverInfo"
	metaSubscription = "io.modelcontextprotocol/subscriptionId"

	tasksExtension = "io.modelcontextprotocol/tasks"
)

// hasBatches reports whether a version of the protocol has batches.
func hasBatches(version string) bool { return version == "2025-03-26" }

// hasPriming reports whether clients of a version expect a stream to begin with an event that has
// an id and no data. Earlier clients fail on such an event.
func hasPriming(version string) bool { return version >= "2025-11-25" }

// client describes the sender of a request.
type client struct {
	era     era
	version string
	identity.Identity
	frontend string
	name     string // the name that the client gives itself
	// Identifies the connection; "" in the modern era over HTTP, where requests are independent.
	connection string
	forms      bool
	links      bool
	sampling   bool
	roots      bool
	tasks      bool
	logs       *atomic.Int32 // the minimum engine.Level to send; nil for none
	trace      string        // the W3C traceparent of this request, or ""
}

// can reports whether the client declared a capability.
func (c *client) can(what engine.Capability) bool {
	switch what {
	case engine.Forms:
		return c.forms
	case engine.Links:
		return c.links
	case engine.Sampling:
		return c.sampling
	case engine.Roots:
		return c.roots
	case engine.Tasks:
		return c.tasks
	default:
		return false
	}
}

// declare sets the name and the capabilities that a client sent.
func (c *client) declare(info, capabilities *jsontree.Value) {
	c.name = truncateName(info.Field("name").Text) + "/" + truncateName(info.Field("version").Text)
	c.forms, c.links = false, false
	elicitation, elicits := capabilities.Get("elicitation")
	if elicits && elicitation.Kind == jsontree.Object {
		_, c.links = elicitation.Get("url")
		_, c.forms = elicitation.Get("form")
		// An empty declaration is the old way to declare support for forms.
		c.forms = c.forms || len(elicitation.Members) == 0
	}
	_, c.sampling = capabilities.Get("sampling")
	_, c.roots = capabilities.Get("roots")
	extensions := capabilities.Field("extensions")
	_, c.tasks = extensions.Get(tasksExtension)
	c.tasks = c.tasks && c.era == modern
}

// truncateName truncates a client's name or version, because every audit record contains them.
func truncateName(text string) string { return truncate(text, 100) }

// truncate truncates a text to at most limit bytes.
func truncate(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "")
}

// isModern reports whether a message itself says that it belongs to the modern era.
func isModern(m *message) bool {
	if m.method == "server/discover" || m.method == "subscriptions/listen" {
		return true
	}
	_, stated := metaOf(m).Get(metaVersion)
	return stated
}

func metaOf(m *message) *jsontree.Value {
	meta := m.params.Field("_meta")
	return &meta
}

// modernClient reads the client's description from a modern request. Every modern request must
// contain it.
func modernClient(m *message, who identity.Identity, frontend string) (client, *rpcError) {
	c := client{era: modern, Identity: who, frontend: frontend}
	meta := metaOf(m)
	version, capabilities := meta.Field(metaVersion), meta.Field(metaCapabilities)
	switch {
	case meta.Kind != jsontree.Object:
		return c, rpcErrorf(codeInvalidParams, "Invalid params: params._meta must contain %s and %s", metaVersion, metaCapabilities)
	case version.Kind != jsontree.String:
		return c, rpcErrorf(codeInvalidParams, "Invalid params: params._meta must contain the protocol version as %s", metaVersion)
	case capabilities.Kind != jsontree.Object:
		return c, rpcErrorf(codeInvalidParams, "Invalid params: params._meta must contain an object %s", metaCapabilities)
	}
	c.version = cloneVersion(version.Text)
	info := meta.Field(metaClient)
	c.declare(&info, &capabilities)
	if wanted := meta.Field(metaLogLevel); wanted.Kind == jsontree.String {
		level, err := engine.ParseLevel(wanted.Text)
		if err != nil {
			return c, rpcErrorf(codeInvalidParams, "Invalid params: %v", err)
		}
		c.logs = new(atomic.Int32)
		c.logs.Store(int32(level))
	}
	return c, nil
}

// requestTrace returns the trace of a request. The message takes precedence over the header, which
// a proxy may have set.
func requestTrace(r *http.Request, m *message) string {
	if own := messageTrace(m); own != "" {
		return own
	}
	if given := r.Header["Traceparent"]; len(given) == 1 {
		return telemetry.Parent(given[0], r.Header.Get("Tracestate"))
	}
	return ""
}

// messageTrace returns the trace that a message names.
func messageTrace(m *message) string {
	meta := metaOf(m)
	return strings.Clone(telemetry.Parent(meta.Field("traceparent").Text, meta.Field("tracestate").Text))
}

// cloneVersion returns a copy of a version, so that it does not keep the message in memory.
func cloneVersion(version string) string {
	if i := slices.Index(allVersions, version); i >= 0 {
		return allVersions[i]
	}
	return strings.Clone(version)
}

// checkVersion returns an error if a modern version is not supported.
func (c *client) checkVersion() *rpcError {
	if slices.Contains(modernVersions, c.version) {
		return nil
	}
	return rpcErrorf(codeUnsupported, "Unsupported protocol version").
		with("supported", jsontree.Strs(allVersions...)).with("requested", jsontree.Str(c.version))
}

// Headers of the protocol, in net/http's canonical form.
const (
	headerVersion = "Mcp-Protocol-Version"
	headerSession = "Mcp-Session-Id"
	headerMethod  = "Mcp-Method"
	headerName    = "Mcp-Name"
	headerParam   = "Mcp-Param-"
)

// checkHeaders returns an error if the headers of a modern request do not match its body, because
// proxies rely on the headers.
func checkHeaders(h http.Header, m *message, from *client) *rpcError {
	stated, fault := oneHeader(h, headerVersion)
	switch {
	case fault != nil:
		return fault
	case stated != from.version:
		return mismatch(headerVersion, stated, from.version)
	}
	if fault := from.checkVersion(); fault != nil {
		return fault
	}
	if stated, fault = oneHeader(h, headerMethod); fault != nil {
		return fault
	}
	if stated != m.method {
		return mismatch(headerMethod, stated, m.method)
	}
	return checkName(h, m)
}

// checkName compares the header Mcp-Name with the body.
func checkName(h http.Header, m *message) *rpcError {
	var source string
	switch m.method {
	case "tools/call", "prompts/get":
		source = "name"
	case "resources/read":
		source = "uri"
	case "tasks/get", "tasks/update", "tasks/cancel":
		source = "taskId"
	default:
		return nil
	}
	sent, fault := oneHeader(h, headerName)
	if fault != nil {
		return fault
	}
	stated, ok := decodeHeader(sent)
	if name := m.params.Field(source); !ok || stated != name.Text {
		return mismatch(headerName, sent, name.Text)
	}
	return nil
}

// oneHeader returns the value of a header that must occur exactly once.
func oneHeader(h http.Header, name string) (string, *rpcError) {
	switch values := h[name]; len(values) {
	case 0:
		return "", rpcErrorf(codeHeaders, "Header mismatch: the header %s is missing", name)
	case 1:
		return strings.Trim(values[0], " \t"), nil
	default:
		return "", rpcErrorf(codeHeaders, "Header mismatch: the header %s was sent %d times", name, len(values))
	}
}

func mismatch(name, header, body string) *rpcError {
	return rpcErrorf(codeHeaders, "Header mismatch: %s header value %q does not match body value %q", name, header, body)
}

// checkMirrored compares the arguments that a tool wants mirrored in headers.
func checkMirrored(h http.Header, tool *engine.Tool, args *jsontree.Value) *rpcError {
	for _, mirror := range tool.MirroredArguments() {
		name := http.CanonicalHeaderKey(headerParam + mirror.Header)
		value := args.At(mirror.Path...)
		if value.Kind == jsontree.Null {
			if len(h[name]) > 0 {
				return rpcErrorf(codeHeaders, "Header mismatch: the header %s was sent without the argument %s", name, strings.Join(mirror.Path, "."))
			}
			continue
		}
		sent, fault := oneHeader(h, name)
		if fault != nil {
			return fault
		}
		if stated, ok := decodeHeader(sent); !ok || !sameText(stated, &value) {
			return rpcErrorf(codeHeaders, "Header mismatch: %s header value %q does not match the argument %s",
				name, sent, strings.Join(mirror.Path, "."))
		}
	}
	return nil
}

// sameText compares a header with an argument; it compares numbers by value.
func sameText(stated string, value *jsontree.Value) bool {
	if value.Kind != jsontree.Number {
		return stated == value.Text
	}
	header, err := jsontree.Parse([]byte(stated))
	return err == nil && header.Equal(value)
}

// decodeHeader decodes a header value that may be base64-encoded. It returns false if the value is
// not valid.
func decodeHeader(value string) (string, bool) {
	encoded, ok := strings.CutPrefix(value, "=?base64?")
	if ok {
		encoded, ok = strings.CutSuffix(encoded, "?=")
	}
	if ok {
		text, err := base64.StdEncoding.Strict().DecodeString(encoded)
		return string(text), err == nil
	}
	for i := range len(value) {
		if c := value[i]; c < 0x20 && c != '\t' || c > 0x7e {
			return "", false
		}
	}
	return value, true
}
