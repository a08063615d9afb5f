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

// era is one of the two ways to speak the protocol.
type era int

const (
	legacy era = iota // initialize and sessions, up to 2025-11-25
	modern            // each request for itself, from 2026-07-28
)

// The versions that are spoken, the newest first.
var (
	modernVersions = []string{"2026-07-28"}
	legacyVersions = []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}
	allVersions    = slices.Concat(modernVersions, legacyVersions)
)

// The keys of _meta.
const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaClient       = "io.modelcontextprotocol/clientInfo"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaLogLevel     = "io.modelcontextprotocol/logLevel"
	metaServer       = "io.modelcontextprotocol/serverInfo"
	metaSubscription = "io.modelcontextprotocol/subscriptionId"

	tasksExtension = "io.modelcontextprotocol/tasks"
)

// hasBatches tells whether a version of the protocol has batches.
func hasBatches(version string) bool { return version == "2025-03-26" }

// hasPriming tells whether clients of a version expect a stream to begin with an
// event that has an id and no data; earlier ones stumble over it.
func hasPriming(version string) bool { return version >= "2025-11-25" }

// client is what is known of whoever sent a request.
type client struct {
	era     era
	version string
	identity.Identity
	face       string
	name       string // as it calls itself
	connection string // tells it from others; "" in the modern era over HTTP, where every request stands alone
	forms      bool
	links      bool
	sampling   bool
	roots      bool
	tasks      bool
	logs       *atomic.Int32 // the least engine.Level it wants to hear; nil if none
	trace      string        // the W3C traceparent of this request, if it gave one
}

// can tells whether the client declared a capability.
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

// declare takes over what a client says of itself and of what it can do.
func (c *client) declare(info, capabilities *jsontree.Value) {
	c.name = brief(info.Field("name").Text) + "/" + brief(info.Field("version").Text)
	c.forms, c.links = false, false
	elicitation, elicits := capabilities.Get("elicitation")
	if elicits && elicitation.Kind == jsontree.Object {
		_, c.links = elicitation.Get("url")
		_, c.forms = elicitation.Get("form")
		// An empty declaration is the old way to say that forms are shown.
		c.forms = c.forms || len(elicitation.Members) == 0
	}
	_, c.sampling = capabilities.Get("sampling")
	_, c.roots = capabilities.Get("roots")
	extensions := capabilities.Field("extensions")
	_, c.tasks = extensions.Get(tasksExtension)
	c.tasks = c.tasks && c.era == modern
}

// brief cuts what a client says of itself: it goes into every audit record.
func brief(text string) string { return cutTo(text, 100) }

// cutTo cuts a text that is longer than so many bytes.
func cutTo(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "")
}

// isModern tells whether a message belongs to the modern era by what it says itself.
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

// modernClient reads who sends a request of the modern era. Each has to say it.
func modernClient(m *message, who identity.Identity, face string) (client, *rpcError) {
	c := client{era: modern, Identity: who, face: face}
	meta := metaOf(m)
	version, capabilities := meta.Field(metaVersion), meta.Field(metaCapabilities)
	switch {
	case meta.Kind != jsontree.Object:
		return c, faultf(codeInvalidParams, "Invalid params: params._meta must hold %s and %s", metaVersion, metaCapabilities)
	case version.Kind != jsontree.String:
		return c, faultf(codeInvalidParams, "Invalid params: params._meta must name the version of the protocol as %s", metaVersion)
	case capabilities.Kind != jsontree.Object:
		return c, faultf(codeInvalidParams, "Invalid params: params._meta must hold an object as %s", metaCapabilities)
	}
	c.version = plainVersion(version.Text)
	info := meta.Field(metaClient)
	c.declare(&info, &capabilities)
	if wanted := meta.Field(metaLogLevel); wanted.Kind == jsontree.String {
		level, err := engine.ParseLevel(wanted.Text)
		if err != nil {
			return c, faultf(codeInvalidParams, "Invalid params: %v", err)
		}
		c.logs = new(atomic.Int32)
		c.logs.Store(int32(level))
	}
	return c, nil
}

// traceOf is the trace that a request belongs to: by its own word, or by its header, which
// may be that of somebody in between.
func traceOf(r *http.Request, m *message) string {
	if own := tracedBy(m); own != "" {
		return own
	}
	if given := r.Header["Traceparent"]; len(given) == 1 {
		return telemetry.Parent(given[0], r.Header.Get("Tracestate"))
	}
	return ""
}

// tracedBy is the trace that a message says it belongs to.
func tracedBy(m *message) string {
	meta := metaOf(m)
	return strings.Clone(telemetry.Parent(meta.Field("traceparent").Text, meta.Field("tracestate").Text))
}

// plainVersion is a version that does not hold on to the message around it.
func plainVersion(version string) string {
	if i := slices.Index(allVersions, version); i >= 0 {
		return allVersions[i]
	}
	return strings.Clone(version)
}

// checkVersion refuses a version of the modern era that is not spoken.
func (c *client) checkVersion() *rpcError {
	if slices.Contains(modernVersions, c.version) {
		return nil
	}
	return faultf(codeUnsupported, "Unsupported protocol version").
		with("supported", jsontree.Strs(allVersions...)).with("requested", jsontree.Str(c.version))
}

// The headers of the protocol, as net/http spells them.
const (
	headerVersion = "Mcp-Protocol-Version"
	headerSession = "Mcp-Session-Id"
	headerMethod  = "Mcp-Method"
	headerName    = "Mcp-Name"
	headerParam   = "Mcp-Param-"
)

// checkHeaders refuses a request of the modern era whose headers say something
// else than its body: what stands between client and server goes by the headers.
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

// checkName compares the header that names what a request is about.
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

// oneHeader gives the value of a header that has to be there, once.
func oneHeader(h http.Header, name string) (string, *rpcError) {
	switch values := h[name]; len(values) {
	case 0:
		return "", faultf(codeHeaders, "Header mismatch: the header %s is missing", name)
	case 1:
		return strings.Trim(values[0], " \t"), nil
	default:
		return "", faultf(codeHeaders, "Header mismatch: the header %s is there %d times", name, len(values))
	}
}

func mismatch(name, header, body string) *rpcError {
	return faultf(codeHeaders, "Header mismatch: %s header value %q does not match body value %q", name, header, body)
}

// checkMirrored compares the arguments that a tool wants mirrored in headers.
func checkMirrored(h http.Header, tool *engine.Tool, args *jsontree.Value) *rpcError {
	for _, mirror := range tool.MirroredArguments() {
		name := http.CanonicalHeaderKey(headerParam + mirror.Header)
		value := args.At(mirror.Path...)
		if value.Kind == jsontree.Null {
			if len(h[name]) > 0 {
				return faultf(codeHeaders, "Header mismatch: there is a header %s, but no argument %s", name, strings.Join(mirror.Path, "."))
			}
			continue
		}
		sent, fault := oneHeader(h, name)
		if fault != nil {
			return fault
		}
		if stated, ok := decodeHeader(sent); !ok || !sameText(stated, &value) {
			return faultf(codeHeaders, "Header mismatch: %s header value %q does not match the argument %s", name, sent, strings.Join(mirror.Path, "."))
		}
	}
	return nil
}

// sameText compares a header with an argument; numbers by their value.
func sameText(stated string, value *jsontree.Value) bool {
	if value.Kind != jsontree.Number {
		return stated == value.Text
	}
	header, err := jsontree.Parse([]byte(stated))
	return err == nil && header.Equal(value)
}

// decodeHeader undoes the encoding of a value that a header cannot hold as it is;
// false if it is not a proper one.
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
