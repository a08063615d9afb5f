//go:build !linux

package complexitytest

import "time"

var began = time.Now()

// cpuTime returns the time since the program started: only Linux reports the CPU time of a thread.
func cpuTime() time.Duration { return time.Since(began) }
