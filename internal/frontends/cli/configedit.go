package cli

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"remit/internal/contract"
)

// leaves returns all values of the file by their path, such as approve and tools.hello.rate.
func (f *configFile) leaves() map[string]string {
	all := maps.Clone(f.settings)
	for name, rule := range f.tools {
		for key, value := range ruleValues(rule) {
			all["tools."+name+"."+key] = value
		}
	}
	return all
}

// ruleValues returns the values of a rule that are set, by their key.
func ruleValues(rule contract.Tightening) map[string]string {
	values := map[string]string{}
	for i, key := range ruleKeys() {
		field := reflect.ValueOf(rule).Field(i)
		if list, ok := field.Interface().([]string); ok && len(list) > 0 {
			values[key] = strings.Join(list, ",")
		} else if !ok && !field.IsZero() {
			values[key] = fmt.Sprint(field.Interface())
		}
	}
	return values
}

// with returns the text of the file with another value of a key. Comments and all other entries
// stay; if that is not possible, it returns an error.
func (f *configFile) with(text []byte, key, value string) ([]byte, error) {
	for _, written := range spellings(key, value) {
		after := f.edit(text, key, written)
		changed := newConfigFile(f.name)
		if changed.parse(after) != nil {
			continue
		}
		was, is := f.leaves(), changed.leaves()
		got, given := is[key]
		delete(was, key)
		delete(is, key)
		if given && maps.Equal(was, is) && sameValue(key, got, value) && countComments(after) == countComments(text) {
			return after, nil
		}
	}
	if err := wrongAlone(key, value); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("%s cannot be set to %s here without changing other lines of %s; use \"remit config edit\"",
		quoted(key), quoted(value), f.name)
}

// wrongAlone returns the error of a value that no file can have, such as a rate of "fast". It says
// nothing of a file, because the value is in none.
func wrongAlone(key, value string) error {
	f := newConfigFile("")
	err := f.parse(f.edit(nil, key, spellings(key, value)[0]))
	if err == nil {
		return nil
	}
	_, why, _ := strings.Cut(err.Error(), ": ") // after the position
	return errors.New(why)
}

// removing returns the text of the file without a key, and without what is empty then. Comments
// and all other entries stay; if that is not possible, it returns an error.
func (f *configFile) removing(text []byte, key string) ([]byte, error) {
	want := f.leaves()
	delete(want, key)
	lines, eol := splitLines(text)
	parts := strings.Split(key, ".")
	for i := range parts { // a rule is removed with the entry of its tool, if that has no other
		at, ok := f.positions[strings.Join(parts[:i+1], ".")]
		if !ok || at.Line > len(lines) {
			continue
		}
		after, changed := removeEntry(lines, at.Line-1, eol), newConfigFile(f.name)
		if changed.parse(after) == nil && maps.Equal(want, changed.leaves()) && countComments(after) == countComments(text) {
			return after, nil
		}
	}
	return nil, fmt.Errorf("%s cannot be removed without changing other lines of %s; use \"remit config edit\"", quoted(key), f.name)
}

// sameValue reports whether a value was read as it was written. Rules for tools have other forms
// of the same value, such as 60s for 1m0s, which the contract checks.
func sameValue(key, got, want string) bool {
	return got == want || toolKey(key) != "" && !strings.HasSuffix(key, ".deny")
}

// countComments counts the lines with a comment.
func countComments(text []byte) (n int) {
	for line := range bytes.Lines(text) {
		if _, comment := cutComment(string(line)); comment != "" {
			n++
		}
	}
	return n
}

// spellings returns how a value can be written in YAML, the simplest first.
func spellings(key, value string) []string {
	if strings.HasPrefix(key, "tools.") && strings.HasSuffix(key, ".deny") {
		return []string{"[" + strings.Join(convert(splitGlobs(value), strconv.Quote), ", ") + "]"}
	}
	if regexp.MustCompile(`^[A-Za-z0-9/][^\s#:]*(:[^\s#:]+)*$`).MatchString(value) {
		return []string{value, strconv.Quote(value)}
	}
	return []string{strconv.Quote(value)}
}

