package mcp

import (
	"context"
	"encoding/base64"
	"strconv"
	"strings"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/export"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
)

const defaultPage = 200

// list returns one page of a list.
func (q *request) list(name string, items []item, ttl time.Duration) ([]byte, error) {
	page, next, err := q.page(items)
	if err != nil {
		return nil, err
	}
	size := len(next) + len(name)
	for _, entry := range page {
		size += len(entry) + 1
	}
	b := append(q.begin(size+64), '"')
	b = append(append(b, name...), `":[`...)
	for i, entry := range page {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, entry...)
	}
	b = append(b, ']')
	if next != "" {
		b = jsontree.AppendString(append(b, `,"nextCursor":`...), next)
	}
	scope := "public"
	if ttl < ttlFixed {
		scope = "private"
	}
	return q.end(q.cacheable(b, ttl, scope)), nil
}

// listFixed returns a page of a fixed list, with the entries that the client's grant allows.
func (q *request) listFixed(name string, all fixedList) ([]byte, error) {
	ttl := ttlFixed
	if q.from.Grant != nil {
		ttl = ttlGranted
	}
	return q.list(name, all.allowed(q.from.Grant), ttl)
}

// page returns the part of a list that the client's cursor selects.
func (q *request) page(items []item) (page []item, next string, err error) {
	size := q.server.PageSize
	if size <= 0 {
		size = defaultPage
	}
	start := 0
	if cursor, ok := q.params.Get("cursor"); ok && cursor.Kind != jsontree.Null {
		if start, err = cursorStart(cursor.Text); err != nil || start > len(items) {
			return nil, "", rpcErrorf(codeInvalidParams, "Invalid params: the cursor is not valid; list again without it")
		}
	}
	end := min(start+size, len(items))
	if end < len(items) {
		next = base64.RawURLEncoding.EncodeToString([]byte("from " + strconv.Itoa(end)))
	}
	return items[start:end], next, nil
}

func cursorStart(cursor string) (int, error) {
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return 0, err
	}
	number, _ := strings.CutPrefix(string(text), "from ")
	start, err := strconv.ParseUint(number, 10, 31)
	return int(start), err
}

func toolItem(t *engine.Tool) item {
	definition := export.Tool(t.Contract)
	return definition.Append(nil)
}

func promptItem(p *engine.Prompt) item {
	arguments := jsontree.List(p.Arguments, func(a engine.PromptArgument) jsontree.Value {
		return described(a.Name, a.Title, a.Description, jsontree.M("required", jsontree.Boolean(a.Required)))
	})
	v := described(p.Name, p.Title, p.Description, jsontree.M("arguments", arguments))
	return v.Append(nil)
}

func templateItem(t *engine.Template) item {
	v := described(t.Name, t.Title, t.Description, jsontree.M("uriTemplate", jsontree.Str(t.URI)))
	return typed(v, t.MIME).Append(nil)
}

func resourceItem(r *engine.Resource) item {
	v := described(r.Name, r.Title, r.Description, jsontree.M("uri", jsontree.Str(r.URI)))
	if r.Size > 0 {
		v.Members = append(v.Members, jsontree.M("size", jsontree.Int(r.Size)))
	}
	return typed(v, r.MIME).Append(nil)
}

// described returns the members that all entries share: name, title, description and more.
func described(name, title, description string, more ...jsontree.Member) jsontree.Value {
	v := jsontree.Obj(jsontree.M("name", jsontree.Str(name)))
	if title != "" {
		v.Members = append(v.Members, jsontree.M("title", jsontree.Str(title)))
	}
	if description != "" {
		v.Members = append(v.Members, jsontree.M("description", jsontree.Str(description)))
	}
	v.Members = append(v.Members, more...)
	return v
}

func typed(v jsontree.Value, mime string) *jsontree.Value {
	if mime != "" {
		v.Members = append(v.Members, jsontree.M("mimeType", jsontree.Str(mime)))
	}
	return &v
}

// listResources lists the current resources.
func (q *request) listResources(ctx context.Context) ([]byte, error) {
	all, err := q.server.Engine.Resources(ctx, q.from.Grant)
	if err != nil {
		return nil, err
	}
	if q.from.era == legacy {
		q.conn.notifications().watchLists(true, true, true)
	}
	items := make([]item, len(all))
	for i := range all {
		items[i] = resourceItem(&all[i])
	}
	return q.list("resources", items, ttlCurrent)
}

