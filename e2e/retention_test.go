package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"remit/internal/engine/audit"
)

// oldRecords adds days with three records each, before any others of the workspace.
func (s *workspace) oldRecords(days ...string) {
	s.t.Helper()
	hash := audit.InitialHash
	for _, day := range days {
		var text []byte
		for i := range 3 {
			line := audit.Seal(hash, fmt.Appendf(nil, `{"time":"%sT10:00:0%d.000000Z","principal":"local","frontend":"cli","client":"","tool":"learning-os/hello",`+
				`"version":"1.0.1","arguments":{},"outcome":"ok","micros":1,"bytes":1}`, day, i))
			text, hash = append(append(text, line...), '\n'), audit.HashOf(line)
		}
		s.write(".remit/audit/"+audit.FileOf(day), string(text))
	}
}

// TestAuditKeep drops old days of records with --audit-keep, and checks that the chain stays
// provable, that only our cut explains missing days, and that the console finds no dropped calls.
func TestAuditKeep(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, nil)
	keys := s.ownKeys()
	s.oldRecords("2020-01-01", "2020-01-02", "2020-01-20")
	s.mustRun("call", "hello", "name=Ada")
	s.verifyAudit()
	w := s.serve("--audit-keep", "40d")
	exists := func(day string) bool {
		_, err := os.Stat(s.path(".remit/audit/" + day + ".jsonl"))
		return err == nil
	}
	eventually(t, "the old days are dropped", func() bool { return !exists("2020-01-01") && !exists("2020-01-02") })
	// A clock that jumps over years drops only what would be too old in a month.
	if !exists("2020-01-20") {
		t.Error("a day was dropped after which nothing was recorded for years")
	}
	w.end()
	const dropped = "Dropped (--audit-keep): 6 older records, up to 2020-01-02."
	if got := s.mustRun("audit", "verify"); !strings.Contains(got.out, dropped) {
		t.Errorf("audit verify: %s", got.out)
	}
	if got := s.mustRun("audit", "list", "--limit", "99"); strings.Count(got.out, "learning-os/hello") != 4 ||
		!strings.Contains(got.out, "audit/retention") {
		t.Errorf("audit list: %s", got.out)
	}
	if got := s.remit("doctor"); strings.Contains(got.out, "fail  audit") {
		t.Errorf("doctor: %s", got.out)
	}
	// With another key, the record about the dropped days is not valid.
	s.check(os.Rename(keys, keys+".away"))
	if got := s.remit("audit", "verify"); got.code != 1 || !strings.Contains(got.errOut, "2020-01-20.jsonl line 1") {
		t.Errorf("with another key: exit %d %s%s", got.code, got.out, got.errOut)
	}
	s.check(os.RemoveAll(keys))
	s.check(os.Rename(keys+".away", keys))
	s.check(os.Remove(s.path(".remit/audit/2020-01-20.jsonl")))
	if got := s.remit("audit", "verify"); got.code != 1 || !strings.Contains(got.errOut, "line 1: it does not follow") {
		t.Errorf("one day more: exit %d %s%s", got.code, got.out, got.errOut)
	}
}
