package conformancetest

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
)

// resources holds the resources. They never change.
type resources struct{}

// The URIs of the resources, and the URI template.
const (
	staticText   = "test://static-text"
	staticBinary = "test://static-binary"
	watched      = "test://watched-resource"
	dataTemplate = "test://template/{id}/data"
)

// List returns the resources that the suite reads first.
func (resources) List(context.Context) ([]engine.Resource, error) {
	return []engine.Resource{
		{URI: staticText, Name: "static-text", Title: "Static text", Description: "A text that never changes", MIME: "text/plain"},
		{URI: staticBinary, Name: "static-binary", Title: "Static picture", Description: "An image that never changes", MIME: "image/png"},
		{URI: watched, Name: "watched-resource", Title: "Watched resource", Description: "A text to subscribe to", MIME: "text/plain"},
	}, nil
}

func (resources) Templates() []engine.Template {
	return []engine.Template{
		{URI: dataTemplate, Name: "template-data", Title: "Data by ID", Description: "The data of an ID", MIME: "application/json"},
	}
}

func (resources) Read(_ context.Context, uri string) ([]engine.Contents, error) {
	switch uri {
	case staticText:
		return []engine.Contents{{URI: uri, MIME: "text/plain", Text: "This is the content of the static text resource."}}, nil
	case staticBinary:
		data, err := base64.StdEncoding.DecodeString(redDot)
		return []engine.Contents{{URI: uri, MIME: "image/png", Blob: data}}, err
	case watched:
		return []engine.Contents{{URI: uri, MIME: "text/plain", Text: "This is the content of the watched resource."}}, nil
	}
	if id, ok := dataID(uri); ok {
		return []engine.Contents{{URI: uri, MIME: "application/json", Text: dataOf(id)}}, nil
	}
	return nil, contract.Errorf(contract.NotFound, "There is no resource %s", uri).With("uri", uri)
}

// dataID returns the id in a URI of the template.
func dataID(uri string) (string, bool) {
	before, after, _ := strings.Cut(dataTemplate, "{id}")
	rest, ours := strings.CutPrefix(uri, before)
	id, whole := strings.CutSuffix(rest, after)
	if !ours || !whole || id == "" || strings.Contains(id, "/") {
		return "", false
	}
	id, err := url.PathUnescape(id)
	return id, err == nil
}

func dataOf(id string) string {
	data := jsontree.Obj(
		jsontree.M("id", jsontree.Str(id)),
		jsontree.M("templateTest", jsontree.Boolean(true)),
		jsontree.M("data", jsontree.Str("Data for ID: "+id)),
	)
	return string(data.Append(nil))
}

// Stamp is the same for every resource, because they never change.
func (s resources) Stamp(ctx context.Context, uri string) (string, error) {
	if _, err := s.Read(ctx, uri); err != nil {
		return "", nil //nolint:nilerr // a resource that cannot be read has no stamp
	}
	return "1", nil
}

func (resources) Complete(_ context.Context, template, variable, prefix string) ([]string, error) {
	if template != dataTemplate || variable != "id" {
		return nil, nil
	}
	return beginning(prefix, "1", "12", "123"), nil
}

// beginning returns the words that begin with prefix.
func beginning(prefix string, words ...string) []string {
	return slices.DeleteFunc(words, func(word string) bool { return !strings.HasPrefix(word, prefix) })
}

func prompts() []engine.Prompt {
	complete := func(words ...string) func(context.Context, string) ([]string, error) {
		return func(_ context.Context, prefix string) ([]string, error) {
			return beginning(prefix, slices.Clone(words)...), nil
		}
	}
	return []engine.Prompt{
		{Name: "test_simple_prompt", Title: "Simple prompt", Description: "A prompt without arguments", Render: simplePrompt},
		{
			Name: "test_prompt_with_arguments", Title: "Prompt with arguments", Description: "A prompt with two arguments",
			Arguments: []engine.PromptArgument{
				{Name: "arg1", Description: "The first argument", Required: true, Complete: complete("paris", "party", "test", "testing", "testValue1")},
				{Name: "arg2", Description: "The second argument", Required: true, Complete: complete("test", "testValue2")},
			},
			Render: promptWithArguments,
		},
		{
			Name: "test_prompt_with_embedded_resource", Title: "Prompt with a resource", Description: "A prompt with an embedded resource",
			Arguments: []engine.PromptArgument{{Name: "resourceUri", Description: "URI of the resource", Required: true}},
			Render:    promptWithResource,
		},
		{Name: "test_prompt_with_image", Title: "Prompt with an image", Description: "A prompt with an image", Render: promptWithImage},
		{Name: "test_input_required_result_prompt", Title: "Prompt with a question", Description: "A prompt that asks the user a question first", Render: askingPrompt},
	}
}

func user(contents ...jsontree.Value) []engine.Message {
	messages := make([]engine.Message, len(contents))
	for i, content := range contents {
		messages[i] = engine.Message{Role: "user", Content: content}
	}
	return messages
}

func simplePrompt(context.Context, map[string]string) ([]engine.Message, error) {
	return user(engine.Text("This is a simple prompt for testing.")), nil
}

func promptWithArguments(_ context.Context, args map[string]string) ([]engine.Message, error) {
	return user(engine.Text(fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", args["arg1"], args["arg2"]))), nil
}

func promptWithResource(_ context.Context, args map[string]string) ([]engine.Message, error) {
	return user(
		engine.Embedded(args["resourceUri"], "text/plain", "Embedded resource content for testing."),
		engine.Text("Please process the embedded resource above."),
	), nil
}

func promptWithImage(context.Context, map[string]string) ([]engine.Message, error) {
	return user(picture(), engine.Text("Please analyze the image above.")), nil
}

func askingPrompt(ctx context.Context, _ map[string]string) ([]engine.Message, error) {
	words, err := askText(ctx, "user_context", "What context should the prompt use?", "context")
	return user(engine.Text("Use this context: " + words)), err
}
