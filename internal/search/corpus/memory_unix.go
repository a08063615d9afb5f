//go:build unix

package corpus

import "golang.org/x/sys/unix"

// mapMemory returns zeroed memory outside the heap. Set atOnce for memory that will be used as a
// whole. outside is false if the mapping failed and the memory is from the heap.
func mapMemory(size int, atOnce bool) (data []byte, outside bool) {
	flags := unix.MAP_ANON | unix.MAP_PRIVATE
	if atOnce {
		flags |= populate
	}
	data, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, flags)
	if err != nil {
		return make([]byte, size), false
	}
	return data, true
}

// unmapMemory releases memory that mapMemory mapped.
func unmapMemory(data []byte) { _ = unix.Munmap(data) }
