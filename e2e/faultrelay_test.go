//go:build linux

package e2e

import (
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"
)

// relay forwards the connections of one server to one store, and can disturb them.
type relay struct {
	network, store string
	listener       net.Listener
	running        sync.WaitGroup

	mu      sync.Mutex
	changed *sync.Cond
	mode    relayMode
	open    map[net.Conn]bool
}

// relayMode is what a relay does with the bytes that it gets.
type relayMode int

const (
	passing  relayMode = iota
	holding            // keeps them until the mode changes, even if the sender has gone meanwhile
	delaying           // passes them later
	refusing           // closes all connections
	losing             // passes requests, and closes some connections instead of passing the reply
	tearing            // closes some connections after half of a request
)

// newRelay listens at an address and forwards to a store on the same kind of network.
func newRelay(t *testing.T, network, address, store string) *relay {
	t.Helper()
	listener, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{network: network, store: store, listener: listener, open: map[net.Conn]bool{}}
	r.changed = sync.NewCond(&r.mu)
	r.running.Go(r.accept)
	t.Cleanup(func() {
		listener.Close()
		r.set(refusing)
		r.running.Wait()
	})
	return r
}

func (r *relay) accept() {
	for {
		client, err := r.listener.Accept()
		if err != nil {
			return // the test has ended
		}
		r.running.Go(func() { r.connect(client) })
	}
}

// connect connects a client with the store until one of them or the relay ends it.
func (r *relay) connect(client net.Conn) {
	defer client.Close()
	store, err := net.Dial(r.network, r.store)
	if err != nil {
		return
	}
	defer store.Close()
	if !r.add(client, store) {
		return
	}
	defer r.remove(client, store)
	var both sync.WaitGroup
	both.Go(func() { r.forward(client, store, true) })
	both.Go(func() { r.forward(store, client, false) })
	both.Wait()
}

// add notes an open connection. It returns false if the relay refuses connections.
func (r *relay) add(client, store net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mode == refusing {
		return false
	}
	r.open[client], r.open[store] = true, true
	return true
}

func (r *relay) remove(client, store net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, client)
	delete(r.open, store)
}

// forward passes bytes in one direction as the mode says.
func (r *relay) forward(from, to net.Conn, request bool) {
	end := to.(interface{ CloseWrite() error }).CloseWrite
	defer end()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 && !r.pass(from, to, buffer[:n], request) || err != nil {
			return
		}
	}
}

// pass passes some bytes. It returns false if the connection has ended.
func (r *relay) pass(from, to net.Conn, data []byte, request bool) bool {
	mode := r.awaitRelease()
	some := rand.IntN(4) == 0
	switch {
	case mode == delaying:
		time.Sleep(rand.N(20 * time.Millisecond))
	case mode == losing && !request && some:
		from.Close()
		to.Close()
		return false
	case mode == tearing && request && some:
		_, _ = to.Write(data[:len(data)/2])
		from.Close()
		to.Close()
		return false
	}
	_, err := to.Write(data)
	return err == nil
}

// awaitRelease waits while the relay holds bytes, and returns the mode.
func (r *relay) awaitRelease() relayMode {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.mode == holding {
		r.changed.Wait()
	}
	return r.mode
}

// set changes the mode.
func (r *relay) set(mode relayMode) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mode = mode
	r.changed.Broadcast()
	if mode == refusing {
		for conn := range r.open {
			conn.Close()
		}
	}
}
