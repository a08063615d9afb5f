// Package pgtest gives tests a private PostgreSQL, which is gone when they are.
package pgtest

import (
	"os"
	"testing"
)

// Database returns the address of a new, empty database on a server that all tests
// of this binary share. It is dropped at the end of the test. The shared server does
// not sync its disk, which makes no difference but in speed: it is never killed.
//
// Without PostgreSQL on this machine the test is skipped, or fails if CI is true.
func Database(t testing.TB) string {
	t.Helper()
	return sharedServer(t, overSocket).database(t)
}

// TCPDatabase is Database for clients that know no Unix sockets: its server listens
// on 127.0.0.1.
func TCPDatabase(t testing.TB) string {
	t.Helper()
	return sharedServer(t, overTCP).database(t)
}

// New starts a server for this test alone, to be treated badly.
func New(t testing.TB) *Server {
	t.Helper()
	s := newServer(t, overSocket, disk)
	s.syncs = true
	t.Cleanup(func() { s.remove(t) })
	s.Start(t)
	return s
}

// transport is how clients reach a server.
type transport int

const (
	overSocket transport = iota
	overTCP
)

// missing ends a test that cannot run here.
func missing(t testing.TB) {
	t.Helper()
	const words = "PostgreSQL's server is not installed (package postgresql): NOT TESTED on PostgreSQL"
	if os.Getenv("CI") == "true" {
		t.Fatal(words)
	}
	t.Skip(words)
}
