package complexitytest

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime returns the CPU time that the current thread has used.
func cpuTime() time.Duration {
	var sum unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &sum); err != nil {
		panic(err) // available on every Linux
	}
	return time.Duration(sum.Nano())
}
