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
			t.Error("a single call waits for others")
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
		if got := len(s.spans()); got != 11 || s.warned.String() != "" {
			t.Errorf("%d spans, want all 11; logged %q", got, &s.warned)
		}
		call(tel, "") // after Close
		tel.Close()
		if got := len(s.spans()); got != 11 {
			t.Errorf("%d spans after the end", got)
		}
	})
}

// TestDeadCollector checks that calls do not wait for a collector that does not answer, that memory
// is bounded, that losses are counted and logged once a minute, and that Close returns in time.
func TestDeadCollector(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{fail: func(ctx context.Context, _ int) error {
			<-ctx.Done() // it accepts the connection and never answers
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
		lines := strings.Count(s.warned.String(), "\n") // one at once, and one after each minute
		if lines < 2 || lines > 11 || strings.Count(s.warned.String(), "telemetry was not sent") != lines {
			t.Errorf("logged %d times in 10 minutes: %s", lines, &s.warned)
		}
		call(tel, "")
		synctest.Wait()
		began = time.Now()
		tel.Close()
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("the end took %s", took)
		}
		lost := 0
		for line := range strings.Lines(s.warned.String()) {
			_, after, _ := strings.Cut(line, "lost=")
			var n int
			if _, err := fmt.Sscan(after, &n); err != nil {
				t.Fatal(err)
			}
			lost += n
		}
		if lost != 1001 {
			t.Errorf("%d were logged as lost, want 1001: %s", lost, &s.warned)
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
		if warned := s.warned.String(); s.tries != 1 || !strings.Contains(warned, "lost=2") || !strings.Contains(warned, "too old") {
			t.Errorf("%d tries, logged %q", s.tries, warned)
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

// TestCloseWhileRetrying checks that an export that waits for its next attempt does not delay
// Close.
func TestCloseWhileRetrying(t *testing.T) {
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
		if warned := s.warned.String(); strings.Count(warned, "lost=1 ") != 2 ||
			strings.Count(warned, "503 Service Unavailable: the program is shutting down") != 2 {
			t.Errorf("logged %q", warned)
		}
	})
}

// TestLossesAreLoggedOnceAMinute checks that the first loss is logged at once.
func TestLossesAreLoggedOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{fail: func(context.Context, int) error { return errDown }}
		tel := s.start(t, map[string]string{"OTEL_BSP_SCHEDULE_DELAY": "100"})
		for range 5 * 60 {
			call(tel, "")
			time.Sleep(time.Second)
		}
		synctest.Wait()
		if lines := strings.Count(s.warned.String(), "\n"); lines != 5 || !strings.Contains(s.warned.String(), "lost=1 ") ||
			!strings.Contains(s.warned.String(), "lost=60 ") {
			t.Errorf("logged %d times in 5 minutes: %s", lines, &s.warned)
		}
		tel.Close()
	})
}

// TestCloseWithoutCollector checks that Close makes one attempt for each batch, without pauses.
func TestCloseWithoutCollector(t *testing.T) {
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

// TestCloseIsBounded checks that Close returns within 5 s whatever exporters do, and that unsent
// items are counted.
func TestCloseIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{fail: func(ctx context.Context, _ int) error {
			<-ctx.Done()
			time.Sleep(time.Second) // and a little more
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
		warned := s.warned.String()
		// The export of metrics is not interrupted before its second is over.
		if took := time.Since(began); took > 6*time.Second {
			t.Errorf("the end took %s", took)
		}
		if !strings.Contains(warned, "signal=traces lost=1 ") || !strings.Contains(warned, "signal=logs lost=3 ") ||
			!strings.Contains(warned, "signal=metrics") {
			t.Errorf("logged %q", warned)
		}
		time.Sleep(time.Minute)
		if again := s.warned.String(); again != warned {
			t.Errorf("logged after Close: %q", again[len(warned):])
		}
	})
}

// TestErrorsAreShortAndHideSecrets checks that the message of a collector is logged on one line,
// without our headers.
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
		if warned := s.warned.String(); strings.Contains(warned, "geheim") ||
			!strings.Contains(warned, "the key *** is unknown\uFFFD xxx") || len(warned) > 1000 {
			t.Errorf("logged %q", warned)
		}
	})
}

// TestMessagesOfTheSDK checks that messages of the SDK go to our log, except for those about its
// interruption by Close.
func TestMessagesOfTheSDK(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{}
		tel := s.start(t, nil)
		otel.Handle(fmt.Errorf("collect: %w", context.Canceled))
		otel.Handle(errDown)
		tel.Close()
		if warned := s.warned.String(); strings.Count(warned, "\n") != 1 || !strings.Contains(warned, errDown.Error()) {
			t.Errorf("logged %q", warned)
		}
	})
}

// TestLongRecords checks that the bytes of the queue and of one batch are limited too.
func TestLongRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{}
		tel := s.start(t, nil)
		for _, size := range []int{1 << 20, 9 << 20, 1 << 20, 3 << 20, 1, 1} {
			call(tel, "", func(c *telemetry.Call) { c.Client = strings.Repeat("x", size) })
		}
		time.Sleep(time.Minute)
		for range 5 { // sent items take no room
			call(tel, "", func(c *telemetry.Call) { c.Client = strings.Repeat("x", 3<<20) })
			time.Sleep(time.Minute)
		}
		tel.Close()
		var batches []int
		for _, batch := range s.sent() {
			batches = append(batches, len(batch))
		}
		if fmt.Sprint(batches) != "[1 1 1 2 1 1 1 1 1]" || strings.Count(s.warned.String(), "lost=1 ") != 1 {
			t.Errorf("batches of %v; logged %q", batches, &s.warned)
		}
	})
}
