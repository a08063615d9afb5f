package export

import (
	_ "embed"
	"fmt"
	"slices"
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
