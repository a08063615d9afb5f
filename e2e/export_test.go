package e2e

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestExportEqualsServedTools checks that export prints the tools that an MCP client gets, and
// writes nothing to disk.
func TestExportEqualsServedTools(t *testing.T) {
	t.Parallel()
	for _, sets := range []string{"booster", "learning-os", "tasks", "learning-os,tasks", "conformance"} {
		t.Run(sets, func(t *testing.T) {
			t.Parallel()
			s := newWorkspace(t, nil)
			printed := s.remit("export", "--toolsets", sets)
			if printed.code != 0 || printed.errOut != "" {
				t.Fatalf("exit %d: %s", printed.code, printed.errOut)
			}
			r := s.stdio("--toolsets", sets)
			r.initialize(`{}`)
			served := r.ask("tools/list", `{}`)
			r.end()
			var list struct{ Tools []any }
			var exported []any
			s.check(json.Unmarshal(served.Result, &list))
			s.check(json.Unmarshal([]byte(printed.out), &exported))
			if diff := cmp.Diff(list.Tools, exported); diff != "" || len(exported) == 0 {
				t.Errorf("served and exported tools differ:\n%s", diff)
			}
			if entries, err := os.ReadDir(s.root); err != nil || len(entries) != 0 {
				t.Errorf("on disk: %v, %v", entries, err)
			}
		})
	}
}
