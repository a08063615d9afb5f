package httpserver

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// pair returns both ends of a TCP connection. network and address are of the listener.
func pair(t *testing.T, network, address, dial string) (ours, theirs *net.TCPConn) {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Skip(err) // a machine without IPv6
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	client, err := net.Dial("tcp", net.JoinHostPort(dial, port))
	if err != nil {
		t.Fatal(err)
	}
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); server.Close() })
	return server.(*net.TCPConn), client.(*net.TCPConn)
}

// TestOwner checks that netlink and /proc name the owner of the other end of a connection, also if
// it is half closed or mapped to IPv6, and none if it is closed.
func TestOwner(t *testing.T) {
	diag, err := openSockDiag()
	if err != nil {
		t.Skip(err)
	}
	defer diag.close()
	self := uint32(os.Geteuid())
	for _, tc := range []struct{ name, network, address, dial string }{
		{"IPv4", "tcp4", "127.0.0.1:0", "127.0.0.1"}, {"IPv6", "tcp6", "[::1]:0", "::1"}, {"mapped", "tcp", "[::]:0", "127.0.0.1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ours, theirs := pair(t, tc.network, tc.address, tc.dial)
			local, remote := addrPortOf(ours.LocalAddr()), addrPortOf(ours.RemoteAddr())
			check := func(state string, find func(a, b netip.AddrPort) (owner, error)) {
				if got, err := find(remote, local); err != nil || got.uid != self || got.inode == 0 {
					t.Errorf("%s: %+v, %v; want uid %d", state, got, err, self)
				}
			}
			check("netlink", diag.owner)
			check("/proc", ownerFromProc)
			if err := theirs.CloseWrite(); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadAll(ours); err != nil {
				t.Fatal(err)
			}
			check("half closed", diag.owner)
			theirs.Close()
			for name, find := range map[string]func(a, b netip.AddrPort) (owner, error){"netlink": diag.owner, "/proc": ownerFromProc} {
				if got, err := find(remote, local); err == nil && got.inode != 0 {
					t.Errorf("%s: a closed connection has the owner %+v", name, got)
				}
			}
		})
	}
}

// TestListenerIsNoPeer checks that a program that listens at the address of a connection that has
// ended does not count as its owner.
func TestListenerIsNoPeer(t *testing.T) {
	diag, err := openSockDiag()
	if err != nil {
		t.Skip(err)
	}
	defer diag.close()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if got, err := diag.owner(addrPortOf(l.Addr()), netip.MustParseAddrPort("127.0.0.1:9")); err == nil {
		t.Errorf("the listener is %+v", got)
	}
	if got, err := ownerFromProc(addrPortOf(l.Addr()), netip.MustParseAddrPort("127.0.0.1:9")); !errors.Is(err, unix.ENOENT) {
		t.Errorf("the listener is %+v, %v", got, err)
	}
}

// TestIsOtherUser checks which connections count as those of another user, and that one that nobody
// knows is logged once.
func TestIsOtherUser(t *testing.T) {
	var log bytes.Buffer
	isOtherUser, end := newPeerFinder(slog.New(slog.NewTextHandler(&log, nil)))
	defer end()
	ours, theirs := pair(t, "tcp4", "127.0.0.1:0", "127.0.0.1")
	local, remote := addrPortOf(ours.LocalAddr()), addrPortOf(ours.RemoteAddr())
	for range 100 {
		if isOtherUser(local, remote) {
			t.Fatal("our own connection counts as that of another user")
		}
	}
	theirs.Close()
	for range 3 {
		if !isOtherUser(local, remote) || !isOtherUser(local, netip.MustParseAddrPort("127.0.0.1:9")) || !isOtherUser(netip.AddrPort{}, netip.AddrPort{}) {
			t.Error("a connection that nobody knows counts as our own")
		}
	}
	if n := strings.Count(log.String(), "cannot determine the user"); n != 1 {
		t.Errorf("%d warnings: %s", n, log.String())
	}
}

// FuzzParseAnswer checks that no answer makes the server panic.
func FuzzParseAnswer(f *testing.F) {
	local, remote := netip.MustParseAddrPort("127.0.0.1:1"), netip.MustParseAddrPort("127.0.0.1:2")
	request := appendRequest(nil, 1, local, remote)
	f.Add(request)
	f.Fuzz(func(t *testing.T, answer []byte) {
		if len(answer) < headerBytes {
			return
		}
		if got, err := parseAnswer(answer, request); err != nil && got != (owner{}) {
			t.Errorf("%+v with %v", got, err)
		}
	})
}
