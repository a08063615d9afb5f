// Package export gives the definitions of tools in the forms that the makers of
// models take them in.
//
// Each form takes a part of JSON Schema, its dialect. What a dialect cannot say is
// one of two things. A bound on a single value (minLength, default, uniqueItems)
// moves into the description, in plain words: the model is still told, and the
// engine checks it as ever, so nothing is lost. What gives the arguments their
// structure (open objects, allOf, if, an optional part of a part) cannot be told in
// passing: it is left out with a Note, and a tool that has it is never strict. A
// strict form that a model cannot leave would keep it from arguments that the
// contract takes, or push it to others that the contract refuses.
//
// A strict form of OpenAI makes every property required, so an optional argument
// may be null there. The engine takes null as left out, and fills in the default.
// It does so for arguments alone, not within them.
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

// Format is a form for the definitions of tools.
type Format string

// The forms.
const (
	MCP       Format = "mcp"       // tools/list of the Model Context Protocol
	OpenAI    Format = "openai"    // tools of OpenAI's Chat Completions
	Responses Format = "responses" // tools of OpenAI's Responses, and its Agents SDK
	Anthropic Format = "anthropic" // tools of Anthropic's Messages
	Gemini    Format = "gemini"    // one tool of Gemini, with a declaration for each function
)

// Formats lists the forms.
func Formats() []Format { return []Format{MCP, OpenAI, Responses, Anthropic, Gemini} }

// CanBeStrict tells whether a form has a strict variant, in which the model cannot
// but keep to the schema.
func (f Format) CanBeStrict() bool { return slices.Contains([]Format{OpenAI, Responses, Anthropic}, f) }

// Note says what a form could not take of a tool.
type Note struct {
	Tool string
	What string
}

func (n Note) String() string { return n.Tool + ": " + n.What }

// Tools gives the definitions in a form. If strict is true, each tool whose schema
// can be told without loss is strict, and the notes say why the others are not.
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

// function is the definition of one tool for a model that calls functions, and what
// there is to note of it.
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
		note = fmt.Sprintf("%s cannot be told: %s; calls are checked for it all the same", f, strings.Join(losses, "; "))
	}
	if !strict && !f.needsStrict() {
		return f.define(c, schema), note
	}
	return f.define(c, schema, jsontree.M("strict", jsontree.Boolean(false))), note
}

// needsStrict tells the forms that take a definition for strict, or may, unless it
// says otherwise.
func (f Format) needsStrict() bool { return f == OpenAI || f == Responses }

// define puts the parts of a definition where the form has them.
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

// Tool is the definition of a tool as clients of MCP expect it.
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

// phrases say keywords of a single value. %s is the value as JSON, except for a format
// and a pattern, which are not quoted.
var phrases = map[string]string{
	"default": "default %s", "format": "of the format %s", "pattern": "matches %s", "const": "always %s", "examples": "for example %s",
	"minLength": "at least %s character", "maxLength": "at most %s character",
	"minItems": "at least %s element", "maxItems": "at most %s element",
	"minimum": "at least %s", "maximum": "at most %s", "deprecated": "deprecated: %s",
}

// Words says in a description what a keyword says of a single value; "" for a
// keyword that says something of the structure.
func Words(keyword string, v *jsontree.Value) string {
	phrase, known := phrases[keyword]
	text := string(v.Append(nil))
	switch {
	case keyword == "uniqueItems" && v.True():
		return "no element twice"
	case keyword == "uniqueItems":
		return "an element may be there twice"
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

// Reference writes the reference of the tools that are served, for people. known are
// the sets that they belong to, which have words of their own.
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
