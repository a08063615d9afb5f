package conformancetest_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"remit/internal/contract/jsontree"
	"remit/internal/engine"
)

// The capabilities of clients.
var (
	nothing  []engine.Capability
	forms    = []engine.Capability{engine.Forms}
	model    = []engine.Capability{engine.Sampling}
	folders  = []engine.Capability{engine.Roots}
	allThree = []engine.Capability{engine.Forms, engine.Sampling, engine.Roots}
	tasks    = []engine.Capability{engine.Forms, engine.Tasks}
)

// Answers of clients.
const (
	alice   = `{"action":"accept","content":{"name":"Alice"}}`
	consent = `{"action":"accept","content":{"ok":true}}`
	paris   = `{"role":"assistant","model":"m","content":{"type":"text","text":"Paris"}}`
	home    = `{"roots":[{"uri":"file:///a","name":"A"},{"uri":"file:///b"}]}`
)

// TestExamples: the examples in the contracts match the answers to a caller without a client.
func TestExamples(t *testing.T) {
	r := newHarness(t)
	for _, c := range r.set.Contracts {
		for _, e := range c.Examples {
			if e.Approve != "" {
				continue // the harness has no client to ask
			}
			result, err := r.Call(t.Context(), engine.Call{Tool: c.Name, Args: e.Arguments.Clone()})
			if err != nil {
				t.Fatal(err)
			}
			want := e.Result
			if want.Kind == jsontree.Null {
				want = e.Error
			}
			if diff := cmp.Diff(string(want.Append(nil)), string(result.Body)); diff != "" {
				t.Errorf("%s: %s: %s", c.Name, e.Title, diff)
			}
		}
	}
}

