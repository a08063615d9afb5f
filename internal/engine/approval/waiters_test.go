package approval

import "testing"

// TestFewWaitAtAPage: of many calls of one caller whose person is at a page, a few stay.
func TestFewWaitAtAPage(t *testing.T) {
	var w waiters
	for range mostWaiting {
		if !w.join("agent:a") {
			t.Fatal("they may wait")
		}
	}
	if w.join("agent:a") {
		t.Error("one more waits")
	}
	if !w.join("agent:b") {
		t.Error("another caller may not wait")
	}
	w.leave("agent:a")
	if !w.join("agent:a") || w.join("agent:a") {
		t.Error("who leaves makes room for one")
	}
}
