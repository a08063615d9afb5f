package console

import (
	"slices"
	"strings"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
)

// snippets show how to call a tool, with the arguments of its first example.
type snippets struct {
	MCP, Curl, CLI string
	Token          bool // curl sends one
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
	base := "http://127.0.0.1:8722"
	if v.Base != nil {
		base = strings.TrimSuffix(v.Base(), "/")
	}
	curl := []string{"curl " + quoted(base+"/tools/"+t.Name), "-H 'Content-Type: application/json'"}
	token := t.Access != contract.Public && v.needsToken()
	if token {
		curl = append(curl, `-H "Authorization: Bearer $REMIT_TOKEN"`)
	}
	curl = append(curl, "-d "+quoted(string(args.Append(nil))))
	return snippets{MCP: shownJSON(&message), Curl: strings.Join(curl, " \\\n  "), CLI: commandLine(t.Contract, &args), Token: token}
}

// commandLine is a call as one types it in a shell.
func commandLine(c *contract.Contract, args *jsontree.Value) string {
	words := []string{"remit", "call", c.Name}
	properties := c.Input.Field("properties")
	for _, m := range args.Members {
		schema := properties.Field(m.Key)
		if !typedAlike(textOf(&schema, "type"), &m.Value) {
			return strings.Join(append(words[:3], "--json", quoted(string(args.Append(nil)))), " ")
		}
		words = append(words, quoted(m.Key+"="+m.Value.Text))
	}
	return strings.Join(words, " ")
}

// typedAlike tells whether key=value on the command line gives the very value: it is
// read by the type that the contract names.
func typedAlike(kind string, v *jsontree.Value) bool {
	switch v.Kind {
	case jsontree.String:
		return kind == "string"
	case jsontree.Number:
		return kind == "integer" || kind == "number"
	case jsontree.Bool:
		return kind == "boolean"
	default:
		return false
	}
}

// quoted writes a word so that a shell takes it as it is. cli/clients does the very same
// for the commands of clients: faces know nothing of each other, and below them nobody
// writes commands.
func quoted(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=@,+", r)
	}
	if word != "" && !slices.ContainsFunc([]rune(word), func(r rune) bool { return !plain(r) }) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
