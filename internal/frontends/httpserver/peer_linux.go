package httpserver

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"sync"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// owner is the owner of a socket. The inode is 0 if no process has the socket open any more; the
// kernel then reports uid 0 for everybody.
type owner struct{ uid, inode uint32 }

// newPeerFinder returns a function that reports whether the remote end of a connection on this
// machine belongs to another user. It reports true if that cannot be determined. Root is not
// another user: root may do everything anyway, and relays of virtual machines run as root.
func newPeerFinder(log *slog.Logger) (isOtherUser func(local, remote netip.AddrPort) bool, end func()) {
	diag, err := openSockDiag()
	if err != nil {
		log.Info("sock_diag is not available; reading the owners of connections from /proc", "error", err)
	}
	self, once := uint32(os.Geteuid()), sync.Once{}
	isOtherUser = func(local, remote netip.AddrPort) bool {
		var found owner
		var err error
		if diag != nil {
			found, err = diag.owner(remote, local)
		}
		if diag == nil || err != nil && !errors.Is(err, unix.ENOENT) {
			found, err = ownerFromProc(remote, local)
		}
		if err != nil {
			once.Do(func() {
				log.Warn("cannot determine the user of a connection, so callers like this one need a token", "error", err)
			})
		}
		return err != nil || found.inode == 0 || found.uid != self && found.uid != 0
	}
	return isOtherUser, func() { diag.close() }
}

// sockDiag is a netlink socket that tells about sockets of this machine. One socket is kept,
// because a server that has run out of file descriptors must still find out who calls.
type sockDiag struct {
	mu     sync.Mutex
	fd     int
	serial uint32
}

func openSockDiag() (*sockDiag, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return nil, fmt.Errorf("open netlink socket: %w", err)
	}
	// The kernel answers during the send. The timeout only keeps an error from blocking the server.
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 1}); err != nil {
		return nil, errors.Join(fmt.Errorf("set timeout of netlink socket: %w", err), unix.Close(fd))
	}
	return &sockDiag{fd: fd}, nil
}

func (d *sockDiag) close() {
	if d != nil {
		_ = unix.Close(d.fd) // nothing was written that could be lost
	}
}

// Sizes of the messages: struct nlmsghdr, inet_diag_sockid, inet_diag_req_v2 and inet_diag_msg.
const (
	headerBytes  = unix.SizeofNlMsghdr
	sockIDBytes  = 48
	requestBytes = 8 + sockIDBytes
	answerBytes  = 4 + sockIDBytes + 20
)

// owner returns the owner of the socket with these two ends.
func (d *sockDiag) owner(local, remote netip.AddrPort) (owner, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.serial++
	request := appendRequest(nil, d.serial, local, remote)
	if err := unix.Sendto(d.fd, request, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return owner{}, fmt.Errorf("ask for the owner of a socket: %w", err)
	}
	var buffer [1024]byte
	for {
		n, from, err := unix.Recvfrom(d.fd, buffer[:], 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return owner{}, fmt.Errorf("read the owner of a socket: %w", err)
		}
		kernel, ok := from.(*unix.SockaddrNetlink)
		if !ok || kernel.Pid != 0 || n < headerBytes || binary.NativeEndian.Uint32(buffer[8:]) != d.serial {
			continue // another process may send to this socket, and an earlier answer may be late
		}
		return parseAnswer(buffer[:n], request)
	}
}

// appendRequest appends the question for one socket.
func appendRequest(b []byte, serial uint32, local, remote netip.AddrPort) []byte {
	native := binary.NativeEndian
	b = native.AppendUint32(b, headerBytes+requestBytes)
	b = native.AppendUint16(b, unix.SOCK_DIAG_BY_FAMILY)
	b = native.AppendUint16(b, unix.NLM_F_REQUEST)
	b = native.AppendUint32(b, serial)
	b = native.AppendUint32(b, 0)
	family := byte(unix.AF_INET6)
	if local.Addr().Is4() {
		family = unix.AF_INET
	}
	b = append(b, family, unix.IPPROTO_TCP, 0, 0)
	b = native.AppendUint32(b, ^uint32(0)) // all states
	b = binary.BigEndian.AppendUint16(b, local.Port())
	b = binary.BigEndian.AppendUint16(b, remote.Port())
	for _, end := range []netip.AddrPort{local, remote} {
		var address [16]byte
		copy(address[:], end.Addr().AsSlice())
		b = append(b, address[:]...)
	}
	b = native.AppendUint32(b, 0)             // any interface
	return native.AppendUint64(b, ^uint64(0)) // no cookie
}

// parseAnswer parses the answer to a request. It accepts only the socket that was asked for: the
// kernel may also return one that listens at the same address.
func parseAnswer(answer, request []byte) (owner, error) {
	native := binary.NativeEndian
	kind, body := native.Uint16(answer[4:]), answer[headerBytes:]
	if kind == unix.NLMSG_ERROR && len(body) >= 4 {
		return owner{}, unix.Errno(-int32(native.Uint32(body)))
	}
	const ends = sockIDBytes - 12 // without interface and cookie
	asked := request[headerBytes+8:][:ends]
	if kind != unix.SOCK_DIAG_BY_FAMILY || len(body) < answerBytes || !bytes.Equal(body[4:][:ends], asked) {
		return owner{}, errors.New("the kernel described another socket")
	}
	return owner{uid: native.Uint32(body[4+sockIDBytes+12:]), inode: native.Uint32(body[4+sockIDBytes+16:])}, nil
}

// ownerFromProc returns the owner of the socket with these two ends from /proc, which takes
// milliseconds.
func ownerFromProc(local, remote netip.AddrPort) (owner, error) {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return owner{}, err
	}
	for _, list := range []func() (procfs.NetTCP, error){fs.NetTCP, fs.NetTCP6} { //nolint:staticcheck // netlink, which replaces it, has failed
		sockets, err := list()
		if err != nil && !errors.Is(err, os.ErrNotExist) { // there may be no IPv6
			return owner{}, err
		}
		for _, s := range sockets {
			if sameEnd(local, s.LocalAddr, s.LocalPort) && sameEnd(remote, s.RemAddr, s.RemPort) {
				return owner{uint32(s.UID), uint32(s.Inode)}, nil
			}
		}
	}
	return owner{}, unix.ENOENT
}

// sameEnd compares an end of a connection with that of a socket, whose IPv4 address may be mapped
// to IPv6.
func sameEnd(end netip.AddrPort, ip net.IP, port uint64) bool {
	address, ok := netip.AddrFromSlice(ip)
	return ok && address.Unmap() == end.Addr() && port == uint64(end.Port())
}
