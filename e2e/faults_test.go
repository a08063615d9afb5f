package e2e

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// fault is one that a test plants while no server runs.
type fault struct {
	name   string
	plant  func(s *storages)
	check  string // the check of doctor that names it
	says   string // what doctor says
	health string // the check of /health that names it
}

// editFile changes the bytes of a file below the base.
func (s *storages) editFile(name string, change func(data []byte) []byte) {
	s.t.Helper()
	name = filepath.Join(s.base, name)
	data, err := os.ReadFile(name)
	s.check(err)
	s.check(os.WriteFile(name, change(data), 0o600))
}

// zeroPages overwrites the pages of the database that hold a text.
func (s *storages) zeroPages(text string) {
	s.t.Helper()
	s.editFile("data/remit.db", func(data []byte) []byte {
		found := false
		for at := bytes.Index(data, []byte(text)); at >= 0; at = bytes.Index(data, []byte(text)) {
			clear(data[at/4096*4096:][:4096])
			found = true
		}
		if !found {
			s.t.Fatalf("no page holds %s", text)
		}
		return data
	})
}

// records returns the newest file of audit records, relative to the base.
func (s *storages) records() string {
	s.t.Helper()
	files, err := filepath.Glob(filepath.Join(s.base, "data/audit/*.jsonl"))
	s.check(err)
	return "data/audit/" + filepath.Base(files[len(files)-1])
}

func (s *storages) remove(names ...string) {
	s.t.Helper()
	for _, name := range names {
		s.check(os.RemoveAll(filepath.Join(s.base, name)))
	}
}

// another returns the database of another workspace, as a crash left it.
func (s *storages) another() string {
	s.t.Helper()
	other := newStorages(s.t)
	other.start()
	if got := other.call(taskWrite, "other"); got.status != http.StatusOK {
		s.t.Fatalf("add_task: %d %s", got.status, got.body)
	}
	other.server.kill()
	return filepath.Join(other.base, "data")
}

func (s *storages) copyFile(from, to string) {
	s.t.Helper()
	data, err := os.ReadFile(from)
	s.check(err)
	s.check(os.WriteFile(filepath.Join(s.base, to), data, 0o600))
}

