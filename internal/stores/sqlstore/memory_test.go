package sqlstore_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"remit/internal/contract"
	"remit/internal/stores/memlog"
	"remit/internal/stores/sqlstore"
	"remit/internal/stores/workspace"
	"remit/internal/toolsets/learning"
	"remit/internal/toolsets/learning/learningtest"
)

const folder = ".claude/memory"

var anyPath = &contract.PathPolicy{}

// filesIn returns the memory files of a workspace in a folder.
func filesIn(t *testing.T, dir string) *memlog.Memory {
	t.Helper()
	root, err := workspace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	files := &memlog.Memory{Files: root, Reader: root, Folder: folder}
	t.Cleanup(func() { _ = files.Close() })
	return files
}

// memoryOf returns memory files in a database, for a workspace that has none.
func memoryOf(t *testing.T, s sqlstore.Source, dir string) *sqlstore.Memory {
	t.Helper()
	m := s.Memory(sqlstore.MemoryOptions{Folder: folder, Files: filesIn(t, dir), Now: time.Now})
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return m
}

// TestMemoryMatchesFiles checks that the database gives the same results as files, whatever is
// appended.
func TestMemoryMatchesFiles(t *testing.T) {
	db := open(t, newDatabase(t))
	dir := t.TempDir()
	files, shared := filesIn(t, dir), memoryOf(t, source(db), t.TempDir())
	round := 0
	rapid.Check(t, func(r *rapid.T) {
		round++
		name := fmt.Sprintf("round%d%s", round, rapid.SampledFrom([]string{".jsonl", ".md"}).Draw(r, "ending"))
		body := rapid.StringMatching(`[a-zü\x00]{0,8}`)
		if strings.HasSuffix(name, ".md") {
			body = rapid.StringMatching(`[a-zü\x00\n]{0,12}`)
		}
		for _, text := range rapid.SliceOfN(body, 1, 6).Draw(r, "entries") {
			want, err := files.Append(t.Context(), name, []byte(text), nil)(t.Context())
			if err != nil {
				r.Fatal(err)
			}
			if got, err := shared.Append(t.Context(), name, []byte(text), nil)(t.Context()); err != nil || got != want {
				r.Fatalf("placed at %v, %v; a file says %v", got, err, want)
			}
		}
		sameTails(t, r, files, shared, name)
	})
}

// TestWriteMemoryEntry runs the suite of the tool with two replicas.
func TestWriteMemoryEntry(t *testing.T) {
	learningtest.Suite(t, func(t *testing.T) (one, other learning.Memory) {
		url := newDatabase(t)
		return memoryOf(t, source(open(t, url)), t.TempDir()), memoryOf(t, source(open(t, url)), t.TempDir())
	})
}

// sameTails compares the ends of a file, for every size.
func sameTails(t *testing.T, r *rapid.T, files, shared learning.Memory, name string) {
	info, err := shared.Stat(t.Context(), name, anyPath)
	if err != nil {
		r.Fatal(err)
	}
	for most := int64(1); most <= info.Size()+1; most++ {
		want, err := files.Tail(t.Context(), name, anyPath, most)
		if err != nil {
			r.Fatal(err)
		}
		got, err := shared.Tail(t.Context(), name, anyPath, most)
		if err != nil {
			r.Fatal(err)
		}
		if string(got.Text) != string(want.Text) || got.Before != want.Before {
			r.Fatalf("the last %d bytes are %q after %d; a file says %q after %d", most, got.Text, got.Before, want.Text, want.Before)
		}
	}
}

