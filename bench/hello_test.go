package bench

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"

	"remit/internal/app"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/frontends/cli"
)

func openApp(tb testing.TB, toolset string) *app.App {
	tb.Helper()
	root := tb.TempDir()
	data := filepath.Join(root, ".remit")
	a, err := app.Open(context.Background(), cli.Settings{
		Root: root, Data: data, Config: filepath.Join(root, "remit.yaml"), Database: "sqlite://" + filepath.Join(data, "remit.db"),
		Toolsets: []string{toolset}, Approve: "auto", Keys: root + "-keys",
	}, slog.New(slog.DiscardHandler))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := a.Close(); err != nil {
			tb.Error(err)
		}
	})
	return a
}

// callHello makes one call through the whole engine: decode, both validations, projection, encode
// and audit record.
func callHello(tb testing.TB, a *app.App) {
	args, err := jsontree.Parse([]byte(`{"name":"Ada"}`))
	if err != nil {
		tb.Fatal(err)
	}
	result, err := a.Engine().Call(context.Background(), engine.Call{Tool: "hello", Args: args, Principal: "local", Frontend: "stdio", Client: "bench/1"})
	if err != nil || result.Err != nil {
		tb.Fatal(err, result.Err)
	}
}

// BenchmarkEngineHello measures what the engine adds to a trivial tool.
func BenchmarkEngineHello(b *testing.B) {
	a := openApp(b, "booster")
	b.ReportAllocs()
	for b.Loop() {
		callHello(b, a)
	}
}

// BenchmarkEngineHelloParallel shows that calls do not wait for one another.
func BenchmarkEngineHelloParallel(b *testing.B) {
	a := openApp(b, "booster")
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			callHello(b, a)
		}
	})
}

// BenchmarkOpen measures a start, without the start of the Go runtime.
func BenchmarkOpen(b *testing.B) {
	for b.Loop() {
		openApp(b, "booster")
	}
}

// TestHelloAllocatesLittle checks the memory of a call. Benchmarks measure its time.
func TestHelloAllocatesLittle(t *testing.T) {
	result := testing.Benchmark(BenchmarkEngineHello)
	const budget = 12 << 10
	if got := result.AllocedBytesPerOp(); got > budget {
		t.Errorf("a hello allocates %d bytes, over the budget of %d", got, budget)
	}
	t.Logf("hello: %s %s", result, result.MemString())
}
