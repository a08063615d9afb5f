package cli

import (
	"bytes"
	"encoding"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"remit/internal/contract"
)

// configFile is remit.yaml: a value for each setting, the operator's rules, and where
// each of them stands.
type configFile struct {
	name     string
	settings map[string]string
	tools    map[string]contract.Tightening
	places   map[string]*token.Position // by key: approve, tools.hello, tools.hello.rate
}

// place says where a key stands, as FILE:LINE:COLUMN; the file alone for a key that is
// not in it.
func (f *configFile) place(key string) string {
	if at, ok := f.places[key]; ok {
		return fmt.Sprintf("%s:%d:%d", f.name, at.Line, at.Column)
	}
	return f.name
}

// wrongValue says which setting has a wrong value, and where it was set.
func (f *configFile) wrongValue(key string, origin Origin, err error) error {
	if origin == FromFile {
		return fmt.Errorf("%s: %s: %w", f.place(key), clipped(key), err)
	}
	return fmt.Errorf("%s (from %s): %w", key, origin, err)
}

// placed tells of settings that turned out wrong when the tools were known, as of those
// that always are. Other errors stay what they are.
func (s *Settings) placed(err error) error {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		var each []error
		for _, one := range several.Unwrap() {
			each = append(each, s.placed(one))
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

// maxConfig and maxBrackets keep a hostile file from costing more than a look.
const (
	maxConfig   = 64 << 10
	maxBrackets = 500
)

// readFile reads a configuration file: regular, no link unless it was asked for by
// name, and of a sane size.
func readFile(name string, asked bool) ([]byte, error) {
	info, err := os.Lstat(name)
	if err == nil && asked {
		info, err = os.Stat(name)
	}
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file; name it with --config if it is meant", name)
	case info.Size() > maxConfig:
		return nil, fmt.Errorf("%s is larger than %d bytes", name, maxConfig)
	}
	data, err := os.ReadFile(name)
	if err == nil && brackets(data) > maxBrackets {
		err = fmt.Errorf("%s is nested too deeply", name)
	}
	return data, err
}

// brackets counts the words that open a level. One with its value behind it in the same
// line is an ordinary entry.
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

// readConfig reads remit.yaml. Unknown keys fail: a misspelt one would otherwise
// be a setting that silently is not made. What is wrong is told with its place, and
// never with the text of the file: it may not be ours.
func readConfig(name string, asked bool) (configFile, error) {
	file := configFile{name: name, settings: map[string]string{}, places: map[string]*token.Position{}}
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
	data = bytes.TrimPrefix(data, []byte("\ufeff"))             // as some editors begin a file
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")) // the parser counts some of these twice
	if err := f.isText(data); err != nil {
		return err
	}
	tree, err := parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey()) // each finds them, and says where
	if err != nil {
		return f.syntaxError(err, data)
	}
	docs := slices.DeleteFunc(tree.Docs, func(doc *ast.DocumentNode) bool { return doc.Body == nil })
	switch len(docs) {
	case 0:
		return nil
	case 1:
		return f.each(docs[0].Body, "", f.readSetting)
	default:
		return f.wrong(docs[1].Body.GetToken().Position, "a second document begins; keep all settings in one")
	}
}

// isText refuses what is no text, which few editors show.
func (f *configFile) isText(data []byte) error {
	line := 0
	for row := range bytes.Lines(data) {
		line++
		if at := bytes.IndexFunc(row, isForeign); at >= 0 {
			place := token.Position{Line: line, Column: utf8.RuneCount(row[:at]) + 1}
			return f.wrong(&place, "what stands here is no text; remove it, or save the file as UTF-8")
		}
	}
	return nil
}

func isForeign(c rune) bool {
	return c == utf8.RuneError || unicode.IsControl(c) && c != '\n' && c != '\r' && c != '\t'
}

func (f *configFile) wrong(at *token.Position, format string, args ...any) error {
	return fmt.Errorf("%s:%d:%d: %s", f.name, at.Line, at.Column, fmt.Sprintf(format, args...))
}

// wrongAt is wrong for the value of a key; path is "" for the whole file.
func (f *configFile) wrongAt(path string, at *token.Position, format string, args ...any) error {
	if path != "" {
		format = strings.ReplaceAll(clipped(path), "%", "%%") + ": " + format
	}
	return f.wrong(at, format, args...)
}

// clipped keeps what somebody else may have written from filling the screen, or
// commanding it.
func clipped(key string) string {
	const most = 80
	if words := []rune(key); len(words) > most {
		key = string(words[:most]) + "..."
	}
	return strings.Trim(fmt.Sprintf("%q", key), `"`)
}

func quoted(key string) string { return `"` + clipped(key) + `"` }

// syntaxError tells what YAML does not allow, and where.
func (f *configFile) syntaxError(err error, data []byte) error {
	var broken yaml.Error
	if !errors.As(err, &broken) || broken.GetToken() == nil {
		return fmt.Errorf("%s: is not valid YAML", f.name)
	}
	at, what := *broken.GetToken().Position, broken.GetMessage()
	switch {
	case strings.Contains(what, "tab character") || strings.Contains(what, "'\t'"):
		what = "a tab stands where YAML takes spaces alone; indent with spaces"
		if lines := bytes.Split(data, []byte("\n")); at.Line <= len(lines) {
			at.Column = bytes.IndexByte(lines[at.Line-1], '\t') + 1 // the parser may mean the word after it
		}
	case strings.Contains(what, `"`): // it quotes the file
		what = "is not valid YAML; look at this line and the one before"
	default:
		what = "is not valid YAML: " + what
	}
	return f.wrong(&at, "%s", what)
}

// entry is a key of a mapping, and its value.
type entry struct {
	key   string
	path  string // the keys that lead to it, with dots between
	at    *token.Position
	value ast.Node
}