// TestMemoryAcrossReplicas appends to one file from several replicas. Each line must be at the
// place that its writer got, and the lines of one writer must be in order.
func TestMemoryAcrossReplicas(t *testing.T) {
	url := newDatabase(t)
	const writers, each = 8, 40
	var all sync.WaitGroup
	written := make([]map[int64]string, writers)
	replicas := []*sqlstore.Memory{memoryOf(t, source(open(t, url)), t.TempDir()), memoryOf(t, source(open(t, url)), t.TempDir())}
	for w := range writers {
		written[w] = map[int64]string{}
		all.Go(func() {
			for i := range each {
				text := fmt.Sprintf(`{"writer":%d,"entry":%d}`, w, i)
				place, err := replicas[w%2].Append(t.Context(), "log.jsonl", []byte(text), nil)(t.Context())
				if err != nil {
					t.Error(err)
				}
				written[w][place.Line] = text
			}
		})
	}
	all.Wait()
	tail, err := replicas[0].Tail(t.Context(), "log.jsonl", anyPath, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(tail.Text), "\n"), "\n")
	if len(lines) != writers*each {
		t.Errorf("%d lines, want %d", len(lines), writers*each)
	}
	for w := range writers {
		for number, text := range written[w] {
			if lines[number-1] != text {
				t.Fatalf("line %d is %s; its writer expects %s", number, lines[number-1], text)
			}
		}
	}
}

