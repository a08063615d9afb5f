package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine/approval"
	"remit/internal/visible"
)

// ruleFlags are the flags of the commands that make a rule.
type ruleFlags struct {
	scope, valid string
	calls        int
}

func (f *ruleFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.scope, "scope", "", "which calls the rule covers; without it, the command lists the scopes of the request")
	c.Flags().StringVar(&f.valid, "for", "1h", "how long the rule lasts: 30m, 1h, 7d, or today")
}

func (p *Program) approvalsAllow() *cobra.Command {
	var flags ruleFlags
	c := &cobra.Command{
		Use:               "allow ID",
		Args:              exactArgs(1),
		ValidArgsFunction: p.completeApproval(false),
		RunE: p.with(func(cmd *cobra.Command, w Workspace, args []string) error {
			return p.makeRule(cmd.Context(), w, args[0], &flags, true, "")
		}),
	}
	flags.add(c)
	c.Flags().IntVar(&flags.calls, "calls", 20, "how many calls may pass")
	return c
}

// makeRule makes a standing permission or denial from a request.
func (p *Program) makeRule(ctx context.Context, w Workspace, id string, flags *ruleFlags, allow bool, reason string) error {
	desk, verb := w.Desk(), "deny"
	if allow {
		verb = "allow"
	}
	asked, err := request(ctx, desk, id)
	if err == nil && flags.scope == "" {
		return p.scopesMissing(desk, &asked)
	}
	terms := approval.RuleTerms{Allow: allow, Scope: flags.scope, Calls: flags.calls}
	if err == nil {
		err = terms.ParseValid(flags.valid, p.Now())
	}
	decision := approval.Decision{Approve: allow, By: operator(), Via: viaTerminal, Reason: reason}
	if err == nil {
		if err := desk.CheckWay(ctx, asked, decision); err != nil {
			return err // it is recorded
		}
		err = p.confirmRule(ctx, desk, &asked, terms, verb)
	}
	if err != nil {
		refuse(ctx, w.Identity(), action("rules/"+verb, jsontree.M("request", jsontree.Str(id))), err)
		return err
	}
	rule, covered, err := desk.MakeRule(ctx, asked.ID, terms, decision)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.Stdout, "Rule %s: %s\n%s no longer. To end the rule: %s\n", rule.ID, rule.Sentence(),
		waitingNow(covered), fmt.Sprintf(p.hint("remit approvals revoke %s"), rule.ID))
	return nil
}

func waitingNow(covered int) string {
	if covered == 1 {
		return "1 request that it covers waits"
	}
	return fmt.Sprintf("%d requests that it covers wait", covered)
}

// scopesMissing returns an error that lists the scopes of a request.
func (p *Program) scopesMissing(desk *approval.Desk, r *approval.Request) error {
	scopes, err := desk.Scopes(r)
	if err != nil {
		return err
	}
	var list strings.Builder
	for _, s := range scopes {
		fmt.Fprintf(&list, "\n  --scope %-20s %s", visible.Line(quoteArgument(s.Name)), s.Words())
	}
	return usageError{errors.New("say with --scope which calls the rule covers:" + list.String())}
}

func quoteArgument(name string) string {
	if strings.ContainsAny(name, " '\"$&;()#`") {
		return strconv.Quote(name)
	}
	return name
}

// confirmRule shows a rule to the person at the terminal and lets them type the end of the id of
// the request, so that only a person makes rules.
func (p *Program) confirmRule(ctx context.Context, desk *approval.Desk, r *approval.Request, terms approval.RuleTerms, verb string) error {
	rule, err := desk.Draft(r, terms, operator())
	if err != nil {
		return err
	}
	return p.confirmEnd(ctx, r.ID, verb, fmt.Sprintf("Request %s\nCaller   %s\nTool     %s %s\n%s\nRule: %s\n",
		r.ID, visible.Line(r.Principal), visible.Line(r.Tool), visible.Line(r.Version), r.Describe(), rule.Sentence()))
}

// confirmEnd shows text at the terminal and lets the person type the end of an id.
func (p *Program) confirmEnd(ctx context.Context, id, verb, text string) error {
	const typed = 4
	end := id[max(0, len(id)-typed):]
	asked := p.Now()
	answer, err := p.askPerson(ctx, fmt.Sprintf("%s\nType %s, the end of the id, to %s it: ", text, end, verb))
	switch {
	case err != nil:
	case p.Now().Sub(asked) < approval.MinAnswerTime:
		err = errors.New("the answer came before a person could read the request, so nothing was decided; type it again")
	case answer != end:
		err = fmt.Errorf("%q is not the end of the id, so nothing was decided", visible.Line(answer))
	}
	return err
}

func (p *Program) approvalsRules() *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:  "rules",
		Args: cobra.NoArgs,
		RunE: p.with(func(cmd *cobra.Command, w Workspace, _ []string) error {
			rules, err := w.Desk().ListRules(cmd.Context(), all)
			if err != nil {
				return err
			}
			return p.show(convert(rules, approval.RuleView.JSON), func() { p.printRules(rules) })
		}),
	}
	c.Flags().BoolVar(&all, "all", false, "include rules that are used up, expired, revoked or void")
	return p.withJSON("print as JSON", c)
}

func (p *Program) printRules(rules []approval.RuleView) {
	t := table{width: 100, empty: "No rule is in force."}
	t.add("ID", "STATE", "USES", "BY", "RULE")
	for _, r := range rules {
		uses := "-"
		if r.Allow {
			uses = fmt.Sprintf("%d/%d", r.Used, r.Calls)
		}
		t.add(r.ID, string(r.Now), uses, cut(visible.Line(r.By), maxCaller), r.Sentence())
	}
	t.write(p.Stdout)
}

func (p *Program) approvalsRevoke() *cobra.Command {
	return &cobra.Command{
		Use:               "revoke RULE",
		Args:              exactArgs(1),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: p.with(func(cmd *cobra.Command, w Workspace, args []string) error {
			ctx, desk := cmd.Context(), w.Desk()
			rule, err := desk.Rule(ctx, args[0])
			if err == nil && !rule.Allow { // to take back a permission loosens nothing
				err = p.confirmEnd(ctx, rule.ID, "revoke", fmt.Sprintf("Rule %s: %s\n", rule.ID, rule.Sentence()))
			}
			if err != nil {
				refuse(ctx, w.Identity(), action("rules/revoke", jsontree.M("rule", jsontree.Str(args[0]))), err)
				return err
			}
			rule, err = desk.RevokeRule(ctx, args[0], approval.Decision{By: operator(), Via: viaTerminal})
			if err != nil {
				return err
			}
			fmt.Fprintf(p.Stdout, "Revoked rule %s, after %s.\n", rule.ID, contract.Count(rule.Used, "use"))
			return nil
		}),
	}
}
