package conformancetest

import (
	"context"
	"fmt"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
)

// The smallest valid picture and the shortest valid sound, as base64.
const (
	redDot  = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mP4z8AAAAMBAQD3A0FDAAAAAElFTkSuQmCC"
	silence = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQIAAAAAAA=="
)

func media(kind, data, mime string) jsontree.Value {
	return jsontree.Obj(jsontree.M("type", jsontree.Str(kind)), jsontree.M("data", jsontree.Str(data)), jsontree.M("mimeType", jsontree.Str(mime)))
}

func picture() jsontree.Value { return media("image", redDot, "image/png") }

// SimpleText answers with a text.
func SimpleText(context.Context, NoArguments) (engine.Content, error) {
	return textContent("This is a simple text response for testing."), nil
}

// Image answers with a picture.
func Image(context.Context, NoArguments) (engine.Content, error) {
	return engine.Content{Blocks: []jsontree.Value{picture()}}, nil
}

// Audio answers with a sound.
func Audio(context.Context, NoArguments) (engine.Content, error) {
	return engine.Content{Blocks: []jsontree.Value{media("audio", silence, "audio/wav")}}, nil
}

// Embedded answers with a resource.
func Embedded(context.Context, NoArguments) (engine.Content, error) {
	return engine.Content{Blocks: []jsontree.Value{
		engine.Embedded("test://embedded-resource", "text/plain", "This is an embedded resource content."),
	}}, nil
}

// Mixed answers with a text, a picture and a resource.
func Mixed(context.Context, NoArguments) (engine.Content, error) {
	return engine.Content{Blocks: []jsontree.Value{
		engine.Text("Multiple content types test:"),
		picture(),
		engine.Embedded("test://mixed-content-resource", "application/json", `{"test":"data","value":123}`),
	}}, nil
}

// Failing always fails.
func Failing(context.Context, NoArguments) (engine.Content, error) {
	return engine.Content{}, contract.Errorf(contract.Denied, "This tool intentionally returns an error for testing")
}

// GreetIn names the person to greet.
type GreetIn struct {
	Name string `json:"name"`
}

// Greet returns a greeting. It never runs as a task.
func Greet(_ context.Context, in GreetIn) (engine.Content, error) {
	return textContent(hello(in.Name)), nil
}

func hello(name string) string { return "Hello, " + name + "!" }

// ContactIn is a person and how to reach them.
type ContactIn struct {
	Name          string  `json:"name"`
	Address       Address `json:"address"`
	ContactMethod string  `json:"contactMethod"`
	Phone         string  `json:"phone"`
	Email         string  `json:"email"`
}

// Address is a postal address.
type Address struct {
	Street string `json:"street"`
	City   string `json:"city"`
}

// Contact describes how to reach a person. The schema says which fields belong together.
func Contact(_ context.Context, in ContactIn) (engine.Content, error) {
	if in.ContactMethod == "phone" {
		return textContent("Call " + in.Phone), nil
	}
	return textContent("Write to " + in.Email), nil
}

// MirroredIn holds arguments that a client repeats in HTTP headers.
type MirroredIn struct {
	Region   string `json:"region"`
	Priority int64  `json:"priority"`
}

// Mirrored returns the arguments that arrived.
func Mirrored(_ context.Context, in MirroredIn) (engine.Content, error) {
	return textContent(fmt.Sprintf("region=%s, priority=%d", in.Region, in.Priority)), nil
}
