package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine/identity"
)

// Resource is something that can be read by its address.
type Resource struct {
	URI, Name, Title, Description, MIME string
	Size                                int64 // in bytes; zero is not known
}

// Template is a family of addresses, with {names} in it (RFC 6570, level 1).
type Template struct {
	URI, Name, Title, Description, MIME string

	sets []string // of the toolset that offers it; none if everybody may read it
}

// Reach returns a contract.Denied error, for a *identity.ScopeError, unless a grant lets
// its holder read what one of the sets offers.
func (t *Template) Reach(g *identity.Grant) error { return reads(g, t.sets, t.Name) }

// Reach is that of the toolset which offers the prompt.
func (p *Prompt) Reach(g *identity.Grant) error { return reads(g, p.sets, p.Name) }

// reads tells whether a grant reaches one of the sets.
func reads(g *identity.Grant, sets []string, what string) error {
	var err error
	for _, set := range sets {
		if err = g.Allows(set, false); err == nil {
			return nil
		}
	}
	return beyond(err, what)
}

// Contents are what an address holds: text, or bytes if Blob is not nil.
type Contents struct {
	URI, MIME, Text string
	Blob            []byte
}

// Shelf is what a toolset offers to be read. Lists keep a fixed order and do not
// depend on who asks or what was called before.
type Shelf interface {
	Templates() []Template
	// List gives what there is now.
	List(ctx context.Context) ([]Resource, error)
	// Read gives the content at an address, or a contract.NotFound error if this
	// shelf has no such address.
	Read(ctx context.Context, uri string) ([]Contents, error)
	// Stamp changes whenever the content at an address does. It is empty while
	// there is nothing. An error is no change: what cannot be told stays as it was. It
	// must be cheap: it is asked again and again.
	Stamp(ctx context.Context, uri string) (string, error)
	// Complete gives values for a variable of a template that begin with prefix.
	Complete(ctx context.Context, template, variable, prefix string) ([]string, error)
}

// OwnedShelf is a Shelf whose addresses name users: each may read what belongs to them.
type OwnedShelf interface {
	Shelf
	// Owner is the user that an address belongs to; false if it names none.
	Owner(uri string) (user string, ok bool)
}

// Prompt is a text that people start work with, usually as a slash command.
type Prompt struct {
	Name, Title, Description string
	Arguments                []PromptArgument
	// Tools are those that the prompt relies on. While one of them is not served
	// the prompt is not offered.
	Tools []string
	// Render gives the messages. It may Ask.
	Render func(ctx context.Context, args map[string]string) ([]Message, error)

	sets []string // of the toolset that offers it
}

// PromptArgument is something that a prompt is told.
type PromptArgument struct {
	Name, Title, Description string
	Required                 bool
	// Complete gives values that begin with prefix; nil if there is nothing to offer.
	Complete func(ctx context.Context, prefix string) ([]string, error)
}

// Message is one turn of a prompt.
type Message struct {
	Role    string // user or assistant
	Content jsontree.Value
}

// Embedded is content that brings a resource with it.
func Embedded(uri, mime, text string) jsontree.Value {
	return jsontree.Obj(jsontree.M("type", jsontree.Str("resource")), jsontree.M("resource", jsontree.Obj(
		jsontree.M("uri", jsontree.Str(uri)),
		jsontree.M("mimeType", jsontree.Str(mime)),
		jsontree.M("text", jsontree.Str(text)),
	)))
}

// Text is content that is only text.
func Text(text string) jsontree.Value {
	return jsontree.Obj(jsontree.M("type", jsontree.Str("text")), jsontree.M("text", jsontree.Str(text)))
}

// contractShelf lets clients read the contracts of the tools that they may see.
type contractShelf struct{ engine *Engine }

const (
	contractAddress  = "remit://contracts/"
	contractTemplate = contractAddress + "{tool}"
	contractMIME     = "application/json"
)

func (contractShelf) Templates() []Template {
	return []Template{{
		URI: contractTemplate, Name: "contract", Title: "Contract of a tool",
		Description: "All that a tool promises: schemas, limits, paths, approval, errors and examples, with the digest of the text.",
		MIME:        contractMIME,
	}}
}

func (s contractShelf) List(context.Context) ([]Resource, error) {
	var list []Resource
	for _, t := range s.engine.Tools() {
		list = append(list, Resource{
			URI: contractAddress + t.Name, Name: "contracts/" + t.Name, Title: "Contract: " + t.Title,
			Description: fmt.Sprintf("What %s %s promises.", t.ID, t.Version), MIME: contractMIME,
		})
	}
	return list, nil
}

func (s contractShelf) Read(_ context.Context, uri string) ([]Contents, error) {
	tool := s.at(uri)
	if tool == nil {
		return nil, contract.Errorf(contract.NotFound, "There is no resource %s", uri).With("uri", uri)
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false) // as in the catalog
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(tool.Contract); err != nil {
		return nil, fmt.Errorf("write the contract of %s: %w", tool.ID, err)
	}
	return []Contents{{URI: uri, MIME: contractMIME, Text: text.String()}}, nil
}

func (s contractShelf) Stamp(_ context.Context, uri string) (string, error) {
	if tool := s.at(uri); tool != nil {
		return tool.Digest, nil
	}
	return "", nil
}

func (s contractShelf) Complete(context.Context, string, string, string) ([]string, error) {
	var names []string
	for _, t := range s.engine.Tools() {
		names = append(names, t.Name)
	}
	return names, nil
}

func (s contractShelf) at(uri string) *Tool {
	name, ok := strings.CutPrefix(uri, contractAddress)
	if !ok {
		return nil
	}
	return s.engine.visible(name)
}

// Reach returns a contract.Denied error, for a *identity.ScopeError, unless a grant has
// the scope that the tool asks for.
func (t *Tool) Reach(g *identity.Grant) error {
	if t.Access == contract.Public {
		return nil
	}
	return beyond(g.Allows(t.Set, !t.Hints.ReadOnly), t.Name)
}

// beyond words what a token does not reach.
func beyond(err error, what string) error {
	missing, ok := errors.AsType[*identity.ScopeError](err)
	if !ok {
		return err
	}
	why := fmt.Sprintf("%s needs a token with the scope %s", what, missing.Needs)
	return contract.Errorf(contract.Denied, "%s", why).With("details", why).Because(err)
}

// owned are the arguments with the caller's own user in them, if a token is bound to
// one and they name none.
func (w *work) owned() jsontree.Value {
	args, g := w.call.Args, w.call.Grant
	if w.tool.Owner == "" || g == nil || g.User == "" || g.User == identity.AnyUser || args.Kind != jsontree.Object {
		return args
	}
	if _, named := args.Get(w.tool.Owner); named {
		return args
	}
	args.Members = append(slices.Clip(args.Members), jsontree.M(w.tool.Owner, jsontree.Str(g.User)))
	return args
}

// owner keeps a caller from what belongs to other users.
func (w *work) owner(args *jsontree.Value) error {
	if w.tool.Owner == "" {
		return nil
	}
	return w.call.Grant.ActsFor(args.Field(w.tool.Owner).Text)
}
