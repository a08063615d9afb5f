package console

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"remit/internal/contract"
	"remit/internal/engine"
	"remit/internal/engine/approval"
	"remit/internal/engine/enginetest"
	"remit/internal/engine/identity"
)

// pendingApprover is an approver that leaves every call pending.
type pendingApprover struct{}

func (pendingApprover) Pass(context.Context, approval.Subject, approval.Asker) (approval.Passed, error) {
	return approval.Passed{}, contract.Errorf(contract.Pending, "Approval needed").With("approval", map[string]any{"id": "k3v9q2xa7m", "status": "pending"})
}

// newToolFixture returns a fixture with tools to try.
func newToolFixture(t testing.TB) *fixture {
	t.Helper()
	c := newFixture(t)
	type in struct {
		Text  string   `json:"text"`
		Count int      `json:"count"`
		Words []string `json:"words"`
	}
	type out struct {
		Said string `json:"said"`
	}
	say := engine.Handle(func(_ context.Context, in in) (out, error) {
		return out{strings.Repeat(in.Text, in.Count) + strings.Join(in.Words, "+")}, nil
	})
	tool := func(name, more string) string {
		return "name: " + name + `
title: Say <b>something</b>
description: Says something <script>alert(1)</script>.
input:
  type: object
  properties:
    text: {type: string, minLength: 1, maxLength: 10, description: What}
    count: {type: integer, minimum: 1, maximum: 3, default: 1, description: How often}
    words: {type: array, items: {type: string}, description: More}
  required: [text]
  additionalProperties: false
output:
  type: object
  properties:
    said: {type: string, description: What was said}
  required: [said]
  additionalProperties: false
examples:
  - title: Twice
    arguments: {text: a, count: 2}
    result: {said: aa}
` + more
	}
	set := enginetest.Load(t, enginetest.PublicSet, map[string]string{
		"look":  tool("look", "hints: {readOnly: true, destructive: false, idempotent: true, openWorld: false}\n"),
		"write": tool("write", "hints: {readOnly: false, destructive: false, idempotent: false, openWorld: false}\napproval: {required: true, window: 1h}\n"),
	})
	c.Engine = enginetest.New(t, set, map[string]engine.Handler{"look": say, "write": say}, engine.Options{Approvals: pendingApprover{}, Audit: c})
	return c
}

// lacks checks that a response does not contain texts.
func lacks(t *testing.T, w *httptest.ResponseRecorder, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if strings.Contains(w.Body.String(), text) {
			t.Errorf("%q is in:\n%s", text, w.Body)
		}
	}
}

func TestToolPages(t *testing.T) {
	c := newToolFixture(t)
	viewer := c.as(identity.Viewer)
	list := viewer("GET", "/console/tools", nil)
	wants(t, list, 200, `href="/console/tools/look"`, `href="/console/tools/write"`, "1.2.3")
	lacks(t, list, "<script>alert", "<b>something")
	page := viewer("GET", "/console/tools/look", nil)
	wants(t, page, 200, "It only reads", "at most 10 characters", "default 1", "<strong>required</strong>", `maxlength="10"`,
		`min="1"`, `max="3"`,
		"remit call look text=a count=2", "curl http://127.0.0.1:8722/tools/look", "tools/call", "(estimate: ", `action="/console/tools/look/try#answer"`)
	lacks(t, page, "<script>alert", "<b>something")
	wants(t, viewer("GET", "/console/tools/look?example=1", nil), 200, `value="a"`, `value="2"`, "Filled in from the example")
	wants(t, viewer("GET", "/console/tools/look?example=99", nil), 200, `value=""`)
	wants(t, viewer("GET", "/console/tools/look?as=json", nil), 200, `name="json"`)
	wants(t, viewer("GET", "/console/tools/lok", nil), 404, "did you mean")
	wants(t, viewer("GET", "/console/tools/write", nil), 200, "You need the approver role to try it")
	lacks(t, viewer("GET", "/console/tools/write", nil), "<form class=\"try\"")
}

