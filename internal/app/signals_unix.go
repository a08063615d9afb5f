//go:build unix

package app

import (
	"os/signal"
	"syscall"
)

// ignoreWriteSignals turns signals that would end the program into write errors: a closed pipe, and
// a file that exceeds its size limit.
func ignoreWriteSignals() { signal.Ignore(syscall.SIGPIPE, syscall.SIGXFSZ) }
