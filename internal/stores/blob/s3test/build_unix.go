//go:build unix

package s3test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

const module = "github.com/versity/versitygw"

// program returns the path of versitygw, and builds it if it is missing. It is stored in the user's
// cache, by the version in tools/go.mod.
func program() (string, error) {
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	version, err := versionIn(filepath.Join(root, "tools", "go.mod"))
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	folder := filepath.Join(cache, "remit")
	bin := filepath.Join(folder, "versitygw-"+version)
	if _, err := os.Stat(bin); err == nil {
		return bin, nil
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	// Several test binaries may need it at the same time; one builds it.
	lock, err := os.OpenFile(bin+".lock", os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", err
	}
	if _, err := os.Stat(bin); err == nil {
		return bin, nil
	}
	return bin, build(root, bin)
}

// build builds the program and moves it into place when it is complete.
func build(root, bin string) error {
	half := bin + ".half"
	cmd := exec.CommandContext(context.Background(), "go", "build", "-modfile=tools/go.mod", "-ldflags=-s -w", "-o", half, module+"/cmd/versitygw")
	cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build versitygw: %w\n%s", err, out)
	}
	return os.Rename(half, bin)
}

// moduleRoot returns the folder of go.mod above the tested package.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("find go.mod above the test: not found")
		}
		dir = filepath.Dir(dir)
	}
}

// versionIn returns the version of versitygw in a go.mod file.
func versionIn(file string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == module {
			return fields[1], nil
		}
	}
	return "", errors.New("tools/go.mod does not name versitygw")
}
