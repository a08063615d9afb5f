package memlog_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"remit/internal/contract"
	"remit/internal/stores/memlog"
	"remit/internal/toolsets/learning"
	"remit/internal/toolsets/learning/learningtest"
)

// folder reads files in a folder, and records the policy that it was given.
type folder struct {
	memlog.Dir
	policy *contract.PathPolicy
}

func (f *folder) OpenRead(name string, policy *contract.PathPolicy) (*os.File, error) {
	f.policy = policy
	file, err := os.Open(filepath.Join(string(f.Dir), name))
	if err != nil {
		return nil, contract.Errorf(contract.NotFound, "none").Because(err)
	}
	return file, nil
}

// reader reads files in a folder.
type reader string

func (r reader) OpenRead(name string, policy *contract.PathPolicy) (*os.File, error) {
	return (&folder{Dir: memlog.Dir(r)}).OpenRead(name, policy)
}

// TestWriteMemoryEntry runs the suite of the tool with two processes.
func TestWriteMemoryEntry(t *testing.T) {
	learningtest.Suite(t, func(t *testing.T) (one, other learning.Memory) {
		dir := t.TempDir()
		open := func() learning.Memory {
			m := &memlog.Memory{Files: memlog.Dir(dir), Reader: reader(dir), Folder: "mem"}
			t.Cleanup(func() { _ = m.Close() })
			return m
		}
		return open(), open()
	})
}

func TestTail(t *testing.T) {
	for _, tc := range []struct {
		name, file, content string
		limit               int64
		want                learning.Tail
	}{
		{"the whole", "a.jsonl", "1\n22\n333\n", 100, learning.Tail{Text: []byte("1\n22\n333\n")}},
		{"exactly the whole", "a.jsonl", "1\n22\n333\n", 9, learning.Tail{Text: []byte("1\n22\n333\n")}},
		{"a byte less", "a.jsonl", "1\n22\n333\n", 8, learning.Tail{Text: []byte("22\n333\n"), Before: 2}},
		{"exactly from the start of a line", "a.jsonl", "1\n22\n333\n", 7, learning.Tail{Text: []byte("22\n333\n"), Before: 2}},
		{"from the middle of a line", "a.jsonl", "1\n22\n333\n", 6, learning.Tail{Text: []byte("333\n"), Before: 5}},
		{"less than the last line", "a.jsonl", "1\n22\n333\n", 3, learning.Tail{Text: []byte{}, Before: 9}},
		{"one endless line", "a.jsonl", "12345678", 3, learning.Tail{Text: []byte{}, Before: 8}},
		{"a line being written", "a.jsonl", "{}\n{\"a\":", 100, learning.Tail{Text: []byte("{}\n")}},
		{"a last line without its newline", "a.jsonl", "{}\n{}", 100, learning.Tail{Text: []byte("{}\n{}")}},
		{"a text is never torn", "a.md", "# A\n- b", 100, learning.Tail{Text: []byte("# A\n- b")}},
		{"an empty file", "a.jsonl", "", 100, learning.Tail{Text: []byte{}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.MkdirAll(filepath.Join(dir, "mem"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "mem", tc.file), []byte(tc.content), 0o644); err != nil {
				t.Fatal(err)
			}
			memory := &memlog.Memory{Reader: &folder{Dir: memlog.Dir(dir)}, Folder: "mem"}
			got, err := memory.Tail(t.Context(), tc.file, nil, tc.limit)
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
				t.Errorf("%v %s", err, diff)
			}
		})
	}
}

// TestReadBack checks that acknowledged entries are read, with the policy of the caller.
func TestReadBack(t *testing.T) {
	files := &folder{Dir: memlog.Dir(t.TempDir())}
	memory := &memlog.Memory{Files: files, Reader: files, Folder: "mem"}
	policy := &contract.PathPolicy{Arg: "path"}
	if _, err := memory.Stat(t.Context(), "a.jsonl", policy); err == nil || files.policy != policy {
		t.Errorf("before there is a file: %v, policy %v", err, files.policy)
	}
	for range 100 {
		if _, err := memory.Append(t.Context(), "a.jsonl", []byte(`{"n":1}`), nil)(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	info, err := memory.Stat(t.Context(), "a.jsonl", policy)
	if err != nil || info.Size() != 800 {
		t.Errorf("stat: %v, %v", info, err)
	}
	files.policy = nil
	tail, err := memory.Tail(t.Context(), "a.jsonl", policy, 80)
	if err != nil || string(tail.Text) != strings.Repeat("{\"n\":1}\n", 10) || tail.Before != 720 || files.policy != policy {
		t.Errorf("tail: %q %d, %v", tail.Text, tail.Before, err)
	}
	if err := memory.Close(); err != nil {
		t.Error(err)
	}
}

// TestAppendFollows checks that an entry is stored only after the text that it follows.
func TestAppendFollows(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "mem"), 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "mem", "a.jsonl")
	write(t, file, "1\n22\n")
	memory := &memlog.Memory{Files: memlog.Dir(dir), Reader: &folder{Dir: memlog.Dir(dir)}, Folder: "mem"}
	sum := sha256.Sum256([]byte("22\n"))
	seen := &learning.Extent{End: 5, Size: 3, Hash: hex.EncodeToString(sum[:])}
	// What precedes the second is more than what it follows.
	for _, entry := range []string{"3", "4"} {
		if _, err := memory.Append(t.Context(), "a.jsonl", []byte(entry), seen)(t.Context()); err != nil {
			t.Errorf("entry %s: %v", entry, err)
		}
	}
	for _, changed := range []string{"1\n23\n3\n4\n", "1\n", ""} {
		write(t, file, changed)
		if _, err := memory.Append(t.Context(), "a.jsonl", []byte("5"), seen)(t.Context()); !errors.Is(err, learning.ErrChanged) {
			t.Errorf("after a change to %q: %v", changed, err)
		}
		if got := read(t, file); got != changed {
			t.Errorf("the file holds %q, want %q", got, changed)
		}
	}
	if err := memory.Close(); err != nil {
		t.Error(err)
	}
}
