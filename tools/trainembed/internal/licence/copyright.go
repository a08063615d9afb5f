package licence

import "strings"

// copyright is a parsed debian/copyright file.
type copyright struct {
	stanzas []stanza          // in the order of the file; the last one that matches a file applies
	texts   map[string]string // full texts by short name, in lower case
	free    string            // the text before the first stanza
}

// stanza is a paragraph with Files and a licence.
type stanza struct {
	files   []string // patterns with * and ?, below the root of the source
	licence string   // the expression in the first line
	text    string   // the text after the first line
}

// readCopyright parses the machine-readable form of debian/copyright. It is lenient, because many
// files are old or have mistakes. A text in another form becomes free as a whole.
func readCopyright(text string) copyright {
	c := copyright{texts: map[string]string{}}
	for _, fields := range paragraphs(text) {
		files, licence := strings.Fields(strings.ReplaceAll(fields["files"], ",", " ")), fields["license"]
		name, rest, _ := strings.Cut(licence, "\n")
		name = strings.TrimSpace(name)
		if len(files) > 0 {
			c.stanzas = append(c.stanzas, stanza{files: files, licence: name, text: rest})
		}
		if name != "" && strings.TrimSpace(rest) != "" {
			c.texts[strings.ToLower(name)] += rest + "\n"
		}
	}
	c.free = text
	if start := strings.Index("\n"+strings.ToLower(text), "\nfiles:"); start >= 0 && len(c.stanzas) > 0 {
		c.free = text[:min(start, len(text))]
	}
	return c
}

// paragraphs splits a text in the form of Debian's control files into fields by lower-case name.
func paragraphs(text string) []map[string]string {
	var all []map[string]string
	var fields map[string]string
	var last string
	for line := range strings.Lines(strings.ReplaceAll(text, "\r\n", "\n")) {
		line = strings.TrimRight(line, " \t\n")
		name, value, isField := strings.Cut(line, ":")
		switch {
		case line == "":
			fields, last = nil, ""
		case line[0] == ' ' || line[0] == '\t':
			if fields != nil && last != "" {
				fields[last] += "\n" + strings.TrimSpace(line)
			}
		case line[0] == '#' || !isField || strings.ContainsAny(name, " \t"):
		default:
			if fields == nil {
				fields = map[string]string{}
				all = append(all, fields)
			}
			last = strings.ToLower(name)
			if _, again := fields[last]; again {
				fields[last] += "\n"
			}
			fields[last] += strings.TrimSpace(value)
		}
	}
	return all
}

// judge returns the verdict on a licence name in this file: by the name, or by the full text that
// the file gives for it.
func (c copyright) judge(name string) Verdict {
	if verdict := ofName(name); verdict != Unknown {
		return verdict
	}
	return textVerdict(c.texts[strings.ToLower(name)])
}

// verdict returns the verdict on a stanza. If the first line is empty, the text decides.
func (c copyright) verdict(s stanza) Verdict {
	if s.licence != "" {
		if verdict := OfExpression(s.licence, c.judge); verdict != Unknown {
			return verdict
		}
	}
	return textVerdict(s.licence + "\n" + s.text)
}
