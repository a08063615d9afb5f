package memlog_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"remit/internal/contract"
	"remit/internal/stores/memlog"
)

// awayPlace is a Place that is away.
type awayPlace struct{ err error }

func (p *awayPlace) Before(bool) error { return p.err }
func (p *awayPlace) After() error      { return p.err }

// TestAFileIsMissingOnlyInItsFolder checks that a file whose folder is away is not reported as
// missing: recovery would take an entry in it for one that was not written.
func TestAFileIsMissingOnlyInItsFolder(t *testing.T) {
	ctx, away := context.Background(), errors.New("away")
	dir := memlog.Dir(t.TempDir())
	place := &awayPlace{}
	m := &memlog.Memory{Files: dir, Reader: &folder{Dir: dir}, Place: place}
	t.Cleanup(func() { _ = m.Close() })
	_, err := m.Append(ctx, "a.jsonl", []byte(`{}`), nil)(ctx)
	check(t, err)
	for _, file := range []string{"a.jsonl", "b.jsonl"} {
		for _, place.err = range []error{nil, away} {
			want := ""
			switch {
			case file == "b.jsonl" && place.err != nil:
				want = "away"
			case file == "b.jsonl":
				want = "missing"
			}
			_, tailErr := m.Tail(ctx, file, &contract.PathPolicy{}, 100)
			_, statErr := m.Stat(ctx, file, &contract.PathPolicy{})
			_, findErr := m.Finder(ctx, []string{file})
			if findErr == nil && want == "missing" {
				findErr = statErr // a file without entries
			}
			for _, err := range []error{tailErr, statErr, findErr} {
				got := ""
				switch {
				case errors.Is(err, away):
					got = "away"
				case err != nil:
					got = "missing"
				}
				same(t, file, got, want)
			}
		}
	}
}

// TestNothingIsAcknowledgedIntoNothing takes the folder away between the check and the write.
func TestNothingIsAcknowledgedIntoNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "folder")
	check(t, os.Mkdir(dir, 0o755))
	place := &awayPlace{}
	l := openWith(t, memlog.Options{
		Files: memlog.Dir(dir), Name: name, Place: place,
		Seal: func(b, _ []byte, _ int64, body []byte) []byte {
			if string(body) == "lost" {
				check(t, os.Rename(dir, dir+".away"))
				place.err = errors.New("unmounted")
			}
			return append(b, body...)
		},
	})
	put(t, l, `{}`)
	if _, err := l.Append([]byte("lost"), true).Wait(t.Context()); !errors.Is(err, place.err) || !errors.Is(err, memlog.ErrUnknown) {
		t.Errorf("the folder of an entry is gone: %v", err)
	}
}
