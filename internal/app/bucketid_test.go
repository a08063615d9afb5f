package app

import (
	"strings"
	"testing"

	"remit/internal/contract"
	"remit/internal/frontends/cli"
	"remit/internal/storageid"
	"remit/internal/stores/blob/s3test"
)

// TestAnotherBucket uses a bucket that is not the one that was used before: it is not read, not
// written and gets no id, and health names it. With the right one it goes on.
func TestAnotherBucket(t *testing.T) {
	server := s3test.Start(t)
	a := openBooks(t, func(s *cli.Settings) {
		s.Books, s.Env = []string{server.URL(server.Bucket(t), "course")}, server.Getenv
	})
	stores, err := a.stores.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	id := a.stores.buckets[0]
	for range 2 { // the second one finds an id
		if err := put(t.Context(), stores.Main, "books/go-course/lessons/a.md", "A"); err != nil {
			t.Fatal(err)
		}
	}
	right, err := id.known.Known()
	if err != nil || right == "" {
		t.Fatalf("the id is not known: %q, %v", right, err)
	}
	// Each look is a new one, without the pause between two.
	look := func() *bucketID { return newBucketID(id.bucket, id.known) }
	if err := id.known.Record(storageid.New()); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{"check": look().check(t.Context()), "claim": look().claim(t.Context())} {
		if contract.AsError(err).Kind != contract.Unavailable || !strings.Contains(err.Error(), "not the one that was used before") {
			t.Errorf("%s of another bucket: %v", what, err)
		}
	}
	if err := id.known.Record(right); err != nil {
		t.Fatal(err)
	}
	if err := look().claim(t.Context()); err != nil {
		t.Errorf("the right bucket: %v", err)
	}
	emptied := openBooks(t, func(s *cli.Settings) {
		s.Books, s.Env = []string{server.URL(server.Bucket(t), "course")}, server.Getenv
	})
	if stores, err = emptied.stores.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := emptied.stores.buckets[0].known.Record(right); err != nil {
		t.Fatal(err)
	}
	_, readErr := stores.Main.Open(t.Context(), "registry.yaml")
	for what, err := range map[string]error{
		"read": readErr, "write": put(t.Context(), stores.Main, "books/go-course/lessons/a.md", "A"), "health": emptied.stores.ping(t.Context()),
	} {
		if err == nil || !strings.Contains(err.Error(), "has lost its id") {
			t.Errorf("%s of an emptied bucket: %v", what, err)
		}
	}
	if c := finding(t, emptied, "books"); c.Status != cli.StatusFail || !strings.Contains(c.Finding, "has lost its id") {
		t.Errorf("doctor: %+v", c)
	}
}
