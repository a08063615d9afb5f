package e2e

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"remit/internal/stores/memlog"
	"remit/internal/stores/sqlstore/pgtest"
)

// TestAuditFaults plants faults in the files of three days: "audit verify" names each of them.
func TestAuditFaults(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, nil)
	s.ownKeys()
	audit := s.path(".remit/audit")
	old := &memlog.Daily{Files: memlog.Dir(audit), Folder: os.DirFS(audit)}
	days := []string{"2026-01-07", "2026-01-08"}
	for _, day := range days {
		for i := range 3 {
			wait, err := old.Append(day, fmt.Appendf(nil, `{"time":"%sT12:00:00.000000Z","i":%d}`, day, i), true)
			s.check(err)
			s.check(wait(t.Context()))
		}
	}
	s.check(old.Close())
	s.mustRun("tasks", "add", "one", "--user", "ada")
	s.mustRun("tasks", "add", "two", "--user", "ada")
	s.verifyAudit()
	files, err := filepath.Glob(filepath.Join(audit, "*.jsonl"))
	s.check(err)
	first, middle, last := files[0], files[1], files[2]
	lines := func(name string, change func(lines []string) []string) func() {
		return func() {
			data, err := os.ReadFile(name)
			s.check(err)
			kept := change(strings.SplitAfter(strings.TrimSuffix(string(data), "\n"), "\n"))
			s.check(os.WriteFile(name, []byte(strings.TrimSuffix(strings.Join(kept, ""), "\n")+"\n"), 0o600))
		}
	}
	remove := func(name string) func() { return func() { s.check(os.Remove(name)) } }
	swap := func(one, other string) func() {
		return func() {
			s.check(os.Rename(one, one+".tmp"))
			s.check(os.Rename(other, one))
			s.check(os.Rename(one+".tmp", other))
		}
	}
	backup := filepath.Join(t.TempDir(), "audit")
	s.copyFolder(audit, backup)
	for _, tc := range []struct {
		name, want string
		plant      func()
	}{
		{"cut tail", "missing at the end", lines(last, func(l []string) []string { return l[:len(l)-1] })},
		{"empty last file", "missing at the end", func() { s.check(os.Truncate(last, 0)) }},
		{"no first file", "2026-01-08.jsonl line 1", remove(first)},
		{"no middle file", filepath.Base(last) + " line 1", remove(middle)},
		{"no last file", "missing at the end", remove(last)},
		{"no files", "missing at the end", func() { remove(first)(); remove(middle)(); remove(last)() }},
		{"swapped files", "2026-01-07.jsonl line 1", swap(first, middle)},
		{"swapped last files", "2026-01-08.jsonl line 1", swap(middle, last)},
		{"doubled line", "2026-01-08.jsonl line 3", lines(middle, func(l []string) []string { return []string{l[0], l[1], l[1], l[2]} })},
		{"doubled last line", "line 3", lines(last, func(l []string) []string { return append(l, "\n"+l[len(l)-1]) })},
		{"removed line", "2026-01-08.jsonl line 2", lines(middle, func(l []string) []string { return []string{l[0], l[2]} })},
		{"changed line", "2026-01-08.jsonl line 2", lines(middle, func(l []string) []string {
			return []string{l[0], strings.Replace(l[1], `"i":1`, `"i":7`, 1), l[2]}
		})},
	} {
		tc.plant()
		if got := s.remit("audit", "verify", "--root", s.root); got.code == 0 || !strings.Contains(got.errOut, tc.want) {
			t.Errorf("%s: exit %d, want %q\n%s%s", tc.name, got.code, tc.want, got.out, got.errOut)
		}
		if got := s.remit("doctor", "--root", s.root, "--json"); got.code == 0 {
			t.Errorf("%s: doctor finds nothing\n%s", tc.name, got.out)
		}
		s.copyFolder(backup, audit)
		s.verifyAudit()
	}
}

// TestAuditFaultsInPostgres removes rows: "audit verify" names each case.
func TestAuditFaultsInPostgres(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]struct{ query, want string }{
		"first":  {"DELETE FROM log_lines WHERE line = 1 AND starts_with(log, 'audit/')", "line 1"},
		"middle": {"DELETE FROM log_lines WHERE line = 2 AND starts_with(log, 'audit/')", "line 2"},
		"last":   {"DELETE FROM log_lines WHERE line = (SELECT lines FROM logs WHERE log = 'audit') AND starts_with(log, 'audit/')", "missing at the end"},
		"all":    {"DELETE FROM log_lines WHERE starts_with(log, 'audit/')", "missing at the end"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newWorkspace(t, nil)
			s.ownKeys()
			url := pgtest.Database(t)
			for _, title := range []string{"one", "two", "three"} {
				s.mustRun("tasks", "add", title, "--user", "ada", "--database", url)
			}
			verify := func() outcome { return s.remit("audit", "verify", "--root", s.root, "--database", url) }
			if got := verify(); got.code != 0 {
				t.Fatalf("%+v", got)
			}
			db, err := sql.Open("pgx", url)
			s.check(err)
			defer db.Close()
			_, err = db.ExecContext(t.Context(), fault.query)
			s.check(err)
			if got := verify(); got.code == 0 || !strings.Contains(got.errOut, fault.want) {
				t.Errorf("exit %d, want %q\n%s%s", got.code, fault.want, got.out, got.errOut)
			}
		})
	}
}
