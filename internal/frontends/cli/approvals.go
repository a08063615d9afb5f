package cli

import (
	"context"
	"errors"
	"fmt"
	"os/user"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine/approval"
	"remit/internal/visible"
)

// withApprovals returns a runFunc that runs body with the store of approvals.
func (p *Program) withApprovals(body func(ctx context.Context, store approval.Store, args []string) error) runFunc {
	return p.with(func(cmd *cobra.Command, w Workspace, args []string) error {
		store, err := w.Approvals(cmd.Context())
		if err != nil {
			return err
		}
		return body(cmd.Context(), store, args)
	})
}

func (p *Program) approvalsList() *cobra.Command {
	o := approval.ListOptions{Limit: 1000}
	c := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Args:    cobra.NoArgs,
		RunE: p.withApprovals(func(ctx context.Context, store approval.Store, _ []string) error {
			if err := approval.CheckState(o.State); err != nil {
				return usageError{err}
			}
			o.Now = time.Now()
			requests, err := store.List(ctx, o)
			if err != nil {
				return err
			}
			return p.show(convert(requests, viewOf), func() { p.printRequests(requests, &o) })
		}),
	}
	c.Flags().BoolVar(&o.All, "all", false, "include decided and expired requests")
	c.Flags().StringVar(&o.State, "state", "", "only requests in this `state`: "+strings.Join(approval.ListStates(), ", "))
	c.Flags().StringVar(&o.Agent, "agent", "", "only requests of this `caller`, such as agent:ci")
	c.Flags().StringVar(&o.Tool, "tool", "", "only requests of this `tool`")
	c.Flags().StringVar(&o.Text, "text", "", "only requests that contain this `text`: in what they do, the caller's reason or the arguments")
	return p.withJSON("print as JSON", c)
}

// printRequests prints a table of requests; --json has all of each.
func (p *Program) printRequests(requests []approval.Request, o *approval.ListOptions) {
	t := table{width: 80, empty: "Nothing waits for approval."}
	if o.State != "" || o.Agent != "" || o.Tool != "" || o.Text != "" {
		t.empty = "No request matches."
	}
	t.add("ID", "STATE", "AGE", "CALLER", "REQUEST")
	for _, r := range requests {
		t.add(r.ID, r.Stage(time.Now()), age(time.Since(r.CreatedAt)), cut(visible.Line(r.Principal), maxCaller), visible.Line(r.Summary))
	}
	t.write(p.Stdout)
	if len(requests) == o.Limit {
		fmt.Fprintf(p.Stdout, "Only the newest %d are shown.\n", o.Limit)
	}
}

// maxCaller is how many columns the name of a caller takes in the list of requests.
const maxCaller = 20

// age formats a duration with its largest unit.
func age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	default:
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	}
}

func viewOf(r approval.Request) approval.View {
	view := r.View(time.Now())
	view.Digest, view.SpentAt = r.Digest, r.UsedAt
	return view
}

func (p *Program) approvalsShow() *cobra.Command {
	return p.withJSON("print as JSON", &cobra.Command{
		Use:               "show ID",
		Args:              exactArgs(1),
		ValidArgsFunction: p.completeApproval(true),
		RunE: p.with(func(cmd *cobra.Command, w Workspace, args []string) error {
			r, similar, err := requestBeside(cmd.Context(), w.Desk(), args[0])
			if err != nil {
				return err
			}
			view, effect := viewOf(r), ""
			view.Similar = approval.Precedents(similar, time.Now())
			if view.State == string(approval.Pending) {
				shown, err := w.Desk().Show(cmd.Context(), r, "")
				if err != nil {
					view.Unshown = contract.AsError(err).Message
				} else if effect = shown.Text(); effect != "" {
					view.Effect = effect
				}
			}
			return p.show(view, func() { p.printRequest(&r, &view, effect, similar) })
		}),
	})
}

// requestBeside returns a request, and what was decided about similar ones.
func requestBeside(ctx context.Context, desk *approval.Desk, id string) (r approval.Request, similar []approval.Request, err error) {
	store, err := desk.Open(ctx)
	if err != nil {
		return r, nil, err
	}
	if r, err = store.Get(ctx, id); err != nil {
		return r, nil, err
	}
	similar, err = store.Similar(ctx, approval.SimilarTo(r, time.Now()))
	return r, slices.DeleteFunc(similar, func(s approval.Request) bool { return s.ID == r.ID }), err
}

