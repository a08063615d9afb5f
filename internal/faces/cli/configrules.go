package cli

import (
	"encoding"
	"fmt"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"remit/internal/contract"
)

// ruleKeys are what an operator may say about a tool, as contract.Tightening has it.
func ruleKeys() []string {
	return []string{"hide", "title", "description", "rate", "deadline", "request", "approval", "deny"}
}

// readTools reads the operator's rules, by the names of tools. Whether there are such
// tools is not known here: whoever finds that there are not asks for their place.
func (f *configFile) readTools(tools entry) error {
	named, err := f.entries(tools.value, tools.path)
	if err != nil {
		return err
	}
	f.tools = make(map[string]contract.Tightening, len(named))
	for _, tool := range named {
		rule, err := f.readRule(tool)
		if err != nil {
			return err
		}
		f.tools[tool.key] = rule
	}
	return nil
}

func (f *configFile) readRule(tool entry) (contract.Tightening, error) {
	var rule contract.Tightening
	parts, err := f.entries(tool.value, tool.path)
	if err != nil {
		return rule, err
	}
	for _, e := range parts {
		if err := f.readPart(&rule, e); err != nil {
			return rule, err
		}
	}
	return rule, nil
}

func (f *configFile) readPart(rule *contract.Tightening, e entry) (err error) {
	switch e.key {
	case "hide":
		rule.Hide, err = f.yes(e)
	case "title":
		rule.Title, err = f.said(e)
	case "description":
		rule.Description, err = f.said(e)
	case "rate":
		err = f.unit(e, &rule.Rate)
	case "deadline":
		err = f.unit(e, &rule.Deadline)
	case "request":
		err = f.unit(e, &rule.Request)
	case "approval":
		if rule.Approval, err = f.yes(e); err == nil && !rule.Approval {
			err = f.wrongAt(e.path, e.at, "false takes nothing away that the contract asks for: operators may only tighten; write true, or remove the key")
		}
	case "deny":
		rule.Deny, err = f.patterns(e)
	default:
		err = f.wrong(e.at, "unknown key %s; %s", quoted(e.path), meant(e.key, ruleKeys()))
	}
	return err
}

func (f *configFile) yes(e entry) (bool, error) {
	if node, ok := e.value.(*ast.BoolNode); ok {
		return node.Value, nil
	}
	return false, f.wrongAt(e.path, e.at, "must be true or false")
}

// said reads other words for a tool.
func (f *configFile) said(e entry) (string, error) {
	text, err := f.word(e, e.value)
	if err == nil && strings.TrimSpace(text) == "" {
		err = f.wrongAt(e.path, e.at, "%s", emptyRule)
	}
	return text, err
}

// emptyRule is said of a rule that would be passed over in silence.
const emptyRule = "is empty, which changes nothing; write a value, or remove the key"

// unit reads what has a number and a unit.
func (f *configFile) unit(e entry, into encoding.TextUnmarshaler) error {
	text, err := f.word(e, e.value)
	if err != nil {
		return err
	}
	if err := into.UnmarshalText([]byte(text)); err != nil {
		return f.wrongAt(e.path, e.at, "%s", fmt.Sprint(err))
	}
	if reflect.ValueOf(into).Elem().IsZero() {
		return f.wrongAt(e.path, e.at, "%q must be more than zero", text)
	}
	return nil
}

func (f *configFile) patterns(e entry) ([]string, error) {
	list, ok := e.value.(*ast.SequenceNode)
	if !ok {
		return nil, f.wrongAt(e.path, e.at, `must be a list of patterns, such as ["**/drafts/**"]`)
	}
	if len(list.Values) == 0 {
		return nil, f.wrongAt(e.path, e.at, "%s", emptyRule)
	}
	return f.words(e, list)
}
