package app

import (
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/engine/approval"
	"remit/internal/frontends/cli"
)

func openHere(t *testing.T, change func(*cli.Settings)) *App {
	t.Helper()
	root := t.TempDir()
	data := filepath.Join(root, ".remit")
	s := cli.Settings{
		Root: root, Data: data, Config: filepath.Join(root, "remit.yaml"), Database: "sqlite://" + filepath.Join(data, "remit.db"),
		Toolsets: []string{"learning-os"}, Approve: approval.Ask,
		// So that deadlines hold on a busy machine.
		Env: func(name string) (string, bool) { return "20", name == factorVariable },
	}
	change(&s)
	if s.Keys == "" {
		s.Keys = s.Root + "-keys"
	}
	a, err := Open(t.Context(), s, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

// TestDatabaseIsRemoved checks that nothing is written and nothing is created anew after the data
// folder was removed while we run, and that we go on when it is back.
func TestDatabaseIsRemoved(t *testing.T) {
	a := openHere(t, func(*cli.Settings) {})
	ask := func(entry string) engine.Result {
		args, err := jsontree.Parse([]byte(`{"file":"decisions.jsonl","entry":{"timestamp":"2026-01-09T10:30:00Z","type":"stack","decision":"` + entry + `"}}`))
		if err != nil {
			t.Fatal(err)
		}
		result, err := a.engine.Call(t.Context(), engine.Call{Tool: "write_memory_entry", Args: args, Principal: cli.LocalPrincipal})
		if err != nil || result.Err == nil {
			t.Fatalf("%s: %s, %v", entry, result.Body, err)
		}
		return result
	}
	if first := ask("first"); first.Err.Kind != contract.Pending {
		t.Fatalf("%s", first.Body)
	}
	if err := os.Rename(a.settings.Data, a.settings.Data+"-away"); err != nil {
		t.Fatal(err)
	}
	if second := ask("second"); second.Err.Kind != contract.Unavailable || !strings.Contains(string(second.Body), "remit trust --new-data") {
		t.Errorf("without its database: %s", second.Body)
	}
	if _, err := os.Stat(a.settings.Data); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the data folder was created anew: %v", err)
	}
	if err := a.health(t.Context(), false)["database"]; err == nil {
		t.Error("health says that a missing database is well")
	}
	if err := os.Rename(a.settings.Data+"-away", a.settings.Data); err != nil {
		t.Fatal(err)
	}
	if third := ask("third"); third.Err.Kind != contract.Pending {
		t.Errorf("with its database: %s", third.Body)
	}
}

// TestInstructionsOfWhatIsServed checks that the instructions name no tool that is not served.
func TestInstructionsOfWhatIsServed(t *testing.T) {
	for _, readOnly := range []bool{false, true} {
		a := openHere(t, func(s *cli.Settings) { s.ReadOnly = readOnly })
		text := a.endpoint(a.engine, a.sets).Instructions()
		if strings.Contains(text, "write_memory_entry") == readOnly || !strings.Contains(text, "read_repo_file") {
			t.Errorf("read-only %v: %q", readOnly, text)
		}
	}
}

// TestRulesForOneToolset checks that a rule that does not fit an unselected toolset leaves out that
// toolset, and causes no failure.
func TestRulesForOneToolset(t *testing.T) {
	var rate contract.Rate
	if err := rate.UnmarshalText([]byte("1000/min")); err != nil {
		t.Fatal(err)
	}
	a := openHere(t, func(s *cli.Settings) { s.Tools = map[string]contract.Tightening{"hello": {Rate: rate}} })
	var names []string
	for _, set := range a.addressable() {
		names = append(names, set.Name)
	}
	// Booster allows 100 per minute.
	if got := strings.Join(names, " "); got != "books context learning-os tasks" {
		t.Errorf("served by address: %s", got)
	}
}

// TestDeadlineFactor checks that tests can lengthen the deadlines of contracts, within bounds.
func TestDeadlineFactor(t *testing.T) {
	for text, want := range map[string]int{"": 1, "1": 1, "20": 20, "100": 100, "0": 0, "-2": 0, "101": 0, "0.5": 0, "x": 0} {
		got, err := deadlineFactor(cli.Settings{Env: func(name string) (string, bool) { return text, name == factorVariable }})
		if got != want || (err != nil) != (want == 0) {
			t.Errorf("%q: %d and %v, want %d", text, got, err, want)
		}
	}
	if got, err := deadlineFactor(cli.Settings{}); got != 1 || err != nil {
		t.Errorf("without an environment: %d and %v, want 1", got, err)
	}
	if got := openHere(t, func(s *cli.Settings) { s.Env = nil }).options.DeadlineFactor; got != 1 {
		t.Errorf("the factor is %d unless somebody sets it, want 1", got)
	}
}
