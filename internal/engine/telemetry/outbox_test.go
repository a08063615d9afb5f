package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel"

	"remit/internal/engine/telemetry"
)

var errDown = errors.New("the collector is down")

func TestBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{}
		tel := s.start(t, map[string]string{"OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "3"})
		call(tel, "")
		synctest.Wait()
		if len(s.sent()) != 0 {
			t.Error("a call alone waits for others")
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if len(s.sent()) != 1 {
			t.Errorf("%d batches after the delay, want 1", len(s.sent()))
		}
		for range 3 {
			call(tel, "")
		}
		synctest.Wait()
		if len(s.sent()) != 2 || len(s.sent()[1]) != 3 {
			t.Errorf("%d batches; a full one leaves at once", len(s.sent()))
		}
		for range 7 {
			call(tel, "")
		}
		tel.Close()
		if got := len(s.spans()); got != 11 || s.told.String() != "" {
			t.Errorf("%d spans, want all 11; told %q", got, &s.told)
		}
		call(tel, "") // too late
		tel.Close()
		if got := len(s.spans()); got != 11 {
			t.Errorf("%d spans after the end", got)
		}
	})
}

// TestDeadCollector: calls do not wait, memory is bounded, what is lost is counted and told
// once a minute, and the end comes in time.
func TestDeadCollector(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{fail: func(ctx context.Context, _ int) error {
			<-ctx.Done() // it takes the connection, and never answers
			return ctx.Err()
		}}
		tel := s.start(t, map[string]string{"OTEL_BSP_MAX_QUEUE_SIZE": "100", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "10"})
		began := time.Now()
		for range 1000 {
			call(tel, "")
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("calls waited %s", took)
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		lines := strings.Count(s.told.String(), "\n") // one at once, and one after each minute
		if lines < 2 || lines > 11 || strings.Count(s.told.String(), "telemetry was not sent") != lines {
			t.Errorf("told %d times in 10 minutes: %s", lines, &s.told)
		}
		call(tel, "")
		synctest.Wait()
		began = time.Now()
		tel.Close()
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("the end took %s", took)
		}
		lost := 0
		for line := range strings.Lines(s.told.String()) {
			_, after, _ := strings.Cut(line, "lost=")
			var n int
			if _, err := fmt.Sscan(after, &n); err != nil {
				t.Fatal(err)
			}
			lost += n
		}
		if lost != 1001 {
			t.Errorf("%d were told to be lost, want 1001: %s", lost, &s.told)
		}
	})
}

func TestCollectorThatRefusesAPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{fail: func(context.Context, int) error {
			return errors.New("OTLP partial success: too old (2 spans rejected)")
		}}
		tel := s.start(t, nil)
		for range 5 {
			call(tel, "")
		}
		tel.Close()
		if told := s.told.String(); s.tries != 1 || !strings.Contains(told, "lost=2") || !strings.Contains(told, "too old") {
			t.Errorf("%d tries, told %q", s.tries, told)
		}
	})
}

// retrying is an exporter whose attempts fail, and which waits for the next one.
func retrying(ctx context.Context, _ int) error {
	telemetry.Attempt(ctx)("503 Service Unavailable")
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(20 * time.Second):
		return nil
	}
}

// TestEndWhileItRetries: an export that waits for its next attempt does not delay the end.
func TestEndWhileItRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{fail: retrying}
		tel := s.start(t, nil)
		call(tel, "")
		time.Sleep(6 * time.Second)
		call(tel, "")
		began := time.Now()
		tel.Close()
		if took := time.Since(began); took != 0 || s.tries != 2 || len(s.spans()) != 0 {
			t.Errorf("the end took %s with %d exports, %d spans arrived", took, s.tries, len(s.spans()))
		}
		if told := s.told.String(); strings.Count(told, "lost=1 ") != 2 || strings.Count(told, "503 Service Unavailable: the program ends") != 2 {
			t.Errorf("told %q", told)
		}
	})
}

