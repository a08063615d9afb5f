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

// approvalSecret returns the key that seals the decisions of people. It belongs to the user and is
// stored outside of every workspace, because a cloned workspace may contain a prepared database.
func approvalSecret(log *slog.Logger) ([]byte, error) { return secretIn(secretFolders(), log) }

// secretIn returns the secret in the first folder that can store one.
func secretIn(folders []string, log *slog.Logger) ([]byte, error) {
	secret, err := storedSecret(folders[0])
	if err == nil || len(folders) == 1 {
		return secret, err
	}
	if _, there := os.Lstat(filepath.Join(folders[0], secretName)); there == nil {
		return nil, err // another key would invalidate everything that was sealed with this one
	}
	if err := private(folders[1]); err != nil {
		return nil, err
	}
	log.Warn("the approval key is stored in the temporary folder, because it cannot be stored in the home folder", "error", err)
	return storedSecret(folders[1])
}

// private makes sure that the folder belongs to us alone, and was not prepared by someone else.
func private(folder string) error {
	if err := os.Mkdir(folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("store the approval key in the temporary folder: %w", err)
	}
	info, err := os.Lstat(folder)
	if err != nil {
		return fmt.Errorf("store the approval key in the temporary folder: %w", err)
	}
	if runtime.GOOS != "windows" && (!info.IsDir() || info.Mode().Perm()&0o077 != 0) {
		return fmt.Errorf("%s is accessible to other users, so the approval key cannot be stored there; remove it", folder)
	}
	return nil
}

// secretFolders returns the folders in which the secret may be stored: the home folder of the user,
// or else the temporary folder.
func secretFolders() []string {
	tempFolder := filepath.Join(os.TempDir(), "remit-"+strconv.Itoa(os.Getuid()))
	home, err := homeFolder()
	if err != nil {
		return []string{tempFolder}
	}
	return []string{filepath.Join(home, ".config", "remit"), tempFolder}
}

// homeFolder gets the home folder from the system, not from the environment, which the client that
// starts us may have changed.
func homeFolder() (string, error) {
	if u, err := user.LookupId(strconv.Itoa(os.Getuid())); err == nil && u.HomeDir != "" {
		return u.HomeDir, nil
	}
	return os.UserHomeDir()
}

// secretsWithin returns the folders in which the secret may be stored, whether or not root is the
// home folder.
func secretsWithin(root string) []string {
	return append(secretFolders(), filepath.Join(root, ".config", "remit"))
}

// storedSecret reads the secret in a folder, and creates it if there is none.
func storedSecret(folder string) ([]byte, error) {
	name := filepath.Join(folder, secretName)
	secret, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeSecret(name); err != nil {
			return nil, fmt.Errorf("create the approval key: %w", err)
		}
		secret, err = os.ReadFile(name)
	}
	if err != nil {
		return nil, fmt.Errorf("read the approval key: %w", err)
	}
	if len(secret) != secretSize {
		return nil, fmt.Errorf("the approval key %s has %d bytes, not %d; remove it", name, len(secret), secretSize)
	}
	return secret, nil
}

// makeSecret creates a new secret atomically. If several processes create one, the first wins.
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
	defer func() { _ = os.Remove(temporary.Name()) }() // linked by now, or not needed
	_, err = temporary.Write(secret)
	if err = errors.Join(err, temporary.Sync(), temporary.Close()); err != nil {
		return err
	}
	if err := os.Link(temporary.Name(), name); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}
