package audit

import (
	"strings"

	"remit/internal/contract/jsontree"
)

// OldFrontendKey is the key of the front end in records of earlier versions. Their bytes are part
// of the hash chain, so they stay as they are, and readers accept both names.
const OldFrontendKey = "face"

// FrontendOf returns the front end of a record.
func FrontendOf(record *jsontree.Value) string {
	frontend, isNew := record.Get("frontend")
	if !isNew {
		frontend = record.Field(OldFrontendKey)
	}
	return frontend.Text
}

// CurrentTool returns the name under which a tool is recorded now. Earlier versions recorded
// rejected requests as door/token and door/request.
func CurrentTool(recorded string) string {
	if name, isOld := strings.CutPrefix(recorded, "door/"); isOld {
		return "auth/" + name
	}
	return recorded
}
