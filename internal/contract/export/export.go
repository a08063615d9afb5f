// Package export writes tool definitions in the formats of the model vendors.
//
// Each format supports a part of JSON Schema, its dialect. There are two cases for what a dialect
// does not support. A rule for a single value (minLength, default, uniqueItems) moves into the
// description, in plain words: the model still sees it, and the engine checks it as always, so
// nothing is lost. A rule for the structure of the arguments (open objects, allOf, if, an optional
// field within an argument) cannot be put into a description. It is left out with a Note, and such
// a tool is never strict: a strict format would keep the model from arguments that the contract
// accepts, or force it to others that the contract rejects.
//
// A strict format of OpenAI makes every property required, so an optional argument may be null
// there. The engine treats null as absent and fills in the default, but only for arguments
// themselves, not for fields within them.
package export

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"remit/internal/contract"
	"remit/internal/contract/catalog"
	"remit/internal/contract/jsontree"
)

// Format is a format for tool definitions.
type Format string

// The formats for models and MCP clients.
const (
	MCP       Format = "mcp"       // tools/list in the Model Context Protocol
	OpenAI    Format = "openai"    // tools in OpenAI's Chat Completions API
	Responses Format = "responses" // tools in OpenAI's Responses API and its Agents SDK
	Anthropic Format = "anthropic" // tools in Anthropic's Messages API
	Gemini    Format = "gemini"    // one Gemini tool with a declaration for each function
)

// Formats lists the formats for models and MCP clients.
func Formats() []Format { return []Format{MCP, OpenAI, Responses, Anthropic, Gemini} }

// CanBeStrict reports whether a format has a strict variant, in which the model can only produce
// arguments that match the schema.
func (f Format) CanBeStrict() bool { return slices.Contains([]Format{OpenAI, Responses, Anthropic}, f) }

// Note says which part of a tool a format does not support.
type Note struct {
	Tool string
	What string
}

func (n Note) String() string { return n.Tool + ": " + n.What }

// Tools returns the definitions in a format. If strict is true, each tool whose schema can be
// expressed without loss is strict, and the notes say why the others are not.
func Tools(f Format, strict bool, contracts []*contract.Contract) (jsontree.Value, []Note) {
	list := jsontree.Arr()
	var notes []Note
	for _, c := range contracts {
		definition := Tool(c)
		if f != MCP {
			var note string
			if definition, note = f.function(c, strict); note != "" {
				notes = append(notes, Note{c.Name, note})
			}
		}
		list.Members = append(list.Members, jsontree.Member{Value: definition})
	}
	if f == Gemini {
		list = jsontree.Obj(jsontree.M("functionDeclarations", list))
	}
	return list, notes
}

// function returns the definition of one tool for a model that calls functions, and a note about
// what is missing in it, or "".
func (f Format) function(c *contract.Contract, strict bool) (definition jsontree.Value, note string) {
	input := c.PublicInput()
	var losses []string
	if strict {
		var schema jsontree.Value
		if schema, losses = f.strictDialect().narrow(&input); len(losses) == 0 {
			return f.define(c, schema, jsontree.M("strict", jsontree.Boolean(true))), ""
		}
		note = "not strict: " + strings.Join(losses, "; ")
	}
	schema, losses := f.dialect().narrow(&input)
	if len(losses) > 0 && !strict {
		note = fmt.Sprintf("%s does not support: %s; the engine still checks calls for it", f, strings.Join(losses, "; "))
	}
	if !strict && !f.needsStrict() {
		return f.define(c, schema), note
	}
	return f.define(c, schema, jsontree.M("strict", jsontree.Boolean(false))), note
}

// needsStrict reports whether the format needs an explicit strict: false, because it may otherwise
// treat a definition as strict.
func (f Format) needsStrict() bool { return f == OpenAI || f == Responses }

