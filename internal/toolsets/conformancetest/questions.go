package conformancetest

import (
	"context"
	"fmt"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
)

// answers holds the client's answers, by the key of the question.
type answers map[string]jsontree.Value

// ask sends questions to the client. A call without a client gets the same error as one whose
// client does not support the question.
func ask(ctx context.Context, questions ...engine.Question) (answers, error) {
	for _, q := range questions {
		if !engine.Can(ctx, q.Needs) {
			return nil, &engine.MissingCapabilityError{Needs: q.Needs}
		}
	}
	return engine.Ask(ctx, questions...)
}

// form returns a question with these fields, given as a JSON Schema.
func form(key, message, fields string) engine.Question {
	schema, err := jsontree.Parse([]byte(fields))
	if err != nil {
		panic(fmt.Sprintf("the form %s: %v", key, err))
	}
	return engine.Form(key, message, schema)
}

// sampling returns a question for the client's model.
func sampling(key, prompt string, maxTokens int64) engine.Question {
	message := jsontree.Obj(jsontree.M("role", jsontree.Str("user")), jsontree.M("content", engine.Text(prompt)))
	return engine.Question{Key: key, Needs: engine.Sampling, Params: jsontree.Obj(
		jsontree.M("messages", jsontree.Arr(message)),
		jsontree.M("maxTokens", jsontree.Int(maxTokens)),
	)}
}

// roots returns a question for the client's folders.
func roots(key string) engine.Question {
	return engine.Question{Key: key, Needs: engine.Roots, Params: jsontree.Obj()}
}

// malformed returns the error for a client that answered in the wrong form.
func malformed(key, want string) error {
	return &engine.ProtocolError{Code: -32602, Message: fmt.Sprintf("the answer to %s must be %s", key, want)}
}

// action returns what the person did with a form.
func (a answers) action(key string) (action string, content jsontree.Value, err error) {
	answer := a[key]
	action, content = answer.Field("action").Text, answer.Field("content")
	switch {
	case action == "accept" && content.Kind == jsontree.Object:
		return action, content, nil
	case action == "decline" || action == "cancel":
		return action, jsontree.Obj(), nil
	default:
		return "", content, malformed(key, "accept with content, decline or cancel")
	}
}

// field returns a field of a form. It returns an error if the person did not fill in the form.
func (a answers) field(key, name string, kind jsontree.Kind) (jsontree.Value, error) {
	action, content, err := a.action(key)
	if err != nil {
		return content, err
	}
	if action != "accept" {
		return content, contract.Errorf(contract.Denied, "The answer to %s was %s", key, action)
	}
	field, _ := content.Get(name)
	if field.Kind != kind {
		return field, malformed(key, fmt.Sprintf("a form with %s in %s", kind, name))
	}
	return field, nil
}

func (a answers) text(key, name string) (string, error) {
	field, err := a.field(key, name, jsontree.String)
	return field.Text, err
}

// modelText returns the text of the client's model. The text may be one of several blocks.
func (a answers) modelText(key string) (string, error) {
	answer := a[key]
	content := answer.Field("content")
	blocks := []jsontree.Member{{Value: content}}
	if content.Kind == jsontree.Array {
		blocks = content.Members
	}
	for _, block := range blocks {
		if block.Value.Field("type").Text == "text" {
			return block.Value.Field("text").Text, nil
		}
	}
	return "", malformed(key, "a message with text in it")
}

// folders returns the client's roots.
func (a answers) folders(key string) ([]string, error) {
	answer := a[key]
	list := answer.Field("roots")
	if list.Kind != jsontree.Array {
		return nil, malformed(key, "a list of roots")
	}
	uris := make([]string, len(list.Members))
	for i := range list.Members {
		uris[i] = list.Members[i].Value.Field("uri").Text
	}
	return uris, nil
}
