//go:build unix

package app

import (
	"os/signal"
	"syscall"
)

// ignoreWriteSignals makes errors of what would end the program: a reader that goes
// away, and a file that may not grow. Whoever writes is told of either.
func ignoreWriteSignals() { signal.Ignore(syscall.SIGPIPE, syscall.SIGXFSZ) }
