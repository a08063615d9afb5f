//go:build !unix

package pgtest

import "testing"

// Server is a server of one test. It is not supported on this system.
type Server struct{ syncs bool }

// disk is the folder in which a server would store its data.
const disk = ""

func sharedServer(t testing.TB, by transport) *Server { return newServer(t, by, disk) }

func newServer(t testing.TB, _ transport, _ string) *Server {
	t.Skip("the private PostgreSQL for tests needs Unix: NOT TESTED on PostgreSQL")
	return nil
}

// URL returns the URL of a database of this server.
func (*Server) URL() string { return "" }

// Start starts the server after it was stopped or killed.
func (*Server) Start(testing.TB) {}

// Stop shuts the server down in an orderly way.
func (*Server) Stop(testing.TB) {}

// Kill ends all processes of the server at once, with SIGKILL.
func (*Server) Kill(testing.TB) {}

// Pause suspends all processes of the server until Resume.
func (*Server) Pause(testing.TB) {}

// Resume undoes Pause.
func (*Server) Resume(testing.TB) {}

func (*Server) prepare(testing.TB, func(testing.TB, string)) {}
func (*Server) database(testing.TB, string) string           { return "" }
func (*Server) remove(testing.TB)                            {}
