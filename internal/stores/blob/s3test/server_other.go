//go:build !unix

package s3test

import "testing"

func start(t testing.TB) *Server {
	t.Helper()
	t.Skip("the private S3 store for tests needs Unix: NOT TESTED on S3")
	return nil
}

// Bucket creates a bucket for this test and returns its name.
func (*Server) Bucket(testing.TB) string { return "" }

// Folder returns the folder of a bucket, whose files are the objects.
func (*Server) Folder(string) string { return "" }

// Pause suspends the server until Resume. Only a server of New may be paused.
func (*Server) Pause(testing.TB) {}

// Resume undoes Pause.
func (*Server) Resume(testing.TB) {}

func startOwn(t testing.TB, _ string) *Server { return start(t) }
