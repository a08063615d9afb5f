package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"remit/internal/contract"
	"remit/internal/visible"
)

// configFile is a parsed remit.yaml: the settings, the operator's rules for tools, and the position
// of each key.
type configFile struct {
	name      string
	settings  map[string]string
	tools     map[string]contract.Tightening
	positions map[string]*token.Position // by key: approve, tools.hello, tools.hello.rate
}

// position returns the position of a key as FILE:LINE:COLUMN, or only the file if it lacks the key.
func (f *configFile) position(key string) string {
	if at, ok := f.positions[key]; ok {
		return fmt.Sprintf("%s:%d:%d", f.name, at.Line, at.Column)
	}
	return f.name
}

// wrongValue returns an error that says which setting is wrong and where it was set.
func (f *configFile) wrongValue(key string, origin Origin, err error) error {
	if origin == FromFile {
		return fmt.Errorf("%s: %s: %w", f.position(key), shorten(key), err)
	}
	return fmt.Errorf("%s (from %s): %w", key, origin, err)
}

// locate adds the origin and position of a setting to each contract.SettingError in err: some
// settings can only be checked once the tools are known. Other errors are returned unchanged.
func (s *Settings) locate(err error) error {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		var each []error
		for _, one := range several.Unwrap() {
			each = append(each, s.locate(one))
		}
		return errors.Join(each...)
	}
	var wrong *contract.SettingError
	if !errors.As(err, &wrong) {
		return err
	}
	origin := s.Origin(wrong.Key)
	if strings.HasPrefix(wrong.Key, "tools.") {
		origin = FromFile
	}
	return usageError{s.file.wrongValue(wrong.Key, origin, wrong.Err)}
}

// Limits of a configuration file. They bound the cost of parsing a hostile one.
const (
	maxConfig   = 64 << 10 // bytes
	maxBrackets = 500      // tokens that open a level
	// Colons, anchors, aliases and tags in one line, for which the parser takes quadratic time.
	maxIndicators = 2000
	// Lines other than comments, because it takes quadratic time for many keys too.
	maxConfigLines = 2000
)

// readFile reads a configuration file. It must be a regular file of limited size, and no symbolic
// link unless asked is true: the operator named the file.
func readFile(name string, asked bool) ([]byte, error) {
	info, err := os.Lstat(name)
	if err == nil && asked {
		info, err = os.Stat(name)
	}
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file; name it with --config if you want to use it", name)
	case info.Size() > maxConfig:
		return nil, fmt.Errorf("%s is larger than the allowed %d bytes", name, maxConfig)
	}
	data, err := os.ReadFile(name)
	switch {
	case err != nil:
	case brackets(data) > maxBrackets:
		err = fmt.Errorf("%s is nested too deeply", name)
	case configLines(data) > maxConfigLines:
		err = fmt.Errorf("%s has more than %d lines", name, maxConfigLines)
	case indicators(data) > maxIndicators:
		err = fmt.Errorf("%s has a line with too many keys, anchors or tags; break it into several lines", name)
	}
	return data, err
}

// configLines returns the number of lines that are no comments. The parser ends lines at \r too.
func configLines(data []byte) (n int) {
	for row := range bytes.FieldsFuncSeq(data, func(c rune) bool { return c == '\n' || c == '\r' }) {
		if row = bytes.TrimSpace(row); len(row) > 0 && row[0] != '#' {
			n++
		}
	}
	return n
}

// indicators returns the largest number of YAML indicators in one line.
func indicators(data []byte) (largest int) {
	for row := range bytes.Lines(data) {
		n := 0
		for _, indicator := range []byte(":&*!") {
			n += bytes.Count(row, []byte{indicator})
		}
		largest = max(largest, n)
	}
	return largest
}

// brackets returns an upper bound of the nesting depth: it counts the tokens that open a level. A
// key with its value on the same line opens none.
func brackets(data []byte) int {
	n := bytes.Count(data, []byte("[")) + bytes.Count(data, []byte("{"))
	for row := range bytes.Lines(data) {
		opened, last := 0, false
		for word := range bytes.FieldsSeq(row) {
			last = bytes.HasSuffix(word, []byte(":")) || len(word) == 1 && (word[0] == '-' || word[0] == '?')
			if last {
				opened++
			}
		}
		if opened > 0 && !last {
			opened--
		}
		n += opened
	}
	return n
}

