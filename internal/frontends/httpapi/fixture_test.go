package httpapi_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/engine/approval"
	"remit/internal/engine/enginetest"
	"remit/internal/engine/identity"
	"remit/internal/engine/ratelimit"
	"remit/internal/engine/stats"
	"remit/internal/frontends/httpapi"
)

// TestMain ignores the goroutine that net/http keeps for half a second after it has rejected a
// body.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}

// toolYAML returns a tool with one optional argument; the test sets its handler.
func toolYAML(name, more string) string {
	return "name: " + name + `
title: Do something
description: Does what the test says.
input:
  type: object
  properties:
    text: {type: string, maxLength: 100, default: nothing, x-redact: true, description: What}
  additionalProperties: false
output:
  type: object
  properties:
    said: {type: string, description: What was said}
  required: [said]
  additionalProperties: false
examples: []
` + more
}

const (
	reads      = "hints: {readOnly: true, destructive: false, idempotent: true, openWorld: false}\n"
	writes     = "hints: {readOnly: false, destructive: false, idempotent: false, openWorld: false}\n"
	overwrites = "hints: {readOnly: false, destructive: true, idempotent: true, openWorld: false}\n"
)

var tools = map[string]string{
	"look":    toolYAML("look", reads),
	"note":    toolYAML("note", writes),
	"replace": toolYAML("replace", overwrites),
	"scarce":  toolYAML("scarce", reads+"rate: 1/min\n"),
	"guarded": toolYAML("guarded", writes+"approval: {required: true, window: 1h}\n"),
	"private": toolYAML("private", reads+"access: caller\n"),
	"long":    toolYAML("long", reads+"task: required\n"),
	"bulk":    strings.Replace(toolYAML("bulk", writes+"size: {request: 1MiB}\n"), "maxLength: 100", "maxLength: 1000000", 1),
}

type in struct {
	Text string `json:"text"`
}

type out struct {
	Said string `json:"said"`
}

// rig is the API on an engine with fakes.
type rig struct {
	asked approval.Subject // the last call that needed approval
	api   *httpapi.API
	mux   *http.ServeMux
	stats *stats.Stats
	log   bytes.Buffer

	handler func(ctx context.Context, in in) (out, error) // nil echoes the argument

	enginetest.Recorder
}

// Pass asks for approval, expects that nobody can answer, and leaves the call pending.
func (r *rig) Pass(ctx context.Context, s approval.Subject, ask approval.Asker) (approval.Passed, error) {
	r.asked = s
	if ask != nil {
		if answer, err := ask(ctx, approval.Request{ID: "abc", ExpiresAt: time.Now().Add(time.Hour)}, approval.Shown{}); answer != approval.NotShown || err == nil {
			return approval.Passed{}, errors.New("nobody could have answered")
		}
	}
	return approval.Passed{}, contract.Errorf(contract.Pending, "Approval needed").With("approval", map[string]any{"id": "abc"})
}

func (r *rig) run(ctx context.Context, in in) (out, error) {
	if r.handler != nil {
		return r.handler(ctx, in)
	}
	return out{"you said " + in.Text}, nil
}

func newRig(t testing.TB, change func(*engine.Options)) *rig {
	t.Helper()
	r := &rig{stats: &stats.Stats{}}
	handlers := map[string]engine.Handler{}
	for name := range tools {
		handlers[name] = engine.Handle(r.run)
	}
	o := engine.Options{Limiter: ratelimit.NewMemory(), Approvals: r, Audit: r, Observer: r.stats, Now: time.Now}
	if change != nil {
		change(&o)
	}
	e := enginetest.New(t, enginetest.Load(t, enginetest.PublicSet, tools), handlers, o)
	r.api = &httpapi.API{
		Engine: e, Version: "9.9.9", Log: slog.New(slog.NewTextHandler(&r.log, nil)),
		Identity: func(r *http.Request) identity.Identity {
			return identity.Identity{Principal: r.Header.Get("X-Test-Principal")}
		},
		Metrics: httpapi.Metrics(r.stats, "9.9.9"),
	}
	r.mux = http.NewServeMux()
	r.api.Register(r.mux)
	return r
}

func (r *rig) do(request *http.Request) *httptest.ResponseRecorder {
	recorder := httptest.NewRecorder()
	r.mux.ServeHTTP(recorder, request)
	return recorder
}

func (r *rig) get(path string) *httptest.ResponseRecorder {
	return r.do(httptest.NewRequest(http.MethodGet, path, http.NoBody))
}

func post(tool, body string, headers ...string) *http.Request {
	request := httptest.NewRequest(http.MethodPost, "/tools/"+tool, strings.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	return request
}

// withoutLength returns a request without a Content-Length.
func withoutLength(body string) *http.Request {
	request := post("look", "")
	request.Body, request.ContentLength = io.NopCloser(strings.NewReader(body)), -1
	return request
}

// askQuestion is a handler that asks a question.
func askQuestion(ctx context.Context, _ in) (out, error) {
	_, err := engine.Ask(ctx, engine.Form("name", "Who are you?", engine.YesOrNo()))
	return out{}, err
}

// reportProgress is a handler that reports progress.
func reportProgress(ctx context.Context, _ in) (out, error) {
	engine.Progress(ctx, 1, 2, "half")
	engine.LogMessage(ctx, engine.Info, "demo", jsontree.Str("x"))
	engine.CloseConnection(ctx)
	return out{"done"}, engine.ContinueAsTask(ctx)
}
