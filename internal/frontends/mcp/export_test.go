package mcp

// Kept is how many bytes are kept for clients that come back.
func (h *HTTP) Kept() int64 { return h.kept.bytes.Load() }

// Running is how many requests count as running.
func (h *HTTP) Running() int64 { return h.running.Load() }

// Large is how many bytes count as large requests.
func (h *HTTP) Large() int64 { return h.large.Load() }
