//go:build !unix

package corpus

// mapMemory takes memory from the heap, where the system has no other that is given back as easily.
func mapMemory(size int, _ bool) (data []byte, outside bool) { return make([]byte, size), false }

func unmapMemory([]byte) {}
