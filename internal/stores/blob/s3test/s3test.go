// Package s3test starts a private S3 store for tests, versitygw on a folder, and removes it when
// the tests end. It contains no tests of the store itself.
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

	dir     string      // holds the buckets and the log
	made    int         // number of buckets
	process int         // the id of the store's process
	ended   chan string // gets the log when the server has ended
	alive   io.Closer   // the end of this process closes it, which stops the server
}

// Start returns the store, and starts it for the first test. The program is built once per machine,
// which takes minutes; test.sh builds it before the tests.
//
// If it cannot be built, Start skips the test, or fails it if CI is "true".
func Start(t testing.TB) *Server {
	t.Helper()
	return start(t)
}

// New starts a store for this test alone, which the test may pause. Its objects are files in a new
// folder within another.
func New(t testing.TB, within string) *Server {
	t.Helper()
	return startOwn(t, within)
}

// URL returns the URL of a library in a bucket, as --books takes it. The prefix may be empty.
func (s *Server) URL(bucket, prefix string) string {
	query := url.Values{"endpoint": {s.Endpoint}, "region": {s.Region}, "path_style": {"true"}}
	return (&url.URL{Scheme: "s3", Host: bucket, Path: "/" + prefix, RawQuery: query.Encode()}).String()
}

// Env returns the environment variables that a program needs to use the store.
func (s *Server) Env() []string {
	return []string{"AWS_ACCESS_KEY_ID=" + s.Key, "AWS_SECRET_ACCESS_KEY=" + s.Secret, "AWS_REGION=" + s.Region}
}

// Getenv returns a variable of Env, and no other.
func (s *Server) Getenv(name string) (string, bool) {
	value, ok := map[string]string{"AWS_ACCESS_KEY_ID": s.Key, "AWS_SECRET_ACCESS_KEY": s.Secret, "AWS_REGION": s.Region}[name]
	return value, ok
}

// leaveOut skips or fails a test that cannot run here, and records that in REMIT_NOTES.
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