var faults = []fault{
	{"nothing", func(*storages) {}, "", "", ""},
	{"data folder deleted", func(s *storages) { s.remove("data") }, "data", "is missing", "data"},
	{"data folder replaced", func(s *storages) {
		s.remove("data")
		s.check(os.Mkdir(filepath.Join(s.base, "data"), 0o700))
	}, "data", "has lost its id", "data"},
	{"data folder of another workspace", func(s *storages) { s.copyFolder(s.another(), filepath.Join(s.base, "data")) }, "data", "not the one", "data"},
	{"library deleted", func(s *storages) { s.remove("library") }, "books", "is missing", "books"},
	{"library replaced", func(s *storages) {
		s.remove("library")
		s.check(os.Mkdir(filepath.Join(s.base, "library"), 0o700))
	}, "books", "has lost its id", "books"},
	{"memory files deleted", func(s *storages) { s.remove("root/.claude") }, "memory", "is missing", "memory"},
	{"memory files replaced", func(s *storages) {
		s.remove("root/.claude/memory")
		s.check(os.Mkdir(filepath.Join(s.base, "root/.claude/memory"), 0o700))
	}, "memory", "has lost all memory files", "memory"},
	{"database deleted", func(s *storages) { s.remove("data/remit.db") }, "database", "is missing", "database"},
	{"database of 0 bytes", func(s *storages) { s.editFile("data/remit.db", func([]byte) []byte { return nil }) }, "database", "is empty", "database"},
	{"database cut", func(s *storages) {
		s.editFile("data/remit.db", func(data []byte) []byte { return data[:len(data)/2] })
	}, "database", "damaged", "database"},
	{"page of tasks zeroed", func(s *storages) { s.zeroPages("task-title") }, "database", "damaged", "database"},
	{"page of the id zeroed", func(s *storages) { s.zeroPages("data_id") }, "database", "damaged", "database"},
	{"foreign header", func(s *storages) {
		s.editFile("data/remit.db", func(data []byte) []byte { copy(data, "GIF89a and no SQLite"); return data })
	}, "database", "not a SQLite database", "database"},
	{"database of another workspace", func(s *storages) {
		other := s.another()
		for _, suffix := range []string{"", "-wal", "-shm"} {
			s.copyFile(other+"/remit.db"+suffix, "data/remit.db"+suffix)
		}
	}, "database", "not the one", "database"},
	{"log of another database", func(s *storages) { s.copyFile(s.another()+"/remit.db-wal", "data/remit.db-wal") }, "database", "not the one", "database"},
	{"log of the database removed", func(s *storages) {
		s.start()
		s.call(taskWrite, "crashed")
		s.server.kill()
		s.remove("data/remit.db-wal")
	}, "database", "(-wal) was removed", "database"},
	{"audit tail cut", func(s *storages) {
		s.editFile(s.records(), func(data []byte) []byte { return data[:bytes.LastIndexByte(bytes.TrimSpace(data), '\n')+1] })
	}, "audit", "missing at the end", "audit"},
	{"audit file removed", func(s *storages) { s.remove(s.records()) }, "audit", "missing at the end", "audit"},
	{"audit record changed", func(s *storages) {
		s.editFile(s.records(), func(data []byte) []byte {
			return bytes.Replace(data, []byte(`"outcome":"ok"`), []byte(`"outcome":"no"`), 1)
		})
	}, "audit", "was altered", "audit"},
	{"audit record doubled", func(s *storages) {
		s.editFile(s.records(), func(data []byte) []byte {
			first, _, _ := bytes.Cut(data, []byte("\n"))
			return append(append(bytes.Clone(first), '\n'), data...)
		})
	}, "audit", "does not follow", "audit"},
}

// TestFaultsAreNamed plants each fault in a workspace: doctor and /health name it, and nothing on a
// healthy one. Nothing is created in the place of what is gone.
func TestFaultsAreNamed(t *testing.T) {
	t.Parallel()
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			s := newStorages(t)
			s.start()
			for kind := range s.acks {
				if got := s.call(kind, "task-title"); got.status != http.StatusOK {
					t.Fatalf("write: %d %s", got.status, got.body)
				}
			}
			s.server.end()
			f.plant(s)
			s.checkDoctor(f)
			s.start()
			s.awaitHealth(f)
			s.server.kill()
			s.checkDoctor(f) // a start has not hidden it
		})
	}
}

func (s *storages) checkDoctor(f fault) {
	s.t.Helper()
	got := s.remit(append([]string{"doctor", "--json", "--root", s.root, "--addr", "127.0.0.1:0", "--toolsets", "tasks,learning-os,books"}, s.flags()...)...)
	var report struct {
		Checks []struct{ Check, Status, Found, Fix string }
	}
	s.check(json.Unmarshal([]byte(got.out), &report))
	named := false
	for _, c := range report.Checks {
		if c.Status == "fail" && f.check == "" {
			s.t.Errorf("a healthy workspace: %+v", c)
		}
		named = named || c.Status == "fail" && c.Check == f.check && strings.Contains(c.Found, f.says) && c.Fix != ""
	}
	if f.check != "" && !named {
		s.t.Errorf("doctor does not say that %s %q: %s", f.check, f.says, got.out)
	}
}

// awaitHealth waits until /health names a fault: the data is checked soon after the start.
func (s *storages) awaitHealth(f fault) {
	s.t.Helper()
	for deadline := time.Now().Add(timeout); ; time.Sleep(20 * time.Millisecond) {
		failed := s.health()
		if f.health == "" {
			if len(failed) > 0 {
				s.t.Errorf("a healthy workspace: %v", failed)
			}
			return
		}
		for _, name := range failed {
			if name == f.health {
				return
			}
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("health does not name %s: %v", f.health, failed)
		}
	}
}
