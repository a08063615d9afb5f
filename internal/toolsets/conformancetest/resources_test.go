package conformancetest_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"image/png"
	"testing"

	"github.com/google/go-cmp/cmp"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/toolsets/conformancetest"
)

func TestResources(t *testing.T) {
	resources := conformancetest.Toolset().Resources[0]
	list, err := resources.List(t.Context())
	if err != nil || list[0].URI != "test://static-text" {
		t.Fatalf("List = %v, %v", list, err)
	}
	for _, r := range list {
		contents, err := resources.Read(t.Context(), r.URI)
		if err != nil || len(contents) != 1 || contents[0].URI != r.URI || contents[0].MIME != r.MIME || stampOf(t, resources, r.URI) == "" {
			t.Errorf("%s: %+v, %v", r.URI, contents, err)
		}
	}
	for uri, want := range map[string]string{
		"test://static-text":            "This is the content of the static text resource.",
		"test://template/123/data":      `{"id":"123","templateTest":true,"data":"Data for ID: 123"}`,
		"test://template/a%20%22b/data": `{"id":"a \"b","templateTest":true,"data":"Data for ID: a \"b"}`,
	} {
		if contents, err := resources.Read(t.Context(), uri); err != nil || contents[0].Text != want || contents[0].URI != uri {
			t.Errorf("%s: %+v, %v", uri, contents, err)
		}
	}
	contents, err := resources.Read(t.Context(), "test://static-binary")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := png.Decode(bytes.NewReader(contents[0].Blob)); err != nil {
		t.Errorf("the picture is not valid: %v", err)
	}
}

func stampOf(t *testing.T, resources engine.ResourceProvider, uri string) string {
	t.Helper()
	stamp, err := resources.Stamp(t.Context(), uri)
	if err != nil {
		t.Fatal(err)
	}
	return stamp
}

// TestOtherURIs: other URIs return not_found.
func TestOtherURIs(t *testing.T) {
	resources := conformancetest.Toolset().Resources[0]
	for _, uri := range []string{
		"", "test://", "test://nonexistent-resource-for-conformance-testing", "test://template//data", "test://template/data",
		"test://template/a/b/data", "test://template/%zz/data", "test://template/1/data/", "test://STATIC-TEXT",
	} {
		_, err := resources.Read(t.Context(), uri)
		if err == nil || contract.AsError(err).Kind != contract.NotFound || stampOf(t, resources, uri) != "" {
			t.Errorf("%q: %v", uri, err)
		}
	}
}

func TestCompletion(t *testing.T) {
	toolset := conformancetest.Toolset()
	for prefix, want := range map[string][]string{"": {"1", "12", "123"}, "12": {"12", "123"}, "x": {}} {
		got, err := toolset.Resources[0].Complete(t.Context(), "test://template/{id}/data", "id", prefix)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%q: %s, %v", prefix, diff, err)
		}
	}
	arg := find(t, "test_prompt_with_arguments").Arguments[0]
	for prefix, want := range map[string][]string{"test": {"test", "testing", "testValue1"}, "par": {"paris", "party"}, "x": {}} {
		for range 2 { // completion must not change the words
			got, err := arg.Complete(t.Context(), prefix)
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("%q: %s, %v", prefix, diff, err)
			}
		}
	}
}

func find(t *testing.T, name string) engine.Prompt {
	t.Helper()
	for _, p := range conformancetest.Toolset().Prompts {
		if p.Name == name {
			return p
		}
	}
	t.Fatalf("there is no prompt %s", name)
	return engine.Prompt{}
}

func TestPrompts(t *testing.T) {
	picture := firstBlock(t, "test_image_content")
	for _, tc := range []struct {
		name string
		args map[string]string
		want []string
	}{
		{"test_simple_prompt", nil, []string{`{"type":"text","text":"This is a simple prompt for testing."}`}},
		{
			"test_prompt_with_arguments",
			map[string]string{"arg1": "testValue1", "arg2": "testValue2"},
			[]string{`{"type":"text","text":"Prompt with arguments: arg1='testValue1', arg2='testValue2'"}`},
		},
		{
			"test_prompt_with_embedded_resource",
			map[string]string{"resourceUri": "test://example-resource"},
			[]string{
				`{"type":"resource","resource":{"uri":"test://example-resource","mimeType":"text/plain","text":"Embedded resource content for testing."}}`,
				`{"type":"text","text":"Please process the embedded resource above."}`,
			},
		},
		{"test_prompt_with_image", nil, []string{picture, `{"type":"text","text":"Please analyze the image above."}`}},
	} {
		prompt := find(t, tc.name)
		messages, err := prompt.Render(t.Context(), tc.args)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range messages {
			if m.Role != "user" {
				t.Errorf("%s: role %s", tc.name, m.Role)
			}
			got = append(got, string(m.Content.Append(nil)))
		}
		if diff := cmp.Diff(tc.want, got); diff != "" || prompt.Description == "" {
			t.Errorf("%s: %s", tc.name, diff)
		}
	}
}

// TestPromptThatAsks: a prompt asks its question through the engine, like a front end does.
func TestPromptThatAsks(t *testing.T) {
	r := newHarness(t)
	c := &client{can: forms}
	peer := &engine.DeferredPeer{Client: c.Can, Answers: map[string]jsontree.Value{}}
	start := func(ctx context.Context) ([]engine.Message, error) {
		_, messages, err := r.StartPrompt(ctx, engine.Requester{Principal: "ann", Peer: peer}, "test_input_required_result_prompt", nil)
		return messages, err
	}
	var asked *engine.SuspendedError
	if _, err := start(t.Context()); !errors.As(err, &asked) || asked.Questions[0].Key != "user_context" {
		t.Fatalf("it does not ask for its context: %v", err)
	}
	peer.Answers["user_context"] = parse(t, `{"action":"accept","content":{"context":"test context"}}`)
	messages, err := start(t.Context())
	if err != nil || messages[0].Content.Field("text").Text != "Use this context: test context" {
		t.Errorf("%v, %v", messages, err)
	}
}

// TestMedia: pictures and sounds are valid files.
func TestMedia(t *testing.T) {
	block := parse(t, firstBlock(t, "test_audio_content"))
	sound, err := base64.StdEncoding.DecodeString(block.Field("data").Text)
	if err != nil || string(sound[:4]) != "RIFF" || int(sound[4]) != len(sound)-8 || string(sound[8:16]) != "WAVEfmt " {
		t.Errorf("the sound is not valid: %q, %v", sound, err)
	}
}

func firstBlock(t *testing.T, tool string) string {
	t.Helper()
	result, err := newHarness(t).Call(t.Context(), engine.Call{Tool: tool, Args: jsontree.Obj()})
	if err != nil {
		t.Fatal(err)
	}
	content := parse(t, string(result.Content))
	return string(content.Members[0].Value.Append(nil))
}
