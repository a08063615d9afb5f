//go:build unix && !linux

package workspace

import "golang.org/x/sys/unix"

// searchOnly opens a folder for traversal. Systems other than Linux have no common way to do that
// without permission to list the folder.
const searchOnly = unix.O_RDONLY | unix.O_DIRECTORY
