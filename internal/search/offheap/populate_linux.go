package offheap

import "golang.org/x/sys/unix"

// populate makes the kernel allocate all pages of a mapping at once, which is cheaper than one by
// one.
const populate = unix.MAP_POPULATE
