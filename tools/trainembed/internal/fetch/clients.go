package fetch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Command is a call of a client: go, npm or apt-get.
type Command struct {
	Dir  string   // where it runs, and where it leaves what it downloads
	Env  []string // beside the environment of this program
	Args []string // the client first
}

// Runner runs a command and returns what it prints. The error holds what it complains of.
type Runner func(ctx context.Context, c Command) (stdout []byte, err error)

// run runs the command for real.
func run(ctx context.Context, c Command) ([]byte, error) {
	var out, complaint bytes.Buffer
	command := exec.CommandContext(ctx, c.Args[0], c.Args[1:]...)
	command.Dir, command.Env = c.Dir, append(os.Environ(), c.Env...)
	command.Stdout, command.Stderr = &out, &complaint
	if err := command.Run(); err != nil {
		return out.Bytes(), fmt.Errorf("%s: %w: %s", strings.Join(c.Args[:2], " "), err, shorten(complaint.String()))
	}
	return out.Bytes(), nil
}

// shorten keeps the end of what a client complains of, where the reason stands.
func shorten(complaint string) string {
	complaint = strings.TrimSpace(complaint)
	if len(complaint) > 600 {
		complaint = "..." + complaint[len(complaint)-600:]
	}
	return complaint
}

// download gets one package from its client and moves it to its place.
func (d *downloader) download(ctx context.Context, p Package) error {
	if p.Kind == Go {
		return d.downloadGo(ctx, p)
	}
	target := p.Path(d.Cache)
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return fmt.Errorf("make the cache: %w", err)
	}
	dir, err := os.MkdirTemp(filepath.Dir(target), ".download-*")
	if err != nil {
		return fmt.Errorf("make a folder to download to: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if p.Kind == Npm {
		err = d.downloadNpm(ctx, p, dir)
	} else {
		err = d.downloadDeb(ctx, p, dir)
	}
	if err != nil {
		return err
	}
	return adopt(dir, target)
}

// adopt moves the one file of a folder to its place in the cache.
func adopt(dir, target string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("look at the download: %w", err)
	}
	if len(entries) != 1 || entries[0].IsDir() {
		return fmt.Errorf("the client left %d files, not one archive", len(entries))
	}
	if err := os.Rename(filepath.Join(dir, entries[0].Name()), target); err != nil {
		return fmt.Errorf("move the download: %w", err)
	}
	return nil
}

func (d *downloader) downloadNpm(ctx context.Context, p Package, dir string) error {
	_, err := d.Run(ctx, Command{Dir: dir, Args: []string{"npm", "pack", "--loglevel=error", "--ignore-scripts", p.Name + "@" + p.Version}})
	return err
}

// errGone is for versions that a client knows no more.
var errGone = errors.New("this version is no longer offered")

// downloadDeb asks apt-get, with fresh package lists if the old ones do not have the version.
func (d *downloader) downloadDeb(ctx context.Context, p Package, dir string) error {
	command := Command{Dir: dir, Args: []string{"apt-get", "download", "--quiet=2", p.Name + ":" + p.Arch + "=" + p.Version}}
	_, err := d.Run(ctx, command)
	if err == nil || !unknownToApt(err) {
		return err
	}
	if err := d.update(); err != nil {
		return fmt.Errorf("%w (and the lists of apt could not be brought up to date: %w)", errGone, err)
	}
	if _, err = d.Run(ctx, command); err == nil || !unknownToApt(err) {
		return err
	}
	return fmt.Errorf("%w: Debian's mirrors keep only the newest versions of a release, and none for an architecture that apt is not set up for. "+
		"The committed table stays valid: this package is needed only to train again. "+
		"Get the file from an archive of old Debian versions and put it at %s, or train with another list of packages (%w)", errGone, p.Path(d.Cache), err)
}

func unknownToApt(err error) bool {
	message := err.Error()
	return strings.Contains(message, "was not found") || strings.Contains(message, "Unable to locate package") ||
		strings.Contains(message, "no installation candidate") || strings.Contains(message, "Can't find a source to download")
}

// updateApt has no context of its own: it runs once for all packages.
func (d *downloader) updateApt() error {
	_, err := d.Run(context.Background(), Command{Dir: d.Cache, Args: []string{"apt-get", "update", "--quiet=2"}})
	return err
}

// downloadGo uses a module cache inside the cache. A module that wants a newer Go is an error to
// the go command, yet its zip is there, which is all that is needed.
func (d *downloader) downloadGo(ctx context.Context, p Package) error {
	modules, err := filepath.Abs(filepath.Join(d.Cache, "gomod"))
	if err != nil {
		return fmt.Errorf("find the cache: %w", err)
	}
	if err := os.MkdirAll(modules, 0o755); err != nil {
		return fmt.Errorf("make the cache: %w", err)
	}
	out, err := d.Run(ctx, Command{
		Dir:  modules,
		Env:  []string{"GOMODCACHE=" + modules, "GOFLAGS=-modcacherw", "GOSUMDB=off", "GOTOOLCHAIN=local", "GOWORK=off", "GO111MODULE=on"},
		Args: []string{"go", "mod", "download", "-json", p.Name + "@" + p.Version},
	})
	var answer struct{ Zip, Sum, Error string }
	if jsonErr := json.Unmarshal(out, &answer); jsonErr != nil {
		return errors.Join(err, fmt.Errorf("read the answer of the go command: %w", jsonErr))
	}
	if answer.Zip == "" || answer.Sum == "" {
		return errors.Join(errors.New(answer.Error), err)
	}
	// The go command unpacks what it downloads; only the zip is read here.
	unpacked := filepath.Join(modules, filepath.FromSlash(escapeUpper(p.Name)+"@"+escapeUpper(p.Version)))
	if err := os.RemoveAll(unpacked); err != nil {
		return fmt.Errorf("remove the unpacked module: %w", err)
	}
	return nil
}