func TestTrying(t *testing.T) {
	c := newToolFixture(t)
	viewer, approver := c.as(identity.Viewer), c.as(identity.Approver)
	try := func(values ...string) url.Values {
		form := url.Values{}
		for i := 0; i+1 < len(values); i += 2 {
			form.Set(values[i], values[i+1])
		}
		return form
	}
	for _, tc := range []struct {
		name   string
		who    func(string, string, url.Values, ...string) *httptest.ResponseRecorder
		path   string
		form   url.Values
		more   []string // headers
		status int
		want   []string
		record string // start of the audit record; "" for none
	}{
		{
			"fine", viewer, "look", try("arg.text", "<i>x", "arg.count", "2", "arg.words", "a\r\nb"), nil, 200,
			[]string{"&lt;i&gt;x&lt;i&gt;xa&#43;b", `value="&lt;i&gt;x"`, "a\nb</textarea>"},
			`console:ada demo/look ok {"text":"<i>x","count":2,"words":["a","b"]}`,
		},
		{"as JSON", viewer, "look", try("json", `{"text":"x"}`), nil, 200, []string{"&#34;said&#34;: &#34;x&#34;", `{&#34;text&#34;:&#34;x&#34;}</textarea>`}, `console:ada demo/look ok {"text":"x"}`},
		{
			"wrong", viewer, "look", try("arg.text", "far too long a text", "arg.count", "9"), nil, 200,
			[]string{`<p class="field-error" id="arg-text-error">`, `value="far too long a text"`, `value="9"`},
			`console:ada demo/look invalid`,
		},
		{"no arguments", viewer, "look", try(), nil, 200, []string{"text is required"}, "console:ada demo/look invalid {}"},
		{"broken JSON", viewer, "look", try("json", `{"text`), nil, 400, []string{"not valid JSON", "{&#34;text</textarea>"}, ""},
		{"JSON that is not an object", viewer, "look", try("json", `[1]`), nil, 200, []string{"must be an object"}, "console:ada demo/look invalid"},
		{"a viewer writes", viewer, "write", try("arg.text", "x"), nil, 403, []string{"you need the role approver to try it"}, "console:ada console/refused denied"},
		{"an approver writes", approver, "write", try("arg.text", "x"), nil, 200, []string{`href="/console/approvals/k3v9q2xa7m"`}, `console:ada demo/write pending {"text":"x"}`},
		{"no such tool", approver, "wite", try(), nil, 404, []string{"did you mean"}, ""},
		{"another site", approver, "write", try("arg.text", "x"), []string{"Sec-Fetch-Site", "cross-site"}, 403, []string{"another web site"}, "nobody console/refused denied"},
		{"no form", approver, "write", try("arg.text", "x"), []string{"Content-Type", "application/json"}, 400, nil, ""},
		{"too much", approver, "look", try("arg.text", strings.Repeat("x", 2<<20)), nil, 413, nil, ""},
		{"more than the contract takes", approver, "look", try("arg.text", strings.Repeat("x", 2<<10)), nil, 200, []string{"too_large"}, "console:ada demo/look too_large"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c.records = nil
			w := tc.who("POST", "/console/tools/"+tc.path+"/try", tc.form, tc.more...)
			wants(t, w, tc.status, tc.want...)
			lacks(t, w, "<i>x")
			if got := strings.Join(c.recorded(), "\n"); (tc.record == "") != (got == "") || !strings.HasPrefix(got, tc.record) {
				t.Errorf("recorded %q, want %q", got, tc.record)
			}
		})
	}
	if w := approver("GET", "/console/tools/look/try", nil); w.Code == 200 {
		t.Error("GET calls a tool")
	}
	for _, r := range c.records {
		if r.Frontend != "console" {
			t.Errorf("recorded as %s", r.Frontend)
		}
	}
}

// TestEveryContractHasAPage checks that each contract of the catalog is shown in full.
func TestEveryContractHasAPage(t *testing.T) {
	c := newFixture(t)
	for _, contract := range allContracts(t) {
		w := httptest.NewRecorder()
		v := &visit{Console: c.Console, w: w, r: httptest.NewRequest(http.MethodGet, "/", nil), person: identity.Person{Name: "ada", Role: identity.Admin}}
		view := v.toolView(&engine.Tool{Contract: contract, ID: contract.Set + "/" + contract.Name})
		if err := v.page("tool", "tools", contract.Title, view); err != nil {
			t.Fatalf("%s: %v", contract.Name, err)
		}
		wants(t, w, 200, "<h2>Input</h2>", "<h2>Output</h2>", "<h2>Errors</h2>", contract.Version.String())
		for _, p := range contract.Input.Field("properties").Members {
			wants(t, w, 200, ">"+p.Key+"<", `name="arg.`+p.Key+`"`)
		}
		lacks(t, w, "ZgotmplZ")
	}
}

func TestSchemasAsRows(t *testing.T) {
	for _, c := range allContracts(t) {
		for _, row := range append(schemaRows(&c.Input), schemaRows(&c.Output)...) {
			if row.Type == "" || row.Name == "" || row.Depth > maxSchemaDepth {
				t.Errorf("%s: %+v", c.Name, row)
			}
		}
	}
}
