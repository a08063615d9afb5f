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

// library is what an engine offers besides tools. It does not change once made.
type library struct {
	shelves   []placedShelf
	templates []Template
	prompts   []Prompt
}

// placedShelf is a shelf, with the sets of the toolset that offers it; none if everybody
// may read it.
type placedShelf struct {
	Shelf
	sets []string
}

// stock fills the library with what the toolsets of the served sets offer, then
// the contracts of the tools themselves.
func (e *Engine) stock(sets []*contract.Set, toolsets []Toolset) error {
	for _, toolset := range toolsets {
		served := toolset.served(sets)
		if len(served) == 0 {
			continue
		}
		for _, shelf := range toolset.Shelves {
			if err := e.addShelf(shelf, served); err != nil {
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
	e.prompts = slices.DeleteFunc(e.prompts, func(p Prompt) bool { // one that relies on a tool that is not there to be called
		return slices.ContainsFunc(p.Tools, func(name string) bool { return !e.Serves(name) })
	})
	return e.addShelf(contractShelf{e}, nil)
}

// served are the sets of the toolset that are.
func (t *Toolset) served(sets []*contract.Set) []string {
	var names []string
	for _, set := range sets {
		if slices.Contains(t.Sets, set.Name) {
			names = append(names, set.Name)
		}
	}
	return names
}

func (l *library) addShelf(shelf Shelf, sets []string) error {
	for _, template := range shelf.Templates() {
		template.sets = sets
		if slices.ContainsFunc(l.templates, func(other Template) bool { return other.URI == template.URI }) {
			return fmt.Errorf("two shelves have the template %s; give one of them other addresses", template.URI)
		}
		l.templates = append(l.templates, template)
	}
	l.shelves = append(l.shelves, placedShelf{shelf, sets})
	return nil
}

func (l *library) addPrompt(prompt Prompt) error {
	if slices.ContainsFunc(l.prompts, func(other Prompt) bool { return other.Name == prompt.Name }) {
		return fmt.Errorf("two prompts are named %s; give one of them another name", prompt.Name)
	}
	l.prompts = append(l.prompts, prompt)
	return nil
}

// visible is a tool that a caller may see, or nil.
func (e *Engine) visible(name string) *Tool {
	if t, ok := e.tools[name]; ok && e.shows(t) {
		return t
	}
	return nil
}

// Resources lists what there is to read now for whoever has this grant, shelf after
// shelf: those of the toolsets in their order, then the contracts.
func (e *Engine) Resources(ctx context.Context, g *identity.Grant) (list []Resource, err error) {
	defer e.contain("resources/list", &err)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for _, shelf := range e.shelves {
		if reads(g, shelf.sets, "") != nil {
			continue
		}
		some, err := shelf.List(ctx)
		if err != nil {
			return nil, contract.AsError(err)
		}
		list = append(list, slices.DeleteFunc(some, func(r Resource) bool { return shelf.reach(g, r.URI) != nil })...)
	}
	return list, nil
}

// Templates lists the families of addresses.
func (e *Engine) Templates() []Template { return slices.Clone(e.templates) }

// Prompts lists what work can be started with.
func (e *Engine) Prompts() []Prompt { return slices.Clone(e.prompts) }

// Read gives the content at an address, from the first shelf that has it.
func (e *Engine) Read(ctx context.Context, who Visitor, uri string) ([]Contents, error) {
	var found []Contents
	v := &visit{engine: e, who: who, method: "resources/read", key: "uri", value: uri}
	err := v.run(ctx, func(ctx context.Context) (size int, err error) {
		if found, err = e.find(ctx, who.Grant, uri); err != nil {
			return 0, err
		}
		size = sizeOf(found)
		if size > MaxRead {
			return 0, contract.Errorf(contract.TooLarge, "%s holds %d bytes; at most %d bytes can be read at once", uri, size, MaxRead).
				With("uri", uri).With("size", size).With("max", MaxRead)
		}
		return size, nil
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// MaxRead is how many bytes one read may give.
const MaxRead = 4 << 20

func sizeOf(all []Contents) (size int) {
	for _, c := range all {
		size += len(c.Text) + len(c.Blob)
	}
	return size
}

func (e *Engine) find(ctx context.Context, g *identity.Grant, uri string) ([]Contents, error) {
	for _, shelf := range e.shelves {
		if err := shelf.reach(g, uri); err != nil {
			return nil, err
		}
		if reads(g, shelf.sets, "") != nil {
			continue // what is not its own by scheme cannot be read from it either
		}
		found, err := shelf.Read(ctx, uri)
		if refusal := (*contract.Error)(nil); errors.As(err, &refusal) && refusal.Kind == contract.NotFound {
			continue
		}
		return found, err
	}
	return nil, contract.Errorf(contract.NotFound, "There is no resource %s", uri).With("uri", uri)
}

// MayRead returns a contract.Denied error if whoever has this grant may not read an
// address, whether or not there is anything.
func (e *Engine) MayRead(g *identity.Grant, uri string) error {
	for i := range e.shelves {
		if err := e.shelves[i].reach(g, uri); err != nil {
			return err
		}
	}
	return nil
}

// reach refuses an address of the shelf to whoever lacks the scope for it, or is not the
// user that it belongs to. Others are not its own, so it has nothing to say of them.
func (s *placedShelf) reach(g *identity.Grant, uri string) error {
	if g == nil || !s.has(uri) {
		return nil
	}
	if err := reads(g, s.sets, uri); err != nil {
		return err
	}
	if owned, ok := s.Shelf.(OwnedShelf); ok {
		if user, names := owned.Owner(uri); names {
			return g.ActsFor(user)
		}
	}
	return nil
}

// has tells whether an address has the scheme of one that the shelf gives.
func (s *placedShelf) has(uri string) bool {
	scheme, _, _ := strings.Cut(uri, "://")
	return slices.ContainsFunc(s.Templates(), func(t Template) bool { return strings.HasPrefix(t.URI, scheme+"://") })
}

// StartPrompt gives the messages of a prompt. A prompt that asks its client ends
// in *SuspendedError or *IncapableError, for errors.As to find.
func (e *Engine) StartPrompt(ctx context.Context, who Visitor, name string, args map[string]string) (description string, messages []Message, err error) {
	v := &visit{engine: e, who: who, method: "prompts/get", key: "name", value: name}
	err = v.run(ctx, func(ctx context.Context) (int, error) {
		prompt, err := e.prompt(name)
		if err != nil {
			return 0, err
		}
		if err := prompt.Reach(who.Grant); err != nil {
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

// check refuses arguments that the prompt does not know, and misses those that it
// cannot do without. An empty one says nothing.
func (p *Prompt) check(args map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(args)) {
		if _, err := p.argument(name); err != nil {
			return err
		}
	}
	for _, a := range p.Arguments {
		if a.Required && strings.TrimSpace(args[a.Name]) == "" {
			return contract.Errorf(contract.Invalid, "%s of the prompt %s is required", a.Name, p.Name).With("field", a.Name)
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
	return nil, contract.Errorf(contract.Invalid, "%q is not an argument of the prompt %s%s", name, p.Name, contract.Hint(name, names)).With("field", name)
}

// CompletePrompt gives values for an argument of a prompt that begin with prefix.
func (e *Engine) CompletePrompt(ctx context.Context, g *identity.Grant, prompt, argument, prefix string) ([]string, error) {
	p, err := e.prompt(prompt)
	if err != nil {
		return nil, err
	}
	if err := p.Reach(g); err != nil {
		return nil, err
	}
	a, err := p.argument(argument)
	if err != nil || a.Complete == nil {
		return nil, err
	}
	return e.complete(ctx, prefix, a.Complete)
}

// CompleteTemplate gives values for a variable of a template that begin with prefix.
func (e *Engine) CompleteTemplate(ctx context.Context, g *identity.Grant, template, variable, prefix string) ([]string, error) {
	shelf := e.shelfOf(template)
	if shelf == nil {
		return nil, contract.Errorf(contract.NotFound, "There is no template %s", template).With("uri", template)
	}
	if err := reads(g, shelf.sets, template); err != nil {
		return nil, err
	}
	if !strings.Contains(template, "{"+variable+"}") {
		return nil, contract.Errorf(contract.Invalid, "The template %s has no {%s}", template, variable).With("field", variable)
	}
	return e.complete(ctx, prefix, func(ctx context.Context, prefix string) ([]string, error) {
		values, err := shelf.Complete(ctx, template, variable, prefix)
		return slices.DeleteFunc(values, func(value string) bool {
			return shelf.reach(g, strings.Replace(template, "{"+variable+"}", url.PathEscape(value), 1)) != nil
		}), err
	})
}

func (e *Engine) shelfOf(template string) *placedShelf {
	for i := range e.shelves {
		shelf := &e.shelves[i]
		if slices.ContainsFunc(shelf.Templates(), func(t Template) bool { return t.URI == template }) {
			return shelf
		}
	}
	return nil
}

func (e *Engine) complete(ctx context.Context, prefix string, values func(context.Context, string) ([]string, error)) (fitting []string, err error) {
	defer e.contain("completion/complete", &err)
	ctx, cancel := context.WithTimeout(ctx, patience)
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

// byValue puts 7 before 14, and everything else in order of its letters.
func byValue(a, b string) int {
	if isNumber(a) && isNumber(b) && len(a) != len(b) {
		return cmp.Compare(len(a), len(b))
	}
	return strings.Compare(a, b)
}

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
