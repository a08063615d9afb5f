package app

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// interruptible gives a context that SIGINT and SIGTERM end; after that a second
// signal ends the program at once. To ask for signals takes the runtime a thread of
// its own, so that goes on beside the rest of a start: asked waits for it, before
// there is anything that a signal could cut short.
func interruptible() (ctx context.Context, asked, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals, listening := make(chan os.Signal, 1), make(chan struct{})
	go func() {
		signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
		close(listening)
		select {
		case <-signals:
		case <-ctx.Done():
		}
		signal.Stop(signals)
		cancel()
	}()
	return ctx, func() { <-listening }, cancel
}
