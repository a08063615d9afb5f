package console

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/export"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/engine/audit"
	"remit/internal/engine/identity"
)

func (v *visit) listTools() error {
	sets := groupsOf(v.Engine.Tools(), func(t *engine.Tool) string { return t.Set })
	return v.page("tools", "tools", "Tools", map[string]any{"Sets": sets, "ReadOnly": v.Engine.ReadOnly})
}

// toolView is the data of the page of a tool.
type toolView struct {
	*engine.Tool
	Hints      []string
	Tokens     int    // estimated tokens of the definition
	Definition int    // bytes of the definition
	Response   string // the size limit of responses
	Input      []schemaRow
	Output     []schemaRow
	Errors     []errorRow
	Coded      bool // errors have codes
	Examples   []exampleView
	Form       form
	MayTry     bool // the visitor may call it
	Filled     string
	Repeated   string   // the id of the recorded call that the form is filled in from
	Hidden     []string // its arguments that were not recorded
	Tried      *trial
	Snippets   snippets
	Operator   toolRules // how the tool differs from its contract
	Standing   []ruleRow // rules of people in force for it
	MayEnd     bool      // the visitor may revoke them
}

// errorRow is a kind of error, with the contract's rule for it.
type errorRow struct {
	Kind contract.Kind
	contract.ErrorRule
}

// exampleView is an example of the contract.
type exampleView struct {
	Number    int
	Title     string
	Arguments string
	Answer    string
	Fails     bool
	Before    []string // calls that the example makes first
	Given     []string // files that exist before the example
}

func (v *visit) showTool() error {
	t, err := v.Engine.Find(v.r.PathValue("name"))
	if err != nil {
		return err
	}
	view := v.toolView(t)
	if view.Standing, err = v.standingRules(t); err != nil {
		return err
	}
	view.prefill(v.r.URL.Query().Get("example"))
	if id := v.r.URL.Query().Get("call"); id != "" {
		if err := v.prefillCall(view, id); err != nil {
			return err
		}
	}
	if v.r.URL.Query().Get("as") == "json" && !view.Form.AsJSON {
		view.Form.AsJSON, view.Form.JSON = true, "{}"
	}
	return v.page("tool", "tools", t.Title, view)
}

// prefill fills the form with the example of the given number.
func (t *toolView) prefill(number string) {
	examples := t.Contract.Examples
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > len(examples) {
		return
	}
	t.Form.fill(&examples[n-1].Arguments)
	t.Filled = examples[n-1].Title
}

// prefillCall fills the form with the arguments of a recorded call of the tool, as far as they were
// recorded.
func (v *visit) prefillCall(view *toolView, id string) error {
	record, err := v.Calls.Record(v.r.Context(), id)
	if err != nil {
		return err
	}
	if audit.CurrentTool(textOf(&record.Value, "tool")) != view.ID {
		return contract.Errorf(contract.Invalid, "The record %q is not of a call to %s", id, view.Name)
	}
	args := record.Value.Field("arguments")
	known, hidden := recordedArguments(&args)
	view.Form.fill(&known)
	view.Repeated, view.Hidden = id, hidden
	return nil
}

func (v *visit) toolView(t *engine.Tool) *toolView {
	definition := export.Tool(t.Contract)
	size := len(definition.Append(nil))
	view := &toolView{
		Tool: t, Hints: hintsOf(t.Contract), Definition: size, Tokens: (size + 3) / 4, Response: responseSize(t.Contract),
		Input: schemaRows(&t.Input), Form: newForm(t.Contract), MayTry: v.mayUse(t) == nil, Snippets: v.snippetsOf(t),
		Operator: v.rulesFor(t), MayEnd: v.person.Role >= identity.Approver,
	}
	if !t.Content {
		view.Output = schemaRows(&t.Output)
	}
	for _, kind := range contract.Kinds() {
		row := errorRow{kind, t.Errors[kind]}
		view.Errors, view.Coded = append(view.Errors, row), view.Coded || row.Code != ""
	}
	for i := range t.Examples {
		view.Examples = append(view.Examples, viewOf(i+1, &t.Examples[i]))
	}
	return view
}

func viewOf(number int, e *contract.Example) exampleView {
	answer, fails := e.Result, false
	if answer.Kind == jsontree.Null {
		answer, fails = e.Error, true
	}
	view := exampleView{Number: number, Title: e.Title, Arguments: shownJSON(&e.Arguments), Answer: shownJSON(&answer), Fails: fails}
	for _, step := range e.Before {
		view.Before = append(view.Before, step.Tool+" "+string(step.Arguments.Append(nil)))
	}
	view.Given = slices.Sorted(maps.Keys(e.Given))
	return view
}

// hintsOf describes the side effects of a tool.
func hintsOf(c *contract.Contract) []string {
	choose := func(is bool, yes, no string) string {
		if is {
			return yes
		}
		return no
	}
	hints := []string{choose(c.Hints.ReadOnly, "It only reads: calling it changes nothing.", "It writes: calling it may change something.")}
	if !c.Hints.ReadOnly {
		hints = append(hints,
			choose(c.Hints.Destructive, "It is destructive: it may overwrite or delete data.", "It only adds data; it is not destructive."),
			choose(c.Hints.Idempotent, "It is idempotent: repeating a call with the same arguments changes nothing more.",
				"It is not idempotent: repeating a call repeats the change."))
	}
	return append(hints, choose(c.Hints.OpenWorld, "It reaches beyond this workspace.", "It stays within this workspace."))
}

// responseSize describes the size limit of responses.
func responseSize(c *contract.Contract) string {
	limit := "at most " + c.Truncate.Budget.String() + " (about " + tokens(c.Truncate.Budget) + " tokens); "
	switch {
	case c.Truncate.List == "":
		return "not limited by the contract"
	case c.Truncate.Cursor != "":
		return limit + "continue with " + c.Truncate.Cursor
	default:
		return limit + c.Truncate.List + " is truncated beyond that"
	}
}

// tokens estimates the number of tokens of a text of the given size.
func tokens(size contract.Bytes) string { return grouped(int(size+3) / 4) }

// grouped formats a number with thousands separators.
func grouped(n int) string {
	digits := strconv.Itoa(n)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

// Writes reports whether the tool writes, and so requires another role to be tried.
func (t *toolView) Writes() bool { return !t.Tool.Hints.ReadOnly }

// Window returns for how long a request for approval is valid, and then its decision.
func (t *toolView) Window() string { return formatSpan(time.Duration(t.Approval.Window)) }

// Short returns the start of the digest, enough to tell contracts apart.
func (t *toolView) Short() string {
	_, digest, _ := strings.Cut(t.Digest, ":")
	return digest[:min(len(digest), 12)]
}
