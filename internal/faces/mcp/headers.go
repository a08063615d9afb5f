package mcp

import (
	"encoding/base64"
	"net/http"
	"strings"

	"remit/internal/contract/jsontree"
	"remit/internal/engine"
)

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
