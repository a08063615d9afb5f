package clients

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"remit/internal/jsonc"
)

// jsonFile is a JSON file with an object of servers by name.
type jsonFile struct{ key string }

func (jsonFile) language() string { return "json" }

// jsonText is a parsed JSON text. Editing the tree keeps every other byte.
type jsonText struct {
	text []byte
	root hujson.Value // its Value is nil if the text has none
}

// parse parses a text whose value, if there is one, is an object.
func (f jsonFile) parse(text []byte) (*jsonText, error) {
	root, err := jsonc.Parse(text)
	var wrong *jsonc.SyntaxError
	switch {
	case errors.As(err, &wrong):
		return nil, syntaxError(text, wrong.Offset, "%s", wrong.Reason)
	case root.Value != nil && root.Value.Kind() != '{':
		return nil, syntaxError(text, root.StartOffset, "expected an object in braces")
	}
	return &jsonText{text, root}, err
}

// find follows a path of names from the root. It returns the object that holds the last name, and
// the index of the member there, or -1 if there is none. It rejects duplicate names, because
// programs differ in which of the two they use.
func (j *jsonText) find(path ...string) (holder *hujson.Value, index int, err error) {
	holder = &j.root
	for i, key := range path {
		index = -1
		for k, m := range members(holder) {
			if m.Name.Value.(hujson.Literal).String() != key {
				continue
			}
			if index >= 0 {
				return nil, -1, syntaxError(j.text, m.Name.StartOffset, "%s occurs twice; remove one of them", quote(key))
			}
			index = k
		}
		if index < 0 || i == len(path)-1 {
			break
		}
		holder = &members(holder)[index].Value
	}
	return holder, index, nil
}

// members returns the members of an object, or nil for any other value.
func members(v *hujson.Value) []hujson.ObjectMember {
	if o, ok := v.Value.(*hujson.Object); ok {
		return o.Members
	}
	return nil
}

// servers returns the object of the servers, or nil if there is none.
func (f jsonFile) servers(text []byte) (*jsonText, *hujson.Value, error) {
	j, err := f.parse(text)
	if err != nil {
		return nil, nil, err
	}
	root, i, err := j.find(f.key)
	if err != nil || i < 0 {
		return j, nil, err
	}
	servers := &members(root)[i].Value
	if servers.Value.Kind() != '{' {
		err = syntaxError(text, servers.StartOffset, "%s must be an object in braces", quote(f.key))
	}
	return j, servers, err
}

func (f jsonFile) holds(text []byte) bool {
	_, servers, err := f.servers(text)
	return err == nil && servers != nil
}

func (f jsonFile) get(text []byte, name string) ([]byte, Entry, error) {
	j, servers, err := f.servers(text)
	if err != nil || servers == nil {
		return nil, Entry{}, err
	}
	_, i, err := j.find(f.key, name)
	if err != nil || i < 0 {
		return nil, Entry{}, err
	}
	value := &members(servers)[i].Value
	var entry Entry
	for _, m := range members(value) {
		key := m.Name.Value.(hujson.Literal).String()
		word, _ := m.Value.Value.(hujson.Literal)
		switch isText := word.Kind() == '"'; {
		case !slices.Contains(connectionFields, key):
			entry.others = append(entry.others, key)
		case isText && key == "command":
			entry.Command = word.String()
		case isText && entry.URL == "" && strings.HasSuffix(strings.ToLower(key), "url"):
			entry.URL = word.String()
		}
	}
	return text[value.StartOffset:value.EndOffset], entry, nil
}

func (f jsonFile) names(text []byte) (names []string, err error) {
	_, servers, err := f.servers(text)
	if err != nil || servers == nil {
		return nil, err
	}
	for _, m := range members(servers) {
		names = append(names, m.Name.Value.(hujson.Literal).String())
	}
	return names, nil
}

