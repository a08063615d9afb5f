package approval

import "testing"

// TestWaitersAreBounded checks that only a few calls of one caller may wait for a person at a page.
func TestWaitersAreBounded(t *testing.T) {
	var w waiters
	for range maxWaiting {
		if !w.join("agent:a") {
			t.Fatal("they may wait")
		}
	}
	if w.join("agent:a") {
		t.Error("one more call may wait")
	}
	if !w.join("agent:b") {
		t.Error("another caller may not wait")
	}
	w.leave("agent:a")
	if !w.join("agent:a") || w.join("agent:a") {
		t.Error("leave does not make room for another call")
	}
}
