package cli

import (
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"remit/internal/contract"
	"remit/internal/visible"
)

// entry is a key of a mapping with its value.
type entry struct {
	key   string
	path  string // the keys from the top of the file, joined with dots
	at    *token.Position
	value ast.Node
}

// forEachKey calls read for every key of a mapping, which may be empty. It stores the position of
// each key and rejects duplicates.
func (f *configFile) forEachKey(node ast.Node, path string, read func(entry) error) error {
	if node == nil || node.Type() == ast.NullType {
		return nil
	}
	mapping, ok := node.(*ast.MappingNode)
	if !ok {
		return f.wrongAt(path, node.GetToken().Position, "must be keys with values, such as \"approve: ask\", one per line")
	}
	var list []entry
	for _, pair := range mapping.Values {
		at := pair.Key.GetToken().Position
		word, ok := pair.Key.(ast.ScalarNode)
		if !ok || pair.Key.IsMergeKey() {
			return f.wrongAt(path, at, "a key must be a plain word; anchors, tags and merge keys are not supported")
		}
		e := entry{key: fmt.Sprint(word.GetValue()), at: at, value: pair.Value}
		if visible.Index(e.key) >= 0 {
			return f.wrong(at, "key %s has characters that cannot be seen; remove them", quoted(e.key))
		}
		if path == "" {
			e.key = strings.ReplaceAll(e.key, "-", "_") // accept the spelling of the flags
		}
		e.path = strings.TrimPrefix(path+"."+e.key, ".")
		if first, twice := f.positions[e.path]; twice {
			return f.wrong(at, "key %s is already set on line %d; remove one of them", quoted(e.path), first.Line)
		}
		f.positions[e.path] = at
		list = append(list, e)
	}
	for _, e := range list {
		if err := read(e); err != nil {
			return err
		}
	}
	return nil
}

// readSetting reads a top-level key. The names of tools cannot be checked here, because the tools
// are not loaded yet; locate adds the position when a name turns out to be unknown.
func (f *configFile) readSetting(e entry) error {
	known := slices.DeleteFunc(append(settingKeys(), "tools"), func(key string) bool { return key == "root" || key == "config" })
	switch {
	case e.key == "root" || e.key == "config":
		return f.wrong(e.at, "%s cannot be set in the file itself; use --%s", e.key, e.key)
	case !slices.Contains(known, e.key):
		return f.unknownKey(e, known)
	case e.key != "tools":
		values, err := f.values(e)
		f.settings[e.key] = strings.Join(values, ",") // the form that a flag takes
		return err
	}
	f.tools = map[string]contract.Tightening{}
	return f.forEachKey(e.value, e.path, func(tool entry) error {
		var rule contract.Tightening
		err := f.forEachKey(tool.value, tool.path, func(part entry) error { return f.readRule(&rule, part) })
		f.tools[tool.key] = rule
		return err
	})
}

// ruleKeys returns the keys of a rule for a tool, in the order of the fields of
// contract.Tightening.
func ruleKeys() []string {
	var keys []string
	for field := range reflect.TypeFor[contract.Tightening]().Fields() {
		keys = append(keys, field.Tag.Get("yaml"))
	}
	return keys
}

// readRule reads one key of the operator's rule for a tool. It rejects values that change nothing.
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
	values, err := f.values(e)
	if err != nil {
		return err
	}
	switch into := field.Addr().Interface().(type) {
	case *bool:
		if *into = values[0] == "true"; !*into && e.key == "approval" {
			err = errors.New("false has no effect, because rules can only make contracts stricter; write true, or remove the key")
		}
	case encoding.TextUnmarshaler:
		if err = into.UnmarshalText([]byte(values[0])); err == nil && field.IsZero() {
			err = fmt.Errorf("%q must be greater than zero", values[0])
		}
	case *[]string:
		*into = values
	case *string:
		*into = values[0]
	}
	if err == nil && (len(values) == 0 || field.Kind() == reflect.String && strings.TrimSpace(values[0]) == "") {
		err = errors.New("is empty, which changes nothing; write a value, or remove the key")
	}
	if err != nil {
		return f.wrongAt(e.path, e.at, "%s", err)
	}
	return nil
}

// unknownKey suggests the key that was probably meant, or lists the known ones.
func (f *configFile) unknownKey(e entry, known []string) error {
	meant := "known keys are " + strings.Join(known, ", ")
	if near := contract.Nearest(e.key, known); near != "" {
		meant = fmt.Sprintf("did you mean %q?", near)
	}
	return f.wrong(e.at, "unknown key %s; %s", quoted(e.path), meant)
}

// values returns a single value or the values of a list.
func (f *configFile) values(e entry) ([]string, error) {
	nodes := []ast.Node{e.value}
	if list, ok := e.value.(*ast.SequenceNode); ok {
		nodes = list.Values
	}
	values := make([]string, len(nodes))
	for i, node := range nodes {
		switch node := node.(type) {
		case nil, *ast.NullNode:
			return nil, f.wrongAt(e.path, e.at, "has no value; write one, or remove the key")
		case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode:
			return nil, f.wrongAt(e.path, e.at, "anchors and tags are not supported; write the value itself")
		case *ast.LiteralNode:
			// The line break after the last line.
			values[i] = strings.TrimRight(node.Value.Value, "\n")
		case ast.ScalarNode:
			values[i] = fmt.Sprint(node.GetValue())
		default:
			return nil, f.wrongAt(e.path, e.at, "must be a single value")
		}
		if shown := visible.Text(values[i]); shown != values[i] || !isDescription(e.path) && visible.Index(shown) >= 0 {
			return nil, f.wrongAt(e.path, e.at, "%s has characters that cannot be seen; remove them", quoted(values[i]))
		}
	}
	return values, nil
}

// isDescription reports whether a key holds the description of a tool, which may have several
// lines.
func isDescription(path string) bool {
	return strings.HasPrefix(path, "tools.") && strings.HasSuffix(path, ".description")
}
