package engine_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
)

const lookYAML = `
name: look
title: Look
description: Looks <closely>.
hints: {readOnly: true, destructive: false, idempotent: true, openWorld: false}
input: {type: object, properties: {}, required: [], additionalProperties: false}
output: {type: object, properties: {}, required: [], additionalProperties: false}
examples: []
`

// textProvider provides texts by URI. Its functions can be replaced.
type textProvider struct {
	scheme string
	mu     sync.Mutex
	texts  map[string]string
	read   func(ctx context.Context, uri string) ([]engine.Contents, error)
	stamp  func(ctx context.Context, uri string) (string, error)
	values []string
}

func (s *textProvider) Templates() []engine.Template {
	return []engine.Template{{URI: s.scheme + "://{name}", Name: s.scheme}}
}

func (s *textProvider) put(texts map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.texts = texts
}

func (s *textProvider) List(context.Context) ([]engine.Resource, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []engine.Resource
	for uri, text := range s.texts {
		list = append(list, engine.Resource{URI: uri, Name: uri, Size: int64(len(text))})
	}
	slices.SortFunc(list, func(a, b engine.Resource) int { return strings.Compare(a.URI, b.URI) })
	return list, nil
}

func (s *textProvider) Read(ctx context.Context, uri string) ([]engine.Contents, error) {
	if s.read != nil {
		return s.read(ctx, uri)
	}
	if text, ok := s.texts[uri]; ok {
		return []engine.Contents{{URI: uri, MIME: "text/plain", Text: text}}, nil
	}
	return nil, contract.Errorf(contract.NotFound, "not in this provider")
}

func (s *textProvider) Stamp(ctx context.Context, uri string) (string, error) {
	if s.stamp != nil {
		return s.stamp(ctx, uri)
	}
	return s.texts[uri], nil
}

func (s *textProvider) Complete(context.Context, string, string, string) ([]string, error) {
	return s.values, nil
}

type nothing struct{}

// build makes an engine of the set demo (note, which writes, and look), with these resources and
// prompts of its toolset, and further toolsets.
func (r *rig) build(t *testing.T, readOnly bool, providers []engine.ResourceProvider, prompts []engine.Prompt, others ...engine.Toolset) error {
	t.Helper()
	set, err := contract.Load(fstest.MapFS{
		"_set.yaml": {Data: []byte(setYAML)}, "note.yaml": {Data: []byte(toolYAML)}, "look.yaml": {Data: []byte(lookYAML)},
	}, ".")
	if err != nil {
		t.Fatal(err)
	}
	demo := engine.Toolset{Sets: []string{"demo"}, Resources: providers, Prompts: prompts, Handlers: map[string]engine.Handler{
		"note": engine.Handle(r.note),
		"look": engine.Handle(func(context.Context, nothing) (nothing, error) { return nothing{}, nil }),
	}}
	r.engine, err = engine.New([]*contract.Set{set}, engine.Handlers{
		Catalog: []*contract.Set{set}, Toolsets: append([]engine.Toolset{demo}, others...),
	}, engine.Options{
		Approvals: r, Audit: r, Observer: r, CheckPath: r.judge, Now: time.Now, ReadOnly: readOnly,
		Log: slog.New(slog.NewTextHandler(&r.logged, nil)),
	})
	return err
}

// withProvider returns a rig with one resource provider.
func withProvider(t *testing.T, provider engine.ResourceProvider) *rig {
	t.Helper()
	r := &rig{}
	if err := r.build(t, false, []engine.ResourceProvider{provider}, nil); err != nil {
		t.Fatal(err)
	}
	return r
}

// withPrompts returns a rig with prompts.
func withPrompts(t *testing.T, prompts ...engine.Prompt) *rig {
	t.Helper()
	r := &rig{}
	if err := r.build(t, false, nil, prompts); err != nil {
		t.Fatal(err)
	}
	return r
}

var ann = engine.Requester{Principal: "ann", Frontend: "test", Client: "tester/1"}

