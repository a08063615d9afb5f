package export_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/routers/legacy"

	"remit/internal/contract"
	"remit/internal/contract/export"
	"remit/internal/contract/jsontree"
)

// document reads the exported document with an independent implementation of OpenAPI.
func document(t testing.TB, contracts []*contract.Contract) (*openapi3.T, jsontree.Value) {
	t.Helper()
	tree, err := export.Service{Version: "1.2.3", URL: "http://127.0.0.1:8722"}.Describe(contracts)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := openapi3.NewLoader().LoadFromData(tree.Append(nil))
	if err != nil {
		t.Fatal(err)
	}
	// This validates the examples of the document too.
	if err := doc.Validate(t.Context(), openapi3.EnableExamplesValidation()); err != nil {
		t.Fatal(err)
	}
	return doc, tree
}

// served groups the contracts by set, because no two served tools may have the same name.
func served(t testing.TB, all []*contract.Contract) map[string][]*contract.Contract {
	t.Helper()
	sets := map[string][]*contract.Contract{}
	for _, c := range all {
		sets[c.Set] = append(sets[c.Set], c)
	}
	return sets
}

// TestOpenAPI: the document of every set is valid, and every example of its contracts matches its
// schemas and statuses.
func TestOpenAPI(t *testing.T) {
	for set, contracts := range served(t, everything(t)) {
		t.Run(set, func(t *testing.T) {
			doc, tree := document(t, contracts)
			if bytes.Contains(tree.Append(nil), []byte(`"$defs"`)) {
				t.Error("definitions are left where no reference points")
			}
			if doc.OpenAPI != "3.1.0" || doc.Info.Version != "1.2.3" || doc.Servers[0].URL != "http://127.0.0.1:8722" {
				t.Errorf("%s, %s, %v", doc.OpenAPI, doc.Info.Version, doc.Servers)
			}
			for _, c := range contracts {
				operation := doc.Paths.Value("/tools/" + c.Name).Post
				for _, e := range examplesOf(t, c) {
					checkExample(t, c, operation, &e)
				}
			}
		})
	}
}

// checkExample: arguments that the contract accepts match the schema, arguments that violate it do
// not, and answers match theirs.
func checkExample(t *testing.T, c *contract.Contract, operation *openapi3.Operation, e *contract.Example) {
	t.Helper()
	arguments := operation.RequestBody.Value.Content["application/json"].Schema.Value
	if sent, err := c.Accept(e.Arguments.Clone()); err == nil {
		if err := visit(arguments, sent); err != nil {
			t.Errorf("%s, %q: arguments: %v", c.Name, e.Title, err)
		}
	}
	if e.Error.Kind == jsontree.Null {
		if err := visit(operation.Responses.Value("200").Value.Content["application/json"].Schema.Value, e.Result); err != nil {
			t.Errorf("%s, %q: answer: %v", c.Name, e.Title, err)
		}
		return
	}
	for status, answer := range operation.Responses.Map() {
		if status == "200" {
			continue
		}
		if err := visit(answer.Value.Content["application/json"].Schema.Value, e.Error); err != nil {
			t.Errorf("%s, %q: error with %s: %v", c.Name, e.Title, status, err)
		}
	}
}

func visit(schema *openapi3.Schema, value jsontree.Value) error {
	var plain any
	if err := json.Unmarshal(value.Append(nil), &plain); err != nil {
		return err
	}
	return schema.VisitJSON(plain, openapi3.EnableJSONSchema2020())
}

// TestOpenAPIFailures: each kind of failure has the status, the headers and the body that the
// contract gives it.
func TestOpenAPIFailures(t *testing.T) {
	for set, contracts := range served(t, everything(t)) {
		doc, _ := document(t, contracts)
		for _, c := range contracts {
			operation := doc.Paths.Value("/tools/" + c.Name).Post
			for _, kind := range contract.Kinds() {
				answer := operation.Responses.Status(c.Status(kind))
				if answer == nil {
					t.Errorf("%s/%s: no status %d for %s", set, c.Name, c.Status(kind), kind)
					continue
				}
				if outcomes := answer.Value.Headers["X-Remit-Outcome"].Value.Schema.Value.Enum; !slices.Contains(outcomes, any(string(kind))) {
					t.Errorf("%s/%s: outcomes of %d are %v, without %s", set, c.Name, c.Status(kind), outcomes, kind)
				}
				body, err := jsontree.Parse(c.Render(contract.Errorf(kind, "no").With("retry_after", 3)))
				if err != nil {
					t.Fatal(err)
				}
				if err := visit(answer.Value.Content["application/json"].Schema.Value, body); err != nil {
					t.Errorf("%s/%s: %s: %v", set, c.Name, kind, err)
				}
			}
			if operation.Responses.Status(c.Status(contract.Limited)).Value.Headers["Retry-After"] == nil {
				t.Errorf("%s: no Retry-After", c.Name)
			}
			takesKey := slices.ContainsFunc(operation.Parameters, func(p *openapi3.ParameterRef) bool { return p.Value.Name == "Idempotency-Key" })
			if takesKey == c.Hints.ReadOnly {
				t.Errorf("%s: reads only %v, takes a key %v", c.Name, c.Hints.ReadOnly, takesKey)
			}
		}
	}
}

