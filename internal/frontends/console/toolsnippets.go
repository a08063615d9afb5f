package console

import (
	"strings"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
)

// snippets show how to call a tool with the arguments of its first example.
type snippets struct {
	MCP, Curl, CLI string
	Token          bool // the curl command sends a token
}

func (v *visit) snippetsOf(t *engine.Tool) snippets {
	args := jsontree.Obj()
	if len(t.Examples) > 0 {
		args = t.Examples[0].Arguments
	}
	message := jsontree.Obj(
		jsontree.M("jsonrpc", jsontree.Str("2.0")),
		jsontree.M("id", jsontree.Int(1)),
		jsontree.M("method", jsontree.Str("tools/call")),
		jsontree.M("params", jsontree.Obj(jsontree.M("name", jsontree.Str(t.Name)), jsontree.M("arguments", args))),
	)
	curl := []string{"curl " + contract.ShellLine(v.base()+"/tools/"+t.Name), "-H 'Content-Type: application/json'"}
	token := t.Access != contract.Public && v.TokensRequired()
	if token {
		curl = append(curl, `-H "Authorization: Bearer $REMIT_TOKEN"`)
	}
	curl = append(curl, "-d "+contract.ShellLine(string(args.Append(nil))))
	return snippets{MCP: shownJSON(&message), Curl: strings.Join(curl, " \\\n  "), CLI: commandLine(t.Contract, &args), Token: token}
}

// commandLine returns a call as a shell command.
func commandLine(c *contract.Contract, args *jsontree.Value) string {
	words := []string{"remit", "call", c.Name}
	properties := c.Input.Field("properties")
	for _, m := range args.Members {
		schema := properties.Field(m.Key)
		if !parsesAs(textOf(&schema, "type"), &m.Value) {
			return contract.ShellLine(append(words[:3], "--json", string(args.Append(nil)))...)
		}
		words = append(words, m.Key+"="+m.Value.Text)
	}
	return contract.ShellLine(words...)
}

// parsesAs reports whether key=value on the command line gives exactly this value: the CLI parses
// it by the type in the contract.
func parsesAs(kind string, v *jsontree.Value) bool {
	return v.Kind == jsontree.String && kind == "string" || v.Kind == jsontree.Bool && kind == "boolean" ||
		v.Kind == jsontree.Number && (kind == "integer" || kind == "number")
}
