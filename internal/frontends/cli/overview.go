package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"remit/internal/contract"
	"remit/internal/engine/approval"
	"remit/internal/toolsets/tasks"
)

// overview shows what a workspace has and what to do next, for people who type only remit. It
// creates nothing.
type overview struct {
	*Program
	facts table
	steps []step // most urgent first
}

// step is a command that a person may want to run next, and why.
type step struct{ command, why string }

// showOverview prints the overview.
func (p *Program) showOverview(cmd *cobra.Command, _ []string) error {
	settings, err := p.settings(cmd)
	if err != nil {
		return usageError{err}
	}
	p.trustNotice(&settings, false)
	ctx, from, o := cmd.Context(), p.Lists(settings), &overview{Program: p}
	o.addApprovals(ctx, from)
	o.addTasks(ctx, from)
	if books, err := from.Books(ctx); o.readable("books", err) && len(books) > 0 {
		o.facts.add("books", contract.Count(len(books), "book"))
	}
	connected := o.addClients(cmd)
	o.addServers(ctx, from)
	if settings.OnCreate != nil { // connecting or serving here is hardly what they want
		o.steps = []step{{"cd PROJECT", "go to a project, and run remit there"}}
	}
	if !isFolder(settings.Data) {
		o.steps = append(o.steps, step{"remit demo", "try Remit in a workspace that is removed afterwards"})
	}
	if connected {
		o.steps = append(o.steps, step{"remit search QUESTION", "search the project by meaning"})
	}
	fmt.Fprintf(p.Stdout, "Remit %s in %s\n\n", p.Version, settings.Root)
	if settings.unmarked {
		fmt.Fprint(p.Stdout, p.hint("This folder is no project: neither it nor a folder above it has remit.yaml, .remit or .git.\n"+
			"Go to a project with cd, or try \"remit demo\". \"remit --root . COMMAND\" makes this folder a workspace.\n\n"))
	}
	o.facts.write(p.Stdout)
	fmt.Fprintln(p.Stdout, "\nNext:")
	var next table
	for _, s := range o.steps[:min(3, len(o.steps))] {
		next.add("  "+p.hint(s.command), p.hint(s.why))
	}
	next.write(p.Stdout)
	fmt.Fprintln(p.Stdout, p.hint("\n\"remit --help\" lists all commands."))
	return nil
}

// readable reports whether something could be read. If not, the overview says so.
func (o *overview) readable(what string, err error) bool {
	if err == nil {
		return true
	}
	o.facts.add(what, "cannot be read: "+message(err))
	if doctor := (step{"remit doctor", "find out what is wrong"}); !slices.Contains(o.steps, doctor) {
		o.steps = append(o.steps, doctor)
	}
	return false
}

func (o *overview) addApprovals(ctx context.Context, from Lists) {
	waiting, err := from.Approvals(ctx, approval.ListOptions{Now: o.Now(), Limit: maxOffered})
	if !o.readable("approvals", err) {
		return
	}
	o.facts.add("approvals", fmt.Sprintf("%d waiting", len(waiting)))
	if len(waiting) > 0 {
		o.steps = append(o.steps, step{"remit approvals list", "see what agents ask you to approve"})
	}
}

func (o *overview) addTasks(ctx context.Context, from Lists) {
	open, err := from.Tasks(ctx, loginName(), tasks.Filter{Status: tasks.Open}, maxOffered)
	if !o.readable("tasks", err) {
		return
	}
	due := 0
	for _, t := range open {
		if t.DueDate == nil {
			continue
		}
		if label := dueLabel(*t.DueDate, o.Now()); label == "overdue" || label == "today" {
			due++
		}
	}
	o.facts.add("tasks", fmt.Sprintf("%d open, %d due", len(open), due))
	if due > 0 {
		o.steps = append(o.steps, step{"remit tasks", "see the tasks that are due"})
	}
}

// addClients adds the clients that start Remit here, and reports whether there is one.
func (o *overview) addClients(cmd *cobra.Command) bool {
	places, err := o.installedPlaces(cmd)
	if !o.readable("clients", err) {
		return false
	}
	var names []string
	for _, place := range places {
		if place.Error == "" && !slices.Contains(names, place.Client) {
			names = append(names, place.Client)
		}
	}
	if len(names) == 0 {
		o.facts.add("clients", "none connected")
		o.steps = append(o.steps, step{"remit install claude-code", "connect a client; \"remit install --help\" lists the others"})
		return false
	}
	o.facts.add("clients", strings.Join(names, ", "))
	return true
}

func (o *overview) addServers(ctx context.Context, from Lists) {
	running, err := from.Processes(ctx)
	if !o.readable("server", err) {
		return
	}
	served := false
	for _, process := range running {
		if process.Command != "" {
			o.facts.add("server", o.describe(&process))
			served = served || process.Command == "serve"
		}
	}
	if !served {
		o.facts.add("server", "\"remit serve\" is not running")
		o.steps = append(o.steps, step{"remit serve", "see and approve in the browser what agents do"})
	}
}
