//go:build unix && !linux

package workspace

import "golang.org/x/sys/unix"

// searchOnly opens a folder to pass through it. Systems other than Linux have
// no common way to do so without the right to list it.
const searchOnly = unix.O_RDONLY | unix.O_DIRECTORY
