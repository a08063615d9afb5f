package ignore

import (
	"path/filepath"
	"strconv"
	"strings"
)

// maxIncludeDepth is git's limit on the depth of included configuration files. maxConfigFiles
// limits their total number.
const (
	maxIncludeDepth = 10
	maxConfigFiles  = 200
)

// config holds the values of git's configuration files. Later values override earlier ones.
type config struct {
	read  func(path string) []byte // returns nil if there is no such file
	home  string                   // "" if it is not known
	files int                      // number of files read
	// By section.name in lower case; values in subsections are left out.
	values map[string]string
}

// load reads a file and those that it includes. Conditional includes are not supported and left
// out.
func (c *config) load(path string, depth int) {
	if c.files++; depth > maxIncludeDepth || c.files > maxConfigFiles {
		return
	}
	content := c.read(path)
	text := strings.TrimPrefix(string(content), "\xef\xbb\xbf")
	p := configParser{text: strings.ReplaceAll(text, "\r\n", "\n")}
	for {
		key, value, ok := p.next()
		switch {
		case !ok:
			return
		case key == "include.path":
			if included, ok := c.expand(value, filepath.Dir(path)); ok {
				c.load(included, depth+1)
			}
		default:
			c.values[key] = value
		}
	}
}

// expand returns the path that a value stands for. It expands ~/ to the home folder and resolves a
// relative path from folder. It returns false if the base is not known.
func (c *config) expand(value, folder string) (string, bool) {
	if rest, ok := strings.CutPrefix(value, "~/"); ok {
		return filepath.Join(c.home, rest), c.home != ""
	}
	switch {
	case value == "" || value[0] == '~':
		return "", false
	case filepath.IsAbs(value):
		return value, true
	}
	return filepath.Join(folder, value), folder != ""
}

// isTrue reports whether a key is set to true, in any notation that git accepts.
func (c *config) isTrue(key string) bool {
	value, ok := c.values[key]
	return ok && parseBool(value)
}

func parseBool(value string) bool {
	switch strings.ToLower(value) {
	case "true", "yes", "on":
		return true
	}
	number, err := strconv.Atoi(value)
	return err == nil && number != 0
}

// configParser parses a configuration file up to its end or the first error.
type configParser struct {
	text    string
	section string // with a dot at its end; values in subsections get a key that nothing reads
	bare    bool   // the key has no value
}

// next returns a key, in lower case, and its value.
func (p *configParser) next() (key, value string, ok bool) {
	for {
		p.text = strings.TrimLeft(p.text, " \t\r\n")
		switch {
		case p.text == "":
			return "", "", false
		case p.text[0] == '#' || p.text[0] == ';':
			_, p.text, _ = strings.Cut(p.text, "\n")
		case p.text[0] == '[':
			if !p.header() {
				return "", "", false
			}
		default:
			if key, ok = p.key(); ok {
				value, ok = p.value()
			}
			return p.section + key, value, ok
		}
	}
}

// header reads [section] or [section "subsection"]. A subsection may contain brackets and quotes.
func (p *configParser) header() bool {
	inside := false
	for i := 1; i < len(p.text); i++ {
		switch c := p.text[i]; {
		case c == '\n':
			return false
		case c == '\\' && inside:
			i++
		case c == '"':
			inside = !inside
		case c == ']' && !inside:
			p.section = strings.ToLower(strings.TrimSpace(p.text[1:i])) + "."
			p.text = p.text[i+1:]
			return true
		}
	}
	return false
}

// key reads a name and the = after it, if there is one. A name alone means true.
func (p *configParser) key() (string, bool) {
	end := 0
	for end < len(p.text) && (p.text[end] == '-' || isLetter(p.text[end]) || end > 0 && isDigit(p.text[end])) {
		end++
	}
	name := strings.ToLower(p.text[:end])
	p.text = strings.TrimLeft(p.text[end:], " \t")
	switch {
	case name == "":
		return "", false
	case strings.HasPrefix(p.text, "="):
		p.text = p.text[1:]
		return name, true
	case p.text == "" || strings.IndexByte("\r\n#;", p.text[0]) >= 0:
		p.bare = true
		return name, true
	}
	return "", false
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// value reads up to the end of the line. It keeps spaces within quotes and between words. A
// backslash at the end of the line continues the value in the next line.
func (p *configParser) value() (string, bool) {
	if p.bare {
		p.bare = false
		return "true", true
	}
	var b strings.Builder
	quoted, comment, spaces := false, false, 0
	for i := 0; i < len(p.text); i++ {
		c := p.text[i]
		switch {
		case c == '\n':
			p.text = p.text[i:]
			return b.String(), !quoted
		case comment:
		case (c == ' ' || c == '\t') && !quoted:
			if b.Len() > 0 {
				spaces++
			}
		case (c == '#' || c == ';') && !quoted:
			comment = true
		default:
			b.WriteString(strings.Repeat(" ", spaces))
			spaces = 0
			if c == '"' {
				quoted = !quoted
				continue
			}
			if c == '\\' {
				if i++; i == len(p.text) || p.text[i] == '\n' {
					continue
				}
				if c = escaped(p.text[i]); c == 0 {
					return "", false
				}
			}
			b.WriteByte(c)
		}
	}
	p.text = ""
	return b.String(), !quoted
}

// escaped returns the byte for an escape sequence, or 0 if there is none.
func escaped(c byte) byte {
	switch c {
	case 't':
		return '\t'
	case 'b':
		return '\b'
	case 'n':
		return '\n'
	case '\\', '"':
		return c
	}
	return 0
}