// TestLossesAreToldOnceAMinute: the first at once.
func TestLossesAreToldOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{fail: func(context.Context, int) error { return errDown }}
		tel := s.start(t, map[string]string{"OTEL_BSP_SCHEDULE_DELAY": "100"})
		for range 5 * 60 {
			call(tel, "")
			time.Sleep(time.Second)
		}
		synctest.Wait()
		if lines := strings.Count(s.told.String(), "\n"); lines != 5 || !strings.Contains(s.told.String(), "lost=1 ") || !strings.Contains(s.told.String(), "lost=60 ") {
			t.Errorf("told %d times in 5 minutes: %s", lines, &s.told)
		}
		tel.Close()
	})
}

// TestEndWithNobodyThere: there is one attempt for each batch, and no pause.
func TestEndWithNobodyThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{fail: retrying}
		tel := telemetry.New(s.options(nil))
		call(tel, "")
		slog.New(tel.Tee(slog.DiscardHandler)).Info("call")
		began := time.Now()
		tel.Close()
		if took := time.Since(began); took != 0 || s.tries != 3 {
			t.Errorf("the end took %s with %d exports", took, s.tries)
		}
	})
}

// TestEndIsBounded: whatever exporters do, the end comes in 5 s, and what was left is counted.
func TestEndIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{fail: func(ctx context.Context, _ int) error {
			<-ctx.Done()
			time.Sleep(time.Second) // and then some
			return ctx.Err()
		}}
		tel := telemetry.New(s.options(map[string]string{"OTEL_BLRP_MAX_EXPORT_BATCH_SIZE": "1"}))
		call(tel, "")
		log := slog.New(tel.Tee(slog.DiscardHandler))
		for range 3 {
			log.Info("call")
		}
		synctest.Wait()
		began := time.Now()
		tel.Close()
		told := s.told.String()
		if took := time.Since(began); took > 6*time.Second { // metrics are not interrupted before the second is over
			t.Errorf("the end took %s", took)
		}
		if !strings.Contains(told, "signal=traces lost=1 ") || !strings.Contains(told, "signal=logs lost=3 ") || !strings.Contains(told, "signal=metrics") {
			t.Errorf("told %q", told)
		}
		time.Sleep(time.Minute)
		if again := s.told.String(); again != told {
			t.Errorf("told after the end: %q", again[len(told):])
		}
	})
}

// TestErrorsAreShortAndHideSecrets: what a collector says is one line, without our headers.
func TestErrorsAreShortAndHideSecrets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{fail: func(context.Context, int) error {
			return errors.New("401: the key geheim\nis unknown\xff " + strings.Repeat("x", 5000))
		}}
		o := s.options(nil)
		o.Secrets = []string{"geheim"}
		tel := telemetry.New(o)
		call(tel, "")
		tel.Close()
		if told := s.told.String(); strings.Contains(told, "geheim") || !strings.Contains(told, "the key *** is unknown\uFFFD xxx") || len(told) > 1000 {
			t.Errorf("told %q", told)
		}
	})
}

// TestMessagesOfTheSDK: they go to our log; that Close interrupts the SDK is no news.
func TestMessagesOfTheSDK(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{}
		tel := s.start(t, nil)
		otel.Handle(fmt.Errorf("collect: %w", context.Canceled))
		otel.Handle(errDown)
		tel.Close()
		if told := s.told.String(); strings.Count(told, "\n") != 1 || !strings.Contains(told, errDown.Error()) {
			t.Errorf("told %q", told)
		}
	})
}

// TestLongRecords: bytes are bounded too, of the queue and of one batch.
func TestLongRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{}
		tel := s.start(t, nil)
		for _, size := range []int{1 << 20, 9 << 20, 1 << 20, 3 << 20, 1, 1} {
			call(tel, "", func(c *telemetry.Call) { c.Client = strings.Repeat("x", size) })
		}
		time.Sleep(time.Minute)
		for range 5 { // what was sent takes no room any more
			call(tel, "", func(c *telemetry.Call) { c.Client = strings.Repeat("x", 3<<20) })
			time.Sleep(time.Minute)
		}
		tel.Close()
		var batches []int
		for _, batch := range s.sent() {
			batches = append(batches, len(batch))
		}
		if fmt.Sprint(batches) != "[1 1 1 2 1 1 1 1 1]" || strings.Count(s.told.String(), "lost=1 ") != 1 {
			t.Errorf("batches of %v; told %q", batches, &s.told)
		}
	})
}
