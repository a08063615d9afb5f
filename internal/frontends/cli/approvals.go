package cli

import (
	"context"
	"errors"
	"fmt"
	"os/user"
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
	var all bool
	c := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Args:    cobra.NoArgs,
		RunE: p.withApprovals(func(ctx context.Context, store approval.Store, _ []string) error {
			const limit = 1000
			requests, err := store.List(ctx, approval.ListOptions{All: all, Now: time.Now(), Limit: limit})
			if err != nil {
				return err
			}
			return p.show(convert(requests, viewOf), func() {
				p.printRequests(requests)
				if len(requests) == limit {
					fmt.Fprintf(p.Stdout, "Only the newest %d are shown.\n", limit)
				}
			})
		}),
	}
	c.Flags().BoolVar(&all, "all", false, "include decided and expired requests")
	return p.withJSON("print as JSON", c)
}

func (p *Program) printRequests(requests []approval.Request) {
	t := table{empty: "Nothing waits for approval."}
	t.add("ID", "STATE", "AGE", "TOOL", "CALLER", "ARGUMENTS")
	for _, r := range requests {
		age := time.Since(r.CreatedAt).Round(time.Second).String()
		t.add(r.ID, r.Stage(time.Now()), age, r.Tool, r.Principal, string(r.Arguments))
	}
	t.write(p.Stdout)
}

func viewOf(r approval.Request) approval.View {
	view := r.View(time.Now())
	view.Digest, view.SpentAt = r.Digest, r.UsedAt
	return view
}

func (p *Program) approvalsShow() *cobra.Command {
	return &cobra.Command{
		Use:               "show ID",
		Args:              exactArgs(1),
		ValidArgsFunction: p.completeApproval(true),
		RunE: p.with(func(cmd *cobra.Command, w Workspace, args []string) error {
			r, err := request(cmd.Context(), w.Desk(), args[0])
			if err != nil {
				return err
			}
			view := viewOf(r)
			if view.State == string(approval.Pending) {
				shown, err := w.Desk().Show(cmd.Context(), r, "")
				if err != nil {
					view.Unshown = contract.AsError(err).Message
				} else if text := shown.Text(); text != "" {
					view.Effect = text
				}
			}
			return writeJSON(p.Stdout, view)
		}),
	}
}

func (p *Program) decideCommand(verb, alias string, approve bool) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use:               verb + " ID",
		Aliases:           []string{alias},
		Args:              exactArgs(1),
		ValidArgsFunction: p.completeApproval(false),
		RunE: p.with(func(cmd *cobra.Command, w Workspace, args []string) error {
			ctx, desk := cmd.Context(), w.Desk()
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
	return store.Get(ctx, id)
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
	const typed = 4
	end := r.ID[max(0, len(r.ID)-typed):]
	asked := p.Now()
	answer, err := p.askPerson(ctx, fmt.Sprintf("Request %s\nCaller   %s\nTool     %s %s\n%s\n%s\nType %s, the end of the id, to %s it: ",
		r.ID, visible.Line(r.Principal), visible.Line(r.Tool), visible.Line(r.Version), r.Describe(), shown.Text(), end, verb))
	switch {
	case err != nil:
	case p.Now().Sub(asked) < approval.MinAnswerTime:
		err = errors.New("the answer came before a person could read the request, so nothing was decided; type it again")
	case answer != end:
		err = fmt.Errorf("%q is not the end of the id, so nothing was decided", visible.Line(answer))
	}
	return r.PageMark(shown.State), err
}

func (p *Program) printDecision(r approval.Request, approved bool) {
	if approved {
		fmt.Fprintf(p.Stdout, "Approved %s: %s may run once with these arguments, until %s.\n",
			r.ID, r.Tool, r.ExpiresAt.Local().Format(time.DateTime))
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
