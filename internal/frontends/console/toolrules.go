package console

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"remit/internal/contract"
	"remit/internal/engine"
	"remit/internal/engine/approval"
)

// toolRules are the rules of the operator for a tool.
type toolRules struct {
	Tool   string
	Served bool
	Lines  []ruleLine
}

// ruleLine says how a tool differs from its contract.
type ruleLine struct {
	What           string
	Contract, Here string // the value in the contract, and the one in force
	Source, Key    string // where the value was set (flag, env, file or default), and its key
}

// operatorRules returns the rules of the operator, by tool.
func (c *Console) operatorRules() (all []toolRules) {
	for _, rule := range c.ToolRules() {
		_, err := c.Engine.Find(rule.Tool)
		all = append(all, toolRules{Tool: rule.Tool, Served: err == nil, Lines: rule.lines()})
	}
	return all
}

// rulesFor returns how a tool differs from its contract: by the rules for it, and by the settings
// that concern every tool of its kind.
func (c *Console) rulesFor(t *engine.Tool) toolRules {
	found := toolRules{Tool: t.Name, Served: true}
	for _, rule := range c.ToolRules() {
		if rule.Tool == t.Name || rule.Tool == t.StrictAs && t.StrictAs != "" {
			found.Lines = append(found.Lines, rule.lines()...)
		}
	}
	for _, s := range c.Settings() {
		line := ruleLine{Source: s.Origin, Key: s.Key}
		switch {
		case s.Key == "approve" && t.Approval.Required:
			line.What, line.Contract = "Who approves", "a person"
			line.Here = map[string]string{
				string(approval.Auto): "nobody: every call passes", string(approval.Deny): "nobody: every call is denied",
			}[s.Value]
			line.Here = cmp.Or(line.Here, "a person")
		case s.Key == "rate_limits" && s.Value == "off" && !t.Rate.IsZero():
			line.What, line.Contract, line.Here = "Rate limit", t.Rate.String()+" per caller", "not enforced"
		default:
			continue
		}
		found.Lines = append(found.Lines, line)
	}
	return found
}

// lines returns what the rule changes, one line for each part.
func (r ToolRule) lines() (all []ruleLine) {
	before := r.Contract
	if before == nil {
		before = &contract.Contract{}
	}
	add := func(set bool, part, what, was, here string) {
		if set {
			all = append(all, ruleLine{what, was, here, cmp.Or(r.File, "file"), "tools." + r.Tool + "." + part})
		}
	}
	t := r.Rule
	add(t.Hide, "hide", "Served", "yes", "no: the tool is hidden")
	add(t.Title != "", "title", "Title", before.Title, t.Title)
	add(t.Description != "", "description", "Description", before.Description, t.Description)
	rate := ""
	if !before.Rate.IsZero() {
		rate = before.Rate.String() + " per caller"
	}
	add(!t.Rate.IsZero(), "rate", "Rate limit", rate, t.Rate.String()+" per caller")
	add(t.Deadline > 0, "deadline", "Deadline", spanOf(before.Deadline.Max), spanOf(t.Deadline))
	add(t.Request > 0, "request", "Size of the arguments", "at most "+before.Size.Request.String(), "at most "+t.Request.String())
	asks := "not required"
	if before.Approval.Required {
		asks = "a person approves each call"
	}
	add(t.Approval, "approval", "Approval", asks, "a person approves each call")
	var denied []string
	for i := range before.Paths {
		denied = append(denied, before.Paths[i].Deny...)
	}
	slices.Sort(denied)
	add(len(t.Deny) > 0, "deny", "Denied paths", strings.Join(slices.Compact(denied), ", "), "also "+strings.Join(t.Deny, ", "))
	return all
}

func spanOf(d contract.Duration) string {
	if d == 0 {
		return ""
	}
	return formatSpan(time.Duration(d))
}

// standingRules returns the rules in force for a tool.
func (v *visit) standingRules(t *engine.Tool) (rows []ruleRow, err error) {
	rules, err := v.Desk.ListRules(v.r.Context(), false)
	for _, r := range rules {
		if r.Tool == t.ID && r.Now == approval.InForce {
			rows = append(rows, rowOfRule(r))
		}
	}
	return rows, err
}
