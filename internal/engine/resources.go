package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"remit/internal/contract"
	"remit/internal/engine/identity"
)

// resourceSet holds the resources and prompts that an engine offers. It does not change after New.
type resourceSet struct {
	providers []scopedProvider
	templates []Template
	prompts   []Prompt
}

// scopedProvider is a resource provider with the sets of the toolset that offers it; without sets
// everybody may read it.
type scopedProvider struct {
	ResourceProvider
	sets []string
}

// addResources adds the resources and prompts of the toolsets whose sets are served, and then the
// contracts of the tools.
func (e *Engine) addResources(sets []*contract.Set, toolsets []Toolset) error {
	for _, toolset := range toolsets {
		served := toolset.served(sets)
		if len(served) == 0 {
			continue
		}
		for _, provider := range toolset.Resources {
			if err := e.addProvider(provider, served); err != nil {
				return err
			}
		}
		for _, prompt := range toolset.Prompts {
			prompt.sets = served
			if err := e.addPrompt(prompt); err != nil {
				return err
			}
		}
	}
	// Drop prompts that need a tool which is not served.
	e.prompts = slices.DeleteFunc(e.prompts, func(p Prompt) bool {
		return slices.ContainsFunc(p.Tools, func(name string) bool { return !e.Serves(name) })
	})
	return e.addProvider(contractResources{e}, nil)
}

// served returns the names of the toolset's sets that are served.
func (t *Toolset) served(sets []*contract.Set) []string {
	var names []string
	for _, set := range sets {
		if slices.Contains(t.Sets, set.Name) {
			names = append(names, set.Name)
		}
	}
	return names
}

func (l *resourceSet) addProvider(provider ResourceProvider, sets []string) error {
	for _, template := range provider.Templates() {
		template.sets = sets
		if slices.ContainsFunc(l.templates, func(other Template) bool { return other.URI == template.URI }) {
			return fmt.Errorf("two resource providers have the template %s; give one of them other URIs", template.URI)
		}
		l.templates = append(l.templates, template)
	}
	l.providers = append(l.providers, scopedProvider{provider, sets})
	return nil
}

func (l *resourceSet) addPrompt(prompt Prompt) error {
	if slices.ContainsFunc(l.prompts, func(other Prompt) bool { return other.Name == prompt.Name }) {
		return fmt.Errorf("two prompts are named %s; give one of them another name", prompt.Name)
	}
	l.prompts = append(l.prompts, prompt)
	return nil
}

// visible returns the tool if callers may see it, and nil otherwise.
func (e *Engine) visible(name string) *Tool {
	if t, ok := e.tools[name]; ok && e.shows(t) {
		return t
	}
	return nil
}

// Resources returns the resources that this grant may read now: those of the toolsets in their
// order, then the contracts.
func (e *Engine) Resources(ctx context.Context, g *identity.Grant) (list []Resource, err error) {
	defer e.recoverPanic("resources/list", &err)
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	for _, provider := range e.providers {
		if checkRead(g, provider.sets, "") != nil {
			continue
		}
		some, err := provider.List(ctx)
		if err != nil {
			return nil, contract.AsError(err)
		}
		list = append(list, slices.DeleteFunc(some, func(r Resource) bool { return provider.reach(g, r.URI) != nil })...)
	}
	return list, nil
}

// Templates returns all URI templates.
func (e *Engine) Templates() []Template { return slices.Clone(e.templates) }

// Prompts returns all prompts.
func (e *Engine) Prompts() []Prompt { return slices.Clone(e.prompts) }

