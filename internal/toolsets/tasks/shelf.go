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

// shelf offers the tasks of a user to be read, as list_tasks gives them. Which users
// there are is for nobody to know: it lists none, and a user without tasks looks like
// one who never was. Whatever it gives is what list_tasks may give, so that one rule of
// the operator goes for all.
type shelf struct {
	*Tools
	listing *contract.Contract // of list_tasks
}

var _ engine.OwnedShelf = shelf{}

const (
	taskAddress  = "task://"
	listAddress  = "tasks://"
	taskTemplate = taskAddress + "{user_id}/{id}"
	listTemplate = listAddress + "{user_id}"
	jsonType     = "application/json"
)

// What one read of a list gives at most. It is more than an answer of list_tasks: no
// model need read it.
const (
	mostText  = 1 << 20
	mostTasks = 1000
)

func (shelf) Templates() []engine.Template {
	return []engine.Template{
		{URI: listTemplate, Name: "tasks", Title: "Tasks of a user", MIME: jsonType, Description: "The tasks of a user, newest first, as list_tasks gives them: at most the newest 1000 or 1 MiB; nextCursor leads on from there with list_tasks."},
		{URI: taskTemplate, Name: "task", Title: "Task", MIME: jsonType, Description: "One task of a user."},
	}
}

// Owner is the user in an address.
func (s shelf) Owner(uri string) (string, bool) {
	at, ok := s.placeAt(uri)
	return at.user, ok
}

// List gives nothing.
func (shelf) List(context.Context) ([]engine.Resource, error) { return nil, nil }

// Read gives a task, or the list of a user.
func (s shelf) Read(ctx context.Context, uri string) ([]engine.Contents, error) {
	at, ok := s.placeAt(uri)
	if !ok {
		return nil, engine.NoResource(uri, nil)
	}
	text, err := s.text(ctx, at)
	if errors.Is(err, ErrNotFound) {
		return nil, engine.NoResource(uri, err)
	}
	if err != nil {
		return nil, err
	}
	return []engine.Contents{{URI: uri, MIME: jsonType, Text: text}}, nil
}

// Stamp of a list is its revision; a task is short enough to stand for itself.
func (s shelf) Stamp(ctx context.Context, uri string) (string, error) {
	at, ok := s.placeAt(uri)
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

// Complete gives nothing: it would tell who has tasks.
func (shelf) Complete(context.Context, string, string, string) ([]string, error) { return nil, nil }

// check refuses a user that list_tasks would refuse.
func (s shelf) check(user string) error {
	_, err := s.listing.Accept(jsontree.Obj(jsontree.M("user_id", jsontree.Str(user))))
	return err
}

// place is what an address leads to.
type place struct {
	user string
	id   int64 // zero is the whole list
}

// placeAt reads an address. A user in it is one that list_tasks would take.
func (s shelf) placeAt(uri string) (at place, ok bool) {
	name, isList := strings.CutPrefix(uri, listAddress)
	if !isList {
		rest, isTask := strings.CutPrefix(uri, taskAddress)
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

// addressOf is where the list of a user can be read.
func addressOf(user string) string { return listAddress + url.PathEscape(user) }

// text is what a place holds, as JSON; ErrNotFound if it is a task that is not there.
func (s shelf) text(ctx context.Context, at place) (string, error) {
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
	return textOf(task)
}

// listText leaves out the oldest tasks of a list that is too long.
func (s shelf) listText(ctx context.Context, user string) (string, error) {
	page, err := s.page(ctx, ListIn{UserID: user, Limit: mostTasks})
	if err != nil {
		return "", err
	}
	text, err := textOf(page)
	for err == nil && len(text) > mostText {
		page = page.upTo(len(page.Tasks) * mostText / len(text))
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
