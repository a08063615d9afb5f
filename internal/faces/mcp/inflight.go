package mcp

import (
	"context"
	"maps"
	"slices"
	"sync"
)

// running is a request under way. A client may reuse the id of one that it took
// back, so the id alone does not tell one from the other.
type running struct{ cancel context.CancelFunc }

// inflight are the requests of one client that are under way, by id.
type inflight struct {
	mu    sync.Mutex
	calls map[string]*running
}

// begin enters a request; false if one with this id is still running.
func (f *inflight) begin(id []byte, call *running) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, taken := f.calls[string(id)]; taken {
		return false
	}
	if f.calls == nil {
		f.calls = map[string]*running{}
	}
	f.calls[string(id)] = call
	return true
}

// finish tells whether the request was still wanted.
func (f *inflight) finish(id []byte, call *running) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.calls[string(id)] != call {
		return false
	}
	delete(f.calls, string(id))
	return true
}

// cancel takes a request back, as its client asks.
func (f *inflight) cancel(id []byte) {
	f.mu.Lock()
	call := f.calls[string(id)]
	delete(f.calls, string(id))
	f.mu.Unlock()
	if call != nil {
		call.cancel()
	}
}

// cancelAll ends every request. Each still says so, to whoever listens.
func (f *inflight) cancelAll() {
	f.mu.Lock()
	calls := slices.Collect(maps.Values(f.calls))
	f.mu.Unlock()
	for _, call := range calls {
		call.cancel()
	}
}
