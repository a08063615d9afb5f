//go:build unix && !linux

package offheap

// populate has no equivalent on these systems: pages are allocated on first access.
const populate = 0
