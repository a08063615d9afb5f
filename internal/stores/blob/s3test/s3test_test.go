package s3test_test

import (
	"net/http"
	"strings"
	"testing"

	"remit/internal/stores/blob/s3test"
)

func TestServer(t *testing.T) {
	s := s3test.Start(t)
	if again := s3test.Start(t); again != s {
		t.Error("a second test has another server")
	}
	first, second := s.Bucket(t), s.Bucket(t)
	if first == second {
		t.Error("two tests have one bucket")
	}
	response, err := http.Get(s.Endpoint + "/" + first)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusForbidden {
		t.Errorf("a stranger gets %d", response.StatusCode)
	}
}

// TestOwnServer checks that a test's own server answers again after a pause, and stores objects as
// files in the given folder.
func TestOwnServer(t *testing.T) {
	within := t.TempDir()
	s := s3test.New(t, within)
	bucket := s.Bucket(t)
	if folder := s.Folder(bucket); !strings.HasPrefix(folder, within) {
		t.Errorf("the bucket is in %s", folder)
	}
	s.Pause(t)
	answered := make(chan error, 1)
	go func() {
		response, err := http.Get(s.Endpoint + "/" + bucket)
		if err == nil {
			err = response.Body.Close()
		}
		answered <- err
	}()
	s.Resume(t)
	if err := <-answered; err != nil {
		t.Error(err)
	}
}
