package conformancetest

import (
	"context"
	"fmt"

	"remit/internal/engine"
)

// SamplingIn is what the client's model is asked.
type SamplingIn struct {
	Prompt string `json:"prompt"`
}

// Sampling passes a question on to the client's model.
func Sampling(ctx context.Context, in SamplingIn) (engine.Content, error) {
	got, err := ask(ctx, sampling("sampling", in.Prompt, 100))
	if err != nil {
		return engine.Content{}, err
	}
	text, err := got.said("sampling")
	return says("LLM response: " + text), err
}

// NeedsSampling is for clients that cannot sample.
func NeedsSampling(ctx context.Context, _ Nothing) (engine.Content, error) {
	return Sampling(ctx, SamplingIn{"Say something"})
}

// ElicitingIn is what the person at the client is asked.
type ElicitingIn struct {
	Message string `json:"message"`
}

// Eliciting shows a form and tells what became of it.
func Eliciting(ctx context.Context, in ElicitingIn) (engine.Content, error) {
	return show(ctx, "User response: <action: %s, content: %s>", form("user_response", in.Message, `{"type":"object","properties":{
		"username":{"type":"string","description":"User's response"},
		"email":{"type":"string","description":"User's email address"}},
		"required":["username","email"]}`))
}

const completed = "Elicitation completed: action=%s, content=%s"

// Defaults shows a form whose fields are filled in already.
func Defaults(ctx context.Context, _ Nothing) (engine.Content, error) {
	return show(ctx, completed, form("defaults", "Please review and update the form fields with defaults", `{"type":"object","properties":{
		"name":{"type":"string","description":"User name","default":"John Doe"},
		"age":{"type":"integer","description":"User age","default":30},
		"score":{"type":"number","description":"User score","default":95.5},
		"status":{"type":"string","description":"User status","enum":["active","inactive","pending"],"default":"active"},
		"verified":{"type":"boolean","description":"Verification status","default":true}},
		"required":[]}`))
}

// Enums shows a form with every way to choose from a list.
func Enums(ctx context.Context, _ Nothing) (engine.Content, error) {
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

// Linking sends the person at the client to a page. Whoever accepts only says
// that they will open it.
func Linking(ctx context.Context, _ Nothing) (engine.Content, error) {
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
	return says("Link answered: action=" + action), nil
}

// show puts one form and tells, in these words, what became of it.
func show(ctx context.Context, words string, question engine.Question) (engine.Content, error) {
	got, err := ask(ctx, question)
	if err != nil {
		return engine.Content{}, err
	}
	action, content, err := got.action(question.Key)
	return says(fmt.Sprintf(words, action, content.Append(nil))), err
}

// Guarded asks why, after a person has approved the call itself.
func Guarded(ctx context.Context, _ Nothing) (engine.Content, error) {
	got, err := ask(ctx, form("reason", "Why should it be done?", `{"type":"object","properties":{"reason":{"type":"string"}},"required":["reason"]}`))
	if err != nil {
		return engine.Content{}, err
	}
	reason, err := got.text("reason", "reason")
	return says("Done, because " + reason), err
}