func (q *request) readResource(ctx context.Context) ([]byte, error) {
	uri := q.params.Field("uri")
	if uri.Kind != jsontree.String {
		return nil, rpcErrorf(codeInvalidParams, "Invalid params: uri must be the URI of a resource")
	}
	peer, err := q.peer(ctx, nil)
	if err != nil {
		return nil, err
	}
	contents, err := q.server.Engine.Read(ctx, q.requester(peer), uri.Text)
	if err != nil {
		return q.askOrFail(q.resourceNotFound(err, uri))
	}
	all := jsontree.List(contents, contentsValue)
	b := all.Append(append(q.begin(1024), `"contents":`...))
	return q.end(q.cacheable(b, ttlCurrent, "private")), nil
}

// resourceNotFound converts a not-found error to the error code of the era.
func (q *request) resourceNotFound(err error, uri jsontree.Value) error {
	if contract.AsError(err).Kind != contract.NotFound {
		return err
	}
	code := codeInvalidParams
	if q.from.era == legacy {
		code = codeNoResource
	}
	return rpcErrorf(code, "Resource not found: %s", uri.Text).with("uri", uri)
}

func contentsValue(c engine.Contents) jsontree.Value {
	v := *typed(jsontree.Obj(jsontree.M("uri", jsontree.Str(c.URI))), c.MIME)
	if c.Blob != nil {
		v.Members = append(v.Members, jsontree.M("blob", jsontree.Str(base64.StdEncoding.EncodeToString(c.Blob))))
	} else {
		v.Members = append(v.Members, jsontree.M("text", jsontree.Str(c.Text)))
	}
	return v
}

func (q *request) getPrompt(ctx context.Context) ([]byte, error) {
	name := q.params.Field("name")
	if name.Kind != jsontree.String {
		return nil, rpcErrorf(codeInvalidParams, "Invalid params: name must be the name of a prompt")
	}
	args := map[string]string{}
	for _, m := range q.params.Field("arguments").Members {
		if m.Value.Kind != jsontree.String {
			return nil, rpcErrorf(codeInvalidParams, "Invalid params: the argument %s of a prompt must be a string", m.Key)
		}
		args[m.Key] = m.Value.Text
	}
	peer, err := q.peer(ctx, nil)
	if err != nil {
		return nil, err
	}
	description, messages, err := q.server.Engine.StartPrompt(ctx, q.requester(peer), name.Text, args)
	if err != nil {
		return q.askOrFail(err)
	}
	all := jsontree.List(messages, func(m engine.Message) jsontree.Value {
		return jsontree.Obj(jsontree.M("role", jsontree.Str(m.Role)), jsontree.M("content", m.Content))
	})
	b := jsontree.AppendString(append(q.begin(1024), `"description":`...), description)
	return q.end(all.Append(append(b, `,"messages":`...))), nil
}

// maxCompletions is the maximum number of completions that the protocol allows.
const maxCompletions = 100

func (q *request) complete(ctx context.Context) ([]byte, error) {
	ref, argument := q.params.Field("ref"), q.params.Field("argument")
	name, prefix := argument.Field("name"), argument.Field("value")
	if name.Kind != jsontree.String || prefix.Kind != jsontree.String {
		return nil, rpcErrorf(codeInvalidParams, "Invalid params: argument must have a name and a value")
	}
	var values []string
	var err error
	switch ref.Field("type").Text {
	case "ref/prompt":
		values, err = q.server.Engine.CompletePrompt(ctx, q.from.Grant, ref.Field("name").Text, name.Text, prefix.Text)
	case "ref/resource":
		values, err = q.server.Engine.CompleteTemplate(ctx, q.from.Grant, ref.Field("uri").Text, name.Text, prefix.Text)
	default:
		return nil, rpcErrorf(codeInvalidParams, "Invalid params: ref must be of type ref/prompt or ref/resource")
	}
	if err != nil {
		return nil, err
	}
	completion := jsontree.Obj(
		jsontree.M("values", jsontree.Strs(values[:min(len(values), maxCompletions)]...)),
		jsontree.M("total", jsontree.Int(int64(len(values)))),
		jsontree.M("hasMore", jsontree.Boolean(len(values) > maxCompletions)),
	)
	return q.end(completion.Append(append(q.begin(256), `"completion":`...))), nil
}
