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

// The formats that are whole documents.
const (
	OpenAPI  Format = "openapi"  // an OpenAPI 3.1 document for plain HTTP
	Markdown Format = "markdown" // the reference documentation, for people
)

// Documents lists the formats that are whole documents.
func Documents() []Format { return []Format{OpenAPI, Markdown} }

// withoutTools is the OpenAPI document without any tool. It is valid with and without identity, so
// credentials are optional in it. Its error schemas match what Contract.Render writes.
//
//go:embed openapi.json
var withoutTools []byte

// Service holds what an OpenAPI document says beside the tools.
type Service struct {
	Version string // of the program
	URL     string // base URL, without a slash at the end
}

// Describe returns the OpenAPI document for the tools over plain HTTP.
func (s Service) Describe(contracts []*contract.Contract) (jsontree.Value, error) {
	document, err := jsontree.ParseTrusted(withoutTools)
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

// object returns the schema of an object that has this property and may have others.
func object(property string, schema jsontree.Value) jsontree.Value {
	return jsontree.Obj(text("type", "object"), jsontree.M("properties", jsontree.Obj(jsontree.M(property, schema))),
		jsontree.M("required", jsontree.Strs(property)))
}

// response describes a response in JSON, with its examples.
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

// posted is a tool as an OpenAPI operation.
type posted struct{ *contract.Contract }

func (d *posted) arguments() string { return d.Name + "_arguments" }

func (d *posted) answer() string { return d.Name + "_answer" }

// schemas returns the tool's schemas for arguments and answers. An OpenAPI document has one place
// for definitions, so those of the tool move there, with the tool's name in front.
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

// moved returns a schema whose references point to the new place of its definitions.
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

// operation describes the call of the tool: POST /tools/{name}.
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

// about describes what the contract promises beside its schemas.
func (d *posted) about() string {
	words := []string{d.Description}
	if d.Approval.Required {
		words = append(words, "A person must approve the call first; until then the status is 403.")
	}
	if !d.Rate.IsZero() {
		words = append(words, "At most "+d.Rate.String()+" per caller.")
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

// security requires a token with the scope, if tokens are in use.
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
	// Instead of a description.
	body.Members[0] = jsontree.M("required", jsontree.Boolean(len(required.Members) > 0))
	return body
}

// given returns the arguments of an example in a form that matches the schema. accepted is what the
// engine made of them: with converted values, and with defaults. given removes the defaults, and
// arguments that are null, which the engine treats as absent.
func given(arguments *jsontree.Value, accepted jsontree.Value) jsontree.Value {
	accepted.Members = slices.DeleteFunc(accepted.Members, func(m jsontree.Member) bool {
		sent := arguments.Field(m.Key)
		return sent.Kind == jsontree.Null
	})
	return accepted
}

// example returns a documented value. Arguments and their answer have the same key.
func example(i int, e *contract.Example, value jsontree.Value) jsontree.Member {
	return jsontree.M("example"+strconv.Itoa(i+1), jsontree.Obj(text("summary", e.Title), jsontree.M("value", value)))
}

// responses describes the answer of the tool, and then each status that it may fail with.
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
	return append(members, jsontree.M("default", response("Any failure; if the call reached the tool, X-Remit-Outcome says which",
		d.failureOrRefusal(), failures[""], nil)))
}

// failureOrRefusal returns the schema of a failure of the tool, or of an error that the server
// sends before the call reaches the tool.
func (d *posted) failureOrRefusal() jsontree.Value {
	return jsontree.Obj(jsontree.M("anyOf", jsontree.Arr(reference("schemas", errorSchema(d.Shape)), reference("schemas", "Refusal"))))
}

// statuses groups the kinds of failure by HTTP status. It adds the statuses of requests that never
// become a call.
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
		when := cmp.Or(d.Errors[kind].When, "the message says why; the outcome is "+strings.ReplaceAll(string(kind), "_", " "))
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
	if status == 503 || status == 429 { // too many calls at once, or too many with one token
		schema = d.failureOrRefusal()
	}
	return response(strings.Join(about, ". "), schema, shown, headers)
}

// bodyFaults describes what may be wrong with a request before it becomes a call.
func bodyFaults() map[int]string {
	return map[int]string{
		400: "the body is not valid JSON, or the idempotency key is not valid",
		408: "the body took too long to arrive",
		413: "the body is larger than the server accepts",
		415: "the body is not plain JSON",
	}
}

// errorSchema returns the name of the schema for errors of a shape.
func errorSchema(shape contract.Shape) string {
	return strings.ToUpper(string(shape[:1])) + string(shape[1:]) + "Error"
}

// headers describes the headers of every answer of a tool.
func (d *posted) headers(outcomes ...string) []jsontree.Member {
	header := func(about string, schema jsontree.Value) jsontree.Value {
		return jsontree.Obj(text("description", about), jsontree.M("schema", schema))
	}
	members := []jsontree.Member{
		jsontree.M("X-Remit-Outcome", header("The outcome of the call",
			jsontree.Obj(text("type", "string"), jsontree.M("enum", jsontree.Strs(outcomes...))))),
		jsontree.M("X-Remit-Contract", header("The contract of the tool",
			jsontree.Obj(text("type", "string"), text("const", d.Set+"/"+d.Name+"@"+d.Version.String())))),
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

// kindOf returns the kind of failure that an example shows, or "" if more than one kind fits.
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

// looksLike reports whether the rule could have produced an error.
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
