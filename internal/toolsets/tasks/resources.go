package tasks

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
)

// resources offers the tasks of a user as resources, with the content that list_tasks returns. It
// never reveals which users exist: it lists none, and a user without tasks looks like an unknown
// one. It returns only what list_tasks may return, so that the operator's rules for the tool apply
// to both.
type resources struct {
	*Tools
	listing *contract.Contract // the contract of list_tasks
}

var _ engine.OwnedResourceProvider = resources{}

const (
	taskScheme   = "task://"
	listScheme   = "tasks://"
	taskTemplate = taskScheme + "{user_id}/{id}"
	listTemplate = listScheme + "{user_id}"
	jsonType     = "application/json"
)

// Limits for one read of a list. They are higher than those of list_tasks, because a model does not
// have to read the result.
const (
	maxText  = 1 << 20
	maxTasks = 1000
)

func (resources) Templates() []engine.Template {
	return []engine.Template{
		{
			URI: listTemplate, Name: "tasks", Title: "Tasks of a user", MIME: jsonType,
			Description: "The tasks of a user, newest first, as list_tasks returns them: " +
				"at most the newest 1000 or 1 MiB; pass nextCursor to list_tasks for the rest.",
		},
		{URI: taskTemplate, Name: "task", Title: "Task", MIME: jsonType, Description: "One task of a user."},
	}
}

// Owner returns the user that a URI names.
func (s resources) Owner(uri string) (string, bool) {
	at, ok := s.parseURI(uri)
	return at.user, ok
}

// List returns nothing, so that it does not reveal users.
func (resources) List(context.Context) ([]engine.Resource, error) { return nil, nil }

// Read returns a task, or the list of a user.
func (s resources) Read(ctx context.Context, uri string) ([]engine.Contents, error) {
	at, ok := s.parseURI(uri)
	if !ok {
		return nil, engine.ResourceNotFound(uri, nil)
	}
	text, err := s.text(ctx, at)
	if errors.Is(err, ErrNotFound) {
		return nil, engine.ResourceNotFound(uri, err)
	}
	if err != nil {
		return nil, err
	}
	return []engine.Contents{{URI: uri, MIME: jsonType, Text: text}}, nil
}

// Stamp returns the revision of a list, or the whole text of a task, which is short.
func (s resources) Stamp(ctx context.Context, uri string) (string, error) {
	at, ok := s.parseURI(uri)
	if !ok {
		return "", nil
	}
	if at.id != 0 {
		text, err := s.text(ctx, at)
		if errors.Is(err, ErrNotFound) {
			return "", nil
		}
		return text, err
	}
	store, err := s.store(ctx)
	if err != nil {
		return "", err
	}
	revision, err := store.Revision(ctx, at.user)
	return strconv.FormatInt(revision, 10), failure(ctx, err)
}

// Complete returns nothing, because it would reveal who has tasks.
func (resources) Complete(context.Context, string, string, string) ([]string, error) { return nil, nil }

// check returns an error if list_tasks would reject the user.
func (s resources) check(user string) error {
	_, err := s.listing.Accept(jsontree.Obj(jsontree.M("user_id", jsontree.Str(user))))
	return err
}

// place is what a URI names.
type place struct {
	user string
	id   int64 // zero means the whole list
}

// parseURI parses a URI. It accepts only users that list_tasks accepts.
func (s resources) parseURI(uri string) (at place, ok bool) {
	name, isList := strings.CutPrefix(uri, listScheme)
	if !isList {
		rest, isTask := strings.CutPrefix(uri, taskScheme)
		user, id, cut := strings.Cut(rest, "/")
		if !isTask || !cut {
			return place{}, false
		}
		number, err := strconv.ParseUint(id, 10, 63)
		if err != nil || number == 0 {
			return place{}, false
		}
		name, at.id = user, int64(number)
	}
	user, err := url.PathUnescape(name)
	if err != nil || strings.Contains(name, "/") || !utf8.ValidString(user) {
		return place{}, false
	}
	at.user = user
	return at, s.check(user) == nil
}

// listURI returns the URI of a user's list.
func listURI(user string) string { return listScheme + url.PathEscape(user) }

// text returns the content of a place as JSON, or ErrNotFound if there is no such task.
func (s resources) text(ctx context.Context, at place) (string, error) {
	if at.id == 0 {
		return s.listText(ctx, at.user)
	}
	store, err := s.store(ctx)
	if err != nil {
		return "", err
	}
	task, err := store.Get(ctx, at.user, at.id)
	if errors.Is(err, ErrNotFound) {
		return "", err
	}
	if err != nil {
		return "", failure(ctx, err)
	}
	hideExpired(&task, store.Clock(s.Now()))
	return textOf(task)
}

// listText returns a list as JSON. It leaves out the oldest tasks if the list is too long.
func (s resources) listText(ctx context.Context, user string) (string, error) {
	page, err := s.page(ctx, ListIn{UserID: user, Limit: maxTasks})
	if err != nil {
		return "", err
	}
	text, err := textOf(page)
	for err == nil && len(text) > maxText {
		page = page.upTo(len(page.Tasks) * maxText / len(text))
		text, err = textOf(page)
	}
	return text, err
}

func textOf(value any) (string, error) {
	tree, err := jsontree.Of(value)
	if err != nil {
		return "", fmt.Errorf("encode tasks: %w", err)
	}
	return string(tree.Append(nil)), nil
}
