package app

import "time"

// steadyNow returns the time by which tokens, links and approvals expire. It does not go back while
// the program runs, so that setting the clock back revives nothing.
func steadyNow() time.Time { return laterOf(time.Now(), started, time.Since(started)) }

// laterOf returns now, or the time that is a duration after the start if that is later.
func laterOf(now, start time.Time, passed time.Duration) time.Time {
	if steady := start.Round(0).Add(passed); steady.After(now.Round(0)) {
		return steady
	}
	return now
}