// TestMemoryCopiesFiles checks that the content of a workspace file is copied once, in front of
// the first entry, and that the file itself stays unchanged.
func TestMemoryCopiesFiles(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, file, before, want string }{
		{"lines", "a.jsonl", "{\"n\":1}\n{\"n\":2}\n", "{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n{\"n\":4}\n"},
		{"a line without its end", "a.jsonl", "{\"n\":1}\n{\"n\":2}", "{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n{\"n\":4}\n"},
		{"a torn line", "a.jsonl", "{\"n\":1}\n{\"n\":", "{\"n\":1}\n{\"n\":3}\n{\"n\":4}\n"},
		{"text", "a.md", "# Title\n\nText", "# Title\n\nText\n{\"n\":3}\n{\"n\":4}\n"},
		{"nothing", "a.md", "", "{\"n\":3}\n{\"n\":4}\n"},
		{"many lines", "a.jsonl", strings.Repeat("1\n", 1000), strings.Repeat("1\n", 1000) + "{\"n\":3}\n{\"n\":4}\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			url, dir := newDatabase(t), t.TempDir()
			path := filepath.Join(dir, folder, tc.file)
			write(t, path, tc.before)
			with, without := memoryOf(t, source(open(t, url)), dir), memoryOf(t, source(open(t, url)), t.TempDir())
			if before := tailOf(t, with, tc.file); tc.name != "a torn line" && before != tc.before {
				t.Errorf("before the first entry: %q, want %q", before, tc.before)
			}
			for i, m := range []*sqlstore.Memory{with, without} {
				if _, err := m.Append(t.Context(), tc.file, fmt.Appendf(nil, `{"n":%d}`, i+3), nil)(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			for _, m := range []*sqlstore.Memory{with, without} {
				if diff := cmp.Diff(tc.want, tailOf(t, m, tc.file)); diff != "" {
					t.Error(diff)
				}
			}
			if kept, err := os.ReadFile(path); err != nil || string(kept) != tc.before {
				t.Errorf("the file is %q, %v", kept, err)
			}
		})
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func tailOf(t *testing.T, m learning.Memory, file string) string {
	t.Helper()
	tail, err := m.Tail(t.Context(), file, anyPath, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return string(tail.Text)
}

// TestMemoryThatMayNotBeRead checks that a path policy applies to the table as it does to the file.
func TestMemoryThatMayNotBeRead(t *testing.T) {
	m := memoryOf(t, source(open(t, newDatabase(t))), t.TempDir())
	if _, err := m.Append(t.Context(), "a.jsonl", []byte("1"), nil)(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		file   string
		policy *contract.PathPolicy
		want   contract.Kind
	}{
		"no policy":   {"a.jsonl", nil, contract.Denied},
		"denied":      {"a.jsonl", &contract.PathPolicy{Deny: []string{".claude"}}, contract.Denied},
		"not allowed": {"a.jsonl", &contract.PathPolicy{Allow: []string{"docs/**"}}, contract.Denied},
		"not there":   {"b.jsonl", anyPath, contract.NotFound},
	} {
		_, statErr := m.Stat(t.Context(), tc.file, tc.policy)
		_, tailErr := m.Tail(t.Context(), tc.file, tc.policy, 10)
		for _, err := range []error{statErr, tailErr} {
			var answer *contract.Error
			if !errors.As(err, &answer) || answer.Kind != tc.want {
				t.Errorf("%s: %v, want %s", name, err, tc.want)
			}
		}
	}
}

// TestMemoryWithdrawn checks that an entry is never written if its caller gives up while other
// entries are being written.
func TestMemoryWithdrawn(t *testing.T) {
	url := newDatabase(t)
	m := memoryOf(t, source(open(t, url)), t.TempDir())
	if _, err := m.Append(t.Context(), "a.jsonl", []byte("1"), nil)(t.Context()); err != nil {
		t.Fatal(err)
	}
	raw(t, url, func(db *sql.DB) error {
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(t.Context(), "SELECT * FROM logs FOR UPDATE"); err != nil {
			return err
		}
		taken := m.Append(t.Context(), "a.jsonl", []byte("2"), nil)
		awaitBlocked(t, db)
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := m.Append(t.Context(), "a.jsonl", []byte("3"), nil)(gone); !errors.Is(err, context.Canceled) {
			t.Errorf("withdrawn: %v", err)
		}
		if err := tx.Rollback(); err != nil {
			return err
		}
		_, err = taken(gone) // once it is in a batch, only the database decides its outcome
		return err
	})
	if text := tailOf(t, m, "a.jsonl"); text != "1\n2\n" {
		t.Errorf("the file is %q", text)
	}
}

// awaitBlocked returns when a connection waits for a lock.
func awaitBlocked(t *testing.T, db *sql.DB) {
	t.Helper()
	for n := 0; n == 0; {
		if err := t.Context().Err(); err != nil {
			t.Fatal(err)
		}
		if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM pg_locks WHERE NOT granted").Scan(&n); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMemoryWithoutDatabase checks that only the caller that waits gets the error.
func TestMemoryWithoutDatabase(t *testing.T) {
	lost := errors.New("no database")
	m := memoryOf(t, func(context.Context) (*sqlstore.DB, error) { return nil, lost }, t.TempDir())
	if _, err := m.Append(t.Context(), "a.jsonl", []byte("1"), nil)(t.Context()); !errors.Is(err, lost) {
		t.Errorf("append: %v", err)
	}
	if _, err := m.Stat(t.Context(), "a.jsonl", anyPath); !errors.Is(err, lost) {
		t.Errorf("stat: %v", err)
	}
	if _, err := m.Has(t.Context(), "a.jsonl"); !errors.Is(err, lost) {
		t.Errorf("holds: %v", err)
	}
	if err := m.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if _, err := m.Append(t.Context(), "a.jsonl", []byte("1"), nil)(t.Context()); !errors.Is(err, sqlstore.ErrClosed) {
		t.Errorf("append after close: %v", err)
	}
}

// TestMemoryFollows checks that an entry is stored only after the text that it follows, also if
// that text is still in the file of the workspace.
func TestMemoryFollows(t *testing.T) {
	dir := t.TempDir()
	m := memoryOf(t, source(open(t, newDatabase(t))), dir)
	if _, err := filesIn(t, dir).Append(t.Context(), "a.jsonl", []byte("1"), nil)(t.Context()); err != nil {
		t.Fatal(err)
	}
	extent := func(text string, before int64) *learning.Extent {
		sum := sha256.Sum256([]byte(text))
		return &learning.Extent{End: before + int64(len(text)), Size: len(text), Hash: hex.EncodeToString(sum[:])}
	}
	for _, tc := range []struct {
		entry   string
		follows *learning.Extent
		stored  bool
	}{
		{"x", extent("2\n", 0), false},
		{"x", extent("1\n2\n", 0), false}, // not there yet
		{"2", extent("1\n", 0), true},
		{"3", extent("1\n", 0), true},
		{"4", extent("2\n", 2), true},
		{"5", &learning.Extent{}, true},
		{"x", extent("3\n", 2), false},
	} {
		_, err := m.Append(t.Context(), "a.jsonl", []byte(tc.entry), tc.follows)(t.Context())
		if stored := err == nil; stored != tc.stored || !stored && !errors.Is(err, learning.ErrChanged) {
			t.Errorf("entry %s: %v, want stored = %v", tc.entry, err, tc.stored)
		}
	}
	if got := tailOf(t, m, "a.jsonl"); got != "1\n2\n3\n4\n5\n" {
		t.Errorf("the file holds %q", got)
	}
}
