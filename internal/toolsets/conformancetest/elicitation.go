package conformancetest

import (
	"context"
	"fmt"

	"remit/internal/engine"
)

// SamplingIn is the prompt for the client's model.
type SamplingIn struct {
	Prompt string `json:"prompt"`
}

// Sampling sends a prompt to the client's model and returns its answer.
func Sampling(ctx context.Context, in SamplingIn) (engine.Content, error) {
	got, err := ask(ctx, sampling("sampling", in.Prompt, 100))
	if err != nil {
		return engine.Content{}, err
	}
	text, err := got.modelText("sampling")
	return textContent("LLM response: " + text), err
}

// NeedsSampling requires sampling, to test clients that do not support it.
func NeedsSampling(ctx context.Context, _ NoArguments) (engine.Content, error) {
	return Sampling(ctx, SamplingIn{"Say something"})
}

// ElicitingIn is the message for the person at the client.
type ElicitingIn struct {
	Message string `json:"message"`
}

// Eliciting shows a form and returns what the person did with it.
func Eliciting(ctx context.Context, in ElicitingIn) (engine.Content, error) {
	return show(ctx, "User response: <action: %s, content: %s>", form("user_response", in.Message, `{"type":"object","properties":{
		"username":{"type":"string","description":"User's response"},
		"email":{"type":"string","description":"User's email address"}},
		"required":["username","email"]}`))
}

const completed = "Elicitation completed: action=%s, content=%s"

// Defaults shows a form with default values.
func Defaults(ctx context.Context, _ NoArguments) (engine.Content, error) {
	return show(ctx, completed, form("defaults", "Please review and update the form fields with defaults", `{"type":"object","properties":{
		"name":{"type":"string","description":"User name","default":"John Doe"},
		"age":{"type":"integer","description":"User age","default":30},
		"score":{"type":"number","description":"User score","default":95.5},
		"status":{"type":"string","description":"User status","enum":["active","inactive","pending"],"default":"active"},
		"verified":{"type":"boolean","description":"Verification status","default":true}},
		"required":[]}`))
}

// Enums shows a form with every kind of choice from a list.
func Enums(ctx context.Context, _ NoArguments) (engine.Content, error) {
	return show(ctx, completed, form("enums", "Please select options from the enum fields", `{"type":"object","properties":{
		"untitledSingle":{"type":"string","description":"Select one option","enum":["option1","option2","option3"]},
		"titledSingle":{"type":"string","description":"Select one option with titles","oneOf":[
			{"const":"value1","title":"First Option"},{"const":"value2","title":"Second Option"},{"const":"value3","title":"Third Option"}]},
		"legacyEnum":{"type":"string","description":"Select one option (legacy)","enum":["opt1","opt2","opt3"],
			"enumNames":["Option One","Option Two","Option Three"]},
		"untitledMulti":{"type":"array","description":"Select multiple options","minItems":1,"maxItems":3,
			"items":{"type":"string","enum":["option1","option2","option3"]}},
		"titledMulti":{"type":"array","description":"Select multiple options with titles","minItems":1,"maxItems":3,"items":{"anyOf":[
			{"const":"value1","title":"First Choice"},{"const":"value2","title":"Second Choice"},{"const":"value3","title":"Third Choice"}]}}},
		"required":[]}`))
}

// Linking asks the person at the client to open a page. Accepting only means that they will open
// it.
func Linking(ctx context.Context, _ NoArguments) (engine.Content, error) {
	const key = "page"
	got, err := ask(ctx, engine.Link(key, "Please open this page", "conformance-page", "https://example.com/conformance"))
	if err != nil {
		return engine.Content{}, err
	}
	answer := got[key]
	action := answer.Field("action").Text
	if action != "accept" && action != "decline" && action != "cancel" {
		return engine.Content{}, malformed(key, "accept, decline or cancel")
	}
	return textContent("Link answered: action=" + action), nil
}

// show shows one form and returns what the person did with it, in these words.
func show(ctx context.Context, words string, question engine.Question) (engine.Content, error) {
	got, err := ask(ctx, question)
	if err != nil {
		return engine.Content{}, err
	}
	action, content, err := got.action(question.Key)
	return textContent(fmt.Sprintf(words, action, content.Append(nil))), err
}

// Guarded asks for a reason after a person has approved the call.
func Guarded(ctx context.Context, _ NoArguments) (engine.Content, error) {
	got, err := ask(ctx, form("reason", "Why should it be done?", `{"type":"object","properties":{"reason":{"type":"string"}},"required":["reason"]}`))
	if err != nil {
		return engine.Content{}, err
	}
	reason, err := got.text("reason", "reason")
	return textContent("Done, because " + reason), err
}