// define puts the parts of a definition under the keys that the format uses.
func (f Format) define(c *contract.Contract, schema jsontree.Value, more ...jsontree.Member) jsontree.Value {
	parameters := cmp.Or(map[Format]string{Anthropic: "input_schema", Gemini: "parametersJsonSchema"}[f], "parameters")
	function := jsontree.Obj(append([]jsontree.Member{
		jsontree.M("name", jsontree.Str(c.Name)),
		jsontree.M("description", jsontree.Str(c.Description)),
		jsontree.M(parameters, schema),
	}, more...)...)
	switch f {
	case OpenAI:
		return jsontree.Obj(jsontree.M("type", jsontree.Str("function")), jsontree.M("function", function))
	case Responses:
		function.Members = append([]jsontree.Member{jsontree.M("type", jsontree.Str("function"))}, function.Members...)
	}
	return function
}

// Tool returns the definition of a tool for MCP clients.
func Tool(c *contract.Contract) jsontree.Value {
	hints := jsontree.Obj(
		jsontree.M("title", jsontree.Str(c.Title)),
		jsontree.M("readOnlyHint", jsontree.Boolean(c.Hints.ReadOnly)),
		jsontree.M("destructiveHint", jsontree.Boolean(c.Hints.Destructive)),
		jsontree.M("idempotentHint", jsontree.Boolean(c.Hints.Idempotent)),
		jsontree.M("openWorldHint", jsontree.Boolean(c.Hints.OpenWorld)),
	)
	meta := jsontree.Obj(
		jsontree.M("io.remit/toolset", jsontree.Str(c.Set)),
		jsontree.M("io.remit/version", jsontree.Str(c.Version.String())),
		jsontree.M("io.remit/digest", jsontree.Str(c.Digest)),
	)
	definition := jsontree.Obj(
		jsontree.M("name", jsontree.Str(c.Name)),
		jsontree.M("title", jsontree.Str(c.Title)),
		jsontree.M("description", jsontree.Str(c.Description)),
		jsontree.M("inputSchema", c.PublicInput()),
	)
	if !c.Content {
		definition.Members = append(definition.Members, jsontree.M("outputSchema", c.PublicOutput()))
	}
	definition.Members = append(definition.Members, jsontree.M("annotations", hints), jsontree.M("_meta", meta))
	return definition
}

// phrases describe the keywords for a single value. %s is the value as JSON; a format and a pattern
// are not quoted.
var phrases = map[string]string{
	"default": "default %s", "format": "of the format %s", "pattern": "matches %s", "const": "always %s", "examples": "for example %s",
	"minLength": "at least %s character", "maxLength": "at most %s character",
	"minItems": "at least %s element", "maxItems": "at most %s element",
	"minimum": "at least %s", "maximum": "at most %s", "deprecated": "deprecated: %s",
}

// DescribeKeyword returns the words for a description that express a keyword for a single value. It
// returns "" for a keyword about the structure.
func DescribeKeyword(keyword string, v *jsontree.Value) string {
	phrase, known := phrases[keyword]
	text := string(v.Append(nil))
	switch {
	case keyword == "uniqueItems" && v.True():
		return "all elements different"
	case keyword == "uniqueItems":
		return "an element may appear twice"
	case !known:
		return ""
	case keyword == "format" || keyword == "pattern":
		text = v.Text
	case text != "1" && (strings.HasSuffix(phrase, "character") || strings.HasSuffix(phrase, "element")):
		phrase += "s"
	}
	return fmt.Sprintf(phrase, text)
}

// described adds words to the description of a schema, in brackets at its end.
func described(s jsontree.Value, more []string) jsontree.Value {
	if len(more) == 0 {
		return s
	}
	said := strings.Join(more, "; ")
	about := s.Field("description")
	if opened, bracketed := strings.CutSuffix(about.Text, ")"); bracketed {
		said = opened + "; " + said + ")"
	} else if about.Text != "" {
		said = about.Text + " (" + said + ")"
	}
	return with(s, "description", jsontree.Str(said))
}

// Reference returns the reference documentation of the served tools in Markdown. known holds the
// sets that they belong to, for their titles and descriptions.
func Reference(known []*contract.Set, served []*contract.Contract) []byte {
	var sets []*contract.Set
	for _, set := range known {
		part := *set
		part.Contracts = nil
		for _, c := range served {
			if c.Set == set.Name {
				part.Contracts = append(part.Contracts, c)
			}
		}
		if len(part.Contracts) > 0 {
			sets = append(sets, &part)
		}
	}
	return catalog.Markdown(sets)
}
