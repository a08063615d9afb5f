//go:build unix

package app

import (
	"os"
	"os/signal"
	"syscall"
)

// ignoreWriteSignals turns signals that would end the program into write errors: a closed pipe, and
// a file that exceeds its size limit.
func ignoreWriteSignals() { signal.Ignore(syscall.SIGPIPE, syscall.SIGXFSZ) }

// onHangup calls reopen on each SIGHUP, which does not end the program then.
func onHangup(reopen func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP)
	go func() {
		for range signals {
			reopen()
		}
	}()
}
