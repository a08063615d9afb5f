package cli

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// Status is how well something is.
type Status string

// How well something may be.
const (
	Well   Status = "ok"
	Warned Status = "warn" // it works, but somebody should know
	Failed Status = "fail"
)

// Check is one thing that doctor looked at.
type Check struct {
	Name   string `json:"check"`
	Status Status `json:"status"`
	Found  string `json:"found"`
	Fix    string `json:"fix,omitempty"` // what to do, unless all is well
}

// Checker is a workspace that can look at itself.
type Checker interface {
	// Checks looks at what is kept and served. It changes nothing that a call would not.
	Checks(ctx context.Context) []Check
}

func (p *Program) doctorCommand() *cobra.Command {
	var strict bool
	c := &cobra.Command{
		Use:  "doctor",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			checks := p.examine(cmd)
			count := map[Status]int{}
			for _, c := range checks {
				count[c.Status]++
			}
			return failedIf(count[Failed] > 0 || strict && count[Warned] > 0, p.printChecks(checks, count[Failed], count[Warned]))
		},
	}
	c.Flags().BoolVar(&strict, "strict", false, "a warning counts as a failure")
	return p.withJSON("print as JSON", c)
}

// examine looks at everything. What keeps the rest from being looked at is a finding
// like any other.
func (p *Program) examine(cmd *cobra.Command) []Check {
	checks := []Check{
		{Name: "version", Status: Well, Found: fmt.Sprintf("remit %s, %s, %s on %s", p.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)},
		p.checkClock(),
	}
	settings, err := resolveSettings(cmd.Flags(), p.Env)
	if err != nil {
		checks = append(checks, Check{"configuration", Failed, message(err), "Set it right where it was set; \"remit init\" writes a file that explains every setting."})
		return append(checks, p.checkClients()...)
	}
	checks = append(checks, checkConfiguration(&settings), checkWorkspace(&settings))
	checks = append(checks, checkData(&settings)...)
	checks = append(checks, p.checkAddress(cmd.Context(), &settings))
	checks = append(checks, p.examineOpened(cmd, settings)...)
	return append(checks, p.checkClients()...)
}

// examineOpened opens the workspace and has it look at itself.
func (p *Program) examineOpened(cmd *cobra.Command, settings Settings) (checks []Check) {
	settings.Watch = false
	opened, err := p.Open(cmd.Context(), settings, p.Logger(p.Stderr, slog.LevelError))
	if err != nil {
		return []Check{{"opening", Failed, message(settings.placed(err)), "Nothing can be served until this is mended."}}
	}
	if checker, ok := opened.(Checker); ok {
		checks = checker.Checks(cmd.Context())
	}
	if err := opened.Close(); err != nil {
		checks = append(checks, Check{"closing", Failed, message(err), "What was kept last may be lost; see that the disk is well."})
	}
	return checks
}

// checkConfiguration tells of a file that loosens what Remit guards.
func checkConfiguration(s *Settings) Check {
	c := Check{Name: "configuration", Status: Well, Found: "no file; defaults, flags and variables"}
	if isFile(s.Config) {
		c.Found = s.Config + " is valid"
	}
	if loosened := s.Loosened(); len(loosened) > 0 {
		c.Status, c.Found = Warned, fmt.Sprintf("%s has %s", s.Config, strings.Join(loosened, ", "))
		c.Fix = "Anybody who can write that file decides what is guarded. Take it out, or set it by flag or variable if it is meant."
	}
	return c
}

func (p *Program) printChecks(checks []Check, failed, warned int) error {
	if p.asJSON {
		return writeJSON(p.Stdout, map[string]any{"version": p.Version, "failed": failed, "warned": warned, "checks": checks})
	}
	t := table{colour: p.colours()}
	for _, c := range checks {
		t.add(string(c.Status), c.Name, c.Found)
		if c.Status != Well {
			t.paint(0, map[Status]paint{Failed: red, Warned: yellow}[c.Status])
		}
	}
	t.write(p.Stdout)
	if failed+warned == 0 {
		fmt.Fprintln(p.Stdout, "\nAll is well.")
		return nil
	}
	fmt.Fprintf(p.Stdout, "\n%d failed, %d warned. What to do:\n", failed, warned)
	for _, c := range checks {
		if c.Status != Well {
			p.printFix(c)
		}
	}
	return nil
}

// printFix tells all of a finding, in as many lines as it takes.
func (p *Program) printFix(c Check) {
	room := widthOf(p.Stdout)
	for i, line := range slices.Concat(wrapped(c.Name+": "+c.Found+".", room-2), wrapped(c.Fix, room-2)) {
		lead := "  "
		if i == 0 {
			lead = "- "
		}
		fmt.Fprintln(p.Stdout, lead+line)
	}
}