// TestOpenAPIExamples: every example of the contracts appears once, under its status if the
// contract determines it.
func TestOpenAPIExamples(t *testing.T) {
	byStatus := map[string]int{}
	for _, contracts := range served(t, everything(t)) {
		doc, _ := document(t, contracts)
		for _, c := range contracts {
			for i, e := range examplesOf(t, c) {
				body := e.Result
				if e.Error.Kind != jsontree.Null {
					body = e.Error
				}
				status, shown := shownWith(doc.Paths.Value("/tools/"+c.Name).Post, "example"+strconv.Itoa(i+1))
				if !sameJSON(t, shown, body) || (status == "200") != (e.Error.Kind == jsontree.Null) {
					t.Errorf("%s, %q: stands with %q: %s", c.Name, e.Title, status, shown)
				}
				byStatus[status]++
			}
		}
	}
	for _, status := range []string{"200", "400", "404", "409", "default"} {
		if byStatus[status] == 0 {
			t.Errorf("no example with %s: %v", status, byStatus)
		}
	}
}

// shownWith returns the status and the value of an example answer. The status is "" if there is
// none or more than one.
func shownWith(operation *openapi3.Operation, key string) (status string, shown []byte) {
	for code, answer := range operation.Responses.Map() {
		media := answer.Value.Content["application/json"]
		if media == nil || media.Examples[key] == nil {
			continue
		}
		if status != "" {
			return "", nil
		}
		status = code
		shown, _ = json.Marshal(media.Examples[key].Value.Value) // it was just decoded from JSON
	}
	return status, shown
}

func sameJSON(t *testing.T, data []byte, want jsontree.Value) bool {
	t.Helper()
	got, err := jsontree.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return got.Equal(&want)
}

// TestOpenAPIRoutes: the paths resolve, and the credentials match the contract.
func TestOpenAPIRoutes(t *testing.T) {
	sets := served(t, everything(t))
	doc, tree := document(t, slices.Concat(sets["learning-os"], sets["tasks"]))
	router, err := legacy.NewRouter(doc)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ method, path, operation, scope string }{
		{"GET", "/tools", "listTools", ""},
		{"GET", "/tools/hello", "describeTool", ""},
		{"POST", "/tools/hello", "hello", "none"},
		{"POST", "/tools/list_tasks", "list_tasks", "tasks:read"},
		{"POST", "/tools/add_task", "add_task", "tasks:write"},
		{"GET", "/health", "health", "none"},
		{"GET", "/metrics", "metrics", ""},
	} {
		request, err := http.NewRequestWithContext(t.Context(), tc.method, "http://127.0.0.1:8722"+tc.path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		route, _, err := router.FindRoute(request)
		if err != nil || route.Operation.OperationID != tc.operation {
			t.Errorf("%s %s: %v", tc.method, tc.path, err)
			continue
		}
		got := "none"
		if security := *route.Operation.Security; len(security) == 2 {
			got = strings.Join(security[0]["bearer"], ",")
		}
		if got != tc.scope {
			t.Errorf("%s %s: scope %q, want %q", tc.method, tc.path, got, tc.scope)
		}
	}
	about := doc.Components.SecuritySchemes["bearer"].Value.Description
	if !strings.Contains(about, "learning-os:read, learning-os:write, tasks:read, tasks:write") {
		t.Errorf("the security scheme lists no scopes: %s", about)
	}
	again, _ := export.Service{Version: "1.2.3", URL: "http://127.0.0.1:8722"}.Describe(slices.Concat(sets["learning-os"], sets["tasks"]))
	if !bytes.Equal(tree.Append(nil), again.Append(nil)) {
		t.Error("two documents of the same tools differ")
	}
}

// TestReference: the reference lists the served tools and no others.
func TestReference(t *testing.T) {
	sets := served(t, everything(t))
	known := []*contract.Set{
		{Name: "tasks", Title: "Tasks", Description: "Lists.", Contracts: sets["tasks"]},
		{Name: "books", Title: "Books", Description: "Courses.", Contracts: sets["books"]},
	}
	page := string(export.Reference(known, sets["tasks"][:1]))
	if !strings.HasPrefix(page, "# Tools\n") || !strings.Contains(page, "## Toolset `tasks`: Tasks") || !strings.Contains(page, "### `tasks/"+sets["tasks"][0].Name+"`") {
		t.Errorf("it begins %.200s", page)
	}
	if strings.Contains(page, sets["tasks"][1].Name+"`\n") || strings.Contains(page, "Books") || strings.Contains(page, "DO NOT EDIT") {
		t.Errorf("it lists tools that are not served: %s", page)
	}
}
