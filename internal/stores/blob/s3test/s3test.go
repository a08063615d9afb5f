// Package s3test gives tests a private S3 store, versitygw over a folder, which is gone when they are.
package s3test

import (
	"fmt"
	"io"
	"net/url"
	"os"
	"testing"
)

// Server is a store that all tests of a binary share.
type Server struct {
	Endpoint string // http://127.0.0.1:PORT
	Region   string
	Key      string // AWS_ACCESS_KEY_ID
	Secret   string // AWS_SECRET_ACCESS_KEY

	dir   string    // holds the buckets and the log
	made  int       // buckets
	alive io.Closer // is closed by the end of this process, and ends the server
}

// Start gives the store, which is started by the first test that asks. The program is
// built once a machine, which takes minutes; test.sh does it before the tests.
//
// Where it cannot be built the test is skipped, or fails if CI is true.
func Start(t testing.TB) *Server {
	t.Helper()
	return start(t)
}

// URL is the address of a library in a bucket, as --books takes it. The prefix may be empty.
func (s *Server) URL(bucket, prefix string) string {
	query := url.Values{"endpoint": {s.Endpoint}, "region": {s.Region}, "path_style": {"true"}}
	return (&url.URL{Scheme: "s3", Host: bucket, Path: "/" + prefix, RawQuery: query.Encode()}).String()
}

// Env is what a program needs in its environment to be let in.
func (s *Server) Env() []string {
	return []string{"AWS_ACCESS_KEY_ID=" + s.Key, "AWS_SECRET_ACCESS_KEY=" + s.Secret, "AWS_REGION=" + s.Region}
}

// Getenv looks up Env, and nothing else.
func (s *Server) Getenv(name string) (string, bool) {
	value, ok := map[string]string{"AWS_ACCESS_KEY_ID": s.Key, "AWS_SECRET_ACCESS_KEY": s.Secret, "AWS_REGION": s.Region}[name]
	return value, ok
}

// leaveOut ends a test that cannot run here, and says so.
func leaveOut(t testing.TB, why string) {
	t.Helper()
	words := "all that runs on S3: " + why
	if os.Getenv("CI") == "true" {
		t.Fatal("CI must not leave out " + words)
	}
	if name := os.Getenv("REMIT_NOTES"); name != "" {
		f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644) //nolint:gosec // test.sh names it
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(f, "NOT RUN: "+words)
		f.Close()
	}
	t.Skip("NOT RUN: " + words)
}
