//go:build linux || darwin || freebsd

package localsocket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Listener listens on a socket.
type Listener struct {
	*net.UnixListener
	close func()
}

// Listen creates a socket in a folder that belongs to this user alone. It removes the sockets of
// servers that were killed.
func Listen(dir, name string) (*Listener, error) {
	removeStale(dir)
	address, release, err := addressOf(dir, name+suffix)
	if err != nil {
		return nil, err
	}
	defer release()
	listening, err := new(net.ListenConfig).Listen(context.Background(), "unix", address)
	if err != nil {
		return nil, fmt.Errorf("listen for local clients: %w", err)
	}
	unixListener := listening.(*net.UnixListener)
	unixListener.SetUnlinkOnClose(false) // the address may be one that is valid only now
	file := filepath.Join(dir, name+suffix)
	l := &Listener{unixListener, sync.OnceFunc(func() {
		_ = os.Remove(file) // otherwise the next server removes it
		_ = unixListener.Close()
	})}
	if err := os.Chmod(file, 0o600); err != nil {
		l.close()
		return nil, fmt.Errorf("protect the socket for local clients: %w", err)
	}
	return l, nil
}

// Close stops listening and removes the socket.
func (l *Listener) Close() { l.close() }

// removeStale removes the sockets on which nobody listens.
func removeStale(dir string) {
	entries, _ := os.ReadDir(dir) // then there is nothing to remove
	for _, entry := range entries {
		if entry.Type()&fs.ModeSocket == 0 || !strings.HasSuffix(entry.Name(), suffix) {
			continue
		}
		address, release, err := addressOf(dir, entry.Name())
		if err != nil {
			continue
		}
		conn, err := new(net.Dialer).DialContext(context.Background(), "unix", address)
		release()
		switch {
		case err == nil:
			_ = conn.Close() // a server that runs
		case errors.Is(err, syscall.ECONNREFUSED):
			_ = os.Remove(filepath.Join(dir, entry.Name())) // the next server tries again
		}
	}
}

// maxAddress is the size of the longest address of a socket that all systems allow.
const maxAddress = 100

// addressOf returns the address of a socket in a folder. The address is valid until release is
// called. On Linux, a path that is too long for an address is reached through the open folder.
func addressOf(dir, name string) (address string, release func(), err error) {
	path := filepath.Join(dir, name)
	if len(path) <= maxAddress {
		return path, func() {}, nil
	}
	if runtime.GOOS != "linux" {
		return "", nil, fmt.Errorf("the path of the socket is too long: %s", path)
	}
	folder, err := os.Open(dir)
	if err != nil {
		return "", nil, fmt.Errorf("open the folder of the socket: %w", err)
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", folder.Fd(), name), func() { _ = folder.Close() }, nil
}

// checkSocket returns an error unless a file is a socket of this user alone.
func checkSocket(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return ErrNone
	}
	system, known := info.Sys().(*syscall.Stat_t)
	if info.Mode()&fs.ModeSocket == 0 || info.Mode().Perm()&0o077 != 0 || !known || int(system.Uid) != os.Geteuid() {
		return fmt.Errorf("%s is not a socket of this user alone", path)
	}
	return nil
}

// checkPeer returns an error unless the process at the other end belongs to this user.
func checkPeer(conn *net.UnixConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return fmt.Errorf("find the user of a local connection: %w", err)
	}
	uid := -1
	var failed error
	if err := raw.Control(func(fd uintptr) { uid, failed = peerUID(int(fd)) }); err != nil || failed != nil {
		return fmt.Errorf("find the user of a local connection: %w", errors.Join(err, failed))
	}
	if uid != os.Geteuid() {
		return fmt.Errorf("the process at the other end of a local connection belongs to another user (uid %d)", uid)
	}
	return nil
}

// send sends a line with open files.
func send(conn *net.UnixConn, line []byte, files []*os.File) error {
	numbers := make([]int, len(files))
	for i, f := range files {
		numbers[i] = int(f.Fd())
	}
	n, _, err := conn.WriteMsgUnix(line, unix.UnixRights(numbers...), nil)
	if err == nil && n < len(line) {
		_, err = conn.Write(line[n:])
	}
	if err != nil {
		return fmt.Errorf("send hello: %w", err)
	}
	return nil
}

// receivePart reads what has arrived, with the files that were sent with it.
func receivePart(conn *net.UnixConn, buffer []byte) (n int, files []*os.File, err error) {
	control := make([]byte, unix.CmsgSpace(4*maxFiles))
	n, size, _, _, err := conn.ReadMsgUnix(buffer, control)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, nil, err
	}
	messages, err := unix.ParseSocketControlMessage(control[:size])
	if err != nil {
		return 0, nil, err
	}
	for i := range messages {
		numbers, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			return 0, files, err
		}
		for _, fd := range numbers {
			unix.CloseOnExec(fd)
			files = append(files, os.NewFile(uintptr(fd), "file of a client"))
		}
	}
	return n, files, nil
}

// Writable reports whether a file was opened for writing.
func Writable(f *os.File) bool {
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	return err == nil && flags&unix.O_ACCMODE == unix.O_RDWR
}

// OpenNoFollow opens a file for reading and writing, if it is no link.
func OpenNoFollow(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|unix.O_NOFOLLOW, 0)
}
