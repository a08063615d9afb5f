//go:build unix

package corpus

import "golang.org/x/sys/unix"

// mapMemory returns zeroed memory outside the heap; at once is for memory that is going to be used whole. outside is false
// if the system has none to give, and the memory is from the heap.
func mapMemory(size int, atOnce bool) (data []byte, outside bool) {
	flags := unix.MAP_ANON | unix.MAP_PRIVATE
	if atOnce {
		flags |= prepared
	}
	data, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, flags)
	if err != nil {
		return make([]byte, size), false
	}
	return data, true
}

// unmapMemory gives back what mapMemory has mapped.
func unmapMemory(data []byte) { _ = unix.Munmap(data) }
