package export

import (
	"fmt"
	"slices"

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

// Service is what a document of OpenAPI tells beside the tools.
type Service struct {
	Version string // of the program
	URL     string // where it is served, without a slash at the end
}

// Describe gives the document of OpenAPI for the tools over plain HTTP. It is true with
// and without identity, so credentials are optional in it.
func (s Service) Describe(contracts []*contract.Contract) (jsontree.Value, error) {
	paths := []jsontree.Member{
		jsontree.M("/tools", operations("get", listOperation())),
		jsontree.M("/tools/{name}", operations("get", describeOperation())),
	}
	var tags []jsontree.Value
	schemas := sharedSchemas()
	var sets []string
	for _, c := range contracts {
		if !slices.Contains(sets, c.Set) {
			sets = append(sets, c.Set)
			tags = append(tags, jsontree.Obj(text("name", c.Set), text("description", "The tools of the toolset "+c.Set)))
		}
		d := &posted{Contract: c}
		operation, err := d.operation()
		if err != nil {
			return jsontree.Value{}, fmt.Errorf("describe %s: %w", c.Name, err)
		}
		paths = append(paths, jsontree.M("/tools/"+c.Name, operations("post", operation)))
		schemas = append(schemas, d.schemas()...)
	}
	tags = append(tags, jsontree.Obj(text("name", serviceTag), text("description", "What scripts, load balancers and Prometheus find beside the tools")))
	paths = append(paths,
		jsontree.M("/health", operations("get", healthOperation())),
		jsontree.M("/metrics", operations("get", metricsOperation())))
	return jsontree.Obj(
		text("openapi", "3.1.0"),
		jsontree.M("info", s.info()),
		jsontree.M("servers", jsontree.Arr(jsontree.Obj(text("url", s.URL)))),
		jsontree.M("tags", jsontree.Arr(tags...)),
		jsontree.M("paths", jsontree.Obj(paths...)),
		jsontree.M("components", jsontree.Obj(
			jsontree.M("schemas", jsontree.Obj(schemas...)),
			jsontree.M("headers", jsontree.Obj(sharedHeaders()...)),
			jsontree.M("parameters", jsontree.Obj(sharedParameters()...)),
			jsontree.M("responses", jsontree.Obj(sharedResponses()...)),
			jsontree.M("securitySchemes", jsontree.Obj(jsontree.M(bearer, bearerScheme(sets)))),
		)),
	), nil
}

func (s Service) info() jsontree.Value {
	return jsontree.Obj(
		text("title", "Remit"),
		text("version", s.Version),
		text("summary", "Tools for AI agents, each bound by a contract"),
		text("description", "A tool is a POST of its arguments. Go by the header X-Remit-Outcome: a contract may give an outcome another status than most do."),
		jsontree.M("license", jsontree.Obj(text("name", "Apache-2.0"), text("identifier", "Apache-2.0"))),
	)
}

// serviceTag marks what is no tool.
const serviceTag = "service"

func operations(method string, operation jsontree.Value) jsontree.Value {
	return jsontree.Obj(jsontree.M(method, operation))
}

func text(key, words string) jsontree.Member { return jsontree.M(key, jsontree.Str(words)) }

func listOperation() jsontree.Value {
	list := jsontree.Obj(text("type", "array"), jsontree.M("items", reference("schemas", "Tool")))
	return serviceOperation("listTools", "List the tools",
		jsontree.M("200", response("Every tool that is served", jsonContent(list), jsontree.M("ETag", reference("headers", "ETag")))),
		jsontree.M("304", response("As If-None-Match has it", nil)),
		jsontree.M("401", reference("responses", "Unauthorized")))
}

func describeOperation() jsontree.Value {
	operation := serviceOperation("describeTool", "Show one tool",
		jsontree.M("200", response("The tool", jsonContent(reference("schemas", "Tool")), jsontree.M("ETag", reference("headers", "ETag")))),
		jsontree.M("304", response("As If-None-Match has it", nil)),
		jsontree.M("401", reference("responses", "Unauthorized")),
		jsontree.M("404", response("There is no such tool", jsonContent(reference("schemas", "Refusal")))))
	name := jsontree.Obj(text("name", "name"), text("in", "path"), jsontree.M("required", jsontree.Boolean(true)), jsontree.M("schema", typed("string")))
	operation.Members = append(operation.Members, jsontree.M("parameters", jsontree.Arr(name)))
	return operation
}

func healthOperation() jsontree.Value {
	operation := serviceOperation("health", "Whether everything works",
		jsontree.M("200", response("It does", jsonContent(reference("schemas", "Health")))),
		jsontree.M("503", response("A check failed, or the server is about to end", jsonContent(reference("schemas", "Health")))))
	return withMember(operation, "security", jsontree.Arr())
}

func metricsOperation() jsontree.Value {
	body := jsontree.Obj(jsontree.M("text/plain", jsontree.Obj(jsontree.M("schema", typed("string")))))
	return serviceOperation("metrics", "Numbers for Prometheus",
		jsontree.M("200", response("In the text format of Prometheus", []jsontree.Member{jsontree.M("content", body)})),
		jsontree.M("401", reference("responses", "Unauthorized")))
}

func serviceOperation(id, summary string, responses ...jsontree.Member) jsontree.Value {
	return jsontree.Obj(
		text("operationId", id),
		text("summary", summary),
		jsontree.M("tags", jsontree.Arr(jsontree.Str(serviceTag))),
		jsontree.M("security", optionally()),
		jsontree.M("responses", jsontree.Obj(responses...)),
	)
}

// withMember gives an object in which a member has another value.
func withMember(v jsontree.Value, key string, value jsontree.Value) jsontree.Value {
	v.Members = slices.Clone(v.Members)
	for i := range v.Members {
		if v.Members[i].Key == key {
			v.Members[i].Value = value
		}
	}
	return v
}

// response describes an answer; content is what jsonContent gives.
func response(about string, content []jsontree.Member, headers ...jsontree.Member) jsontree.Value {
	r := jsontree.Obj(text("description", about))
	if len(headers) > 0 {
		r.Members = append(r.Members, jsontree.M("headers", jsontree.Obj(headers...)))
	}
	r.Members = append(r.Members, content...)
	return r
}

// jsonContent is the member of a body of JSON, with its examples.
func jsonContent(schema jsontree.Value, examples ...jsontree.Member) []jsontree.Member {
	media := jsontree.Obj(jsontree.M("schema", schema))
	if len(examples) > 0 {
		media.Members = append(media.Members, jsontree.M("examples", jsontree.Obj(examples...)))
	}
	return []jsontree.Member{jsontree.M("content", jsontree.Obj(jsontree.M("application/json", media)))}
}

func reference(kind, name string) jsontree.Value {
	return jsontree.Obj(text("$ref", "#/components/"+kind+"/"+name))
}

func typed(name string) jsontree.Value { return jsontree.Obj(text("type", name)) }
