package clients

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// tomlFile is a TOML file with a table of servers by name.
type tomlFile struct{ key string }

func (tomlFile) language() string { return "toml" }

// entry returns the table of a server and its subtables. It rejects a file in which servers are
// written so that a table cannot be added.
func (f tomlFile) entry(text []byte, name string) (found []tomlTable, entry Entry, err error) {
	all, err := scanTOML(text)
	if err != nil {
		return nil, Entry{}, err
	}
	isThere := false
	for _, t := range all {
		if err := f.checkTables(text, &t, name); err != nil {
			return nil, Entry{}, err
		}
		if !f.isOf(&t, name) {
			continue
		}
		found = append(found, t)
		switch {
		case len(t.path) > 2:
			entry.others = append(entry.others, t.path[2])
		case isThere:
			return nil, Entry{}, syntaxError(text, t.start, "[%s.%s] occurs twice; remove one of them", f.key, name)
		default:
			isThere = true
			entry.note(t.pairs)
		}
	}
	return found, entry, nil
}

func (e *Entry) note(pairs []tomlPair) {
	for _, p := range pairs {
		switch {
		case len(p.key) > 1 || !slices.Contains(connectionFields, p.key[0]):
			e.others = append(e.others, p.key[0])
		case p.key[0] == "command":
			e.Command = p.text
		case p.key[0] == "url":
			e.URL = p.text
		}
	}
}

// isOf reports whether a table is that of a server or one of its subtables.
func (f tomlFile) isOf(t *tomlTable, name string) bool {
	return len(t.path) >= 2 && t.path[0] == f.key && t.path[1] == name
}

// checkTables rejects servers that are not in tables of their own.
func (f tomlFile) checkTables(text []byte, t *tomlTable, name string) error {
	isOurs := len(t.path) > 0 && t.path[0] == f.key
	if isOurs && t.array && len(t.path) <= 2 {
		return syntaxError(text, t.start, "[[%s]] is an array of tables; Codex expects a table such as [%s.%s]",
			strings.Join(t.path, "."), f.key, name)
	}
	for _, p := range t.pairs {
		switch {
		case len(t.path) == 0 && p.key[0] == f.key:
			return syntaxError(text, p.start, "%s is not written as a table; write each server as a table [%s.NAME], "+
				"or add [%s.%s] by hand",
				f.key, f.key, f.key, name)
		case isOurs && len(t.path) == 1 && p.key[0] == name:
			return syntaxError(text, p.start, "%s is not in a table of its own; write it as [%s.%s], or change it by hand",
				name, f.key, name)
		}
	}
	return nil
}

func (f tomlFile) holds(text []byte) bool {
	all, err := scanTOML(text)
	return err == nil && slices.ContainsFunc(all, func(t tomlTable) bool { return len(t.path) > 0 && t.path[0] == f.key })
}

func (f tomlFile) get(text []byte, name string) ([]byte, Entry, error) {
	found, entry, err := f.entry(text, name)
	var raw []byte
	for _, t := range found {
		raw = append(raw, text[t.start:t.end]...)
	}
	return raw, entry, err
}

func (f tomlFile) names(text []byte) (names []string, err error) {
	all, err := scanTOML(text)
	for _, t := range all {
		if len(t.path) >= 2 && t.path[0] == f.key && !slices.Contains(names, t.path[1]) {
			names = append(names, t.path[1])
		}
	}
	return names, err
}

func (f tomlFile) set(text []byte, name string, write func(style) []byte) ([]byte, error) {
	found, _, err := f.entry(text, name)
	if err != nil {
		return nil, err
	}
	eol := endOfLine(text)
	entry := string(write(style{eol: eol}))
	if len(found) == 0 {
		return apply(text, edit{len(text), len(text), gapBefore(text, eol) + entry}), nil
	}
	if !bytes.HasSuffix(text[:found[0].end], []byte("\n")) {
		entry = strings.TrimSuffix(entry, eol)
	}
	return apply(text, append(cutTables(text, found[1:]), edit{found[0].start, found[0].end, entry})...), nil
}

// update edits the table in which get found the command or the URL.
func (f tomlFile) update(text []byte, name string, fields []field) ([]byte, error) {
	found, _, err := f.entry(text, name)
	i := slices.IndexFunc(found, func(t tomlTable) bool { return len(t.path) == 2 })
	if err != nil || i < 0 {
		return text, err
	}
	var edits []edit
	missing, end := slices.Clone(fields), found[i].end
	for _, p := range found[i].pairs {
		if len(p.key) != 1 {
			continue
		}
		switch k := slices.IndexFunc(missing, func(one field) bool { return one.key == p.key[0] }); {
		case k >= 0:
			edits = append(edits, edit{p.at, p.at + len(p.value), jsonValue(missing[k].value)})
			missing = slices.Delete(missing, k, k+1)
		case slices.Contains(connectionFields, p.key[0]):
			edits = append(edits, edit{p.start, p.end, ""})
		}
	}
	eol := endOfLine(text)
	more := pairs(missing, eol)
	if more != "" && !bytes.HasSuffix(text[:end], []byte("\n")) {
		more = eol + strings.TrimSuffix(more, eol)
	}
	return apply(text, append(edits, edit{end, end, more})...), nil
}

// gapBefore returns the line ends needed for a blank line after text.
func gapBefore(text []byte, eol string) string {
	body := bytes.TrimPrefix(text, byteOrderMark)
	isBlank := len(bytes.TrimSpace(body)) == 0 || bytes.HasSuffix(body, []byte("\n\n")) || bytes.HasSuffix(body, []byte("\n\r\n"))
	switch endsLine := bytes.HasSuffix(body, []byte("\n")) || len(body) == 0; {
	case endsLine && isBlank:
		return ""
	case endsLine || isBlank:
		return eol
	default:
		return eol + eol
	}
}

func (f tomlFile) remove(text []byte, name string, _ bool) ([]byte, error) {
	found, _, err := f.entry(text, name)
	if err != nil {
		return nil, err
	}
	return apply(text, cutTables(text, found)...), nil
}

// cutTables returns edits that remove tables, with the blank line before each if it is no longer
// needed.
func cutTables(text []byte, tables []tomlTable) []edit {
	var edits []edit
	for _, t := range tables {
		rest := bytes.TrimLeft(text[t.end:], " \t\r")
		if len(rest) == 0 || rest[0] == '\n' {
			for _, blank := range []string{"\n\r\n", "\n\n"} {
				if bytes.HasSuffix(text[:t.start], []byte(blank)) {
					t.start -= len(blank) - 1
					break
				}
			}
		}
		edits = append(edits, edit{t.start, t.end, ""})
	}
	return edits
}

func (f tomlFile) render(name string, fields []field, st style) []byte {
	return []byte("[" + f.key + "." + name + "]" + st.eol + pairs(fields, st.eol))
}

// pairs returns each field on a line of its own.
func pairs(fields []field, eol string) string {
	var b strings.Builder
	for _, one := range fields {
		fmt.Fprintf(&b, "%s = %s%s", one.key, jsonValue(one.value), eol)
	}
	return b.String()
}
