package complexitytest

import (
	"time"

	"golang.org/x/sys/unix"
)

// spent is the time that processors spent on this thread.
func spent() time.Duration {
	var sum unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &sum); err != nil {
		panic(err) // every Linux has it
	}
	return time.Duration(sum.Nano())
}
