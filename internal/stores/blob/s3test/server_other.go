//go:build !unix

package s3test

import "testing"

func start(t testing.TB) *Server {
	t.Helper()
	t.Skip("the private S3 store for tests needs Unix: NOT TESTED on S3")
	return nil
}

// Bucket makes a bucket for this test and gives its name.
func (*Server) Bucket(testing.TB) string { return "" }