// printRequest prints a request for people, and the next step.
func (p *Program) printRequest(r *approval.Request, view *approval.View, effect string, similar []approval.Request) {
	fmt.Fprintf(p.Stdout, "%s\n\n", visible.Line(r.Summary))
	p.printFacts(r, view)
	if r.CallerReason != "" {
		fmt.Fprintf(p.Stdout, "\n%s:\n  %s\n", approval.CallerWords, visible.Line(r.CallerReason))
	}
	fmt.Fprintf(p.Stdout, "\n%s", r.Describe())
	switch {
	case view.Unshown != "":
		fmt.Fprintf(p.Stdout, "\nWhat the call would do cannot be shown: %s\n", visible.Line(view.Unshown))
	case effect != "":
		fmt.Fprintf(p.Stdout, "\n%s", effect)
	}
	p.printSimilar(similar)
	switch view.State {
	case string(approval.Pending):
		fmt.Fprintf(p.Stdout, "\n%s\n", p.deciding(r.ID))
	case string(approval.Approved):
		fmt.Fprintf(p.Stdout, p.hint("\nThe call has to be repeated to run. To take the approval back: remit approvals withdraw %s\n"), r.ID)
	}
}

// printFacts prints what Remit knows about a request.
func (p *Program) printFacts(r *approval.Request, view *approval.View) {
	var t table
	t.add("Request", r.ID)
	t.add("State", view.State)
	t.add("Caller", r.Principal)
	t.add("Tool", r.Tool+" "+r.Version)
	if via := r.Via(); via != "" {
		t.add("Via", via)
	}
	t.add("Asked", p.minute(r.CreatedAt))
	if !r.DecidedAt.IsZero() {
		t.add("Decided", p.minute(r.DecidedAt)+" by "+r.DecidedBy)
	}
	if r.Reason != "" {
		t.add("Reason", r.Reason)
	}
	if !r.UsedAt.IsZero() {
		t.add("Used", p.minute(r.UsedAt))
	} else {
		t.add("Expires", p.minute(r.ExpiresAt))
	}
	t.write(p.Stdout)
}

// printSimilar prints how similar requests were decided, and the latest of them.
func (p *Program) printSimilar(similar []approval.Request) {
	if len(similar) == 0 {
		return
	}
	const shown = 5
	days := int(approval.SimilarPeriod / (24 * time.Hour))
	fmt.Fprintf(p.Stdout, "\nSimilar requests in the last %d days: %s\n", days, approval.SimilarText(similar))
	var t table
	for _, s := range similar[:min(len(similar), shown)] {
		t.add("  "+p.minute(s.DecidedAt), string(s.State), visible.Line(s.Summary)+" ("+s.DecidedBy+")")
	}
	t.write(p.Stdout)
}

// deciding names the commands with which a person decides about a request.
func (p *Program) deciding(id string) string {
	return fmt.Sprintf(p.hint("To decide: remit approvals approve %[1]s, or remit approvals deny %[1]s"), id)
}

// printDeciding prints the next step of the person whose command waits for approval. Programs that
// run commands, such as agents, are not told how to approve.
func (p *Program) printDeciding(id string) {
	if id != "" && (p.AskPerson != nil || isTerminal(p.Stderr)) {
		fmt.Fprintln(p.Stderr, p.deciding(id))
	}
}

// requestOf returns the id of the request that a pending call waits for, or "".
func requestOf(e *contract.Error) string {
	about, _ := e.Details["approval"].(map[string]any)
	id, _ := about["id"].(string)
	return id
}

