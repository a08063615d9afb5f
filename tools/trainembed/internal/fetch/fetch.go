package fetch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"sync"
	"time"
)

// Options configures All. Only Cache must be set.
type Options struct {
	Cache    string    // folder of the downloads
	Progress io.Writer // gets one line that is overwritten; nil means no output
	Workers  int       // number of concurrent downloads; 0 means 3
	Tries    int       // number of attempts for each package; 0 means 3
	// Pause before the next attempt, which grows each time; 0 means 2 seconds.
	Pause time.Duration
	Run   Runner // nil means the real clients
}

// All downloads every package of the list to the cache and checks each archive against its SHA-256.
// It only checks archives that are there already, so an interrupted run continues where it stopped.
// The error names every package that failed; all others are in the cache.
func All(ctx context.Context, o Options, packages []Package) error {
	d := newDownloader(o)
	queue := make(chan Package)
	failed := make(chan error, len(packages))
	var workers sync.WaitGroup
	for range d.Workers {
		workers.Go(func() {
			for p := range queue {
				err := d.ensure(ctx, p)
				d.step(p, len(packages), err)
				if err != nil {
					failed <- fmt.Errorf("%s %s: %w", p.ID(), p.Version, err)
				}
			}
		})
	}
	for _, p := range packages {
		if ctx.Err() != nil {
			break
		}
		queue <- p
	}
	close(queue)
	workers.Wait()
	close(failed)
	return errors.Join(append(collect(failed), ctx.Err())...)
}

func collect(failed <-chan error) []error {
	var all []error
	for err := range failed {
		all = append(all, err)
	}
	return all
}

// downloader is one run of All.
type downloader struct {
	Options
	update func() error // updates the package lists of apt, once

	mu         sync.Mutex
	done, lost int
}

func newDownloader(o Options) *downloader {
	d := &downloader{Options: o}
	if d.Workers <= 0 {
		d.Workers = 3
	}
	if d.Tries <= 0 {
		d.Tries = 3
	}
	if d.Pause <= 0 {
		d.Pause = 2 * time.Second
	}
	if d.Run == nil {
		d.Run = run
	}
	d.update = sync.OnceValue(d.updateApt)
	return d
}

// step counts a package and rewrites the progress line.
func (d *downloader) step(p Package, of int, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.done++
	if err != nil {
		d.lost++
	}
	if d.Progress == nil {
		return
	}
	end := ""
	if d.done == of {
		end = "\n"
	}
	fmt.Fprintf(d.Progress, "\r\x1b[Kfetched %d of %d, %d failed: %s%s", d.done, of, d.lost, p.ID(), end)
}

// ensure downloads a package unless it is in the cache already.
func (d *downloader) ensure(ctx context.Context, p Package) error {
	target := p.Path(d.Cache)
	err := check(target, p)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for try := 1; ; try++ {
		err = d.download(ctx, p)
		if err == nil {
			return check(target, p)
		}
		if try == d.Tries || isPermanent(err) || !sleep(ctx, time.Duration(try)*d.Pause) {
			return fmt.Errorf("download failed, %d of %d tries: %w", try, d.Tries, err)
		}
	}
}

// isPermanent reports whether another attempt would fail with the same error.
func isPermanent(err error) bool { return errors.Is(err, errGone) || errors.Is(err, exec.ErrNotFound) }

// sleep waits for the pause. It returns false if the context is cancelled.
func sleep(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// check compares an archive with the digest in the list. It returns fs.ErrNotExist if there is no
// archive.
func check(path string, p Package) error {
	sum, err := sumOf(path)
	if err != nil || p.SHA256 == "" || sum == p.SHA256 {
		return err
	}
	advice := "delete it and fetch again; if it comes back the same, what is offered under this name has changed: do not train on it, and make the list anew with the step survey"
	if p.Kind == Go {
		advice += " (with GOPROXY=direct the go command packs modules itself, which gives other bytes: use a module proxy)"
	}
	return fmt.Errorf("%s has SHA-256 %s, the list says %s: %s", path, sum, p.SHA256, advice)
}

// sumOf returns the SHA-256 of a file in hexadecimal.
func sumOf(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("open archive: %w", err)
	}
	defer file.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return "", fmt.Errorf("read archive: %w", err)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
