package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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
	origin := s.origin(wrong.Key)
	if strings.HasPrefix(wrong.Key, "tools.") {
		origin = FromFile
	}
	return usageError{s.file.wrongValue(wrong.Key, origin, wrong.Err)}
}

// schemes are what the settings begin with that say where something is kept, or sent.
var schemes = []struct{ key, beneath string }{
	{"data", ""}, {"database", "sqlite://"}, {"books", folderScheme}, {"public_url", ""}, {"embeddings", ""},
}

// operatorOnly are settings that say whom Remit trusts and whom it tells of requests.
// No value of them is harmless in a file that came with a workspace.
func operatorOnly() []string {
	return []string{"identity", "oidc_issuer", "oidc_audience", "oidc_user", "webhook", "tls_cert", "tls_key", "behind_proxy"}
}

// staysBeneath refuses a file that came with the workspace and would have Remit
// write elsewhere, send callers with their uploads there, or trust others: whoever owns
// the machine says so with a flag, or names the file.
func (f *configFile) staysBeneath(root string) error {
	for _, key := range operatorOnly() {
		if _, given := f.settings[key]; given {
			set := setting{key: key}
			return fmt.Errorf("%s: %s is for whoever starts Remit to set; use --%s or %s, or name this file with --config", f.place(key), key, set.flag(), set.variable())
		}
	}
	for _, s := range schemes {
		places := []string{f.settings[s.key]}
		if s.key == "books" {
			places = splitList(f.settings[s.key])
		}
		for _, place := range places {
			if !isBeneath(root, strings.TrimPrefix(place, s.beneath)) {
				set := setting{key: s.key}
				return fmt.Errorf("%s: %s leads out of the workspace; set it with --%s or %s instead", f.place(s.key), s.key, set.flag(), set.variable())
			}
		}
	}
	return nil
}

func isBeneath(root, place string) bool {
	if place == "" || strings.HasPrefix(place, "DATA/") && filepath.IsLocal(place) {
		return true // not set, or in the data folder, which is judged itself
	}
	if strings.Contains(place, "://") { // a server
		return false
	}
	place = within(place, "ROOT/", root+"/")
	if !filepath.IsAbs(place) {
		place = filepath.Join(root, place)
	}
	beneath, err := filepath.Rel(root, place)
	return err == nil && filepath.IsLocal(beneath)
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
	tree, err := parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey()) // entries finds them, and says where
	if err != nil {
		return f.syntaxError(err, data)
	}
	list, err := f.whole(tree.Docs)
	if err != nil {
		return err
	}
	for _, e := range list {
		if err := f.readEntry(e); err != nil {
			return err
		}
	}
	return nil
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

// whole reads the keys of the only document that there may be.
func (f *configFile) whole(docs []*ast.DocumentNode) ([]entry, error) {
	docs = slices.DeleteFunc(docs, func(doc *ast.DocumentNode) bool { return doc.Body == nil })
	switch len(docs) {
	case 0:
		return nil, nil
	case 1:
		return f.entries(docs[0].Body, "")
	default:
		return nil, f.wrong(docs[1].Body.GetToken().Position, "a second document begins; keep all settings in one")
	}
}

func (f *configFile) readEntry(e entry) (err error) {
	if e.key == "tools" {
		return f.readTools(e)
	}
	if !slices.Contains(settingKeys(), e.key) || e.key == "root" || e.key == "config" {
		return f.unknownKey(e)
	}
	f.settings[e.key], err = f.text(e)
	return err
}

// entry is a key of a mapping, and its value.
type entry struct {
	key   string
	path  string // the keys that lead to it, with dots between
	at    *token.Position
	value ast.Node
}

// entries reads a mapping, which may be left out. It notes the place of each key, and
// refuses one that is there twice.
func (f *configFile) entries(node ast.Node, path string) ([]entry, error) {
	if node == nil || node.Type() == ast.NullType {
		return nil, nil
	}
	mapping, ok := node.(*ast.MappingNode)
	if !ok {
		return nil, f.wrongAt(path, node.GetToken().Position, "must be keys with values, such as \"approve: ask\", one a line")
	}
	var list []entry
	for _, pair := range mapping.Values {
		at := pair.Key.GetToken().Position
		word, ok := pair.Key.(ast.ScalarNode)
		if !ok || pair.Key.IsMergeKey() {
			return nil, f.wrongAt(path, at, "a key must be a plain word; anchors, tags and merging are not taken")
		}
		e := entry{key: fmt.Sprint(word.GetValue()), at: at, value: pair.Value}
		if path == "" {
			e.key = strings.ReplaceAll(e.key, "-", "_") // as the flags are spelt
		}
		e.path = strings.TrimPrefix(path+"."+e.key, ".")
		if first, twice := f.places[e.path]; twice {
			return nil, f.wrong(at, "key %s is already set on line %d; remove one of them", quoted(e.path), first.Line)
		}
		f.places[e.path] = at
		list = append(list, e)
	}
	return list, nil
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

// unknownKey names the setting that was probably meant.
func (f *configFile) unknownKey(e entry) error {
	if e.key == "root" || e.key == "config" {
		return f.wrong(e.at, "%s cannot be set in the file itself; use --%s", e.key, e.key)
	}
	known := slices.DeleteFunc(append(settingKeys(), "tools"), func(key string) bool { return key == "root" || key == "config" })
	return f.wrong(e.at, "unknown key %s; %s", quoted(e.key), meant(e.key, known))
}

func meant(key string, known []string) string {
	if near := contract.Nearest(key, known); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "known are " + strings.Join(known, ", ")
}

// text reads a single value as it would stand on a command line; a list has commas
// between.
func (f *configFile) text(e entry) (string, error) {
	list, ok := e.value.(*ast.SequenceNode)
	if !ok {
		return f.word(e, e.value)
	}
	parts, err := f.words(e, list)
	return strings.Join(parts, ","), err
}

func (f *configFile) words(e entry, list *ast.SequenceNode) ([]string, error) {
	parts := make([]string, len(list.Values))
	for i, element := range list.Values {
		var err error
		if parts[i], err = f.word(e, element); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// word reads a value that is neither list nor mapping.
func (f *configFile) word(e entry, node ast.Node) (string, error) {
	switch node := node.(type) {
	case nil, *ast.NullNode:
		return "", f.wrongAt(e.path, e.at, "has no value; write one, or remove the key")
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode:
		return "", f.wrongAt(e.path, e.at, "anchors and tags are not taken; write the value itself")
	case *ast.LiteralNode:
		return node.Value.Value, nil
	case ast.ScalarNode:
		return fmt.Sprint(node.GetValue()), nil
	default:
		return "", f.wrongAt(e.path, e.at, "must be a single value")
	}
}
