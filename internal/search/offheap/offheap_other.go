//go:build !unix

package offheap

// Alloc allocates on the heap, because this system has no memory mappings that are as easy to
// release.
func Alloc(size int, _ bool) (data []byte, outside bool) { return make([]byte, size), false }

// Free does nothing on this system.
func Free([]byte) {}