// TestConversations: which questions the tools ask, in which order, and how they use the answers.
func TestConversations(t *testing.T) {
	for _, tc := range []struct {
		tool, args string
		can        []engine.Capability
		replies    map[string]string
		received   string
		want       string
	}{
		{"test_sampling", `{"prompt":"p"}`, model, map[string]string{"sampling": paris}, "sampling sampling", "LLM response: Paris"},
		{"test_sampling", `{"prompt":"p"}`, model, map[string]string{"sampling": `{"content":[{"type":"image"},{"type":"text","text":"Paris"}]}`}, "sampling sampling", "LLM response: Paris"},
		{"test_sampling", `{"prompt":"p"}`, model, map[string]string{"sampling": `{"content":[]}`}, "sampling sampling", "fault -32602: the answer to sampling must be a message with text in it"},
		{"test_sampling", `{"prompt":"p"}`, forms, nil, "", "denied: test_sampling cannot continue: the client did not declare the capability sampling"},
		{"test_missing_capability", `{}`, nothing, nil, "", "denied: test_missing_capability cannot continue: the client did not declare the capability sampling"},
		{"test_missing_capability", `{}`, model, map[string]string{"sampling": paris}, "sampling sampling", "LLM response: Paris"},

		{
			"test_elicitation", `{"message":"m"}`, forms,
			map[string]string{"user_response": `{"action":"accept","content":{"username":"u","email":"e"}}`},
			"user_response elicitation.form", `User response: <action: accept, content: {"username":"u","email":"e"}>`,
		},
		{"test_elicitation", `{"message":"m"}`, forms, map[string]string{"user_response": `{"action":"decline"}`}, "user_response elicitation.form", "User response: <action: decline, content: {}>"},
		{"test_elicitation", `{"message":"m"}`, forms, map[string]string{"user_response": `{"action":"accept"}`}, "user_response elicitation.form", "fault -32602: the answer to user_response must be accept with content, decline or cancel"},
		{"test_elicitation_sep1034_defaults", `{}`, forms, map[string]string{"defaults": `{"action":"accept","content":{"age":25}}`}, "defaults elicitation.form", `Elicitation completed: action=accept, content={"age":25}`},
		{"test_elicitation_sep1330_enums", `{}`, forms, map[string]string{"enums": `{"action":"cancel"}`}, "enums elicitation.form", `Elicitation completed: action=cancel, content={}`},
		{"test_url_elicitation", `{}`, []engine.Capability{engine.Links}, map[string]string{"page": `{"action":"accept"}`}, "page elicitation.url", "Link answered: action=accept"},
		{"test_url_elicitation", `{}`, forms, nil, "", "denied: test_url_elicitation cannot continue: the client did not declare the capability elicitation.url"},
		{"test_streaming_elicitation", `{}`, forms, map[string]string{"confirm": consent}, "confirm elicitation.form", "state-ok: confirmed is true"},

		{"test_input_required_result_elicitation", `{}`, forms, map[string]string{"user_name": alice}, "user_name elicitation.form", "Hello, Alice!"},
		{"test_input_required_result_elicitation", `{}`, forms, map[string]string{"user_name": `{"action":"decline"}`}, "user_name elicitation.form", "denied: The answer to user_name was decline"},
		{"test_input_required_result_elicitation", `{}`, forms, map[string]string{"user_name": `12345`}, "user_name elicitation.form", "fault -32602: the answer to user_name must be accept with content, decline or cancel"},
		{"test_input_required_result_elicitation", `{}`, forms, map[string]string{"user_name": `{"action":"accept","content":{"name":7}}`}, "user_name elicitation.form", "fault -32602: the answer to user_name must be a form with a string in name"},
		{"test_input_required_result_sampling", `{}`, model, map[string]string{"capital_question": paris}, "capital_question sampling", "Paris"},
		{"test_input_required_result_list_roots", `{}`, folders, map[string]string{"client_roots": home}, "client_roots roots", "Roots: file:///a, file:///b"},
		{"test_input_required_result_list_roots", `{}`, folders, map[string]string{"client_roots": `{}`}, "client_roots roots", "fault -32602: the answer to client_roots must be a list of roots"},
		{"test_input_required_result_request_state", `{}`, forms, map[string]string{"confirm": consent}, "confirm elicitation.form", "state-ok: confirmed is true"},
		{"test_input_required_result_tampered_state", `{}`, forms, map[string]string{"confirm": consent}, "confirm elicitation.form", "state-ok: confirmed is true"},
		{
			"test_input_required_result_multiple_inputs", `{}`, allThree,
			map[string]string{"user_name": alice, "greeting": paris, "client_roots": home},
			"user_name elicitation.form; greeting sampling; client_roots roots", "Paris (to Alice, in file:///a, file:///b)",
		},
		{
			"test_input_required_result_multi_round", `{}`, forms,
			map[string]string{"step1": alice, "step2": `{"action":"accept","content":{"color":"blue"}}`},
			"step1 elicitation.form; step2 elicitation.form", "Alice likes blue",
		},
		{"test_input_required_result_capabilities", `{}`, model, map[string]string{"greeting": paris}, "greeting sampling", "1 questions were answered."},
		{"test_input_required_result_capabilities", `{}`, folders, map[string]string{"client_roots": home}, "client_roots roots", "1 questions were answered."},

		{
			"test_guarded_elicitation", `{}`, forms,
			map[string]string{"approval-1": `{"action":"accept"}`, "reason": `{"action":"accept","content":{"reason":"it is time"}}`},
			"approval-1 elicitation.form; reason elicitation.form", "Done, because it is time",
		},
		{"test_guarded_elicitation", `{}`, forms, map[string]string{"approval-1": `{"action":"decline"}`}, "approval-1 elicitation.form", "denied: not approved"},

		{"slow_compute", `{"seconds":0,"label":"x"}`, tasks, nil, "", "Computed x in 0 s."},
		{"slow_compute", `{"seconds":0.5}`, tasks, nil, "", "Computed it in 0.5 s."},
		{"slow_compute", `{"seconds":1,"label":"x"}`, tasks, nil, "task", "Computed x in 1 s."},
		{"slow_compute", `{"seconds":120,"label":"x"}`, nothing, nil, "", "Computed x in 120 s."},
		{"failing_job", `{}`, tasks, nil, "task", "denied: This job intentionally fails"},
		{"protocol_error_job", `{}`, tasks, nil, "task", "fault -32603: This job intentionally ends in a protocol error"},
		{"confirm_delete", `{"filename":"a"}`, tasks, map[string]string{"confirm": `{"action":"accept","content":{"confirm":true}}`}, "task; confirm elicitation.form", "Confirmed: a would be deleted now."},
		{"confirm_delete", `{"filename":"a"}`, tasks, map[string]string{"confirm": `{"action":"accept","content":{"confirm":false}}`}, "task; confirm elicitation.form", "Not confirmed: a stays."},
		{
			"multi_input", `{}`, tasks,
			map[string]string{"user_name": `{"action":"accept","content":{"name":"p1","confirm":true}}`, "consent": `{"action":"accept","content":{"name":"p2","confirm":true}}`},
			"task; user_name elicitation.form; consent elicitation.form", "p1 said true.",
		},
		{"test_tool_with_task", `{}`, tasks, map[string]string{"user_name": alice}, "user_name elicitation.form; task", "Hello, Alice!"},
		{"greet", `{"name":"Ada"}`, tasks, nil, "", "Hello, Ada!"},
	} {
		t.Run(tc.tool, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // with synctest, slow_compute takes no time
				c := &client{can: tc.can, replies: tc.replies}
				if got := newHarness(t).call(t, c, tc.tool, tc.args); got != tc.want {
					t.Errorf("it ended in %q, want %q", got, tc.want)
				}
				if got := joined(c.received); got != tc.received {
					t.Errorf("it asked %q, want %q", got, tc.received)
				}
			})
		})
	}
}