// readConfig reads remit.yaml. Unknown keys are errors: otherwise a misspelt setting would silently
// have no effect. Errors give the position and never quote the text of the file, which may not be a
// configuration file at all.
func readConfig(name string, asked bool) (configFile, error) {
	file := newConfigFile(name)
	data, err := readFile(name, asked)
	if errors.Is(err, fs.ErrNotExist) && !asked {
		return file, nil
	}
	if err != nil {
		return file, fmt.Errorf("read the configuration: %w", err)
	}
	return file, file.parse(data)
}

func (f *configFile) parse(data []byte) error {
	// Some editors write a byte order mark.
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	// The parser counts some of these line ends twice.
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	if err := f.isText(data); err != nil {
		return err
	}
	// forEachKey reports duplicates with their positions.
	tree, err := parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return f.syntaxError(err, data)
	}
	docs := slices.DeleteFunc(tree.Docs, func(doc *ast.DocumentNode) bool { return doc.Body == nil })
	switch len(docs) {
	case 0:
		return nil
	case 1:
		return f.forEachKey(docs[0].Body, "", f.readSetting)
	default:
		return f.wrong(docs[1].Body.GetToken().Position, "a second YAML document begins here; put all settings into one document")
	}
}

// isText rejects control characters and invalid UTF-8, which few editors show.
func (f *configFile) isText(data []byte) error {
	line := 0
	for row := range bytes.Lines(data) {
		line++
		if at := bytes.IndexFunc(row, isNotText); at >= 0 {
			position := token.Position{Line: line, Column: utf8.RuneCount(row[:at]) + 1}
			return f.wrong(&position, "invalid character; remove it, or save the file as UTF-8")
		}
	}
	return nil
}

func isNotText(c rune) bool {
	return c == utf8.RuneError || unicode.IsControl(c) && c != '\n' && c != '\r' && c != '\t'
}

func (f *configFile) wrong(at *token.Position, format string, args ...any) error {
	return fmt.Errorf("%s:%d:%d: %s", f.name, at.Line, at.Column, fmt.Sprintf(format, args...))
}

// wrongAt is like wrong, with the path of a key in front; path is "" for the whole file.
func (f *configFile) wrongAt(path string, at *token.Position, format string, args ...any) error {
	if path != "" {
		format = strings.ReplaceAll(shorten(path), "%", "%%") + ": " + format
	}
	return f.wrong(at, format, args...)
}

// shorten shortens and escapes a key: it may come from a file that somebody else wrote, and must
// not flood or control the terminal.
func shorten(key string) string {
	const maxLength = 80
	if runes := []rune(key); len(runes) > maxLength {
		key = string(runes[:maxLength]) + "..."
	}
	return visible.Line(key)
}

func quoted(key string) string { return `"` + shorten(key) + `"` }

// syntaxError converts an error of the YAML parser. The result does not quote the file.
func (f *configFile) syntaxError(err error, data []byte) error {
	var broken yaml.Error
	if !errors.As(err, &broken) || broken.GetToken() == nil {
		return fmt.Errorf("%s: is not valid YAML", f.name)
	}
	at, what := *broken.GetToken().Position, broken.GetMessage()
	switch {
	case strings.Contains(what, "tab character") || strings.Contains(what, "'\t'"):
		what = "YAML does not allow a tab here; indent with spaces"
		if lines := bytes.Split(data, []byte("\n")); at.Line <= len(lines) {
			// The parser may report the word after it.
			at.Column = bytes.IndexByte(lines[at.Line-1], '\t') + 1
		}
	case strings.Contains(what, `"`): // the message quotes the file
		what = "is not valid YAML; check this line and the one before"
	default:
		what = "is not valid YAML: " + what
	}
	return f.wrong(&at, "%s", what)
}
