package export

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
)

// The forms that are whole documents, for those who do not call functions of a model.
const (
	OpenAPI  Format = "openapi"  // a document of OpenAPI 3.1 for plain HTTP
	Markdown Format = "markdown" // the reference, for people
)

// Documents lists the forms that are whole documents.
func Documents() []Format { return []Format{OpenAPI, Markdown} }

// withoutTools is the document of OpenAPI before any tool is in it. It is true with and
// without identity, so credentials are optional in it. The schemas of errors are those
// that Contract.Render writes.
//
//go:embed openapi.json
var withoutTools []byte

// Service is what a document of OpenAPI tells beside the tools.
type Service struct {
	Version string // of the program
	URL     string // where it is served, without a slash at the end
}

// Describe gives the document of OpenAPI for the tools over plain HTTP.
func (s Service) Describe(contracts []*contract.Contract) (jsontree.Value, error) {
	document, err := jsontree.Parse(withoutTools)
	if err != nil {
		return document, fmt.Errorf("read the document without tools: %w", err)
	}
	var sets, scopes []string
	var tags, paths []jsontree.Member
	schemas := document.Member("components", "schemas")
	for _, c := range contracts {
		if !slices.Contains(sets, c.Set) {
			sets = append(sets, c.Set)
			scopes = append(scopes, c.Set+":read", c.Set+":write")
			tags = append(tags, jsontree.Member{Value: jsontree.Obj(text("name", c.Set), text("description", "The tools of the toolset "+c.Set))})
		}
		d := &posted{c}
		paths = append(paths, jsontree.M("/tools/"+c.Name, jsontree.Obj(jsontree.M("post", d.operation()))))
		schemas.Members = append(schemas.Members, d.schemas()...)
	}
	document.Member("info", "version").Text = s.Version
	*document.Member("servers") = jsontree.Arr(jsontree.Obj(text("url", s.URL)))
	all := document.Member("tags")
	all.Members = slices.Concat(tags, all.Members)
	all = document.Member("paths")
	afterLists := slices.IndexFunc(all.Members, func(m jsontree.Member) bool { return m.Key == "/health" })
	all.Members = slices.Insert(all.Members, afterLists, paths...)
	about := document.Member("components", "securitySchemes", "bearer", "description")
	about.Text = strings.Replace(about.Text, "SCOPES", strings.Join(scopes, ", "), 1)
	return document, nil
}

func text(key, words string) jsontree.Member { return jsontree.M(key, jsontree.Str(words)) }

func typed(name string) jsontree.Value { return jsontree.Obj(text("type", name)) }

// object is the schema of an object that has this property, and may have others.
func object(property string, schema jsontree.Value) jsontree.Value {
	return jsontree.Obj(text("type", "object"), jsontree.M("properties", jsontree.Obj(jsontree.M(property, schema))),
		jsontree.M("required", jsontree.Strs(property)))
}

// response describes an answer in JSON, with its examples.
func response(about string, schema jsontree.Value, examples, headers []jsontree.Member) jsontree.Value {
	media := jsontree.Obj(jsontree.M("schema", schema))
	if len(examples) > 0 {
		media.Members = append(media.Members, jsontree.M("examples", jsontree.Obj(examples...)))
	}
	r := jsontree.Obj(text("description", about))
	if len(headers) > 0 {
		r.Members = append(r.Members, jsontree.M("headers", jsontree.Obj(headers...)))
	}
	r.Members = append(r.Members, jsontree.M("content", jsontree.Obj(jsontree.M("application/json", media))))
	return r
}

func reference(kind, name string) jsontree.Value {
	return jsontree.Obj(text("$ref", "#/components/"+kind+"/"+name))
}

// posted is a tool as an operation of OpenAPI.
type posted struct{ *contract.Contract }

func (d *posted) arguments() string { return d.Name + "_arguments" }

func (d *posted) answer() string { return d.Name + "_answer" }

// schemas are those of the tool: what it takes and what it gives. A document has one
// place for definitions, so those of the tool move there, under its name.
func (d *posted) schemas() []jsontree.Member {
	input, output := d.PublicInput(), d.BodySchema()
	if d.Content {
		output = object("content", jsontree.Obj(text("type", "array"), jsontree.M("items", object("type", typed("string")))))
	}
	var members []jsontree.Member
	for _, named := range []jsontree.Member{jsontree.M(d.arguments(), input), jsontree.M(d.answer(), output)} {
		for _, definition := range named.Value.Field("$defs").Members {
			members = append(members, jsontree.M(named.Key+"."+definition.Key, moved(&definition.Value, named.Key)))
		}
		members = append(members, jsontree.M(named.Key, moved(&named.Value, named.Key)))
	}
	return members
}