// TestForms: the conformance suite checks these forms word by word.
func TestForms(t *testing.T) {
	for tool, want := range map[string]string{
		"test_elicitation":                       `{"message":"m","requestedSchema":{"type":"object","properties":{"username":{"type":"string","description":"User's response"},"email":{"type":"string","description":"User's email address"}},"required":["username","email"]}}`,
		"test_input_required_result_elicitation": `{"message":"What is your name?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}`,
		"test_input_required_result_sampling":    `{"messages":[{"role":"user","content":{"type":"text","text":"What is the capital of France?"}}],"maxTokens":100}`,
		"test_input_required_result_list_roots":  `{}`,
		"test_input_required_result_multi_round": `{"message":"Step 1: What is your name?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}`,
		"test_elicitation_sep1034_defaults": `{"message":"Please review and update the form fields with defaults","requestedSchema":{"type":"object","properties":{` +
			`"name":{"type":"string","description":"User name","default":"John Doe"},"age":{"type":"integer","description":"User age","default":30},` +
			`"score":{"type":"number","description":"User score","default":95.5},"status":{"type":"string","description":"User status","enum":["active","inactive","pending"],"default":"active"},` +
			`"verified":{"type":"boolean","description":"Verification status","default":true}},"required":[]}}`,
	} {
		args := `{}`
		if tool == "test_elicitation" {
			args = `{"message":"m"}`
		}
		if got := firstQuestion(t, tool, args); string(got.Append(nil)) != want {
			t.Errorf("%s asks %s\nwant %s", tool, got.Append(nil), want)
		}
	}
	choices := firstQuestion(t, "test_elicitation_sep1330_enums", `{}`)
	for field, keyword := range map[string]string{"untitledSingle": "enum", "titledSingle": "oneOf", "legacyEnum": "enumNames"} {
		if list := choices.At("requestedSchema", "properties", field, keyword); len(list.Members) != 3 {
			t.Errorf("%s has no three choices in %s: %s", field, keyword, list.Append(nil))
		}
	}
	for field, keyword := range map[string]string{"untitledMulti": "enum", "titledMulti": "anyOf"} {
		if list := choices.At("requestedSchema", "properties", field, "items", keyword); len(list.Members) != 3 {
			t.Errorf("%s has no three choices in %s: %s", field, keyword, list.Append(nil))
		}
	}
}

