//go:build unix

package httpserver

import "golang.org/x/sys/unix"

// openFileLimit returns how many files the process may open. The runtime has raised the limit as
// far as the system allows.
func openFileLimit() int64 {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return 2 * maxConnections
	}
	return int64(min(uint64(limit.Cur), 2*maxConnections)) //nolint:unconvert // it is signed on some systems
}
