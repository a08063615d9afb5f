package otlp_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"remit/internal/engine/stats"
	"remit/internal/engine/telemetry"
	"remit/internal/frontends/otlp"
)

// syncBuffer is a log that can be read while it is written.
type syncBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *syncBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *syncBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// fixedTime is the time of all events.
var fixedTime = time.Date(2026, 11, 16, 12, 0, 0, 123456789, time.UTC)

// source returns a telemetry source with a fixed clock.
func source(log io.Writer) (telemetry.Source, *stats.Stats) {
	counted := &stats.Stats{}
	return telemetry.Source{
		Version: "1.2.3", Started: fixedTime.Add(-time.Hour), Stats: counted, Now: func() time.Time { return fixedTime },
		Log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn})),
	}, counted
}

// setenv sets the variables in the process, as in production, where the SDK reads them too.
func setenv(t *testing.T, env map[string]string) func(string) (string, bool) {
	t.Helper()
	for name, value := range env {
		t.Setenv(name, value)
	}
	return os.LookupEnv
}

func lookup(env map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		value, ok := env[name]
		return value, ok
	}
}

const (
	traceID = "4bf92f3577b34da6a3ce929d0e0e4736"
	parent  = "00-" + traceID + "-00f067aa0ba902b7-01"
)

// export records two calls and two log records, closes telemetry and returns the log.
func export(t *testing.T, env map[string]string) string {
	t.Helper()
	log := &syncBuffer{}
	from, counted := source(log)
	tel := otlp.Open(setenv(t, env), from)
	if tel == nil {
		return log.String() + "off"
	}
	for i, outcome := range []string{"ok", "denied"} {
		ctx := tel.Begin(context.Background(), []string{telemetry.Parent(parent, "rojo=1"), ""}[i])
		counted.Observe("demo/look", outcome, 3*time.Millisecond)
		tel.End(ctx, &telemetry.Call{
			Method: "tools/call", Tool: "demo/look", Outcome: outcome, Version: "1.0.0", Caller: "ada", Frontend: "stdio",
			Client: "odd \xff \"client\"\n", Started: fixedTime, Took: 3 * time.Millisecond, Bytes: 12,
		})
		slog.New(tel.Tee(slog.DiscardHandler)).LogAttrs(ctx, slog.LevelWarn, "call", slog.String("tool", "demo/look"), slog.Int("bytes", -12), slog.Bool("ok", i == 0),
			slog.Duration("took", 3*time.Millisecond), slog.String("empty", ""), slog.Float64("share", .25))
	}
	counted.ObserveSession(time.Minute)
	tel.Watch(telemetry.Gauge{Name: "remit.approvals.waiting", Unit: "{approval}", Value: func(context.Context) (float64, bool) { return 2, true }})
	tel.Close()
	return log.String()
}
