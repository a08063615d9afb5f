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
