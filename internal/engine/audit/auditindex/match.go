package auditindex

import (
	"bytes"
	"strings"

	"remit/internal/contract/jsontree"
	"remit/internal/engine/audit"
)

// needsRecords reports whether the index lacks what the filter selects by, so that the records have
// to be read.
func (f *Filter) needsRecords() bool { return f.Text != "" || f.Session != "" || f.Changes }

// selects reports whether the filter matches a record, apart from what Kind and time say.
func (f *Filter) selects(record *jsontree.Value) bool {
	session, outcome := record.Field("session"), record.Field("outcome")
	return (f.Session == "" || f.Session == session.Text) &&
		(!f.Changes || audit.HasChanged(record)) &&
		(f.Text == "" || outcome.Text != "" && hasText(record, lowered(f.Text)))
}

// hasText reports whether the arguments of a record, or the words of its failure, contain a text in
// lower case. What stands for a redacted value is not searched.
func hasText(record *jsontree.Value, lower string) bool {
	args, code, message := record.Field("arguments"), record.Field("code"), record.Field("message")
	return valueHasText(&args, lower) || strings.Contains(lowered(message.Text), lower) || strings.Contains(lowered(code.Text), lower)
}

func valueHasText(v *jsontree.Value, lower string) bool {
	if v.Kind != jsontree.Object && v.Kind != jsontree.Array {
		return v.Kind != jsontree.Null && strings.Contains(lowered(v.Text), lower)
	}
	if IsRedacted(v) {
		return false
	}
	for i := range v.Members {
		if valueHasText(&v.Members[i].Value, lower) {
			return true
		}
	}
	return false
}

// IsRedacted reports whether a value of a record stands for one that was not recorded: it has the
// size of the other, and perhaps the beginning of its hash.
func IsRedacted(v *jsontree.Value) bool {
	if v.Kind != jsontree.Object || len(v.Members) == 0 || len(v.Members) > 2 {
		return false
	}
	return v.Members[0].Key == "bytes" && (len(v.Members) == 1 || v.Members[1].Key == "sha256")
}

// lowered replaces the capital letters of ASCII.
func lowered(text string) string {
	for i := range len(text) {
		if 'A' <= text[i] && text[i] <= 'Z' {
			b := []byte(text)
			for ; i < len(b); i++ {
				b[i] = lowerByte(b[i])
			}
			return string(b)
		}
	}
	return text
}

func lowerByte(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

// prefilter rejects most lines that do not match a filter without parsing them, which takes a
// hundred times as long.
type prefilter struct {
	exact  [][]byte // each of these is in every line that matches
	lower  []byte   // so is this, in lower or upper case
	anchor int      // the index of the byte in lower that is searched for
}

func newPrefilter(f *Filter) (p prefilter) {
	add := func(key, value string) {
		if value != "" && len(value) < maxNameLength { // longer names are cut
			p.exact = append(p.exact, jsontree.AppendString([]byte(key), value))
		}
	}
	add(`"principal":`, f.Caller)
	add(`"session":`, f.Session)
	if f.Changes {
		p.exact = append(p.exact, []byte(callMark))
	}
	if f.Text != "" {
		quoted := jsontree.AppendString(nil, lowered(f.Text))
		p.lower = quoted[1 : len(quoted)-1]
		p.anchor = rarest(p.lower)
	}
	return p
}

// frequent lists the bytes of records, the most frequent ones last.
const frequent = "QJXZKVWYBGFPMUCHLDRSNIOATEqjxzkvwybgfpmuchldrsnioate0123456789-_/. \\{},:\""

// rarest returns the index of the byte that is probably the rarest one in lines.
func rarest(text []byte) (at int) {
	least := len(frequent)
	for i, c := range text {
		if rank := strings.IndexByte(frequent, c); rank < least {
			at, least = i, rank
		}
	}
	return at
}

func (p *prefilter) passes(line []byte) bool {
	for _, text := range p.exact {
		if !bytes.Contains(line, text) {
			return false
		}
	}
	return len(p.lower) == 0 || p.finds(line)
}

// finds reports whether a line contains lower, in any case.
func (p *prefilter) finds(line []byte) bool {
	c := p.lower[p.anchor]
	upper := c
	if 'a' <= c && c <= 'z' {
		upper -= 'a' - 'A'
	}
	last := len(line) - len(p.lower) + p.anchor // the last index at which the anchor may be
	for at := p.anchor; at <= last; at++ {
		rest := line[at : last+1]
		next := bytes.IndexByte(rest, c)
		if upper != c {
			if next >= 0 {
				rest = rest[:next]
			}
			if other := bytes.IndexByte(rest, upper); other >= 0 {
				next = other
			}
		}
		if next < 0 {
			return false
		}
		at += next
		if isLowered(line[at-p.anchor:][:len(p.lower)], p.lower) {
			return true
		}
	}
	return false
}

func isLowered(text, lower []byte) bool {
	for i, c := range text {
		if lowerByte(c) != lower[i] {
			return false
		}
	}
	return true
}
