package sqlstore_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"remit/internal/toolsets/codebase/knowledge/knowledgetest"
)

func TestKnowledge(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, url func(t *testing.T) string) {
		at := url(t)
		knowledgetest.Suite(t, func(t *testing.T) knowledgetest.Stores {
			db := open(t, at)
			empty(t, at, "workspaces", "sources", "pieces", "vectors", "models", "leases", "snapshots")
			return knowledgetest.Stores{
				Here: db.Knowledge("here"), OtherProcess: open(t, at).Knowledge("here"), OtherWorkspace: db.Knowledge("elsewhere"),
				Age: func(t *testing.T, by time.Duration) {
					behind(t, at, fmt.Sprintf("UPDATE knowledge_vectors SET created_at = created_at - %d", by.Microseconds()))
					behind(t, at, fmt.Sprintf("UPDATE knowledge_models SET wanted_at = wanted_at - %d", by.Microseconds()))
					behind(t, at, fmt.Sprintf("UPDATE knowledge_snapshots SET made_at = made_at - %d", by.Microseconds()))
					behind(t, at, fmt.Sprintf("UPDATE knowledge_sources SET changed_at = changed_at - %d", by.Microseconds()))
				},
				Damage: func(t *testing.T, how knowledgetest.Damage) { damageVectors(t, at, how) },
			}
		})
	})
}

// empty empties knowledge tables. Creating a database for each test would take longer than the
// tests.
func empty(t *testing.T, url string, tables ...string) {
	t.Helper()
	for _, table := range tables {
		behind(t, url, "DELETE FROM knowledge_"+table)
	}
}

func damageVectors(t *testing.T, url string, how knowledgetest.Damage) {
	t.Helper()
	bytesOf := func(hex string) string { return "x'" + hex + "'" }
	if !strings.HasPrefix(url, "sqlite:") {
		bytesOf = func(hex string) string { return `'\x` + hex + `'::bytea` }
	}
	vector := map[knowledgetest.Damage]string{
		knowledgetest.Cut:   "substr(vector, 1, length(vector) - 4)",
		knowledgetest.Torn:  "substr(vector, 1, length(vector) - 1)",
		knowledgetest.Empty: bytesOf(""),
		knowledgetest.NaN:   bytesOf(strings.Repeat("ffffffff", 3)),
	}[how]
	behind(t, url, "UPDATE knowledge_vectors SET vector = "+vector)
}
