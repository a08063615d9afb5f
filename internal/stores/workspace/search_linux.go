package workspace

import "golang.org/x/sys/unix"

// searchOnly opens a folder to pass through it, for which the right to list it
// is not needed.
const searchOnly = unix.O_PATH | unix.O_DIRECTORY