// moved gives a schema whose references lead to where its definitions have moved.
func moved(schema *jsontree.Value, name string) jsontree.Value {
	out := *schema
	out.Members = slices.DeleteFunc(slices.Clone(schema.Members), func(m jsontree.Member) bool {
		return m.Key == "$defs" || m.Key == "$schema"
	})
	for i := range out.Members {
		if m := &out.Members[i]; m.Key == "$ref" {
			if definition, ok := strings.CutPrefix(m.Value.Text, "#/$defs/"); ok {
				m.Value = jsontree.Str("#/components/schemas/" + name + "." + definition)
			}
		}
	}
	return contract.MapParts(&out, func(_, _ string, part *jsontree.Value) jsontree.Value { return moved(part, name) })
}

// operation is the call of the tool: POST /tools/{name}.
func (d *posted) operation() jsontree.Value {
	operation := jsontree.Obj(
		text("operationId", d.Name),
		text("summary", d.Title),
		text("description", d.about()),
		jsontree.M("tags", jsontree.Strs(d.Set)),
		jsontree.M("security", d.security()),
	)
	if !d.Hints.ReadOnly {
		operation.Members = append(operation.Members, jsontree.M("parameters", jsontree.Arr(reference("parameters", "Idempotency-Key"))))
	}
	operation.Members = append(operation.Members,
		jsontree.M("requestBody", d.body()),
		jsontree.M("responses", jsontree.Obj(d.responses()...)))
	return operation
}

// about tells what the contract promises beside its schemas.
func (d *posted) about() string {
	words := []string{d.Description}
	if d.Approval.Required {
		words = append(words, "A person approves the call first: 202 says that nobody has yet.")
	}
	if !d.Rate.IsZero() {
		words = append(words, "At most "+d.Rate.String()+" a caller.")
	}
	words = append(words, "Arguments of at most "+d.Size.Request.String()+".")
	if d.Access != contract.Public {
		words = append(words, "Scope: "+d.scope()+".")
	}
	return strings.Join(words, "\n\n")
}

func (d *posted) scope() string {
	if d.Hints.ReadOnly {
		return d.Set + ":read"
	}
	return d.Set + ":write"
}

// security asks for a token with the scope, if tokens are in use.
func (d *posted) security() jsontree.Value {
	if d.Access == contract.Public {
		return jsontree.Arr()
	}
	return jsontree.Arr(jsontree.Obj(jsontree.M("bearer", jsontree.Strs(d.scope()))), jsontree.Obj())
}

func (d *posted) body() jsontree.Value {
	var shown []jsontree.Member
	for i, e := range d.Examples {
		if accepted, err := d.Accept(e.Arguments.Clone()); err == nil {
			shown = append(shown, example(i, &e, given(&e.Arguments, accepted)))
		}
	}
	required := d.Input.Field("required")
	body := response("", reference("schemas", d.arguments()), shown, nil)
	body.Members[0] = jsontree.M("required", jsontree.Boolean(len(required.Members) > 0)) // a body has no description
	return body
}

// given gives arguments as the schema has them: what the engine takes for left out is,
// and what it takes for another type has that type; but nothing is filled in.
func given(arguments *jsontree.Value, accepted jsontree.Value) jsontree.Value {
	accepted.Members = slices.DeleteFunc(accepted.Members, func(m jsontree.Member) bool {
		sent := arguments.Field(m.Key)
		return sent.Kind == jsontree.Null
	})
	return accepted
}

// example is a documented value. Its key ties the arguments to their answer.
func example(i int, e *contract.Example, value jsontree.Value) jsontree.Member {
	return jsontree.M("example"+strconv.Itoa(i+1), jsontree.Obj(text("summary", e.Title), jsontree.M("value", value)))
}

// responses are the answer of the tool, then each status that it may fail with.
func (d *posted) responses() []jsontree.Member {
	var answers []jsontree.Member
	failures := map[contract.Kind][]jsontree.Member{}
	for i, e := range d.Examples {
		if e.Error.Kind == jsontree.Null {
			answers = append(answers, example(i, &e, e.Result))
		} else {
			kind := d.kindOf(&e)
			failures[kind] = append(failures[kind], example(i, &e, e.Error))
		}
	}
	challenge := jsontree.M("WWW-Authenticate", reference("headers", "WWW-Authenticate"))
	members := []jsontree.Member{
		jsontree.M("200", response("The answer", reference("schemas", d.answer()), answers, d.headers("ok"))),
		jsontree.M("401", response("The token is missing, expired or unknown", d.failureOrRefusal(), nil, []jsontree.Member{challenge})),
	}
	for status, kinds := range d.statuses() {
		members = append(members, jsontree.M(strconv.Itoa(status), d.failure(status, kinds, failures)))
	}
	slices.SortFunc(members, func(a, b jsontree.Member) int { return cmp.Compare(a.Key, b.Key) })
	return append(members, jsontree.M("default", response("Any failure; X-Remit-Outcome says which, if the call reached the tool",
		d.failureOrRefusal(), failures[""], nil)))
}

// failureOrRefusal is a failure of the tool, or what the server said in its own words
// before the call reached it.
func (d *posted) failureOrRefusal() jsontree.Value {
	return jsontree.Obj(jsontree.M("anyOf", jsontree.Arr(reference("schemas", errorSchema(d.Shape)), reference("schemas", "Refusal"))))
}

