package mcp

// Kept returns how many bytes are kept for clients that reconnect.
func (h *HTTP) Kept() int64 { return h.archive.bytes.Load() }

// Running returns how many requests are in progress.
func (h *HTTP) Running() int64 { return h.running.Load() }

// Large returns the memory of the large requests in progress.
func (h *HTTP) Large() int64 { return h.Bodies.InUse() }