// Read returns the content of a resource, from the first provider that has it.
func (e *Engine) Read(ctx context.Context, who Requester, uri string) ([]Contents, error) {
	var found []Contents
	r := &request{engine: e, who: who, method: "resources/read", key: "uri", value: uri}
	err := r.run(ctx, func(ctx context.Context) (size int, err error) {
		if found, err = e.find(ctx, who.Grant, uri); err != nil {
			return 0, err
		}
		size = sizeOf(found)
		if size > MaxRead {
			return 0, contract.Errorf(contract.TooLarge, "%s has %d bytes; at most %d bytes can be read at once", uri, size, MaxRead).
				With("uri", uri).With("size", size).With("max", MaxRead)
		}
		return size, nil
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// MaxRead is how many bytes one read may return.
const MaxRead = 4 << 20

func sizeOf(all []Contents) (size int) {
	for _, c := range all {
		size += len(c.Text) + len(c.Blob)
	}
	return size
}

func (e *Engine) find(ctx context.Context, g *identity.Grant, uri string) ([]Contents, error) {
	for _, provider := range e.providers {
		if err := provider.reach(g, uri); err != nil {
			return nil, err
		}
		if checkRead(g, provider.sets, "") != nil {
			continue // without the scope, skip the provider even for URIs of other schemes
		}
		found, err := provider.Read(ctx, uri)
		if refusal := (*contract.Error)(nil); errors.As(err, &refusal) && refusal.Kind == contract.NotFound {
			continue
		}
		return found, err
	}
	return nil, contract.Errorf(contract.NotFound, "There is no resource %s", uri).With("uri", uri)
}

// CheckRead returns a contract.Denied error if the grant does not allow reading a URI, whether or
// not there is such a resource.
func (e *Engine) CheckRead(g *identity.Grant, uri string) error {
	for i := range e.providers {
		if err := e.providers[i].reach(g, uri); err != nil {
			return err
		}
	}
	return nil
}

// reach returns an error if the URI belongs to this provider, and the grant lacks the scope or
// belongs to another user. It returns nil for the URIs of other providers.
func (s *scopedProvider) reach(g *identity.Grant, uri string) error {
	if g == nil || !s.has(uri) {
		return nil
	}
	if err := checkRead(g, s.sets, uri); err != nil {
		return err
	}
	if withOwner, ok := s.ResourceProvider.(OwnedResourceProvider); ok {
		if user, names := withOwner.Owner(uri); names {
			return g.ActsFor(user)
		}
	}
	return nil
}

// has reports whether a URI has the scheme of one of the provider's templates.
func (s *scopedProvider) has(uri string) bool {
	scheme, _, _ := strings.Cut(uri, "://")
	return slices.ContainsFunc(s.Templates(), func(t Template) bool { return strings.HasPrefix(t.URI, scheme+"://") })
}

// StartPrompt returns the messages of a prompt. If the prompt asks its client, the error wraps
// *SuspendedError or *IncapableError.
func (e *Engine) StartPrompt(ctx context.Context, who Requester, name string, args map[string]string) (description string,
	messages []Message, err error,
) {
	r := &request{engine: e, who: who, method: "prompts/get", key: "name", value: name}
	err = r.run(ctx, func(ctx context.Context) (int, error) {
		prompt, err := e.prompt(name)
		if err != nil {
			return 0, err
		}
		if err := prompt.CheckScope(who.Grant); err != nil {
			return 0, err
		}
		if err := prompt.check(args); err != nil {
			return 0, err
		}
		description = prompt.Description
		messages, err = prompt.Render(ctx, args)
		return lengthOf(messages), err
	})
	if err != nil {
		return "", nil, err
	}
	return description, messages, nil
}

func lengthOf(messages []Message) (size int) {
	for i := range messages {
		size += len(messages[i].Content.Append(nil))
	}
	return size
}

func (e *Engine) prompt(name string) (*Prompt, error) {
	names := make([]string, len(e.prompts))
	for i := range e.prompts {
		if e.prompts[i].Name == name {
			return &e.prompts[i], nil
		}
		names[i] = e.prompts[i].Name
	}
	return nil, contract.Errorf(contract.NotFound, "Unknown prompt %q%s", name, contract.Hint(name, names)).With("name", name)
}

// check returns an error for arguments that the prompt does not have, and for required ones that
// are missing. An empty argument counts as missing.
func (p *Prompt) check(args map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(args)) {
		if _, err := p.argument(name); err != nil {
			return err
		}
	}
	for _, a := range p.Arguments {
		if a.Required && strings.TrimSpace(args[a.Name]) == "" {
			return contract.Errorf(contract.Invalid, "The argument %s of the prompt %s is required", a.Name, p.Name).With("field", a.Name)
		}
	}
	return nil
}

func (p *Prompt) argument(name string) (*PromptArgument, error) {
	names := make([]string, len(p.Arguments))
	for i := range p.Arguments {
		if p.Arguments[i].Name == name {
			return &p.Arguments[i], nil
		}
		names[i] = p.Arguments[i].Name
	}
	return nil, contract.Errorf(contract.Invalid, "%q is not an argument of the prompt %s%s", name, p.Name,
		contract.Hint(name, names)).With("field", name)
}

// CompletePrompt returns the values of a prompt argument that begin with prefix.
func (e *Engine) CompletePrompt(ctx context.Context, g *identity.Grant, prompt, argument, prefix string) ([]string, error) {
	p, err := e.prompt(prompt)
	if err != nil {
		return nil, err
	}
	if err := p.CheckScope(g); err != nil {
		return nil, err
	}
	a, err := p.argument(argument)
	if err != nil || a.Complete == nil {
		return nil, err
	}
	return e.complete(ctx, prefix, a.Complete)
}

// CompleteTemplate returns the values of a template variable that begin with prefix.
func (e *Engine) CompleteTemplate(ctx context.Context, g *identity.Grant, template, variable, prefix string) ([]string, error) {
	provider := e.providerOf(template)
	if provider == nil {
		return nil, contract.Errorf(contract.NotFound, "There is no template %s", template).With("uri", template)
	}
	if err := checkRead(g, provider.sets, template); err != nil {
		return nil, err
	}
	if !strings.Contains(template, "{"+variable+"}") {
		return nil, contract.Errorf(contract.Invalid, "The template %s has no {%s}", template, variable).With("field", variable)
	}
	return e.complete(ctx, prefix, func(ctx context.Context, prefix string) ([]string, error) {
		values, err := provider.Complete(ctx, template, variable, prefix)
		return slices.DeleteFunc(values, func(value string) bool {
			return provider.reach(g, strings.Replace(template, "{"+variable+"}", url.PathEscape(value), 1)) != nil
		}), err
	})
}

func (e *Engine) providerOf(template string) *scopedProvider {
	for i := range e.providers {
		provider := &e.providers[i]
		if slices.ContainsFunc(provider.Templates(), func(t Template) bool { return t.URI == template }) {
			return provider
		}
	}
	return nil
}

func (e *Engine) complete(ctx context.Context, prefix string,
	values func(context.Context, string) ([]string, error),
) (fitting []string, err error) {
	defer e.recoverPanic("completion/complete", &err)
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	all, err := values(ctx, prefix)
	if err != nil {
		return nil, contract.AsError(err)
	}
	for _, value := range all {
		if len(value) >= len(prefix) && strings.EqualFold(value[:len(prefix)], prefix) {
			fitting = append(fitting, value)
		}
	}
	slices.SortFunc(fitting, byValue)
	return slices.Compact(fitting), nil
}

// byValue compares numbers by value, so that 7 comes before 14, and everything else as text.
func byValue(a, b string) int {
	if isNumber(a) && isNumber(b) && len(a) != len(b) {
		return cmp.Compare(len(a), len(b))
	}
	return strings.Compare(a, b)
}

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
