package approval

import "sync"

// mostWaiting is how many calls of one caller wait for a person at a page. Others get
// their answer at once, that the request waits: each that stays takes the place of a
// call that could run.
const mostWaiting = 8

// waiters counts the calls that wait, by caller. The zero value is ready to use.
type waiters struct {
	mu     sync.Mutex
	counts map[string]int
}

// join tells whether one more call of a caller may wait; then it has to leave.
func (w *waiters) join(principal string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.counts[principal] >= mostWaiting {
		return false
	}
	if w.counts == nil {
		w.counts = map[string]int{}
	}
	w.counts[principal]++
	return true
}

func (w *waiters) leave(principal string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.counts[principal]--; w.counts[principal] == 0 {
		delete(w.counts, principal)
	}
}
