// Package pgtest starts private PostgreSQL servers for tests, and removes them when the tests end.
// It contains no tests of the store itself.
package pgtest

import (
	"os"
	"testing"
)

// Database returns the URL of a new, empty database on a server that all tests of this binary
// share. The database is dropped at the end of the test. The shared server does not sync its disk,
// which only makes it faster, because it is never killed.
//
// If PostgreSQL is not installed, Database skips the test, or fails it if CI is "true".
func Database(t testing.TB) string {
	t.Helper()
	return sharedServer(t, overSocket).database(t, "template1")
}

// Prepared is like Database, but the database is a copy of one that prepare has filled, once for
// all tests of this binary. prepare must leave no connection open.
func Prepared(t testing.TB, prepare func(t testing.TB, url string)) string {
	t.Helper()
	s := sharedServer(t, overSocket)
	s.prepare(t, prepare)
	return s.database(t, preparedName)
}

// TCPDatabase is like Database for clients that do not support Unix sockets: its server listens on
// 127.0.0.1.
func TCPDatabase(t testing.TB) string {
	t.Helper()
	return sharedServer(t, overTCP).database(t, "template1")
}

// New starts a server for this test alone, which the test may kill or pause.
func New(t testing.TB) *Server {
	t.Helper()
	return NewIn(t, disk)
}

// NewIn is like New and stores the data in a new folder within another. Its path must be short,
// because it is part of the socket's name.
func NewIn(t testing.TB, within string) *Server {
	t.Helper()
	s := newServer(t, overSocket, within)
	s.syncs = true
	t.Cleanup(func() { s.remove(t) })
	s.Start(t)
	return s
}

// transport is how clients connect to a server.
type transport int

const (
	overSocket transport = iota
	overTCP
)

// preparedName is the name of the database that Prepared copies.
const preparedName = "prepared"

// missing skips or fails a test that cannot run here.
func missing(t testing.TB) {
	t.Helper()
	const words = "PostgreSQL's server is not installed (package postgresql): NOT TESTED on PostgreSQL"
	if os.Getenv("CI") == "true" {
		t.Fatal(words)
	}
	t.Skip(words)
}
