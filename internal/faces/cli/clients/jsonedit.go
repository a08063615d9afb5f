package clients

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// jsonFile is a file with an object of servers by name.
type jsonFile struct{ key string }

func (jsonFile) language() string { return "json" }

// holder finds the object of the servers; nil if there is none.
func (f jsonFile) holder(text []byte) (*jsonText, *member, error) {
	j, err := scanJSON(text)
	if err != nil || j.root == nil {
		return j, nil, err
	}
	if !j.root.object {
		return nil, nil, syntaxError(text, j.root.start, "an object in braces belongs here")
	}
	holder, err := j.find(j.root, f.key)
	if err == nil && holder != nil && !holder.value.object {
		err = syntaxError(text, holder.value.start, "%s must be an object in braces", quote(f.key))
	}
	return j, holder, err
}

// entry finds a server; nil if it is not there.
func (f jsonFile) entry(text []byte, name string) (*jsonText, *member, *member, error) {
	j, holder, err := f.holder(text)
	if err != nil || holder == nil {
		return j, nil, nil, err
	}
	m, err := j.find(&holder.value, name)
	return j, holder, m, err
}

func (f jsonFile) holds(text []byte) bool {
	_, holder, err := f.holder(text)
	return err == nil && holder != nil
}

func (f jsonFile) get(text []byte, name string) ([]byte, Entry, error) {
	j, _, m, err := f.entry(text, name)
	if err != nil || m == nil {
		return nil, Entry{}, err
	}
	said := Entry{Command: j.textOf(&m.value, "command")}
	for _, key := range []string{"url", "httpUrl", "serverUrl"} {
		if said.URL == "" {
			said.URL = j.textOf(&m.value, key)
		}
	}
	for _, part := range m.value.members {
		if !slices.Contains(placing, part.key) {
			said.others = append(said.others, part.key)
		}
	}
	return text[m.value.start:m.value.end], said, nil
}

// textOf gives the member of an object that is a string; "" if it is none.
func (j *jsonText) textOf(o *node, key string) string {
	var text string
	for _, m := range o.members {
		if m.key == key && json.Unmarshal(j.text[m.value.start:m.value.end], &text) != nil {
			return ""
		}
	}
	return text
}

func (f jsonFile) set(text []byte, name string, write func(style) []byte) ([]byte, error) {
	j, holder, m, err := f.entry(text, name)
	if err != nil {
		return nil, err
	}
	fresh := func(st style) []byte {
		inner := style{indent: st.indent + st.unit, unit: st.unit, eol: st.eol, compact: st.compact}
		if st.compact {
			return slices.Concat([]byte("{"+quote(name)+": "), write(inner), []byte("}"))
		}
		return slices.Concat([]byte("{"+st.eol+inner.indent+quote(name)+": "), write(inner), []byte(st.eol+st.indent+"}"))
	}
	switch {
	case m != nil:
		st := style{indent: j.lineIndent(m.start), unit: j.unit(), eol: endOfLine(text), compact: !j.beginsLine(m.start)}
		return apply(text, edit{m.value.start, m.value.end, string(write(st))}), nil
	case holder != nil:
		return apply(text, j.insert(&holder.value, name, write)...), nil
	case j.root != nil:
		return apply(text, j.insert(j.root, f.key, fresh)...), nil
	}
	eol := endOfLine(text)
	lead := ""
	if body := bytes.TrimPrefix(text, byteOrderMark); len(body) > 0 && body[len(body)-1] != '\n' {
		lead = eol
	}
	whole := lead + "{" + eol + "  " + quote(f.key) + ": " + string(fresh(style{indent: "  ", unit: "  ", eol: eol})) + eol + "}" + eol
	return apply(text, edit{len(text), len(text), whole}), nil
}

// insert puts a member behind the others. Comments stay with what they are about: the
// comma goes right behind the last value, the member behind what follows that.
func (j *jsonText) insert(o *node, key string, write func(style) []byte) []edit {
	st := style{unit: j.unit(), eol: endOfLine(j.text)}
	last, isFirst := member{comma: -1}, len(o.members) == 0
	if !isFirst {
		last = o.members[len(o.members)-1]
	}
	end := o.start + len(bytes.TrimRight(j.text[o.start:o.end-1], " \t\r\n"))
	var edits []edit
	if !isFirst && last.comma < 0 {
		edits = append(edits, edit{last.value.end, last.value.end, ","})
	}
	var before, after string
	if last.comma >= 0 {
		after = ","
	}
	switch outer := j.lineIndent(o.start); {
	case !j.onOneLine(o):
		st.indent = j.memberIndent(o, outer)
		before = st.eol + st.indent
	case isFirst:
		st.indent = outer + st.unit
		before, after = st.eol+st.indent, st.eol+outer
	default:
		st.compact = true
		before = " "
	}
	pair := before + quote(key) + ": " + string(write(st)) + after
	stop := end
	if isFirst && j.onOneLine(o) {
		stop = o.end - 1
	}
	return append(edits, edit{end, stop, pair})
}

