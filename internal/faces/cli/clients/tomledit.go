package clients

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// tomlFile is a file with a table of servers by name.
type tomlFile struct{ key string }

func (tomlFile) language() string { return "toml" }

// lines are some whole lines of a text.
type lines struct{ start, end int }

// entry finds the tables of a server. What is written in a way that a table cannot be
// put beside is refused.
func (f tomlFile) entry(text []byte, name string) (found []lines, said Entry, err error) {
	all, err := scanTOML(text)
	if err != nil {
		return nil, Entry{}, err
	}
	heads := 0
	for i, s := range all {
		if err := f.refuse(text, &s, name); err != nil {
			return nil, Entry{}, err
		}
		if !f.isOf(s.table, name) {
			continue
		}
		switch {
		case s.isHeader():
			found = append(found, lines{s.start, s.end})
			if len(s.table) == 2 {
				heads++
			} else {
				said.others = append(said.others, s.table[2])
			}
		default:
			found[len(found)-1].end = s.end
			if len(s.table) == 2 {
				said.note(s.key, s.said)
			}
		}
		if heads > 1 {
			return nil, Entry{}, syntaxError(text, all[i].start, "[%s.%s] is there twice; remove one of them", f.key, name)
		}
	}
	return found, said, nil
}

func (e *Entry) note(key []string, value string) {
	switch {
	case len(key) > 1 || !slices.Contains(placing, key[0]):
		e.others = append(e.others, key[0])
	case key[0] == "command":
		e.Command = value
	case key[0] == "url":
		e.URL = value
	}
}

// isOf tells whether a table is that of a server, or one in it.
func (f tomlFile) isOf(table []string, name string) bool {
	return len(table) >= 2 && table[0] == f.key && table[1] == name
}

// refuse says no to servers that are not in tables of their own.
func (f tomlFile) refuse(text []byte, s *statement, name string) error {
	full := slices.Concat(s.table, s.key)
	isOurs := len(full) > 0 && full[0] == f.key
	switch {
	case !isOurs:
		return nil
	case s.array && len(s.table) <= 2:
		return syntaxError(text, s.start, "[[%s]] is a list; Codex takes tables such as [%s.%s]", strings.Join(s.table, "."), f.key, name)
	case s.isHeader() || len(s.table) >= 2:
		return nil
	case len(s.table) == 0:
		return syntaxError(text, s.start, "%s stands on lines without a table; write each server as a table [%s.NAME], or add [%s.%s] by hand", f.key, f.key, f.key, name)
	case s.key[0] == name:
		return syntaxError(text, s.start, "%s is not in a table of its own; write it as [%s.%s], or change it by hand", name, f.key, name)
	}
	return nil
}

func (f tomlFile) holds(text []byte) bool {
	all, err := scanTOML(text)
	return err == nil && slices.ContainsFunc(all, func(s statement) bool { return len(s.table) > 0 && s.table[0] == f.key })
}

func (f tomlFile) get(text []byte, name string) ([]byte, Entry, error) {
	found, said, err := f.entry(text, name)
	if err != nil || len(found) == 0 {
		return nil, Entry{}, err
	}
	var raw []byte
	for _, l := range found {
		raw = append(raw, text[l.start:l.end]...)
	}
	return raw, said, nil
}

func (f tomlFile) set(text []byte, name string, write func(style) []byte) ([]byte, error) {
	found, _, err := f.entry(text, name)
	if err != nil {
		return nil, err
	}
	eol := endOfLine(text)
	entry := string(write(style{eol: eol}))
	if len(found) > 0 {
		if !bytes.HasSuffix(text[:found[0].end], []byte("\n")) {
			entry = strings.TrimSuffix(entry, eol)
		}
		edits := []edit{{found[0].start, found[0].end, entry}}
		for _, l := range found[1:] {
			edits = append(edits, cutLines(text, l))
		}
		return apply(text, edits...), nil
	}
	return apply(text, edit{len(text), len(text), gapBefore(text, eol) + entry}), nil
}

// mend finds the table that get has found the command or the address in.
func (f tomlFile) mend(text []byte, name string, fields []field) ([]byte, error) {
	all, err := scanTOML(text)
	if err != nil {
		return nil, err
	}
	var edits []edit
	end, missing := 0, slices.Clone(fields)
	for _, s := range all {
		if len(s.table) != 2 || !f.isOf(s.table, name) {
			continue
		}
		end = s.end
		if len(s.key) != 1 {
			continue
		}
		switch i := slices.IndexFunc(missing, func(one field) bool { return one.key == s.key[0] }); {
		case i >= 0:
			edits = append(edits, edit{s.at, s.at + len(s.value), jsonValue(missing[i].value)})
			missing = slices.Delete(missing, i, i+1)
		case slices.Contains(placing, s.key[0]):
			edits = append(edits, edit{s.start, s.end, ""})
		}
	}
	eol := endOfLine(text)
	more := pairs(missing, eol)
	if more != "" && !bytes.HasSuffix(text[:end], []byte("\n")) {
		more = eol + strings.TrimSuffix(more, eol)
	}
	return apply(text, append(edits, edit{end, end, more})...), nil
}

// gapBefore is what it takes to have a blank line between a text and what follows it.
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
	var edits []edit
	for _, l := range found {
		edits = append(edits, cutLines(text, l))
	}
	return apply(text, edits...), nil
}

// cutLines takes lines out, and the blank one before them unless it is needed still.
func cutLines(text []byte, l lines) edit {
	rest := bytes.TrimLeft(text[l.end:], " \t\r")
	if len(rest) == 0 || rest[0] == '\n' {
		for _, blank := range []string{"\n\r\n", "\n\n"} {
			if bytes.HasSuffix(text[:l.start], []byte(blank)) {
				l.start -= len(blank) - 1
				break
			}
		}
	}
	return edit{l.start, l.end, ""}
}

func (f tomlFile) render(name string, fields []field, st style) []byte {
	return []byte("[" + f.key + "." + name + "]" + st.eol + pairs(fields, st.eol))
}

// pairs writes each field on a line.
func pairs(fields []field, eol string) string {
	var b strings.Builder
	for _, one := range fields {
		fmt.Fprintf(&b, "%s = %s%s", one.key, jsonValue(one.value), eol)
	}
	return b.String()
}