func firstQuestion(t *testing.T, tool, args string) jsontree.Value {
	t.Helper()
	c := &client{can: allThree}
	result, err := newHarness(t).Call(t.Context(), engine.Call{Tool: tool, Args: parse(t, args), Peer: &engine.DeferredPeer{Client: c.Can}})
	if err != nil || result.Suspended == nil || len(result.Suspended.Questions) != 1 {
		t.Fatalf("%s does not ask one question: %s, %v", tool, result.Body, err)
	}
	return result.Suspended.Questions[0].Params
}

// TestNotifications: which notifications a client gets while a call runs, and when.
func TestNotifications(t *testing.T) {
	for _, tc := range []struct {
		tool, received string
		took           time.Duration
	}{
		{"test_tool_with_progress", "progress 0/100; progress 50/100; progress 100/100", 100 * time.Millisecond},
		{"test_tool_with_logging", "info Tool execution started; info Tool processing data; info Tool execution completed", 100 * time.Millisecond},
		{"test_logging_tool", "info Tool executed", 0},
		{"test_reconnection", "released", 100 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			c, start := &client{}, time.Now()
			newHarness(t).call(t, c, tc.tool, `{}`)
			if got := joined(c.received); got != tc.received || time.Since(start) != tc.took {
				t.Errorf("%s: %q in %s, want %q in %s", tc.tool, got, time.Since(start), tc.received, tc.took)
			}
		})
	}
}

// TestCancelled: a tool returns as soon as the caller cancels.
func TestCancelled(t *testing.T) {
	for tool, args := range map[string]string{"slow_compute": `{"seconds":60}`, "test_tool_with_progress": `{}`, "test_tool_with_logging": `{}`, "test_reconnection": `{}`} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			defer cancel()
			start := time.Now()
			result, err := newHarness(t).Call(ctx, engine.Call{Tool: tool, Args: parse(t, args)})
			if err != nil || result.Err == nil || result.Err.Message != "The call was cancelled" || time.Since(start) != 10*time.Millisecond {
				t.Errorf("%s: %s, %v after %s", tool, result.Body, err, time.Since(start))
			}
		})
	}
}

func TestChangeNotifications(t *testing.T) {
	r := newHarness(t)
	var received []engine.ChangeKind
	defer r.Listen(func(c engine.Change) { received = append(received, c.Kind) })()
	r.call(t, &client{}, "test_trigger_tool_change", `{}`)
	r.call(t, &client{}, "test_trigger_prompt_change", `{}`)
	if diff := cmp.Diff([]engine.ChangeKind{engine.ToolsChanged, engine.PromptsChanged}, received); diff != "" {
		t.Error(diff)
	}
}

// TestPublishedSchemas: these schemas are published unchanged.
func TestPublishedSchemas(t *testing.T) {
	set := newHarness(t).set
	want := parse(t, `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
		"$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},
		"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},"contactMethod":{"type":"string","enum":["phone","email"]},"phone":{"type":"string"},"email":{"type":"string"}},
		"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],
		"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},
		"then":{"required":["phone"]},"else":{"required":["email"]},
		"additionalProperties":false}`)
	got := set.Find("json_schema_2020_12_tool").PublicInput()
	if diff := cmp.Diff(string(want.Append(nil)), string(got.Append(nil))); diff != "" {
		t.Error(diff)
	}
	mirrored := set.Find("test_x_mcp_header").PublicInput()
	const first = `"properties":{"region":{"type":"string","x-mcp-header":"Region"`
	if properties := string(mirrored.Append(nil)); len(properties) < 60 || properties[17:17+len(first)] != first {
		t.Errorf("the string comes first: %s", properties)
	}
}