// onOneLine tells whether the end of an object stands on the line of its last member.
func (j *jsonText) onOneLine(o *node) bool {
	inner := j.text[o.start : o.end-1]
	return !bytes.ContainsRune(inner[len(bytes.TrimRight(inner, " \t\r\n")):], '\n')
}

// lineIndent is what the line of a place begins with.
func (j *jsonText) lineIndent(at int) string {
	start := bytes.LastIndexByte(j.text[:at], '\n') + 1
	line := bytes.TrimPrefix(j.text[start:at], byteOrderMark)
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// beginsLine tells whether there is nothing before a place on its line.
func (j *jsonText) beginsLine(at int) bool {
	start := bytes.LastIndexByte(j.text[:at], '\n') + 1
	return start > 0 && len(bytes.Trim(j.text[start:at], " \t")) == 0
}

// memberIndent is where the members of an object begin.
func (j *jsonText) memberIndent(o *node, outer string) string {
	for _, m := range slices.Backward(o.members) {
		if j.beginsLine(m.start) {
			return j.lineIndent(m.start)
		}
	}
	return outer + j.unit()
}

// unit is by how much this text indents.
func (j *jsonText) unit() string {
	if j.root != nil {
		outer := j.lineIndent(j.root.start)
		for _, m := range j.root.members {
			if unit, deeper := strings.CutPrefix(j.lineIndent(m.start), outer); j.beginsLine(m.start) && deeper && unit != "" {
				return unit
			}
		}
	}
	return "  "
}

func (f jsonFile) remove(text []byte, name string, keepHolder bool) ([]byte, error) {
	j, holder, m, err := f.entry(text, name)
	if err != nil || m == nil {
		return text, err
	}
	if len(holder.value.members) == 1 && !keepHolder {
		return apply(text, j.cut(j.root, holder)...), nil
	}
	return apply(text, j.cut(&holder.value, m)...), nil
}

// cut takes a member out: its line, and the comma that only it needs.
func (j *jsonText) cut(o *node, m *member) []edit {
	start, end := m.start, m.value.end
	if m.comma >= 0 {
		end = m.comma + 1
		if len(bytes.TrimSpace(j.text[m.value.end:m.comma])) > 0 { // a comment stands between
			end = m.value.end
		}
	}
	for start > o.start+1 && isSpace(j.text[start-1]) {
		start--
	}
	rest := bytes.TrimLeft(j.text[end:], " \t\r")
	if slices.Contains(j.comments, start+len(j.text[start:])-len(bytes.TrimLeft(j.text[start:], " \t\r"))) && len(rest) > 0 && rest[0] != '\n' {
		start = m.start // what follows on this line would end up in the comment before it
	}
	var edits []edit
	switch i := slices.IndexFunc(o.members, func(other member) bool { return other.start == m.start }); {
	case len(o.members) == 1 && len(bytes.TrimSpace(slices.Concat(j.text[o.start+1:start], j.text[end:o.end-1]))) == 0:
		start, end = o.start+1, o.end-1
	case i == len(o.members)-1 && i > 0 && m.comma < 0: // the one before it is the last now
		before := o.members[i-1].comma
		edits = append(edits, edit{before, before + 1, ""})
		start = max(start, before+1)
	case end == m.value.end && m.comma >= 0:
		edits = append(edits, edit{m.comma, m.comma + 1, ""})
	}
	return append(edits, edit{start, end, ""})
}

func (jsonFile) render(_ string, fields []field, st style) []byte { return renderJSON(fields, st) }

// renderJSON writes the fields of an entry, each on a line of its own.
func renderJSON(fields []field, st style) []byte {
	parts := make([]string, len(fields))
	for i, f := range fields {
		parts[i] = quote(f.key) + ": " + jsonValue(f.value)
	}
	if st.compact {
		return []byte("{" + strings.Join(parts, ", ") + "}")
	}
	line := st.eol + st.indent + st.unit
	return []byte("{" + line + strings.Join(parts, ","+line) + st.eol + st.indent + "}")
}

func jsonValue(value any) string {
	switch v := value.(type) {
	case []string:
		parts := make([]string, len(v))
		for i, text := range v {
			parts[i] = quote(text)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case []field:
		return string(renderJSON(v, style{compact: true}))
	default:
		return quote(v.(string))
	}
}

// quote writes a text as a JSON string, with & and < as they are.
func quote(text string) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text) // a string never fails
	return strings.TrimSuffix(out.String(), "\n")
}

// compactJSON writes fields on one line, without white space.
func compactJSON(fields []field) []byte {
	var out bytes.Buffer
	_ = json.Compact(&out, renderJSON(fields, style{compact: true})) // it was just written
	return out.Bytes()
}
