package auditindex

import (
	"math"
	"strconv"
	"strings"
	"time"

	"remit/internal/contract/jsontree"
	"remit/internal/engine/audit"
)

// maxNameLength is how many bytes of a name are stored, because clients choose their own names.
const maxNameLength = 256

func nameOf(text string) string {
	if len(text) > maxNameLength {
		return strings.ToValidUTF8(text[:maxNameLength], "")
	}
	return text
}

// parse parses a line and the call that it records. It returns false for a line that is not a
// record.
func parse(day string, line *audit.Line) (record jsontree.Value, c Call, ok bool) {
	record, err := jsontree.ParseTrusted(line.Text)
	if err != nil || record.Kind != jsontree.Object {
		return record, c, false
	}
	c.Position = Position{day, line.Offset}
	for i := range record.Members {
		m := &record.Members[i]
		switch text := m.Value.Text; m.Key {
		case "time":
			began, err := time.Parse(time.RFC3339Nano, text)
			c.Time, ok = began.UTC().Truncate(time.Microsecond), err == nil
		case "tool":
			c.Tool = nameOf(audit.CurrentTool(text))
		case "principal":
			c.Caller = nameOf(text)
		case "frontend", audit.OldFrontendKey:
			c.Frontend = nameOf(text)
		case "client":
			c.Client = nameOf(text)
		case "version":
			c.Version = nameOf(text)
		case "outcome":
			c.Outcome = nameOf(text)
		case "micros":
			c.Took = time.Duration(min(numberOf(text), math.MaxInt64/1000)) * time.Microsecond
		case "bytes":
			c.Bytes = int(min(numberOf(text), math.MaxUint32))
		case "hash":
			c.Mark = markOf(text)
		}
	}
	return record, c, ok && c.Tool != "" && c.Outcome != ""
}

// numberOf returns a number of at least zero; 0 if the text is not a number.
func numberOf(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return max(n, 0)
}
