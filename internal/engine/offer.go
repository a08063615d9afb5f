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

// Resource is something that clients can read by its URI.
type Resource struct {
	URI, Name, Title, Description, MIME string
	Size                                int64 // in bytes; zero if unknown
}

// Template is a family of URIs with variables like {name} (RFC 6570, level 1).
type Template struct {
	URI, Name, Title, Description, MIME string

	sets []string // of the toolset that offers it; empty if everybody may read it
}

// CheckScope returns a contract.Denied error that wraps a *identity.ScopeError, unless the grant
// allows reading one of the sets that offer the template.
func (t *Template) CheckScope(g *identity.Grant) error { return checkRead(g, t.sets, t.Name) }

// CheckScope returns a contract.Denied error that wraps a *identity.ScopeError, unless the grant
// allows reading one of the sets that offer the prompt.
func (p *Prompt) CheckScope(g *identity.Grant) error { return checkRead(g, p.sets, p.Name) }

// checkRead returns nil if a grant allows reading one of the sets, or if there are no sets.
func checkRead(g *identity.Grant, sets []string, what string) error {
	var err error
	for _, set := range sets {
		if err = g.Allows(set, false); err == nil {
			return nil
		}
	}
	return scopeDenied(err, what)
}

// Contents is the content of a resource: text, or bytes if Blob is not nil.
type Contents struct {
	URI, MIME, Text string
	Blob            []byte
}

// ResourceProvider provides the resources of a toolset. Lists keep a fixed order, and do not depend
// on the caller or on earlier calls.
type ResourceProvider interface {
	Templates() []Template
	// List returns the resources that exist now.
	List(ctx context.Context) ([]Resource, error)
	// Read returns the content of a resource, or a contract.NotFound error if this provider has no
	// such URI.
	Read(ctx context.Context, uri string) ([]Contents, error)
	// Stamp returns a value that changes whenever the content of the resource does. It is empty
	// while there is no such resource. An error does not count as a change. Stamp must be cheap,
	// because the engine polls it.
	Stamp(ctx context.Context, uri string) (string, error)
	// Complete returns the values of a template variable that begin with prefix.
	Complete(ctx context.Context, template, variable, prefix string) ([]string, error)
}

// OwnedResourceProvider is a ResourceProvider whose URIs name users. Each user may read only their
// own resources.
type OwnedResourceProvider interface {
	ResourceProvider
	// Owner returns the user that a URI belongs to; false if it names none.
	Owner(uri string) (user string, ok bool)
}

// Prompt is a text that people start work with, usually as a slash command.
type Prompt struct {
	Name, Title, Description string
	Arguments                []PromptArgument
	// Tools are the tools that the prompt relies on. The prompt is not offered unless all of them
	// are served.
	Tools []string
	// Render returns the messages. It may call Ask.
	Render func(ctx context.Context, args map[string]string) ([]Message, error)

	sets []string // of the toolset that offers it
}

// PromptArgument is an argument of a prompt.
type PromptArgument struct {
	Name, Title, Description string
	Required                 bool
	// Complete returns the values that begin with prefix; nil if there is no completion.
	Complete func(ctx context.Context, prefix string) ([]string, error)
}

// Message is one message of a prompt.
type Message struct {
	Role    string // user or assistant
	Content jsontree.Value
}

// Embedded returns content that contains a resource.
func Embedded(uri, mime, text string) jsontree.Value {
	return jsontree.Obj(jsontree.M("type", jsontree.Str("resource")), jsontree.M("resource", jsontree.Obj(
		jsontree.M("uri", jsontree.Str(uri)),
		jsontree.M("mimeType", jsontree.Str(mime)),
		jsontree.M("text", jsontree.Str(text)),
	)))
}

// Text returns content that is only text.
func Text(text string) jsontree.Value {
	return jsontree.Obj(jsontree.M("type", jsontree.Str("text")), jsontree.M("text", jsontree.Str(text)))
}

// contractResources provides the contracts of the tools that the client may see.
type contractResources struct{ engine *Engine }

const (
	contractAddress  = "remit://contracts/"
	contractTemplate = contractAddress + "{tool}"
	contractMIME     = "application/json"
)

func (contractResources) Templates() []Template {
	return []Template{{
		URI: contractTemplate, Name: "contract", Title: "Contract of a tool",
		Description: "The contract of a tool: schemas, limits, paths, approval, errors and examples, with the digest of the text.",
		MIME:        contractMIME,
	}}
}

func (s contractResources) List(context.Context) ([]Resource, error) {
	var list []Resource
	for _, t := range s.engine.Tools() {
		list = append(list, Resource{
			URI: contractAddress + t.Name, Name: "contracts/" + t.Name, Title: "Contract: " + t.Title,
			Description: fmt.Sprintf("The contract of %s, version %s.", t.ID, t.Version), MIME: contractMIME,
		})
	}
	return list, nil
}

func (s contractResources) Read(_ context.Context, uri string) ([]Contents, error) {
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

func (s contractResources) Stamp(_ context.Context, uri string) (string, error) {
	if tool := s.at(uri); tool != nil {
		return tool.Digest, nil
	}
	return "", nil
}

func (s contractResources) Complete(context.Context, string, string, string) ([]string, error) {
	var names []string
	for _, t := range s.engine.Tools() {
		names = append(names, t.Name)
	}
	return names, nil
}

func (s contractResources) at(uri string) *Tool {
	name, ok := strings.CutPrefix(uri, contractAddress)
	if !ok {
		return nil
	}
	return s.engine.visible(name)
}

// CheckScope returns a contract.Denied error that wraps a *identity.ScopeError, unless the grant
// has the scope that the tool requires.
func (t *Tool) CheckScope(g *identity.Grant) error {
	if t.Access == contract.Public {
		return nil
	}
	return scopeDenied(g.Allows(t.Set, !t.Hints.ReadOnly), t.Name)
}

// scopeDenied converts a *identity.ScopeError to the error that the caller gets.
func scopeDenied(err error, what string) error {
	missing, ok := errors.AsType[*identity.ScopeError](err)
	if !ok {
		return err
	}
	why := fmt.Sprintf("%s needs a token with the scope %s", what, missing.Needs)
	return contract.Errorf(contract.Denied, "%s", why).With("details", why).Because(err)
}

// withOwner returns the arguments. If the token is bound to a user and the arguments name none, it
// adds that user.
func (w *work) withOwner() jsontree.Value {
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

// checkOwner denies access to data of other users.
func (w *work) checkOwner(args *jsontree.Value) error {
	if w.tool.Owner == "" {
		return nil
	}
	return w.call.Grant.ActsFor(args.Field(w.tool.Owner).Text)
}
