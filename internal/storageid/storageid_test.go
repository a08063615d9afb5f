package storageid_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"remit/internal/storageid"
)

// memory is a Memory that tests read and change.
type memory struct {
	mu sync.Mutex
	id string
}

func (m *memory) Known() (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.id, nil
}

func (m *memory) Record(id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.id = id
	return nil
}

func newFolder(t *testing.T, path string, known storageid.Memory) *storageid.Folder {
	t.Helper()
	f := &storageid.Folder{
		Path: path, Memory: known,
		ID: storageid.IDFile{Folder: path, Open: func(create bool) (*os.File, error) {
			name := filepath.Join(path, "id")
			if !create {
				return os.Open(name)
			}
			if err := os.MkdirAll(path, 0o700); err != nil {
				return nil, err
			}
			return os.OpenFile(name, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
		}},
		Refuse: func(why string) error { return errors.New("the folder " + why) },
	}
	t.Cleanup(f.Close)
	return f
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestAFolderIsUnknownUntilItIsClaimed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	known := &memory{}
	f := newFolder(t, path, known)
	check(t, f.Check())
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("Check created something: %v", err)
	}
	check(t, f.Claim())
	check(t, f.Before(true))
	check(t, f.After())
	if known.id == "" {
		t.Error("the id is not known")
	}
	before := known.id
	check(t, newFolder(t, path, &memory{}).Claim()) // another process
	other := newFolder(t, path, known)
	check(t, other.Claim())
	if known.id != before {
		t.Errorf("the id changed from %s to %s", before, known.id)
	}
}

// TestAnotherFolderInItsPlace takes the folder away in every way, while it is in use and before
// the program starts again, and puts it back.
func TestAnotherFolderInItsPlace(t *testing.T) {
	for name, tc := range map[string]struct {
		replace func(t *testing.T, path string)
		why     string
	}{
		"nothing": {func(*testing.T, string) {}, "is missing"},
		"an empty folder": {func(t *testing.T, path string) {
			t.Helper()
			check(t, os.Mkdir(path, 0o700))
		}, "has lost its id"},
		"a folder with another id": {func(t *testing.T, path string) {
			t.Helper()
			check(t, newFolder(t, path, &memory{}).Claim())
		}, "is not the one that was used before"},
		"a file": {func(t *testing.T, path string) {
			t.Helper()
			check(t, os.WriteFile(path, nil, 0o600))
		}, "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "data")
			known := &memory{}
			f := newFolder(t, path, known)
			check(t, f.Claim())
			check(t, os.Rename(path, path+".away"))
			tc.replace(t, path)
			for _, f := range []*storageid.Folder{f, newFolder(t, path, known)} {
				for _, err := range []error{f.Check(), f.Claim(), f.Before(false), f.Before(true), f.After()} {
					if err == nil || !strings.Contains(err.Error(), tc.why) {
						t.Errorf("got %v, want that it %s", err, tc.why)
					}
				}
			}
			if name == "nothing" {
				if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("it was created anew: %v", err)
				}
			}
			check(t, os.RemoveAll(path))
			check(t, os.Rename(path+".away", path))
			check(t, f.Check())
			check(t, f.Claim())
		})
	}
}

// TestARemountedFolder puts a copy with the same id in its place, as a volume that is mounted
// again has other numbers.
func TestARemountedFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	known := &memory{}
	f := newFolder(t, path, known)
	check(t, f.Claim())
	check(t, os.CopyFS(path+".copy", os.DirFS(path)))
	check(t, os.RemoveAll(path))
	check(t, os.Rename(path+".copy", path))
	check(t, f.Check())
	known.id = ""
	check(t, f.Check())
}

func TestForgotten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	known := &memory{}
	f := newFolder(t, path, known)
	check(t, f.Claim())
	check(t, os.RemoveAll(path))
	if f.Claim() == nil {
		t.Fatal("it was created anew")
	}
	known.id = ""
	check(t, f.Claim())
	check(t, f.Check())
}

// TestManyClaimAtOnce claims a folder from many processes: all have the same id.
func TestManyClaimAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	all := make([]memory, 20)
	var claims sync.WaitGroup
	for i := range all {
		claims.Go(func() {
			if err := newFolder(t, path, &all[i]).Claim(); err != nil {
				t.Error(err)
			}
		})
	}
	claims.Wait()
	for i := range all {
		if all[i].id != all[0].id || all[i].id == "" {
			t.Errorf("%q and %q", all[i].id, all[0].id)
		}
	}
}

func FuzzRead(f *testing.F) {
	id := storageid.New()
	f.Add("")
	f.Add(id + "\n")
	f.Add("half" + "\n" + id + "\n")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := storageid.Read(strings.NewReader(text))
		if err != nil || got != "" && !strings.Contains(text, got+"\n") && !strings.Contains(text, got) {
			t.Errorf("%q, %v", got, err)
		}
		if whole, _ := storageid.Read(strings.NewReader("\n" + id + "\n" + text)); whole != id {
			t.Errorf("got %q, want %q", whole, id)
		}
	})
}
