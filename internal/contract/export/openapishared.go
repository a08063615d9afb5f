package export

import (
	"strings"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
)

// bearer names the scheme of tokens.
const bearer = "bearer"

func bearerScheme(sets []string) jsontree.Value {
	var scopes []string
	for _, set := range sets {
		scopes = append(scopes, set+":read", set+":write")
	}
	return jsontree.Obj(
		text("type", "http"),
		text("scheme", "bearer"),
		text("description", "Needed where tokens are in use: one of \"remit token create\", or of the OpenID provider that the server trusts. "+
			"Scopes: "+strings.Join(scopes, ", ")+"; * stands for every toolset. A tool that only reads needs :read, any other :write."),
	)
}

// optionally asks for a token with these scopes, if tokens are in use.
func optionally(scopes ...string) jsontree.Value {
	list := jsontree.Arr()
	for _, scope := range scopes {
		list.Members = append(list.Members, jsontree.Member{Value: jsontree.Str(scope)})
	}
	return jsontree.Arr(jsontree.Obj(jsontree.M(bearer, list)), jsontree.Obj())
}

// sharedSchemas are those that no tool has for itself.
func sharedSchemas() []jsontree.Member {
	word := typed("string")
	refusal := object(jsontree.Obj(jsontree.M("error", word)), "error")
	tool := object(jsontree.Obj(
		jsontree.M("name", word), jsontree.M("title", word), jsontree.M("description", word), jsontree.M("toolset", word),
		jsontree.M("version", word), jsontree.M("digest", word), jsontree.M("access", word),
		jsontree.M("annotations", typed("object")), jsontree.M("deadline", typed("object")), jsontree.M("maxBytes", typed("integer")),
		jsontree.M("rate", word), jsontree.M("approval", typed("object")), jsontree.M("idempotencyKey", word),
		jsontree.M("inputSchema", typed("object")), jsontree.M("outputSchema", typed("object")),
	), "name", "title", "description", "toolset", "version", "inputSchema")
	verdict := jsontree.Obj(text("type", "string"), jsontree.M("enum", jsontree.Arr(jsontree.Str("ok"), jsontree.Str("failed"))))
	checks := jsontree.Obj(text("type", "object"), jsontree.M("additionalProperties", verdict))
	health := object(jsontree.Obj(
		jsontree.M("status", jsontree.Obj(text("type", "string"), jsontree.M("enum", jsontree.Arr(jsontree.Str("ok"), jsontree.Str("failing"))))),
		jsontree.M("version", word), jsontree.M("checks", checks),
	), "status", "version", "checks")
	members := []jsontree.Member{jsontree.M("Refusal", refusal), jsontree.M("Tool", tool), jsontree.M("Health", health)}
	for _, shape := range contract.Shapes() {
		members = append(members, jsontree.M(errorSchema(shape), shapeOf(shape)))
	}
	return members
}

// object is the schema of an object that may have more than is named.
func object(properties jsontree.Value, required ...string) jsontree.Value {
	names := make([]jsontree.Value, len(required))
	for i, name := range required {
		names[i] = jsontree.Str(name)
	}
	return jsontree.Obj(text("type", "object"), jsontree.M("properties", properties), jsontree.M("required", jsontree.Arr(names...)))
}

// errorSchema names the schema of a shape.
func errorSchema(shape contract.Shape) string {
	return strings.ToUpper(string(shape[:1])) + string(shape[1:]) + "Error"
}

// shapeOf is the schema of the errors of a shape, as Contract.Render writes them.
func shapeOf(shape contract.Shape) jsontree.Value {
	word := typed("string")
	message := jsontree.M("message", word)
	switch shape {
	case contract.Coded:
		code := jsontree.Obj(jsontree.M("type", jsontree.Arr(jsontree.Str("integer"), jsontree.Str("string"))))
		return object(jsontree.Obj(jsontree.M("error", object(jsontree.Obj(jsontree.M("code", code), message), "code", "message"))), "error")
	case contract.Envelope:
		inner := object(jsontree.Obj(jsontree.M("code", word), message, jsontree.M("details", typed("object"))), "code", "message", "details")
		return object(jsontree.Obj(jsontree.M("success", jsontree.Obj(jsontree.M("const", jsontree.Boolean(false)))), jsontree.M("error", inner)), "success", "error")
	case contract.Named:
		return object(jsontree.Obj(jsontree.M("error", word), message), "error", "message")
	default:
		return object(jsontree.Obj(jsontree.M("error", word)), "error")
	}
}

func sharedHeaders() []jsontree.Member {
	header := func(name, kind, about string) jsontree.Member {
		return jsontree.M(name, jsontree.Obj(text("description", about), jsontree.M("schema", typed(kind))))
	}
	yes := jsontree.Obj(text("type", "string"), jsontree.M("const", jsontree.Str("true")))
	flag := func(name, about string) jsontree.Member {
		return jsontree.M(name, jsontree.Obj(text("description", about), jsontree.M("schema", yes)))
	}
	return []jsontree.Member{
		header("ETag", "string", "Ask again with If-None-Match"),
		header("Retry-After", "integer", "Repeat the call after so many seconds"),
		header("WWW-Authenticate", "string", "What the token lacks, and where tokens come from (RFC 6750, RFC 9728)"),
		flag("Idempotency-Replayed", "This is the answer of the first call with the key; nothing was done again"),
		flag("Remit-Truncated", "The answer has less than there is"),
		header("Remit-Total", "integer", "How many there are, if the answer has less and the number is known"),
		header("Remit-Remarks", "string", "A JSON object of what the tool says beside its answer"),
	}
}

func sharedParameters() []jsontree.Member {
	key := jsontree.Obj(text("type", "string"), jsontree.M("minLength", jsontree.Int(1)), jsontree.M("maxLength", jsontree.Int(255)), text("pattern", "^[!-~]+$"))
	return []jsontree.Member{jsontree.M("Idempotency-Key", jsontree.Obj(
		text("name", "Idempotency-Key"),
		text("in", "header"),
		text("description", "Makes the call safe to repeat: any text that no other call has. A repeat with the same key and arguments gets the stored answer."),
		jsontree.M("schema", key),
	))}
}

// sharedResponses are those of requests that reached no tool.
func sharedResponses() []jsontree.Member {
	return []jsontree.Member{
		jsontree.M("Unauthorized", unauthorized(reference("schemas", "Refusal"))),
	}
}

func unauthorized(schema jsontree.Value) jsontree.Value {
	return response("The token is missing, expired or unknown", jsonContent(schema), jsontree.M("WWW-Authenticate", reference("headers", "WWW-Authenticate")))
}
