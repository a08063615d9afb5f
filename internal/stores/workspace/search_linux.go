package workspace

import "golang.org/x/sys/unix"

// searchOnly opens a folder for traversal, which does not need permission to list it.
const searchOnly = unix.O_PATH | unix.O_DIRECTORY