// edit returns the text with the key set. The caller checks the result, because a file can be
// written in ways that edit does not know.
func (f *configFile) edit(text []byte, key, written string) []byte {
	lines, eol := splitLines(text)
	if at, ok := f.positions[key]; ok && at.Line <= len(lines) {
		return replaceValue(lines, at.Line-1, written, eol)
	}
	if last := len(lines) - 1; lines[last] == "" {
		lines = lines[:last]
	} else {
		lines[last] += eol
	}
	parts := strings.Split(key, ".")
	added, at := key+": "+written+eol, len(lines)
	if len(parts) == 3 {
		tools, hasTools := f.positions["tools"]
		tool, hasTool := f.positions["tools."+parts[1]]
		switch {
		case hasTool:
			at = min(tool.Line, len(lines))
			added = childIndent(lines, at-1) + parts[2] + ": " + written + eol
		case hasTools:
			at = min(tools.Line, len(lines))
			indent := childIndent(lines, at-1)
			added = indent + parts[1] + ":" + eol + indent + "  " + parts[2] + ": " + written + eol
		default:
			added = "tools:" + eol + "  " + parts[1] + ":" + eol + "    " + parts[2] + ": " + written + eol
		}
	} else if example := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "# "+key+":") }); example >= 0 {
		at = example + 1 // init writes the default as a comment
	}
	return []byte(strings.Join(slices.Insert(lines, at, added), ""))
}

// splitLines returns the lines of a text and how they end.
func splitLines(text []byte) (lines []string, eol string) {
	lines = strings.SplitAfter(string(text), "\n")
	if strings.HasSuffix(lines[0], "\r\n") {
		return lines, "\r\n"
	}
	return lines, "\n"
}

// replaceValue replaces the value of the key in a line. A value on several lines becomes one line;
// comments within it follow.
func replaceValue(lines []string, at int, written, eol string) []byte {
	line := strings.TrimRight(lines[at], "\r\n")
	code, comment := cutComment(line)
	name, _, _ := strings.Cut(code, ":")
	end, rest := entryEnd(lines, at, eol)
	changed := name + ": " + written + comment + lines[at][len(line):]
	return []byte(strings.Join(slices.Concat(lines[:at], []string{changed}, rest, lines[end:]), ""))
}

// removeEntry removes the entry that begins in a line. Its comments stay.
func removeEntry(lines []string, at int, eol string) []byte {
	end, rest := entryEnd(lines, at, eol)
	if _, comment := cutComment(strings.TrimRight(lines[at], "\r\n")); comment != "" {
		rest = slices.Insert(rest, 0, lines[at][:indentWidth(lines[at])]+strings.TrimSpace(comment)+eol)
	}
	return []byte(strings.Join(slices.Concat(lines[:at], rest, lines[end:]), ""))
}

// entryEnd returns the line after the entry that begins in a line, and the comments of its further
// lines.
func entryEnd(lines []string, at int, eol string) (end int, comments []string) {
	indent := indentWidth(lines[at])
	end = at + 1
	for next := end; next < len(lines); next++ {
		trimmed := strings.TrimSpace(lines[next])
		deeper := indentWidth(lines[next]) > indent || indentWidth(lines[next]) == indent && strings.HasPrefix(trimmed, "-")
		if trimmed != "" && !deeper {
			break
		}
		if trimmed != "" {
			end = next + 1
		}
	}
	for _, inner := range lines[at+1 : end] {
		if _, comment := cutComment(strings.TrimRight(inner, "\r\n")); comment != "" {
			comments = append(comments, lines[at][:indent]+strings.TrimSpace(comment)+eol)
		}
	}
	return end, comments
}

// cutComment splits a line into its code and its comment, which begins with the space before #.
func cutComment(line string) (code, comment string) {
	quote := byte(0)
	for i := 0; i < len(line); i++ {
		before := byte(' ')
		if i > 0 {
			before = line[i-1]
		}
		switch c := line[i]; {
		case quote == '"' && c == '\\':
			i++ // an escaped character
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
		case (c == '"' || c == '\'') && strings.IndexByte(" \t[{,:", before) >= 0:
			quote = c
		case c == '#' && (before == ' ' || before == '\t'):
			code = strings.TrimRight(line[:i], " \t")
			return code, line[len(code):]
		}
	}
	return strings.TrimRight(line, " \t"), ""
}

// indentWidth returns how many spaces a line begins with.
func indentWidth(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// childIndent returns the indent of the entries below a line.
func childIndent(lines []string, at int) string {
	own := indentWidth(lines[at])
	for _, line := range lines[at+1:] {
		if trimmed := strings.TrimSpace(line); trimmed == "" || trimmed[0] == '#' {
			continue
		}
		if width := indentWidth(line); width > own {
			return line[:width]
		}
		break
	}
	return strings.Repeat(" ", own+2)
}
