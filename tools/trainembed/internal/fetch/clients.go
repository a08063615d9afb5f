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

// Command is a call of a package client: go, npm or apt-get.
type Command struct {
	Dir  string   // the folder to run in, where the client also puts its downloads
	Env  []string // added to the environment of this program
	Args []string // the first one is the client
}

// Runner runs a command and returns its standard output. The error contains its error output.
type Runner func(ctx context.Context, c Command) (stdout []byte, err error)

// run runs the command.
func run(ctx context.Context, c Command) ([]byte, error) {
	var out, errorOutput bytes.Buffer
	command := exec.CommandContext(ctx, c.Args[0], c.Args[1:]...)
	command.Dir, command.Env = c.Dir, append(os.Environ(), c.Env...)
	command.Stdout, command.Stderr = &out, &errorOutput
	if err := command.Run(); err != nil {
		return out.Bytes(), fmt.Errorf("%s: %w: %s", strings.Join(c.Args[:2], " "), err, shorten(errorOutput.String()))
	}
	return out.Bytes(), nil
}

// shorten keeps the end of a client's error output, which has the reason.
func shorten(errorOutput string) string {
	errorOutput = strings.TrimSpace(errorOutput)
	if len(errorOutput) > 600 {
		errorOutput = "..." + errorOutput[len(errorOutput)-600:]
	}
	return errorOutput
}

// download downloads one package with its client and moves it to the cache.
func (d *downloader) download(ctx context.Context, p Package) error {
	if p.Kind == Go {
		return d.downloadGo(ctx, p)
	}
	target := p.Path(d.Cache)
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return fmt.Errorf("create cache: %w", err)
	}
	dir, err := os.MkdirTemp(filepath.Dir(target), ".download-*")
	if err != nil {
		return fmt.Errorf("create download folder: %w", err)
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
	return moveDownload(dir, target)
}

// moveDownload moves the only file of a folder to its place in the cache.
func moveDownload(dir, target string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("list download: %w", err)
	}
	if len(entries) != 1 || entries[0].IsDir() {
		return fmt.Errorf("the client left %d files, not one archive", len(entries))
	}
	if err := os.Rename(filepath.Join(dir, entries[0].Name()), target); err != nil {
		return fmt.Errorf("move download: %w", err)
	}
	return nil
}

func (d *downloader) downloadNpm(ctx context.Context, p Package, dir string) error {
	_, err := d.Run(ctx, Command{Dir: dir, Args: []string{"npm", "pack", "--loglevel=error", "--ignore-scripts", p.Name + "@" + p.Version}})
	return err
}

// errGone means that a client no longer offers a version.
var errGone = errors.New("this version is no longer offered")

// downloadDeb calls apt-get, and updates the package lists if they do not have the version.
func (d *downloader) downloadDeb(ctx context.Context, p Package, dir string) error {
	command := Command{Dir: dir, Args: []string{"apt-get", "download", "--quiet=2", p.Name + ":" + p.Arch + "=" + p.Version}}
	_, err := d.Run(ctx, command)
	if err == nil || !unknownToApt(err) {
		return err
	}
	if err := d.update(); err != nil {
		return fmt.Errorf("%w (and the package lists of apt could not be updated: %w)", errGone, err)
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

// updateApt has no context because it runs once for all packages.
func (d *downloader) updateApt() error {
	_, err := d.Run(context.Background(), Command{Dir: d.Cache, Args: []string{"apt-get", "update", "--quiet=2"}})
	return err
}

// downloadGo uses a module cache inside the cache. The go command reports an error for a module
// that needs a newer Go, but still downloads the zip, which is enough.
func (d *downloader) downloadGo(ctx context.Context, p Package) error {
	modules, err := filepath.Abs(filepath.Join(d.Cache, "gomod"))
	if err != nil {
		return fmt.Errorf("find cache: %w", err)
	}
	if err := os.MkdirAll(modules, 0o755); err != nil {
		return fmt.Errorf("create cache: %w", err)
	}
	out, err := d.Run(ctx, Command{
		Dir:  modules,
		Env:  []string{"GOMODCACHE=" + modules, "GOFLAGS=-modcacherw", "GOSUMDB=off", "GOTOOLCHAIN=local", "GOWORK=off", "GO111MODULE=on"},
		Args: []string{"go", "mod", "download", "-json", p.Name + "@" + p.Version},
	})
	var answer struct{ Zip, Sum, Error string }
	if jsonErr := json.Unmarshal(out, &answer); jsonErr != nil {
		return errors.Join(err, fmt.Errorf("read output of the go command: %w", jsonErr))
	}
	if answer.Zip == "" || answer.Sum == "" {
		return errors.Join(errors.New(answer.Error), err)
	}
	// The go command unpacks what it downloads. Only the zip is needed.
	unpacked := filepath.Join(modules, filepath.FromSlash(escapeUpper(p.Name)+"@"+escapeUpper(p.Version)))
	if err := os.RemoveAll(unpacked); err != nil {
		return fmt.Errorf("remove unpacked module: %w", err)
	}
	return nil
}