func (p *Program) decideCommand(verb string, approve bool, aliases ...string) *cobra.Command {
	var reason string
	var standing bool
	var rule ruleFlags
	c := &cobra.Command{
		Use:               verb + " ID",
		Aliases:           aliases,
		Args:              exactArgs(1),
		ValidArgsFunction: p.completeApproval(false),
		RunE: p.with(func(cmd *cobra.Command, w Workspace, args []string) error {
			ctx, desk := cmd.Context(), w.Desk()
			if standing {
				return p.makeRule(ctx, w, args[0], &rule, false, reason)
			}
			if cmd.Flags().Changed("scope") || cmd.Flags().Changed("for") {
				return usageError{errors.New("--scope and --for belong to --standing")}
			}
			asked, err := request(ctx, desk, args[0])
			decision := approval.Decision{Approve: approve, By: operator(), Via: viaTerminal, Reason: reason}
			if err == nil {
				if err := desk.CheckWay(ctx, asked, decision); err != nil {
					return err // it is recorded
				}
				decision.Mark, err = p.confirmDecision(ctx, desk, verb, approve, asked)
			}
			if err != nil {
				refuse(ctx, w.Identity(), action("approvals/"+verb, jsontree.M("request", jsontree.Str(args[0]))), err)
				return err
			}
			decided, err := desk.Decide(ctx, asked.ID, decision)
			if err != nil {
				return err
			}
			p.printDecision(decided, approve)
			return nil
		}),
	}
	c.Flags().StringVar(&reason, "reason", "", "reason, stored with the decision; the caller sees it if the call is denied")
	if !approve {
		c.Flags().BoolVar(&standing, "standing", false, "also deny the calls that are like it")
		rule.add(c)
	}
	return c
}

// viaTerminal is how the person at the terminal decides, for records.
const viaTerminal = "cli"

func (p *Program) approvalsWithdraw() *cobra.Command {
	return &cobra.Command{
		Use:               "withdraw ID",
		Args:              exactArgs(1),
		ValidArgsFunction: p.completeApproval(true),
		RunE: p.with(func(cmd *cobra.Command, w Workspace, args []string) error {
			ctx, desk := cmd.Context(), w.Desk()
			asked, err := request(ctx, desk, args[0])
			if err != nil {
				refuse(ctx, w.Identity(), action("approvals/withdraw", jsontree.M("request", jsontree.Str(args[0]))), err)
				return err
			}
			taken, err := desk.Withdraw(ctx, asked.ID, approval.Decision{By: operator(), Via: viaTerminal})
			if err != nil {
				return err
			}
			fmt.Fprintf(p.Stdout, "Withdrew the approval of %s: %s was not run.\n", taken.ID, taken.Tool)
			return nil
		}),
	}
}

// request returns the request with this id, or with an id that begins so.
func request(ctx context.Context, desk *approval.Desk, id string) (approval.Request, error) {
	store, err := desk.Open(ctx)
	if err != nil {
		return approval.Request{}, err
	}
	r, err := store.Get(ctx, id)
	if e, ok := errors.AsType[*contract.Error](err); ok && e.Kind == contract.NotFound {
		err = contract.Errorf(e.Kind, "%s; \"remit approvals list --all\" lists them", e.Message)
	}
	return r, err
}

// confirmDecision shows a request and its effect to the person at the terminal and lets them type
// the end of its id, so that only a person decides, and decides about the request that they have
// read. It returns the mark of what it has shown.
func (p *Program) confirmDecision(
	ctx context.Context, desk *approval.Desk, verb string, approve bool, r approval.Request,
) (mark string, err error) {
	if stage := r.Stage(time.Now()); stage != string(approval.Pending) {
		return "", nil // the store refuses, and says why
	}
	shown, err := desk.Show(ctx, r, "")
	switch {
	case err != nil && approve:
		return "", err
	case err != nil:
		shown.Title = "What the call would do cannot be shown: " + contract.AsError(err).Message
	}
	err = p.confirmEnd(ctx, r.ID, verb, fmt.Sprintf("%s\n\nRequest %s\nCaller   %s\nTool     %s %s\n%s%s\n%s",
		visible.Line(r.Summary), r.ID, visible.Line(r.Principal), visible.Line(r.Tool), visible.Line(r.Version), r.ReasonLine(),
		r.Describe(), shown.Text()))
	return r.PageMark(shown.State), err
}

func (p *Program) printDecision(r approval.Request, approved bool) {
	if approved {
		fmt.Fprintf(p.Stdout, "Approved %s: %s may run once with these arguments, until %s.\n"+
			"Nothing has run yet: repeat the call now, or tell the agent to.\n", r.ID, r.Tool, r.ExpiresAt.Local().Format(time.DateTime))
		return
	}
	fmt.Fprintf(p.Stdout, "Denied %s: %s was not run.\n", r.ID, r.Tool)
}

// operator returns the name of the person at the command line for records.
func operator() string {
	if u, err := user.Current(); err == nil {
		return "cli:" + u.Username
	}
	return "cli:unknown"
}
