//go:build darwin || freebsd

package localsocket

import "golang.org/x/sys/unix"

// solLocal is the level of options of Unix sockets, SOL_LOCAL in sys/un.h.
const solLocal = 0

// peerUID returns the user of the process at the other end of a socket.
func peerUID(fd int) (int, error) {
	peer, err := unix.GetsockoptXucred(fd, solLocal, unix.LOCAL_PEERCRED)
	if err != nil {
		return -1, err
	}
	return int(peer.Uid), nil
}