func (f jsonFile) set(text []byte, name string, write func(style) []byte) ([]byte, error) {
	j, servers, err := f.servers(text)
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
	case j.root.Value == nil:
		eol, lead := endOfLine(text), ""
		if body := bytes.TrimPrefix(text, byteOrderMark); len(body) > 0 && body[len(body)-1] != '\n' {
			lead = eol
		}
		return f.set(slices.Concat(text, []byte(lead+"{}"+eol)), name, write)
	case servers == nil:
		j.insert(&j.root, f.key, fresh)
		return j.text, nil
	}
	_, i, err := j.find(f.key, name)
	if err != nil {
		return nil, err
	}
	if i < 0 {
		j.insert(servers, name, write)
		return j.text, nil
	}
	m := &members(servers)[i]
	indent, beginsLine := indentOf(m.Name.BeforeExtra)
	j.replace(&m.Value, write(style{indent: indent, unit: j.unit(), eol: endOfLine(text), compact: !beginsLine}))
	return j.text, nil
}

// replace replaces a value with JSON text.
func (j *jsonText) replace(v *hujson.Value, written []byte) {
	v.Value = hujson.Literal(written)
	j.pack()
}

// pack renders the tree after a change and updates the offsets.
func (j *jsonText) pack() {
	j.text = j.root.Pack()
	j.root.UpdateOffsets()
}

const space = " \t\r\n"

// insert adds a member after the others. Comments stay next to their values: the comma goes right
// after the last value, and the member after the comments that follow it.
func (j *jsonText) insert(holder *hujson.Value, key string, write func(style) []byte) {
	o := holder.Value.(*hujson.Object)
	kept := bytes.TrimRight(o.AfterExtra, space)
	tail := string(o.AfterExtra[len(kept):])
	line := j.text[bytes.LastIndexByte(j.text[:holder.StartOffset], '\n')+1 : holder.StartOffset]
	line = bytes.TrimPrefix(line, byteOrderMark)
	outer := string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
	st := style{indent: outer + j.unit(), unit: j.unit(), eol: endOfLine(j.text)}
	before := " "
	switch {
	case strings.Contains(tail, "\n"):
		for _, m := range o.Members {
			if indent, beginsLine := indentOf(m.Name.BeforeExtra); beginsLine {
				st.indent = indent
			}
		}
		before = st.eol + st.indent
	case len(o.Members) == 0:
		before, tail = st.eol+st.indent, st.eol+outer
	default:
		st.compact = true
	}
	added := hujson.ObjectMember{
		Name:  hujson.Value{BeforeExtra: slices.Concat(kept, []byte(before)), Value: hujson.Literal(quote(key))},
		Value: hujson.Value{BeforeExtra: hujson.Extra(" "), Value: hujson.Literal(write(st))},
	}
	if n := len(o.Members); n > 0 && o.Members[n-1].Value.AfterExtra != nil {
		added.Value.AfterExtra = hujson.Extra{} // keep the style of a trailing comma
	}
	o.Members, o.AfterExtra = append(o.Members, added), hujson.Extra(tail)
	j.pack()
}

// indentOf returns the indent of a member that begins a line, or false if it does not begin one.
func indentOf(before hujson.Extra) (string, bool) {
	end := bytes.LastIndexByte(before, '\n') + 1
	indent := before[end:]
	return string(indent), end > 0 && len(bytes.Trim(indent, " \t")) == 0
}

// unit returns the indent of one level in this text.
func (j *jsonText) unit() string {
	before := j.root.BeforeExtra
	outer := string(bytes.TrimPrefix(before[bytes.LastIndexByte(before, '\n')+1:], byteOrderMark))
	for _, m := range members(&j.root) {
		indent, beginsLine := indentOf(m.Name.BeforeExtra)
		if unit, deeper := strings.CutPrefix(indent, outer); beginsLine && deeper && unit != "" {
			return unit
		}
	}
	return "  "
}

func (f jsonFile) remove(text []byte, name string, keepHolder bool) ([]byte, error) {
	j, servers, err := f.servers(text)
	if err != nil || servers == nil {
		return text, err
	}
	holder, i, err := j.find(f.key, name)
	if err != nil || i < 0 {
		return text, err
	}
	if len(members(servers)) == 1 && !keepHolder {
		holder, i, err = j.find(f.key)
	}
	j.cut(holder, i)
	return j.text, err
}

