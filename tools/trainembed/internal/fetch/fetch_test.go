package fetch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// registry simulates the clients: it writes the files that they would write, and fails as they do.
type registry struct {
	mu     sync.Mutex
	calls  []string
	flaky  int  // this many npm calls fail first
	absent bool // npm is not installed
	stale  bool // apt does not know the version before an update
	gone   bool // nor after an update
	goTry  string
}

func (r *registry) run(_ context.Context, c Command) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	call := strings.Join(c.Args, " ")
	r.calls = append(r.calls, call)
	switch {
	case c.Args[0] == "npm" && r.absent:
		return nil, fmt.Errorf("npm pack: %w", exec.ErrNotFound)
	case c.Args[0] == "npm":
		if r.flaky--; r.flaky >= 0 {
			return nil, errors.New("npm pack: exit status 1: network")
		}
		return nil, os.WriteFile(filepath.Join(c.Dir, "a-1.0.0.tgz"), []byte("npm bytes"), 0o644)
	case call == "apt-get update --quiet=2":
		r.stale = false
		return nil, nil
	case c.Args[0] == "apt-get":
		if r.stale || r.gone {
			return nil, errors.New("apt-get download: exit status 100: E: Version '1.0' for 'd' was not found")
		}
		return nil, os.WriteFile(filepath.Join(c.Dir, "d_1.0_all.deb"), []byte("deb bytes"), 0o644)
	}
	return r.goDownload(c)
}

// goDownload answers as the go command does for a module that needs a newer Go: the exit status is
// 1, but the zip exists.
func (r *registry) goDownload(c Command) ([]byte, error) {
	modules := strings.TrimPrefix(c.Env[0], "GOMODCACHE=")
	zip := filepath.Join(modules, "cache/download/example.org/!m/@v/v1.0.0.zip")
	unpacked := filepath.Join(modules, "example.org/!m@v1.0.0")
	if err := errors.Join(os.MkdirAll(filepath.Dir(zip), 0o755), os.MkdirAll(unpacked, 0o755), os.WriteFile(zip, []byte("go bytes"), 0o644)); err != nil {
		return nil, err
	}
	if r.goTry != "" {
		return fmt.Appendf(nil, `{"Path":"example.org/M","Error":%q}`, r.goTry), errors.New("go mod: exit status 1")
	}
	return fmt.Appendf(nil, `{"Path":"example.org/M","Error":"requires go >= 9.9","Zip":%q,"Sum":"h1:x"}`, zip), errors.New("go mod: exit status 1")
}

func sumOfText(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func three() []Package {
	return []Package{
		{Kind: Deb, Name: "d", Version: "1.0", Arch: "all", SHA256: sumOfText("deb bytes")},
		{Kind: Go, Name: "example.org/M", Version: "v1.0.0", SHA256: sumOfText("go bytes")},
		{Kind: Npm, Name: "a", Version: "1.0.0", SHA256: sumOfText("npm bytes")},
	}
}

func options(cache string, r *registry) Options {
	return Options{Cache: cache, Run: r.run, Pause: time.Nanosecond}
}

func TestAll(t *testing.T) {
	cache, r := t.TempDir(), &registry{stale: true, flaky: 2}
	var progress bytes.Buffer
	o := options(cache, r)
	o.Progress = &progress
	if err := All(t.Context(), o, three()); err != nil {
		t.Fatal(err)
	}
	for _, p := range three() {
		if err := check(p.Path(cache), p); err != nil {
			t.Error(err)
		}
	}
	if got := len(r.calls); got != 7 { // three of npm, two of apt and its update, one of go
		t.Errorf("%d calls: %q", got, r.calls)
	}
	if !strings.Contains(progress.String(), "fetched 3 of 3, 0 failed") {
		t.Errorf("progress %q", progress.String())
	}
	if _, err := os.Stat(filepath.Join(cache, "gomod/example.org/!m@v1.0.0")); !os.IsNotExist(err) {
		t.Errorf("the unpacked module stays: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(cache, "*", ".download-*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}

	again := &registry{}
	if err := All(t.Context(), options(cache, again), three()); err != nil || len(again.calls) > 0 {
		t.Errorf("a second run: %v, calls %q", err, again.calls)
	}
}

func TestAllFailures(t *testing.T) {
	for _, test := range []struct {
		name string
		r    *registry
		kind Kind
		want []string
	}{
		{"no client", &registry{absent: true}, Npm, []string{"npm:a 1.0.0", "1 of 3 tries", "not found"}},
		{"network", &registry{flaky: 99}, Npm, []string{"npm:a 1.0.0", "3 of 3 tries", "network"}},
		{"version gone", &registry{gone: true}, Deb, []string{"deb:d:all 1.0", "keep only the newest versions", "committed table stays valid", "d_1.0_all.deb"}},
		{"no such module", &registry{goTry: "unknown revision"}, Go, []string{"go:example.org/M v1.0.0", "unknown revision"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			cache := t.TempDir()
			err := All(t.Context(), options(cache, test.r), three())
			for _, want := range test.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error %v does not say %q", err, want)
				}
			}
			for _, p := range three() {
				if _, err := os.Stat(p.Path(cache)); p.Kind != test.kind && err != nil {
					t.Errorf("%s is missing too: %v", p.ID(), err)
				}
			}
		})
	}
}

func TestAllSumMismatch(t *testing.T) {
	cache, r := t.TempDir(), &registry{}
	packages := three()
	for i := range packages {
		packages[i].SHA256 = someSum
	}
	err := All(t.Context(), options(cache, r), packages)
	for _, want := range []string{"deb:d:all 1.0", "go:example.org/M v1.0.0", "npm:a 1.0.0", someSum, sumOfText("npm bytes"), "delete it and fetch again", "GOPROXY=direct"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not say %q", err, want)
		}
	}
}

func TestAllCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := &registry{}
	if err := All(ctx, options(t.TempDir(), r), three()); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
