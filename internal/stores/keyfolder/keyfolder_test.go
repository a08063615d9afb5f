package keyfolder

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func noEnv(string) (string, bool) { return "", false }

// TestFind checks where keys are: the chosen folder, the state directory of a service, or the home
// folder that the system knows, whatever HOME says.
func TestFind(t *testing.T) {
	state := t.TempDir()
	service := func(name string) (string, bool) { return state, name == "STATE_DIRECTORY" }
	home, err := homeFolder()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", "/nowhere") // set by a client that starts us
	for want, got := range map[string]*Folder{
		"/chosen":                               Find("/chosen", service),
		state:                                   Find("", service),
		filepath.Join(home, ".config", "remit"): Find("", noEnv),
	} {
		if got.Path() != want {
			t.Errorf("found %s, want %s", got.Path(), want)
		}
	}
}

// TestKeyIsNeverReplaced checks that a key is created once, and that one which exists but cannot be
// used is an error.
func TestKeyIsNeverReplaced(t *testing.T) {
	f := Find(filepath.Join(t.TempDir(), "keys"), noEnv)
	first, err := f.Key()
	if err != nil || len(first) != keySize {
		t.Fatalf("%d bytes, error %v", len(first), err)
	}
	if again, err := f.Key(); err != nil || !bytes.Equal(again, first) {
		t.Errorf("another key, error %v", err)
	}
	if err := os.WriteFile(f.KeyFile(), []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Key(); err == nil || !strings.Contains(err.Error(), "has 5 bytes, not 32") {
		t.Errorf("a damaged key: %v", err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Find(filepath.Join(file, "keys"), noEnv).Key(); err == nil || !strings.Contains(err.Error(), "REMIT_KEYS") {
		t.Errorf("a folder that cannot be created: %v", err)
	}
}

// TestFolderOfOthers checks that a folder or key that others can read or replace is refused.
func TestFolderOfOthers(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such modes")
	}
	made := func(t *testing.T) *Folder {
		t.Helper()
		f := Find(filepath.Join(t.TempDir(), "keys"), noEnv)
		if _, err := f.Key(); err != nil {
			t.Fatal(err)
		}
		return f
	}
	fixes := map[string]string{"mode of the folder": "run chmod 700 FOLDER", "mode of the key": "run chmod 600 FOLDER/approvals.key"}
	for name, spoil := range map[string]func(f *Folder) (*Folder, error){
		"mode of the folder": func(f *Folder) (*Folder, error) { return f, os.Chmod(f.Path(), 0o755) },
		"mode of the key":    func(f *Folder) (*Folder, error) { return f, os.Chmod(f.KeyFile(), 0o644) },
		"a link": func(f *Folder) (*Folder, error) {
			return Find(f.Path()+"-link", noEnv), os.Symlink(f.Path(), f.Path()+"-link")
		},
		"a key that is a link": func(f *Folder) (*Folder, error) {
			return f, os.Rename(f.KeyFile(), f.KeyFile()+".moved")
		},
		"another owner": func(f *Folder) (*Folder, error) {
			if os.Geteuid() != 0 {
				return f, os.Chmod(f.Path(), 0o777) // only root can give a folder away
			}
			return f, os.Chown(f.Path(), 12345, -1)
		},
		"a pipe as the key": func(f *Folder) (*Folder, error) {
			return f, errors.Join(os.Remove(f.KeyFile()), exec.Command("mkfifo", "-m", "600", f.KeyFile()).Run())
		},
		"a folder above that all may change": func(f *Folder) (*Folder, error) {
			return f, os.Chmod(filepath.Dir(f.Path()), 0o777)
		},
		"a folder above of another owner": func(f *Folder) (*Folder, error) {
			if os.Geteuid() != 0 {
				return f, os.Chmod(filepath.Dir(f.Path()), 0o777)
			}
			return f, os.Chown(filepath.Dir(f.Path()), 12345, -1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := spoil(made(t))
			if err != nil {
				t.Fatal(err)
			}
			if name == "a key that is a link" {
				if err := os.Symlink(f.KeyFile()+".moved", f.KeyFile()); err != nil {
					t.Fatal(err)
				}
			}
			_, err = f.Key()
			if fix := strings.Replace(fixes[name], "FOLDER", f.Path(), 1); err == nil || !strings.Contains(err.Error(), fix) {
				t.Errorf("%v; want an error with %q", err, fix)
			}
		})
	}
}

// TestSharedFolderAbove checks that a folder in which all may create files, but nobody may replace
// those of others, is accepted above the key folder, if it is named.
func TestSharedFolderAbove(t *testing.T) {
	above := t.TempDir()
	if err := os.Chmod(above, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	if _, err := Find(filepath.Join(above, "keys"), noEnv).Key(); err != nil {
		t.Error(err)
	}
	for _, folder := range []string{above, "/tmp", "/var/tmp/x", "/dev/shm"} {
		if !isTemporary(folder) {
			t.Errorf("%s is not temporary", folder)
		}
	}
	for _, folder := range []string{"/home/ada", "/tmpx", "/", "/var"} {
		if isTemporary(folder) {
			t.Errorf("%s is temporary", folder)
		}
	}
}

// TestPreparedFolder checks that a folder which was prepared with the usual mode gets a safe one
// with its first key.
func TestPreparedFolder(t *testing.T) {
	f := Find(t.TempDir(), noEnv)
	if err := os.Chmod(f.Path(), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Key(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(f.Path()); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o700 {
		t.Errorf("mode %v, error %v", info.Mode(), err)
	}
	if runtime.GOOS == "windows" {
		return
	}
	shared := t.TempDir()
	if err := os.Chmod(shared, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	if _, err := Find(shared, noEnv).Key(); err == nil {
		t.Error("a folder that everybody may write to is taken over")
	}
	if info, err := os.Stat(shared); err != nil || info.Mode().Perm() != 0o777 {
		t.Errorf("mode %v of a shared folder, error %v", info.Mode(), err)
	}
}

// TestDocuments checks that a document is valid for its name, its workspace and its key only.
func TestDocuments(t *testing.T) {
	f := Find(filepath.Join(t.TempDir(), "keys"), noEnv)
	w := f.Workspace("/work")
	if content, err := w.Read("a.json"); content != nil || err != nil {
		t.Errorf("%q, error %v, of a document that does not exist", content, err)
	}
	if err := w.Write("a.json", []byte(`{"x":1}`)); err != nil {
		t.Fatal(err)
	}
	if content, err := w.Read("a.json"); string(content) != `{"x":1}` || err != nil {
		t.Errorf("%q, error %v", content, err)
	}
	stored := filepath.Join(w.dir, "a.json")
	copyTo := func(target string) error {
		data, err := os.ReadFile(stored)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
			return err
		}
		return os.WriteFile(target, data, 0o600)
	}
	other := f.Workspace("/other")
	for name, c := range map[string]struct {
		forge func() error
		from  *Workspace
		file  string
	}{
		"of another workspace": {func() error { return copyTo(filepath.Join(other.dir, "a.json")) }, other, "a.json"},
		"of another name":      {func() error { return copyTo(filepath.Join(w.dir, "b.json")) }, w, "b.json"},
		"changed": {func() error {
			data, err := os.ReadFile(stored)
			if err != nil {
				return err
			}
			return os.WriteFile(stored, bytes.Replace(data, []byte(`"x":1`), []byte(`"x":2`), 1), 0o600)
		}, w, "a.json"},
	} {
		if err := c.forge(); err != nil {
			t.Fatal(err)
		}
		if content, err := c.from.Read(c.file); err == nil {
			t.Errorf("a document %s was accepted: %s", name, content)
		}
	}
}
