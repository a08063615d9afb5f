package httpapi

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/http"
	"slices"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/engine/identity"
)

// document is JSON with an ETag, so that clients can cache and revalidate it.
type document struct {
	body []byte
	etag string
}

func newDocument(v jsontree.Value) document {
	body := v.Append(nil)
	sum := sha256.Sum256(body)
	return document{body, `"` + hex.EncodeToString(sum[:16]) + `"`}
}

func (d document) serve(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Cache-Control", "no-cache") // cache, but revalidate
	header.Set("Content-Type", "application/json")
	header.Set("Etag", d.etag)
	header.Set("X-Content-Type-Options", "nosniff")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(d.body))
}

// list answers GET /tools.
func (a *API) list(w http.ResponseWriter, r *http.Request) {
	who, ok := a.identify(w, r)
	switch {
	case !ok:
	case who.Grant != nil:
		a.definitions(who.Grant).serve(w, r)
	default:
		a.listOnce.Do(func() { a.toolList = a.definitions(nil) })
		a.toolList.serve(w, r)
	}
}

// definitions returns the definitions of the tools that a grant allows.
func (a *API) definitions(g *identity.Grant) document {
	tools := jsontree.Arr()
	for _, t := range a.Engine.Tools() {
		if t.CheckScope(g) == nil {
			tools.Members = append(tools.Members, jsontree.Member{Value: a.definition(t)})
		}
	}
	return newDocument(tools)
}

// describe answers GET /tools/{name}.
func (a *API) describe(w http.ResponseWriter, r *http.Request) {
	if _, ok := a.identify(w, r); !ok {
		return
	}
	tool, err := a.Engine.Find(r.PathValue("name"))
	if err != nil {
		writeToolError(w, err)
		return
	}
	newDocument(a.definition(tool)).serve(w, r)
}

// definition returns what a script needs to call a tool, with the field names of MCP where they
// exist.
func (a *API) definition(t *engine.Tool) jsontree.Value {
	members := []jsontree.Member{
		jsontree.M("name", jsontree.Str(t.Name)),
		jsontree.M("title", jsontree.Str(t.Title)),
		jsontree.M("description", jsontree.Str(t.Description)),
		jsontree.M("toolset", jsontree.Str(t.Set)),
		jsontree.M("version", jsontree.Str(t.Version.String())),
		jsontree.M("digest", jsontree.Str(t.Digest)),
		jsontree.M("access", jsontree.Str(string(t.Access))),
		jsontree.M("annotations", annotations(t)),
		jsontree.M("deadline", deadline(&t.Deadline)),
		jsontree.M("maxBytes", jsontree.Int(int64(t.Size.Request))),
	}
	if !t.Rate.IsZero() {
		members = append(members, jsontree.M("rate", jsontree.Str(t.Rate.String())))
	}
	if t.Approval.Required {
		about := jsontree.Obj(jsontree.M("required", jsontree.Boolean(true)), jsontree.M("window", duration(t.Approval.Window)))
		if t.Approval.Each {
			about.Members = append(about.Members, jsontree.M("each", jsontree.Boolean(true)))
		}
		members = append(members, jsontree.M("approval", about))
	}
	if a.Engine.Idempotency != nil && !t.Hints.ReadOnly {
		members = append(members, jsontree.M("idempotencyKey", jsontree.Str(keyHeader)))
	}
	members = append(members, jsontree.M("inputSchema", t.PublicInput()))
	if !t.Content {
		members = append(members, jsontree.M("outputSchema", t.BodySchema()))
	}
	return jsontree.Obj(members...)
}

func deadline(d *contract.Deadline) jsontree.Value {
	stated := durations(contract.Durations{Target: d.Target, Max: d.Max})
	if len(d.With) > 0 {
		with := jsontree.Obj()
		for _, name := range slices.Sorted(maps.Keys(d.With)) {
			with.Members = append(with.Members, jsontree.M(name, durations(d.With[name])))
		}
		stated.Members = append(stated.Members, jsontree.M("with", with))
	}
	return stated
}

func durations(d contract.Durations) jsontree.Value {
	return jsontree.Obj(jsontree.M("target", duration(d.Target)), jsontree.M("max", duration(d.Max)))
}

func annotations(t *engine.Tool) jsontree.Value {
	return jsontree.Obj(
		jsontree.M("readOnlyHint", jsontree.Boolean(t.Hints.ReadOnly)),
		jsontree.M("destructiveHint", jsontree.Boolean(t.Hints.Destructive)),
		jsontree.M("idempotentHint", jsontree.Boolean(t.Hints.Idempotent)),
		jsontree.M("openWorldHint", jsontree.Boolean(t.Hints.OpenWorld)),
	)
}

func duration(d contract.Duration) jsontree.Value { return jsontree.Str(time.Duration(d).String()) }