func urisOf(t *testing.T, e *engine.Engine) []string {
	t.Helper()
	list, err := e.Resources(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	uris := make([]string, len(list))
	for i, r := range list {
		uris[i] = r.URI
	}
	return uris
}

func promptNames(e *engine.Engine) []string {
	var names []string
	for _, p := range e.Prompts() {
		names = append(names, p.Name)
	}
	return names
}

func kindOf(err error) contract.Kind {
	var e *contract.Error
	if !errors.As(err, &e) {
		return ""
	}
	return e.Kind
}

func saying(text string) func(context.Context, map[string]string) ([]engine.Message, error) {
	return func(context.Context, map[string]string) ([]engine.Message, error) {
		return []engine.Message{{Role: "user", Content: engine.Text(text)}}, nil
	}
}

// TestResources checks that the engine lists exactly what is served, in a fixed order.
func TestResources(t *testing.T) {
	r := &rig{}
	err := r.build(t, false,
		[]engine.ResourceProvider{
			&textProvider{scheme: "b", texts: map[string]string{"b://2": "", "b://1": ""}},
			&textProvider{scheme: "a", texts: map[string]string{"a://1": ""}},
		},
		[]engine.Prompt{{Name: "second", Render: saying("")}, {Name: "first", Render: saying("")}},
		engine.Toolset{
			Sets: []string{"elsewhere"}, Resources: []engine.ResourceProvider{&textProvider{scheme: "x", texts: map[string]string{"x://1": ""}}},
			Prompts: []engine.Prompt{{Name: "third", Render: saying("")}},
		})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"b://1", "b://2", "a://1", "remit://contracts/look", "remit://contracts/note"},
		urisOf(t, r.engine)); diff != "" {
		t.Errorf("resources: %s", diff)
	}
	if diff := cmp.Diff([]string{"second", "first"}, promptNames(r.engine)); diff != "" {
		t.Errorf("prompts: %s", diff)
	}
	var templates []string
	for _, template := range r.engine.Templates() {
		templates = append(templates, template.URI)
	}
	if diff := cmp.Diff([]string{"b://{name}", "a://{name}", "remit://contracts/{tool}"}, templates); diff != "" {
		t.Errorf("templates: %s", diff)
	}
}

func TestDuplicateResources(t *testing.T) {
	a := &textProvider{scheme: "a"}
	p := engine.Prompt{Name: "p", Render: saying("")}
	err := (&rig{}).build(t, false, []engine.ResourceProvider{a, a}, nil)
	if err == nil || err.Error() != "two resource providers have the template a://{name}; give one of them other URIs" {
		t.Errorf("two providers: %v", err)
	}
	err = (&rig{}).build(t, false, nil, []engine.Prompt{p}, engine.Toolset{Sets: []string{"demo"}, Prompts: []engine.Prompt{p}})
	if err == nil || err.Error() != "two prompts are named p; give one of them another name" {
		t.Errorf("two prompts: %v", err)
	}
	p.Tools = []string{"note"}
	if err := (&rig{}).build(t, true, nil, []engine.Prompt{p, p}); err == nil {
		t.Error("a clash must not wait until both are offered")
	}
}

