package app

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
)

const (
	secretName = "approvals.key"
	secretSize = 32
)

// approvalSecret is what a person's decisions are sealed with. It belongs to the
// user and lies outside every workspace, because a workspace may come from
// elsewhere and bring a database along.
func approvalSecret(log *slog.Logger) ([]byte, error) { return secretIn(secretFolders(), log) }

// secretIn is the secret of the first folder that can keep one.
func secretIn(folders []string, log *slog.Logger) ([]byte, error) {
	secret, err := keptSecret(folders[0])
	if err == nil || len(folders) == 1 {
		return secret, err
	}
	if _, there := os.Lstat(filepath.Join(folders[0], secretName)); there == nil {
		return nil, err // another key would make strangers of all who were let in with this one
	}
	if err := private(folders[1]); err != nil {
		return nil, err
	}
	log.Warn("the key of approvals is kept in the temporary folder, because the home folder cannot keep it", "error", err)
	return keptSecret(folders[1])
}

// private makes sure that nobody else has laid a folder where ours should be.
func private(folder string) error {
	if err := os.Mkdir(folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("keep the key of approvals in the temporary folder: %w", err)
	}
	info, err := os.Lstat(folder)
	if err != nil {
		return fmt.Errorf("keep the key of approvals in the temporary folder: %w", err)
	}
	if runtime.GOOS != "windows" && (!info.IsDir() || info.Mode().Perm()&0o077 != 0) {
		return fmt.Errorf("%s is not ours alone, so the key of approvals cannot be kept there; remove it", folder)
	}
	return nil
}

// secretFolders are where the secret may lie: with the user, or else where programs put
// what they need for a while.
func secretFolders() []string {
	passing := filepath.Join(os.TempDir(), "remit-"+strconv.Itoa(os.Getuid()))
	home, err := homeFolder()
	if err != nil {
		return []string{passing}
	}
	return []string{filepath.Join(home, ".config", "remit"), passing}
}

// homeFolder asks the system and not the environment, which a client that starts
// us may have changed.
func homeFolder() (string, error) {
	if u, err := user.LookupId(strconv.Itoa(os.Getuid())); err == nil && u.HomeDir != "" {
		return u.HomeDir, nil
	}
	return os.UserHomeDir()
}

// secretsWithin are the folders in which the secret may lie, root being the home folder or not.
func secretsWithin(root string) []string {
	return append(secretFolders(), filepath.Join(root, ".config", "remit"))
}

// keptSecret reads the secret in a folder, or makes it if there is none yet.
func keptSecret(folder string) ([]byte, error) {
	name := filepath.Join(folder, secretName)
	secret, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeSecret(name); err != nil {
			return nil, fmt.Errorf("make the key of approvals: %w", err)
		}
		secret, err = os.ReadFile(name)
	}
	if err != nil {
		return nil, fmt.Errorf("read the key of approvals: %w", err)
	}
	if len(secret) != secretSize {
		return nil, fmt.Errorf("the key of approvals %s has %d bytes, not %d; remove it", name, len(secret), secretSize)
	}
	return secret, nil
}

// makeSecret lets a new secret appear whole or not at all. Whoever makes one first
// wins.
func makeSecret(name string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	secret := make([]byte, secretSize)
	_, _ = rand.Read(secret) // never fails
	temporary, err := os.CreateTemp(filepath.Dir(name), secretName+".*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(temporary.Name()) }() // linked by now, or of no use
	_, err = temporary.Write(secret)
	if err = errors.Join(err, temporary.Sync(), temporary.Close()); err != nil {
		return err
	}
	if err := os.Link(temporary.Name(), name); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}
