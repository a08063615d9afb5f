package s3test_test

import (
	"net/http"
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
