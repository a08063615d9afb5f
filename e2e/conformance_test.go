package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// conformance runs the official suite for servers against a server with the toolset that the suite
// requires.
type conformance struct {
	t    *testing.T
	node string
	url  string
}

func newConformance(t *testing.T) *conformance {
	t.Helper()
	node := node24(t)
	return &conformance{t, node, newWorkspace(t, nil).serve("--toolsets", "conformance").url + "/mcp"}
}

// run runs the suite and reads its findings. The exit code is not enough: it ignores warnings and
// some scenarios.
func (c *conformance) run(args ...string) findings {
	c.t.Helper()
	out := c.t.TempDir()
	suite := newNode.program(c.t, "@modelcontextprotocol/conformance/dist/index.js")
	args = append([]string{suite, "server", "--url", c.url, "-o", out}, args...)
	got := runNode(c.t, os.Environ(), c.node, args...)
	if got.code != 0 {
		c.t.Errorf("%v: exit %d\n%s%s", args[1:], got.code, got.out, got.errOut)
	}
	return readFindings(c.t, out)
}

// check is one finding of the suite.
type check struct {
	ID           string `json:"id"`
	Status       string `json:"status"`
	Description  string `json:"description"`
	ErrorMessage string `json:"errorMessage"`
}

// findings are the checks of each scenario that ran.
type findings map[string][]check

// scenarioFolder matches the name of a result folder: the scenario and the time at which it ran.
var scenarioFolder = regexp.MustCompile(`^server-(.+)-\d{4}-\d\d-\d\dT[0-9-]+Z$`)

func readFindings(t *testing.T, dir string) findings {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	found := findings{}
	for _, entry := range entries {
		name := scenarioFolder.FindStringSubmatch(entry.Name())
		if name == nil {
			t.Fatalf("%s is not a scenario", entry.Name())
		}
		data, err := os.ReadFile(filepath.Join(dir, entry.Name(), "checks.json"))
		if err != nil {
			t.Errorf("%s stopped early: %v", name[1], err)
		}
		var checks []check
		if err := json.Unmarshal(data, &checks); err != nil {
			t.Errorf("%s: %v", name[1], err)
		}
		found[name[1]] = append(found[name[1]], checks...)
	}
	return found
}

// noise are informational records of the traffic. They are not checks.
var noise = []string{"outgoing-request", "incoming-response", "incoming-sse-event", "stream-closed", "server-sse-streams-functional"}

// stub is the one check that the suite skips for every server.
const stub = "tasks-status-notifications"

// passes reports whether a check passed.
func (c check) passes() bool {
	switch c.Status {
	case "SUCCESS":
		return true
	case "SKIPPED":
		return c.ID == stub
	case "INFO":
		return slices.Contains(noise, c.ID)
	default:
		return false
	}
}

// check fails the test for every check that did not pass, and returns the number of the others.
func (f findings) check(t *testing.T) (passed int) {
	t.Helper()
	for scenario, checks := range f {
		if len(checks) == 0 {
			t.Errorf("%s checked nothing", scenario)
		}
		for _, c := range checks {
			if !c.passes() {
				t.Errorf("%s: %s is %s: %s: %s", scenario, c.ID, c.Status, c.Description, c.ErrorMessage)
			}
			if c.Status == "SUCCESS" {
				passed++
			}
		}
	}
	return passed
}

// TestConformance checks that every check of the official suite passes in both eras, whether or not
// it counts for the score. A run without checks would pass too, so the test also checks their
// number.
func TestConformance(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		version           string
		scenarios, checks int
	}{
		{legacyVersion, 33, 84},
		{modernVersion, 50, 197},
	} {
		t.Run(test.version, func(t *testing.T) {
			t.Parallel()
			found := newConformance(t).run("--requirements", test.version)
			passed := found.check(t)
			if len(found) != test.scenarios || passed < test.checks {
				t.Errorf("%d scenarios and %d checks passed, want %d and at least %d", len(found), passed, test.scenarios, test.checks)
			}
			tasks := found.ofTasks()
			if passed := tasks.check(t); test.version == modernVersion && (len(tasks) != taskScenarios || passed < taskChecks) {
				t.Errorf("tasks: %d scenarios and %d checks passed, want %d and at least %d", len(tasks), passed, taskScenarios, taskChecks)
			}
			note(t, "conformance %s: %d checks passed in %d scenarios", test.version, passed, len(found))
		})
	}
}

// The scenarios of the tasks extension, which the modern requirements run as optional ones, and the
// total number of their checks.
const taskScenarios, taskChecks = 10, 44

// ofTasks returns the findings about the tasks extension.
func (f findings) ofTasks() findings {
	found := maps.Clone(f)
	maps.DeleteFunc(found, func(scenario string, _ []check) bool { return !strings.HasPrefix(scenario, "tasks-") })
	return found
}

// TestConformanceIsStrict checks that only a success passes.
func TestConformanceIsStrict(t *testing.T) {
	for _, test := range []struct {
		id, status string
		passes     bool
	}{
		{"a", "SUCCESS", true},
		{"a", "FAILURE", false},
		{"a", "WARNING", false},
		{"a", "SKIPPED", false},
		{"a", "INFO", false},
		{"a", "", false},
		{stub, "SKIPPED", true},
		{stub, "FAILURE", false},
		{noise[0], "INFO", true},
		{noise[0], "WARNING", false},
	} {
		if got := (check{ID: test.id, Status: test.status}).passes(); got != test.passes {
			t.Errorf("%s %s passes: %t, want %t", test.id, test.status, got, test.passes)
		}
	}
	name := fmt.Sprintf("server-%s-2026-11-15T20-35-24-293Z", stub)
	if got := scenarioFolder.FindStringSubmatch(name); got == nil || got[1] != stub {
		t.Errorf("%s belongs to scenario %v", name, got)
	}
}
