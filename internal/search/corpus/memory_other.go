//go:build !unix

package corpus

// mapMemory allocates on the heap, because this system has no memory mappings that are as easy to
// release.
func mapMemory(size int, _ bool) (data []byte, outside bool) { return make([]byte, size), false }

func unmapMemory([]byte) {}
