//go:build unix

package offheap

import "golang.org/x/sys/unix"

// Alloc returns zeroed memory. Set atOnce for memory that will be used as a whole. outside is false
// if the memory is from the heap, because the system gave none; such memory must not be freed.
func Alloc(size int, atOnce bool) (data []byte, outside bool) {
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

// Free releases memory that Alloc returned with outside set. Nothing may use it any more.
func Free(data []byte) { _ = unix.Munmap(data) }