// each reads the keys of a mapping, which may be left out. It notes the place of each, and
// refuses one that is there twice.
func (f *configFile) each(node ast.Node, path string, read func(entry) error) error {
	if node == nil || node.Type() == ast.NullType {
		return nil
	}
	mapping, ok := node.(*ast.MappingNode)
	if !ok {
		return f.wrongAt(path, node.GetToken().Position, "must be keys with values, such as \"approve: ask\", one a line")
	}
	var list []entry
	for _, pair := range mapping.Values {
		at := pair.Key.GetToken().Position
		word, ok := pair.Key.(ast.ScalarNode)
		if !ok || pair.Key.IsMergeKey() {
			return f.wrongAt(path, at, "a key must be a plain word; anchors, tags and merging are not taken")
		}
		e := entry{key: fmt.Sprint(word.GetValue()), at: at, value: pair.Value}
		if path == "" {
			e.key = strings.ReplaceAll(e.key, "-", "_") // as the flags are spelt
		}
		e.path = strings.TrimPrefix(path+"."+e.key, ".")
		if first, twice := f.places[e.path]; twice {
			return f.wrong(at, "key %s is already set on line %d; remove one of them", quoted(e.path), first.Line)
		}
		f.places[e.path] = at
		list = append(list, e)
	}
	for _, e := range list {
		if err := read(e); err != nil {
			return err
		}
	}
	return nil
}

// readSetting reads a key of the file itself. Whether there are tools of the names that the
// operator has rules for is not known here: whoever finds that there are not asks for their place.
func (f *configFile) readSetting(e entry) error {
	known := slices.DeleteFunc(append(settingKeys(), "tools"), func(key string) bool { return key == "root" || key == "config" })
	switch {
	case e.key == "root" || e.key == "config":
		return f.wrong(e.at, "%s cannot be set in the file itself; use --%s", e.key, e.key)
	case !slices.Contains(known, e.key):
		return f.unknownKey(e, known)
	case e.key != "tools":
		words, err := f.words(e)
		f.settings[e.key] = strings.Join(words, ",") // as it would stand on a command line
		return err
	}
	f.tools = map[string]contract.Tightening{}
	return f.each(e.value, e.path, func(tool entry) error {
		var rule contract.Tightening
		err := f.each(tool.value, tool.path, func(part entry) error { return f.readRule(&rule, part) })
		f.tools[tool.key] = rule
		return err
	})
}

// ruleKeys are what an operator may say about a tool, in the order of the fields.
func ruleKeys() []string {
	var keys []string
	for field := range reflect.TypeFor[contract.Tightening]().Fields() {
		keys = append(keys, field.Tag.Get("yaml"))
	}
	return keys
}

// readRule reads what an operator says about a tool. What would change nothing is refused.
func (f *configFile) readRule(rule *contract.Tightening, e entry) error {
	i := slices.Index(ruleKeys(), e.key)
	if i < 0 {
		return f.unknownKey(e, ruleKeys())
	}
	field := reflect.ValueOf(rule).Elem().Field(i)
	_, isList := e.value.(*ast.SequenceNode)
	if _, isBool := e.value.(*ast.BoolNode); !isBool && field.Kind() == reflect.Bool {
		return f.wrongAt(e.path, e.at, "must be true or false")
	}
	if _, takesList := field.Interface().([]string); takesList != isList {
		if takesList {
			return f.wrongAt(e.path, e.at, `must be a list of patterns, such as ["**/drafts/**"]`)
		}
		return f.wrongAt(e.path, e.at, "must be a single value")
	}
	words, err := f.words(e)
	if err != nil {
		return err
	}
	switch into := field.Addr().Interface().(type) {
	case *bool:
		if *into = words[0] == "true"; !*into && e.key == "approval" {
			err = errors.New("false takes nothing away that the contract asks for: operators may only tighten; write true, or remove the key")
		}
	case encoding.TextUnmarshaler:
		if err = into.UnmarshalText([]byte(words[0])); err == nil && field.IsZero() {
			err = fmt.Errorf("%q must be more than zero", words[0])
		}
	case *[]string:
		*into = words
	case *string:
		*into = words[0]
	}
	if err == nil && (len(words) == 0 || field.Kind() == reflect.String && strings.TrimSpace(words[0]) == "") {
		err = errors.New("is empty, which changes nothing; write a value, or remove the key")
	}
	if err != nil {
		return f.wrongAt(e.path, e.at, "%s", err)
	}
	return nil
}

// unknownKey names the key that was probably meant.
func (f *configFile) unknownKey(e entry, known []string) error {
	meant := "known are " + strings.Join(known, ", ")
	if near := contract.Nearest(e.key, known); near != "" {
		meant = fmt.Sprintf("did you mean %q?", near)
	}
	return f.wrong(e.at, "unknown key %s; %s", quoted(e.path), meant)
}

// words reads a value, or each of a list.
func (f *configFile) words(e entry) ([]string, error) {
	nodes := []ast.Node{e.value}
	if list, ok := e.value.(*ast.SequenceNode); ok {
		nodes = list.Values
	}
	words := make([]string, len(nodes))
	for i, node := range nodes {
		switch node := node.(type) {
		case nil, *ast.NullNode:
			return nil, f.wrongAt(e.path, e.at, "has no value; write one, or remove the key")
		case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode:
			return nil, f.wrongAt(e.path, e.at, "anchors and tags are not taken; write the value itself")
		case *ast.LiteralNode:
			words[i] = node.Value.Value
		case ast.ScalarNode:
			words[i] = fmt.Sprint(node.GetValue())
		default:
			return nil, f.wrongAt(e.path, e.at, "must be a single value")
		}
	}
	return words, nil
}