// cut removes a member, with its line and its comma. Comments are kept.
func (j *jsonText) cut(holder *hujson.Value, i int) {
	o := holder.Value.(*hujson.Object)
	m, isLast := o.Members[i], i == len(o.Members)-1
	next := &o.AfterExtra
	if !isLast {
		next = &o.Members[i+1].Name.BeforeExtra
	}
	rest := *next
	if len(bytes.TrimSpace(m.Value.AfterExtra)) > 0 { // a comment before its comma
		rest = slices.Concat(m.Value.AfterExtra, rest)
	}
	before := hujson.Extra(bytes.TrimRight(m.Name.BeforeExtra, space))
	if !before.IsValid() && !bytes.HasPrefix(bytes.TrimLeft(rest, " \t\r"), []byte("\n")) {
		// Otherwise the next text would become part of the line comment before it.
		before = m.Name.BeforeExtra
	}
	*next = slices.Concat(before, rest)
	o.Members = slices.Delete(o.Members, i, i+1)
	if len(o.Members) == 0 && len(bytes.TrimSpace(o.AfterExtra)) == 0 {
		o.AfterExtra = nil
	}
	if isLast && i > 0 { // the member before it is now the last
		previous := &o.Members[i-1].Value
		if m.Value.AfterExtra == nil {
			o.AfterExtra, previous.AfterExtra = slices.Concat(previous.AfterExtra, o.AfterExtra), nil
		} else if previous.AfterExtra == nil {
			previous.AfterExtra = hujson.Extra{}
		}
	}
	j.pack()
}

// update removes the connection fields that are no longer used, and sets the given ones. Headers
// that the user added beside the token are kept.
func (f jsonFile) update(text []byte, name string, fields []field) ([]byte, error) {
	j, err := f.parse(text)
	if err != nil {
		return nil, err
	}
	for _, key := range connectionFields {
		if slices.ContainsFunc(fields, func(one field) bool { return one.key == key }) {
			continue
		}
		path := []string{f.key, name, key}
		holder, i, err := j.find(path...)
		if err == nil && i >= 0 && key == "headers" && len(members(&members(holder)[i].Value)) > 1 {
			holder, i, err = j.find(append(path, bearer("")[0].key)...)
		}
		if err != nil {
			return nil, err
		}
		if i >= 0 {
			j.cut(holder, i)
		}
	}
	err = j.put(fields, f.key, name)
	return j.text, err
}

// put sets fields of an object. It replaces present values.
func (j *jsonText) put(fields []field, path ...string) error {
	for _, one := range fields {
		at := append(slices.Clone(path), one.key)
		holder, i, err := j.find(at...)
		if err != nil {
			return err
		}
		written := []byte(jsonValue(one.value))
		if i < 0 {
			j.insert(holder, one.key, func(style) []byte { return written })
			continue
		}
		value := &members(holder)[i].Value
		inner, nested := one.value.([]field)
		switch {
		case nested && value.Value.Kind() == '{':
			if err := j.put(inner, at...); err != nil {
				return err
			}
		case !alike(j.text[value.StartOffset:value.EndOffset], written):
			j.replace(value, written)
		}
	}
	return nil
}

// alike reports whether two JSON values are equal apart from their layout.
func alike(a, b []byte) bool {
	first, errFirst := hujson.Minimize(bytes.Clone(a))
	second, errSecond := hujson.Minimize(bytes.Clone(b))
	return errors.Join(errFirst, errSecond) == nil && bytes.Equal(first, second)
}

func (jsonFile) render(_ string, fields []field, st style) []byte { return renderJSON(fields, st) }

// renderJSON returns the fields as an object, each on a line of its own unless st is compact.
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

// quote returns text as a JSON string. It does not escape & and <.
func quote(text string) string { return string(hujson.String(text)) }

// compactJSON returns the fields as an object without white space.
func compactJSON(fields []field) []byte {
	out, _ := hujson.Minimize(renderJSON(fields, style{compact: true})) // it was just written
	return out
}
