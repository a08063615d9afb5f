package conformancetest

import (
	"context"
	"fmt"
	"strings"

	"remit/internal/contract/jsontree"
	"remit/internal/engine"
)

func askName() engine.Question {
	return form("user_name", "What is your name?", `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`)
}

func askConsent() engine.Question {
	return form("confirm", "Please confirm", `{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}`)
}

// AskName asks for a name and greets it.
func AskName(ctx context.Context, _ NoArguments) (engine.Content, error) {
	got, err := ask(ctx, askName())
	if err != nil {
		return engine.Content{}, err
	}
	name, err := got.text("user_name", "name")
	return textContent(hello(name)), err
}

// AskCapital asks the client's model a question and returns its answer.
func AskCapital(ctx context.Context, _ NoArguments) (engine.Content, error) {
	got, err := ask(ctx, sampling("capital_question", "What is the capital of France?", 100))
	if err != nil {
		return engine.Content{}, err
	}
	text, err := got.modelText("capital_question")
	return textContent(text), err
}

// AskRoots lists the client's folders.
func AskRoots(ctx context.Context, _ NoArguments) (engine.Content, error) {
	got, err := ask(ctx, roots("client_roots"))
	if err != nil {
		return engine.Content{}, err
	}
	folders, err := got.folders("client_roots")
	return textContent("Roots: " + strings.Join(folders, ", ")), err
}

// AskConfirmation asks one question. Its state passes through the client and back.
func AskConfirmation(ctx context.Context, _ NoArguments) (engine.Content, error) {
	got, err := ask(ctx, askConsent())
	if err != nil {
		return engine.Content{}, err
	}
	ok, err := got.field("confirm", "ok", jsontree.Bool)
	return textContent("state-ok: confirmed is " + ok.Text), err
}

// AskAll asks a question of each kind at once.
func AskAll(ctx context.Context, _ NoArguments) (engine.Content, error) {
	got, err := ask(ctx, askName(), sampling("greeting", "Generate a greeting", 50), roots("client_roots"))
	if err != nil {
		return engine.Content{}, err
	}
	name, err := got.text("user_name", "name")
	if err != nil {
		return engine.Content{}, err
	}
	greeting, err := got.modelText("greeting")
	if err != nil {
		return engine.Content{}, err
	}
	folders, err := got.folders("client_roots")
	return textContent(fmt.Sprintf("%s (to %s, in %s)", greeting, name, strings.Join(folders, ", "))), err
}

// AskTwice asks a second question after the first was answered.
func AskTwice(ctx context.Context, _ NoArguments) (engine.Content, error) {
	name, err := askText(ctx, "step1", "Step 1: What is your name?", "name")
	if err != nil {
		return engine.Content{}, err
	}
	color, err := askText(ctx, "step2", "Step 2: What is your favorite color?", "color")
	return textContent(fmt.Sprintf("%s likes %s", name, color)), err
}

// askText asks for one line of text.
func askText(ctx context.Context, key, message, field string) (string, error) {
	got, err := ask(ctx, form(key, message, fmt.Sprintf(`{"type":"object","properties":{%[1]q:{"type":"string"}},"required":[%[1]q]}`, field)))
	if err != nil {
		return "", err
	}
	return got.text(key, field)
}

// AskSupported asks only the questions that the client supports.
func AskSupported(ctx context.Context, _ NoArguments) (engine.Content, error) {
	var questions []engine.Question
	for _, q := range []engine.Question{askName(), sampling("greeting", "Generate a greeting", 50), roots("client_roots")} {
		if engine.Can(ctx, q.Needs) {
			questions = append(questions, q)
		}
	}
	if len(questions) == 0 {
		return textContent("This client declared no capability to answer a question."), nil
	}
	got, err := ask(ctx, questions...)
	return textContent(fmt.Sprintf("%d questions were answered.", len(got))), err
}
