package blob

import (
	"errors"
	"strings"
	"testing"
)

func TestS3Probe(t *testing.T) {
	s := newS3(t)
	for range 2 {
		if err := s.Probe(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if err := s.empty(t.Context(), ""); err != nil {
		t.Errorf("left behind: error %v", err)
	}
}

func TestS3ProbeRefuses(t *testing.T) {
	for _, c := range []struct {
		name, header, want string
		refuses            int // with a status
		unusable           bool
	}{
		{"all is well", "", "", 0, false},
		{"creates over what is there", "If-None-Match", "this S3 store ignores If-None-Match", 0, true},
		{"replaces what has changed", "If-Match", "this S3 store ignores If-Match", 0, true},
		{"cannot compare", "If-Match", "this S3 store does not support If-Match", 501, true},
		{"cannot create", "If-None-Match", "501", 501, true},
		{"is full", "If-None-Match", "507", 507, false},
		{"forgets metadata", metaHash, "does not store the metadata", 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &fake{objects: map[string]fakeObject{}}
			if c.refuses > 0 {
				f.refuses = map[string]int{c.header: c.refuses}
			} else {
				f.ignores = map[string]bool{c.header: true}
			}
			err := serveFake(t, f).Probe(t.Context())
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("error %v, want %q", err, c.want)
			}
			if _, unusable := errors.AsType[*UnusableError](err); unusable != c.unusable {
				t.Errorf("error %v lets no server start: %v", err, unusable)
			}
			if len(f.objects) > 0 {
				t.Errorf("left behind: %v", f.objects)
			}
		})
	}
}
