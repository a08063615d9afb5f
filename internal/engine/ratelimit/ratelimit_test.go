package ratelimit_test

import (
	"fmt"
	"testing"
	"time"

	"remit/internal/engine/ratelimit"
	"remit/internal/engine/ratelimit/ratelimittest"
)

func noon() time.Time { return time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC) }

func TestMemory(t *testing.T) {
	ratelimittest.Suite(t, ratelimit.Skew, func(*testing.T) ratelimit.Limiter { return ratelimit.NewMemory() })
}

func TestKnownKeyAllocatesNothing(t *testing.T) {
	m, rate, ctx, now := ratelimit.NewMemory(), ratelimit.Rate{Requests: 5, Per: time.Minute}, t.Context(), noon()
	if _, err := m.Allow(ctx, "key", rate, now); err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(1000, func() { _, _ = m.Allow(ctx, "key", rate, now) }); n != 0 {
		t.Errorf("%v allocations a call, want 0", n)
	}
}

func BenchmarkAllow(b *testing.B) {
	rate := ratelimit.Rate{Requests: 1000, Per: time.Second}
	keys := make([]string, 4096)
	for i := range keys {
		keys[i] = fmt.Sprintf("principal-%d/learning-os/read_file", i)
	}
	for _, n := range []int{1, len(keys)} {
		b.Run(fmt.Sprintf("keys=%d", n), func(b *testing.B) {
			m, ctx, now := ratelimit.NewMemory(), b.Context(), noon()
			b.ReportAllocs()
			for i := range b.N {
				_, _ = m.Allow(ctx, keys[i%n], rate, now.Add(time.Duration(i)))
			}
		})
		b.Run(fmt.Sprintf("keys=%d/parallel", n), func(b *testing.B) {
			m, ctx, now := ratelimit.NewMemory(), b.Context(), noon()
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for i := 0; pb.Next(); i++ {
					_, _ = m.Allow(ctx, keys[i%n], rate, now.Add(time.Duration(i)))
				}
			})
		})
	}
}
