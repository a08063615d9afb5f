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

// Status is the result of a check.
type Status string

// The results of a check.
const (
	StatusOK   Status = "ok"
	StatusWarn Status = "warn" // it works, but somebody should look at it
	StatusFail Status = "fail"
)

// Check is one check of doctor with its result.
type Check struct {
	Name    string `json:"check"`
	Status  Status `json:"status"`
	Finding string `json:"found"`
	Fix     string `json:"fix,omitempty"` // what to do; "" if the status is ok
}

// Checker is a workspace that can check itself.
type Checker interface {
	// Checks checks the stores and the toolsets. It changes nothing that a call would not change.
	// It takes seconds, unless it is thorough.
	Checks(ctx context.Context, thorough bool) []Check
}

func (p *Program) doctorCommand() *cobra.Command {
	var strict, thorough bool
	c := &cobra.Command{
		Use:        "doctor",
		SuggestFor: []string{"check"},
		Args:       cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			checks := p.runChecks(cmd, thorough)
			count := map[Status]int{}
			for _, c := range checks {
				count[c.Status]++
			}
			return failedIf(count[StatusFail] > 0 || strict && count[StatusWarn] > 0, p.printChecks(checks, count[StatusFail], count[StatusWarn]))
		},
	}
	c.Flags().BoolVar(&strict, "strict", false, "exit with 1 for warnings too")
	c.Flags().BoolVar(&thorough, "thorough", false, "check all of the database and of the audit log, whatever their size")
	return p.withJSON("print as JSON", c)
}

// runChecks runs all checks. A problem that prevents further checks is reported like any other.
func (p *Program) runChecks(cmd *cobra.Command, thorough bool) []Check {
	checks := []Check{
		{
			Name: "version", Status: StatusOK,
			Finding: fmt.Sprintf("remit %s, %s, %s on %s", p.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH),
		},
		p.checkClock(),
	}
	settings, err := p.settings(cmd)
	if err != nil {
		checks = append(checks, Check{
			"configuration", StatusFail,
			message(err),
			"Correct the setting; \"remit init\" writes a file that explains every setting.",
		})
		return append(checks, p.checkClients("")...)
	}
	checks = append(checks, checkConfiguration(&settings), checkWorkspace(&settings))
	checks = append(checks, checkData(&settings)...)
	checks = append(checks, p.checkAddress(cmd.Context(), &settings))
	opened := p.checkOpened(cmd, settings, thorough)
	// The workspace knows more than its paths say.
	checks = slices.DeleteFunc(checks, func(c Check) bool {
		return slices.ContainsFunc(opened, func(own Check) bool { return own.Name == c.Name })
	})
	return slices.Concat(checks, opened, p.checkClients(settings.Root))
}

// checkOpened opens the workspace and runs its own checks.
func (p *Program) checkOpened(cmd *cobra.Command, settings Settings, thorough bool) (checks []Check) {
	settings.Watch = false
	log, err := p.Logger(p.Stderr, LogOptions{Level: slog.LevelError})
	if err != nil {
		return []Check{{"log", StatusFail, message(err), "Check that stderr can be written."}}
	}
	opened, err := p.Open(cmd.Context(), settings, log)
	if err != nil {
		return []Check{{"opening", StatusFail, message(settings.locate(err)), "Remit cannot serve this workspace until this is fixed."}}
	}
	if checker, ok := opened.(Checker); ok {
		checks = checker.Checks(cmd.Context(), thorough)
	}
	if err := opened.Close(); err != nil {
		checks = append(checks, Check{"closing", StatusFail, message(err), "The latest data may be lost; check the disk."})
	}
	return checks
}

// checkConfiguration warns of entries of the configuration file that are not trusted.
func checkConfiguration(s *Settings) Check {
	c := Check{Name: "configuration", Status: StatusOK, Finding: "no file; defaults, flags and environment variables apply"}
	if isFile(s.Config) {
		c.Finding = s.Config + " is valid"
	}
	if len(s.Untrusted) > 0 {
		c.Status = StatusWarn
		c.Finding = fmt.Sprintf("%s is not trusted, so these entries are not in force: %s", s.Config,
			strings.Join(convert(s.Untrusted, Entry.String), ", "))
		c.Fix = "Review them with \"remit trust\", or remove them from the file."
	}
	if len(s.TrustedAll) > 0 {
		c.Status = StatusWarn
		c.Finding = fmt.Sprintf("REMIT_TRUST=all puts entries of %s in force that nobody has reviewed: %s", s.Config,
			strings.Join(convert(s.TrustedAll, Entry.String), ", "))
		c.Fix = fmt.Sprintf("Set REMIT_TRUST=%s, which allows only these entries, or review them with \"remit trust\".", digestOf(s.asked))
	}
	if s.trustProblem != nil {
		c.Status = StatusWarn
		c.Finding += "; what was trusted before cannot be read: " + s.trustProblem.Error()
		c.Fix = strings.TrimSpace(c.Fix + " \"remit trust\" decides again; \"remit trust --revoke\" removes the old decisions.")
	}
	return c
}

func (p *Program) printChecks(checks []Check, failed, warned int) error {
	if p.asJSON {
		return writeJSON(p.Stdout, map[string]any{"version": p.Version, "failed": failed, "warned": warned, "checks": checks})
	}
	t := table{colour: p.colours()}
	for _, c := range checks {
		t.add(string(c.Status), c.Name, c.Finding)
		if c.Status != StatusOK {
			t.paint(0, map[Status]paint{StatusFail: red, StatusWarn: yellow}[c.Status])
		}
	}
	t.write(p.Stdout)
	if failed+warned == 0 {
		fmt.Fprintln(p.Stdout, "\nNo problems found.")
		return nil
	}
	fmt.Fprintf(p.Stdout, "\n%d failed, %d warned. What to do:\n", failed, warned)
	for _, c := range checks {
		if c.Status != StatusOK {
			p.printFix(c)
		}
	}
	return nil
}

// printFix prints a problem and its fix, wrapped to the width of the terminal.
func (p *Program) printFix(c Check) {
	maxWidth := widthOf(p.Stdout)
	for i, line := range slices.Concat(wrapped(c.Name+": "+c.Finding+".", maxWidth-2), wrapped(p.hint(c.Fix), maxWidth-2)) {
		lead := "  "
		if i == 0 {
			lead = "- "
		}
		fmt.Fprintln(p.Stdout, lead+line)
	}
}
