//go:build !linux && !darwin && !freebsd

package localsocket

import (
	"errors"
	"net"
	"os"
)

// errUnsupported is returned where the user at the other end of a socket cannot be found out.
var errUnsupported = errors.New("this system has no sockets that tell which user has connected")

// Listener listens on a socket.
type Listener struct {
	*net.UnixListener
	close func()
}

// Listen returns an error.
func Listen(_, _ string) (*Listener, error) { return nil, errUnsupported }

// Close does nothing.
func (*Listener) Close() {}

func addressOf(_, _ string) (address string, release func(), err error) {
	return "", nil, errUnsupported
}

func checkSocket(string) error { return errUnsupported }

func checkPeer(*net.UnixConn) error { return errUnsupported }

func send(*net.UnixConn, []byte, []*os.File) error { return errUnsupported }

func receivePart(*net.UnixConn, []byte) (n int, files []*os.File, err error) {
	return 0, nil, errUnsupported
}

// Writable reports whether a file was opened for writing.
func Writable(*os.File) bool { return false }

// OpenNoFollow returns an error.
func OpenNoFollow(string) (*os.File, error) { return nil, errUnsupported }
