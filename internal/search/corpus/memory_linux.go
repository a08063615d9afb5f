package corpus

import "golang.org/x/sys/unix"

// prepared makes the kernel give the pages of a mapping at once, which is cheaper than one by one.
const prepared = unix.MAP_POPULATE
