package httpserver

import (
	"context"
	"net"
	"net/http"
	"net/netip"
)

// otherUserKey is the context key of connections that belong to another user of this machine.
type otherUserKey struct{}

// markOtherUsers marks the context of a new connection if it does not belong to the user who runs
// this server. It is asked once per connection.
func markOtherUsers(find func(local, remote netip.AddrPort) bool) func(context.Context, net.Conn) context.Context {
	return func(ctx context.Context, conn net.Conn) context.Context {
		if find(addrPortOf(conn.LocalAddr()), addrPortOf(conn.RemoteAddr())) {
			return context.WithValue(ctx, otherUserKey{}, true)
		}
		return ctx
	}
}

// addrPortOf returns the address and port of one end of a TCP connection. An IPv4 address is not
// mapped to IPv6.
func addrPortOf(addr net.Addr) netip.AddrPort {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}
	}
	full := tcp.AddrPort()
	return netip.AddrPortFrom(full.Addr().Unmap().WithZone(""), full.Port())
}

// fromOtherUser reports whether a request came over a connection of another user.
func fromOtherUser(r *http.Request) bool { return r.Context().Value(otherUserKey{}) != nil }