// statuses are the kinds of failure, by the status that each has. Those of a body that
// never became a call have another.
func (d *posted) statuses() map[int][]contract.Kind {
	kinds := map[int][]contract.Kind{415: {contract.Invalid}, 408: {contract.Unavailable}}
	for _, kind := range contract.Kinds() {
		status := d.Status(kind)
		kinds[status] = append(kinds[status], kind)
	}
	for status, kind := range map[int]contract.Kind{400: contract.Invalid, 413: contract.TooLarge} {
		if !slices.Contains(kinds[status], kind) {
			kinds[status] = append(kinds[status], kind)
		}
	}
	return kinds
}

// failure describes a status with which the tool may fail.
func (d *posted) failure(status int, kinds []contract.Kind, examples map[contract.Kind][]jsontree.Member) jsontree.Value {
	var about, outcomes []string
	var shown []jsontree.Member
	for _, kind := range kinds {
		outcomes = append(outcomes, string(kind))
		if d.Status(kind) != status {
			about = append(about, fmt.Sprintf("%s: %s", kind, bodyFaults()[status]))
			continue
		}
		shown = append(shown, examples[kind]...)
		when := cmp.Or(d.Errors[kind].When, "see the message: the outcome is "+strings.ReplaceAll(string(kind), "_", " "))
		about = append(about, strings.TrimSuffix(fmt.Sprintf("%s: %s", kind, when), "."))
	}
	slices.SortFunc(shown, func(a, b jsontree.Member) int {
		return cmp.Or(cmp.Compare(len(a.Key), len(b.Key)), cmp.Compare(a.Key, b.Key))
	})
	schema := reference("schemas", errorSchema(d.Shape))
	headers := d.headers(outcomes...)
	if slices.Contains(kinds, contract.Limited) || slices.Contains(kinds, contract.Unavailable) {
		headers = append(headers, jsontree.M("Retry-After", reference("headers", "Retry-After")))
	}
	if slices.Contains(kinds, contract.Denied) {
		headers = append(headers, jsontree.M("WWW-Authenticate", reference("headers", "WWW-Authenticate")))
	}
	if status == 503 || status == 429 { // too many calls at once, or with one token
		schema = d.failureOrRefusal()
	}
	return response(strings.Join(about, ". "), schema, shown, headers)
}

// bodyFaults are what may be wrong with a request before it is a call.
func bodyFaults() map[int]string {
	return map[int]string{
		400: "the body is not valid JSON, or the key is none",
		408: "the body took too long to arrive",
		413: "the body is larger than the server takes",
		415: "the body is not plain JSON",
	}
}

// errorSchema names the schema of the errors of a shape.
func errorSchema(shape contract.Shape) string {
	return strings.ToUpper(string(shape[:1])) + string(shape[1:]) + "Error"
}

// headers are those of every answer that a tool gives.
func (d *posted) headers(outcomes ...string) []jsontree.Member {
	told := func(about string, schema jsontree.Value) jsontree.Value {
		return jsontree.Obj(text("description", about), jsontree.M("schema", schema))
	}
	members := []jsontree.Member{
		jsontree.M("X-Remit-Outcome", told("What came of the call", jsontree.Obj(text("type", "string"), jsontree.M("enum", jsontree.Strs(outcomes...))))),
		jsontree.M("X-Remit-Contract", told("The promise that was kept", jsontree.Obj(text("type", "string"), text("const", d.Set+"/"+d.Name+"@"+d.Version.String())))),
	}
	if outcomes[0] != "ok" {
		return members
	}
	shared := func(name string) { members = append(members, jsontree.M(name, reference("headers", name))) }
	if !d.Hints.ReadOnly {
		shared("Idempotency-Replayed")
	}
	if d.Truncate.List != "" || d.Bare != "" {
		shared("Remit-Truncated")
		shared("Remit-Total")
	}
	shared("Remit-Remarks")
	return members
}

// kindOf finds the kind of failure that an example shows; "" if more than one would look
// like it.
func (d *posted) kindOf(e *contract.Example) contract.Kind {
	if _, err := d.Accept(e.Arguments.Clone()); err != nil {
		return contract.AsError(err).Kind
	}
	var fitting []contract.Kind
	for _, kind := range contract.Kinds() {
		if d.looksLike(d.Errors[kind], &e.Error) {
			fitting = append(fitting, kind)
		}
	}
	if len(fitting) != 1 {
		return ""
	}
	return fitting[0]
}

// looksLike tells whether an error may have been worded by the rule.
func (d *posted) looksLike(rule contract.ErrorRule, shown *jsontree.Value) bool {
	inner, message := *shown, "message"
	switch d.Shape {
	case contract.Coded, contract.Envelope:
		inner = shown.Field("error")
		if code := inner.Field("code"); code.Text != rule.Code {
			return false
		}
	case contract.Named:
		if code := shown.Field("error"); code.Text != rule.Code {
			return false
		}
	default:
		message = "error"
	}
	words := inner.Field(message)
	before, _, _ := strings.Cut(rule.Message, "{")
	return strings.HasPrefix(words.Text, before) && (d.Shape != contract.Plain || before != "")
}
