package telemetry_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/slogtest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"

	"remit/internal/engine/telemetry"
)

// logging starts telemetry that exports only logs, with a logger that also writes to a buffer.
func (s *sink) logging(level slog.Level, out *bytes.Buffer) (*telemetry.Telemetry, *slog.Logger) {
	o := s.options(nil)
	o.Spans, o.Metrics = nil, nil
	tel := telemetry.New(o)
	return tel, slog.New(tel.Tee(slog.NewTextHandler(out, &slog.HandlerOptions{Level: level})))
}

func TestRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{}
		var out bytes.Buffer
		tel, logger := s.logging(slog.LevelWarn, &out)
		logger = logger.With("part", "books").WithGroup("g")
		ctx := tel.Begin(context.Background(), parent)
		logger.DebugContext(ctx, "not exported")
		logger.InfoContext(ctx, "call", "took", 1500*time.Millisecond, "bytes", 3, "share", .5, "ok", true, "at",
			time.Unix(0, 0).UTC(), "cause", errors.New("as the caller says"),
			slog.Group("inner", "n", uint64(1)))
		logger.Warn("outside", "cause", errors.New("it broke"))
		tel.Close()
		if len(s.records) != 2 {
			t.Fatalf("%d records, want 2: %+v", len(s.records), s.records)
		}
		call, outside := s.records[0], s.records[1]
		want := map[string]string{
			"part": "books", "g.took": "1.5", "g.bytes": "3", "g.share": "0.5", "g.ok": "true", "g.at": "1970-01-01T00:00:00Z",
			"g.inner.n": "1",
		}
		if diff := cmp.Diff(want, recordAttrs(call)); diff != "" {
			t.Errorf("attributes (-want +got):\n%s", diff)
		}
		if call.TraceID().String() != traceID || !call.SpanID().IsValid() || call.TraceFlags() != 1 ||
			call.Body().AsString() != "call" || call.Severity() != log.SeverityInfo {
			t.Errorf("got %+v", call)
		}
		if outside.TraceID().IsValid() || outside.Severity() != log.SeverityWarn || recordAttrs(outside)["g.cause"] != "it broke" {
			t.Errorf("got %+v", outside)
		}
		if text := out.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "level=WARN msg=outside part=books g.cause=") {
			t.Errorf("the other handler wrote %q", text)
		}
	})
}

// TestSpanAndRecordsAgree checks that a record that is logged in the context of a call has the ids
// of its span.
func TestSpanAndRecordsAgree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{}
		tel := telemetry.New(s.options(nil))
		ctx := tel.Begin(context.Background(), "")
		slog.New(tel.Tee(slog.DiscardHandler)).InfoContext(ctx, "call")
		tel.End(ctx, &telemetry.Call{Method: "tools/call", Tool: "demo/look", Outcome: "ok", Started: time.Now()})
		tel.Close()
		if got, want := s.records[0], s.spans()[0]; got.TraceID() != want.SpanContext.TraceID() ||
			got.SpanID() != want.SpanContext.SpanID() {
			t.Errorf("the record is at %s %s, the span at %+v", got.TraceID(), got.SpanID(), want.SpanContext)
		}
	})
}

// TestTeeIsAHandler runs the tests of slogtest.
func TestTeeIsAHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{}
		o := s.options(map[string]string{"OTEL_BLRP_MAX_EXPORT_BATCH_SIZE": "1"})
		o.Spans, o.Metrics = nil, nil
		tel := telemetry.New(o)
		handler := tel.Tee(slog.DiscardHandler)
		err := slogtest.TestHandler(handler, func() []map[string]any {
			tel.Close()
			var all []map[string]any
			for _, r := range s.records {
				all = append(all, tree(r))
			}
			return all
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// tree turns keys with dots into groups, as slogtest expects them.
func tree(r sdklog.Record) map[string]any {
	root := map[string]any{slog.MessageKey: r.Body().AsString(), slog.LevelKey: r.Severity()}
	if !r.Timestamp().IsZero() {
		root[slog.TimeKey] = r.Timestamp()
	}
	for key, value := range recordAttrs(r) {
		at := root
		groups := strings.Split(key, ".")
		for _, g := range groups[:len(groups)-1] {
			if at[g] == nil {
				at[g] = map[string]any{}
			}
			at = at[g].(map[string]any)
		}
		at[groups[len(groups)-1]] = value
	}
	return root
}

func TestSecretsStayHere(t *testing.T) {
	for _, tc := range []struct{ key, value, want string }{
		{"error", "dial postgres://ada:geheim@db/x: refused", "dial postgres://***@db/x: refused"},
		{"error", "Authorization: Bearer geheim.geheim", "Authorization: ***"},
		{"error", "Authorization: Basic dXNlcjpwYXNz, Cookie: session=geheim", "Authorization: ***, Cookie: ***"},
		{"error", "they sent Bearer Geheim.geheim, and Basic Z2VoZWltOmdlaGVpbQ==", "they sent Bearer ***, and Basic ***"},
		{"error", "GET /x?X-Amz-Signature=geheim&b=1", "GET /x?X-Amz-Signature=***&b=1"},
		{"error", `{"api_key": "geheim word"}`, `{"api_key": ***}`},
		{"error", "password=geheim host=db", "password=*** host=db"},
		{"error", "cause: password: geheim", "cause: password: ***"},
		{"error", "read: token=geheim:geheim host=db", "read: token=*** host=db"},
		{"error", "the token remit_geheimgeheimgeheimgeheiM1 is old", "the token remit_*** is old"},
		{"error", "remit_geheimgeheimgeheimgeheiM1", "remit_***"},
		{"error", "remit_ge-eimgeheimgeheimgeheimgeheiM-geheimgeheim", "remit_***"},
		{"error", "remit_approvals_waiting_total was 3", "remit_approvals_waiting_total was 3"},
		{
			"error", "AKIAGEHEIM0GEHEIM0GE and ghp_geheimgeheimgeheimgeheiM1 and sk-geheimgeheimgeheimgeheiM1",
			"AKIA*** and ghp_*** and sk-***",
		},
		{"error", "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJnZWhlaW0ifQ.geheim_geheim was sent twice", "eyJ*** was sent twice"},
		{"error", "-----BEGIN PRIVATE KEY-----\ngeheim", "-----BEGIN PRIVATE KEY-----***"},
		{"token", "geheim", "***"},
		{"Client-Secret", "geheim", "***"},
		{"error", "open /a/b: no such file", "open /a/b: no such file"},
		{"url", "http://127.0.0.1:8722/mcp", "http://127.0.0.1:8722/mcp"},
		{"tool", "books/read_lesson", "books/read_lesson"},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &sink{}
			tel, logger := s.logging(slog.LevelError+1, &bytes.Buffer{})
			logger.With(tc.key, tc.value).Warn(tc.value, tc.key, tc.value, slog.Group("g", tc.key, errors.New(tc.value)))
			tel.Close()
			r := s.records[0]
			if got := recordAttrs(r); got[tc.key] != tc.want || got["g."+tc.key] != tc.want {
				t.Errorf("%s: got %v, want %q", tc.key, got, tc.want)
			}
			if tc.key == "error" && r.Body().AsString() != tc.want {
				t.Errorf("the message is %q, want %q", r.Body().AsString(), tc.want)
			}
		})
	}
}

func TestTeeOfNothing(t *testing.T) {
	next := slog.DiscardHandler
	var off *telemetry.Telemetry
	if off.Tee(next) != next {
		t.Error("telemetry that is off stands in the way")
	}
}
