package blob

import (
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
		refuses            bool
	}{
		{"all is well", "", "", false},
		{"creates over what is there", "If-None-Match", "this S3 store ignores If-None-Match", false},
		{"replaces what has changed", "If-Match", "this S3 store ignores If-Match", false},
		{"cannot compare", "If-Match", "this S3 store does not support If-Match", true},
		{"cannot create", "If-None-Match", "501", true},
		{"forgets metadata", metaHash, "does not store the metadata", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &fake{objects: map[string]fakeObject{}}
			if c.refuses {
				f.refuses = map[string]bool{c.header: true}
			} else {
				f.ignores = map[string]bool{c.header: true}
			}
			err := serveFake(t, f).Probe(t.Context())
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("error %v, want %q", err, c.want)
			}
			if len(f.objects) > 0 {
				t.Errorf("left behind: %v", f.objects)
			}
		})
	}
}