func TestReadOnlyHidesWritingTools(t *testing.T) {
	r := &rig{}
	err := r.build(t, true, nil, []engine.Prompt{
		{Name: "jot", Tools: []string{"look", "note"}, Render: saying("")},
		{Name: "see", Tools: []string{"look"}, Render: saying("")},
		{Name: "lost", Tools: []string{"no_such_tool"}, Render: saying("")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"remit://contracts/look"}, urisOf(t, r.engine)); diff != "" {
		t.Errorf("resources: %s", diff)
	}
	if _, err := r.engine.Read(context.Background(), ann, "remit://contracts/note"); kindOf(err) != contract.NotFound {
		t.Errorf("the hidden contract: %v", err)
	}
	values, err := r.engine.CompleteTemplate(context.Background(), nil, "remit://contracts/{tool}", "tool", "")
	if diff := cmp.Diff([]string{"look"}, values); diff != "" || err != nil {
		t.Errorf("completion: %s %v", diff, err)
	}
	if diff := cmp.Diff([]string{"see"}, promptNames(r.engine)); diff != "" {
		t.Errorf("prompts: %s", diff)
	}
	if _, _, err := r.engine.StartPrompt(context.Background(), ann, "jot", nil); kindOf(err) != contract.NotFound {
		t.Errorf("the hidden prompt: %v", err)
	}
}

func TestReadContracts(t *testing.T) {
	r := withProvider(t, &textProvider{scheme: "a"})
	got, err := r.engine.Read(context.Background(), ann, "remit://contracts/look")
	if err != nil || len(got) != 1 || got[0].MIME != "application/json" || got[0].URI != "remit://contracts/look" {
		t.Fatalf("got %+v, %v", got, err)
	}
	tree, err := jsontree.Parse([]byte(got[0].Text))
	if err != nil {
		t.Fatal(err)
	}
	tool, err := r.engine.Find("look")
	if err != nil {
		t.Fatal(err)
	}
	if digest := tree.Field("digest"); digest.Text != tool.Digest || tool.Digest == "" {
		t.Errorf("digest %q, want %q", digest.Text, tool.Digest)
	}
	for _, want := range []string{"\n  \"name\": \"look\"", "<closely>", `"max": "2s"`} {
		if !strings.Contains(got[0].Text, want) {
			t.Errorf("no %q in %s", want, got[0].Text)
		}
	}
	for _, uri := range []string{
		"remit://contracts/", "remit://contracts/LOOK", "remit://contracts/look/",
		"remit://contracts/demo/look", "contracts/look", "",
	} {
		if _, err := r.engine.Read(context.Background(), ann, uri); kindOf(err) != contract.NotFound {
			t.Errorf("%q: %v", uri, err)
		}
	}
}

func TestReadFromFirstProvider(t *testing.T) {
	r := &rig{}
	err := r.build(t, false, []engine.ResourceProvider{
		&textProvider{scheme: "a", texts: map[string]string{"a://1": "one"}},
		&textProvider{scheme: "b", texts: map[string]string{"a://1": "other", "b://1": "two"}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for uri, want := range map[string]string{"a://1": "one", "b://1": "two"} {
		got, err := r.engine.Read(context.Background(), ann, uri)
		if err != nil || len(got) != 1 || got[0].Text != want {
			t.Errorf("%s: %v, %v, want %q", uri, got, err, want)
		}
	}
}

func TestReadIsAudited(t *testing.T) {
	r := withProvider(t, &textProvider{scheme: "a", texts: map[string]string{"a://1": "12345"}})
	if _, err := r.engine.Read(context.Background(), ann, "a://1"); err != nil {
		t.Fatal(err)
	}
	long := "a://" + strings.Repeat("x", 300)
	_, err := r.engine.Read(context.Background(), ann, long)
	var e *contract.Error
	if !errors.As(err, &e) || e.Kind != contract.NotFound || e.Details["uri"] != long {
		t.Errorf("nothing there: %v", err)
	}
	if _, err := r.engine.Read(context.Background(), engine.Requester{Frontend: "test"}, "a://1"); kindOf(err) != contract.Denied {
		t.Errorf("anonymous caller: %v", err)
	}
	var kept []string
	for i, rec := range r.records {
		kept = append(kept, fmt.Sprintf("%s|%s|%s|%s|%s|%s|%d|%v", rec.Principal, rec.Frontend, rec.Client, rec.Tool,
			rec.Arguments.Append(nil), rec.Outcome, rec.Bytes, r.durable[i]))
	}
	want := []string{
		`ann|test|tester/1|resources/read|{"uri":"a://1"}|ok|5|false`,
		`ann|test|tester/1|resources/read|{"uri":{"bytes":304,"sha256":"44c1707be2e7fddf"}}|not_found|0|false`,
		`|test||resources/read|{"uri":"a://1"}|denied|0|false`,
	}
	if diff := cmp.Diff(want, kept); diff != "" {
		t.Errorf("records: %s", diff)
	}
	if diff := cmp.Diff([]string{"resources/read ok", "resources/read not_found", "resources/read denied"}, r.observers); diff != "" {
		t.Errorf("observed: %s", diff)
	}
	if !strings.Contains(r.logged.String(), "tool=resources/read caller=ann outcome=ok") {
		t.Errorf("log: %s", r.logged.String())
	}
}

// TestReadWithoutAudit checks that a read succeeds without its audit record, like a call that only
// reads.
func TestReadWithoutAudit(t *testing.T) {
	r := withProvider(t, &textProvider{scheme: "a", texts: map[string]string{"a://1": "x"}})
	r.auditErr = errors.New("disk full")
	if _, err := r.engine.Read(context.Background(), ann, "a://1"); err != nil {
		t.Error(err)
	}
	if !strings.Contains(r.logged.String(), "disk full") {
		t.Error("the log does not say that the record is missing")
	}
}

func TestReadIsBounded(t *testing.T) {
	half := strings.Repeat("x", engine.MaxRead/2)
	contents := []engine.Contents{{Text: half}, {Blob: []byte(half)}}
	r := withProvider(t, &textProvider{
		scheme: "a",
		read:   func(context.Context, string) ([]engine.Contents, error) { return contents, nil },
	})
	if got, err := r.engine.Read(context.Background(), ann, "a://1"); err != nil || len(got) != 2 {
		t.Errorf("4 MiB: %v", err)
	}
	contents = append(contents, engine.Contents{Text: "y"})
	got, err := r.engine.Read(context.Background(), ann, "a://1")
	if kindOf(err) != contract.TooLarge || got != nil || !strings.Contains(err.Error(), "at most 4194304 bytes") {
		t.Errorf("a byte more: %v", err)
	}
}

func TestResourceErrorsAreHidden(t *testing.T) {
	boom := func() { panic("kaboom at /home/ann") }
	r := &rig{}
	err := r.build(t, false,
		[]engine.ResourceProvider{&textProvider{scheme: "a", read: func(_ context.Context, uri string) ([]engine.Contents, error) {
			if uri == "a://panic" {
				boom()
			}
			return nil, errors.New("open /home/ann: no")
		}}},
		[]engine.Prompt{{
			Name: "p", Render: func(context.Context, map[string]string) ([]engine.Message, error) { boom(); return nil, nil },
			Arguments: []engine.PromptArgument{{
				Name:     "a",
				Complete: func(context.Context, string) ([]string, error) { boom(); return nil, nil },
			}},
		}})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	_, panicked := r.engine.Read(ctx, ann, "a://panic")
	_, failed := r.engine.Read(ctx, ann, "a://fail")
	_, _, prompted := r.engine.StartPrompt(ctx, ann, "p", nil)
	_, completed := r.engine.CompletePrompt(ctx, nil, "p", "a", "")
	for what, err := range map[string]error{"panic": panicked, "failure": failed, "prompt": prompted, "completion": completed} {
		var e *contract.Error
		if !errors.As(err, &e) || e.Kind != contract.Internal || e.Message != "Internal error" {
			t.Errorf("%s: %v", what, err)
		}
	}
	if n := strings.Count(r.logged.String(), "resources_test.go"); n < 3 {
		t.Errorf("%d stacks in the log, want 3: %s", n, r.logged.String())
	}
	if diff := cmp.Diff([]string{"resources/read internal", "resources/read internal", "prompts/get internal"}, r.observers); diff != "" {
		t.Errorf("observed: %s", diff)
	}
}

func TestResourceTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := withProvider(t, &textProvider{scheme: "a", read: func(ctx context.Context, _ string) ([]engine.Contents, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}})
		start := time.Now()
		_, err := r.engine.Read(context.Background(), ann, "a://1")
		if kindOf(err) != contract.Unavailable || !strings.Contains(err.Error(), "longer than 30s") || time.Since(start) != 30*time.Second {
			t.Errorf("after %s: %v", time.Since(start), err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := r.engine.Read(ctx, ann, "a://1"); kindOf(err) != contract.Unavailable || !strings.Contains(err.Error(), "cancelled") {
			t.Errorf("cancelled: %v", err)
		}
	})
}

func greeting() engine.Prompt {
	return engine.Prompt{
		Name: "greet_person", Description: "Greets.",
		Arguments: []engine.PromptArgument{{Name: "name", Required: true}, {Name: "style"}},
		Render: func(_ context.Context, args map[string]string) ([]engine.Message, error) {
			return []engine.Message{{Role: "user", Content: engine.Text(args["style"] + " " + args["name"])}}, nil
		},
	}
}

func TestStartPrompt(t *testing.T) {
	r := withPrompts(t, greeting())
	description, messages, err := r.engine.StartPrompt(context.Background(), ann, "greet_person",
		map[string]string{"name": "Bob", "style": "Hi"})
	want := []engine.Message{{Role: "user", Content: engine.Text("Hi Bob")}}
	if diff := cmp.Diff(want, messages, cmpopts.EquateEmpty()); diff != "" || err != nil || description != "Greets." {
		t.Errorf("%q %v %s", description, err, diff)
	}
	rec := r.records[0]
	if rec.Tool != "prompts/get" || string(rec.Arguments.Append(nil)) != `{"name":"greet_person"}` || rec.Outcome != "ok" ||
		rec.Bytes == 0 || r.durable[0] {
		t.Errorf("record %+v", rec)
	}
	for _, tc := range []struct {
		prompt string
		args   map[string]string
		who    engine.Requester
		kind   contract.Kind
		says   string
	}{
		{"greet", nil, ann, contract.NotFound, `Unknown prompt "greet"; known: greet_person`},
		{"greet_persn", nil, ann, contract.NotFound, `Unknown prompt "greet_persn"; did you mean "greet_person"?`},
		{"greet_person", nil, ann, contract.Invalid, "The argument name of the prompt greet_person is required"},
		{"greet_person", map[string]string{"name": " "}, ann, contract.Invalid, "The argument name of the prompt greet_person is required"},
		{
			"greet_person",
			map[string]string{"name": "Bob", "stile": "x"},
			ann, contract.Invalid,
			`"stile" is not an argument of the prompt greet_person; did you mean "style"?`,
		},
		{
			"greet_person",
			map[string]string{"name": "Bob"},
			engine.Requester{},
			contract.Denied,
			"prompts/get requires an authenticated caller; send a token",
		},
	} {
		_, messages, err := r.engine.StartPrompt(context.Background(), tc.who, tc.prompt, tc.args)
		var e *contract.Error
		if !errors.As(err, &e) || e.Kind != tc.kind || e.Message != tc.says || messages != nil {
			t.Errorf("%s %v: %v, want %s", tc.prompt, tc.args, err, tc.says)
		}
	}
}

// TestPromptsAsk checks that front ends can find the errors for a suspended prompt and for a client
// that cannot answer.
func TestPromptsAsk(t *testing.T) {
	r := withPrompts(t, engine.Prompt{Name: "p", Render: func(ctx context.Context, _ map[string]string) ([]engine.Message, error) {
		answers, err := engine.Ask(ctx, engine.Form("who", "Who?", engine.YesOrNo()))
		if err != nil {
			return nil, err
		}
		who := answers["who"]
		return []engine.Message{{Role: "user", Content: engine.Text(who.Text)}}, nil
	}})
	start := func(peer engine.Peer) ([]engine.Message, error) {
		who := ann
		who.Peer = peer
		_, messages, err := r.engine.StartPrompt(context.Background(), who, "p", nil)
		return messages, err
	}
	able := func(engine.Capability) bool { return true }

	_, err := start(&engine.DeferredPeer{Client: able})
	if suspended, ok := errors.AsType[*engine.SuspendedError](err); !ok || len(suspended.Questions) != 1 {
		t.Errorf("first attempt: %v", err)
	}
	messages, err := start(&engine.DeferredPeer{Client: able, Answers: map[string]jsontree.Value{"who": jsontree.Str("Bob")}})
	if err != nil || len(messages) != 1 {
		t.Errorf("second attempt: %v %v", messages, err)
	}
	_, err = start(&engine.DeferredPeer{Client: func(engine.Capability) bool { return false }})
	incapable, ok := errors.AsType[*engine.MissingCapabilityError](err)
	if !ok || incapable.Needs != engine.Forms || kindOf(err) != contract.Denied {
		t.Errorf("a client that cannot: %v", err)
	}
	if diff := cmp.Diff([]string{"prompts/get asked", "prompts/get ok", "prompts/get denied"}, r.observers); diff != "" {
		t.Errorf("observed: %s", diff)
	}
}

func TestCompletions(t *testing.T) {
	many := make([]string, 250)
	for i := range many {
		many[i] = fmt.Sprintf("v%03d", 249-i)
	}
	offer := func(values ...string) func(context.Context, string) ([]string, error) {
		return func(context.Context, string) ([]string, error) { return values, nil }
	}
	r := &rig{}
	err := r.build(t, false, []engine.ResourceProvider{&textProvider{scheme: "a", values: []string{"beta", "Alpha", "alps"}}}, []engine.Prompt{{
		Name: "p", Render: saying(""), Arguments: []engine.PromptArgument{
			{Name: "word", Complete: offer("pear", "Apple", "apricot", "pear", "banana")},
			{Name: "days", Complete: offer("30", "7", "14")},
			{Name: "many", Complete: offer(many...)},
			{Name: "free"},
		},
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	for _, tc := range []struct {
		argument, prefix string
		want             []string
	}{
		{"word", "", []string{"Apple", "apricot", "banana", "pear"}},
		{"word", "AP", []string{"Apple", "apricot"}},
		{"word", "pearl", nil},
		{"days", "", []string{"7", "14", "30"}},
		{"free", "x", nil},
	} {
		got, err := r.engine.CompletePrompt(ctx, nil, "p", tc.argument, tc.prefix)
		if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Errorf("%s %q: %v %s", tc.argument, tc.prefix, err, diff)
		}
	}
	if got, err := r.engine.CompletePrompt(ctx, nil, "p", "many", "v"); err != nil || len(got) != 250 || got[0] != "v000" ||
		got[249] != "v249" {
		t.Errorf("many: %d values, %v", len(got), err)
	}
	got, err := r.engine.CompleteTemplate(ctx, nil, "a://{name}", "name", "al")
	if diff := cmp.Diff([]string{"Alpha", "alps"}, got); diff != "" || err != nil {
		t.Errorf("template: %v %s", err, diff)
	}
	got, err = r.engine.CompleteTemplate(ctx, nil, "remit://contracts/{tool}", "tool", "n")
	if diff := cmp.Diff([]string{"note"}, got); diff != "" || err != nil {
		t.Errorf("contracts: %v %s", err, diff)
	}
}

// twoPartProvider has URIs of two parts: {owner}/{name}.
type twoPartProvider struct{ textProvider }

func (*twoPartProvider) Templates() []engine.Template {
	return []engine.Template{{URI: "pair://{owner}", Name: "all"}, {URI: "pair://{owner}/{name}", Name: "one"}}
}

func (*twoPartProvider) Complete(_ context.Context, template, variable, _ string) ([]string, error) {
	return []string{template + " " + variable}, nil
}

// TestTwoPartTemplate checks that each part completes by its own name, and that the provider gets a
// URI as the client sent it, with its escapes.
func TestTwoPartTemplate(t *testing.T) {
	const address = "pair://a%2Fb%20c/7"
	r := withProvider(t, &twoPartProvider{textProvider{scheme: "pair", texts: map[string]string{address: "found"}}})
	for _, variable := range []string{"owner", "name"} {
		const template = "pair://{owner}/{name}"
		got, err := r.engine.CompleteTemplate(t.Context(), nil, template, variable, "")
		if diff := cmp.Diff([]string{template + " " + variable}, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", variable, err, diff)
		}
	}
	if _, err := r.engine.CompleteTemplate(t.Context(), nil, "pair://{owner}", "name", ""); kindOf(err) != contract.Invalid {
		t.Errorf("a part of the other template: %v", err)
	}
	if got, err := r.engine.Read(t.Context(), ann, address); err != nil || got[0].Text != "found" {
		t.Errorf("read %v, %v", got, err)
	}
	if _, err := r.engine.Read(t.Context(), ann, "pair://a/b c/7"); kindOf(err) != contract.NotFound {
		t.Errorf("another address: %v", err)
	}
}

func TestCompletionErrors(t *testing.T) {
	r := withPrompts(t, greeting())
	ctx := context.Background()
	_, noPrompt := r.engine.CompletePrompt(ctx, nil, "x", "name", "")
	_, noArgument := r.engine.CompletePrompt(ctx, nil, "greet_person", "nam", "")
	_, noTemplate := r.engine.CompleteTemplate(ctx, nil, "x://{y}", "y", "")
	_, noVariable := r.engine.CompleteTemplate(ctx, nil, "remit://contracts/{tool}", "tol", "")
	for _, tc := range []struct {
		err  error
		kind contract.Kind
		says string
	}{
		{noPrompt, contract.NotFound, "Unknown prompt"},
		{noArgument, contract.Invalid, `did you mean "name"?`},
		{noTemplate, contract.NotFound, "There is no template x://{y}"},
		{noVariable, contract.Invalid, "has no {tol}"},
	} {
		if kindOf(tc.err) != tc.kind || !strings.Contains(tc.err.Error(), tc.says) {
			t.Errorf("%v, want %s", tc.err, tc.says)
		}
	}
}
