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
)

func (v *visit) listTools() error {
	sets := groupsOf(v.Engine.Tools(), func(t *engine.Tool) string { return t.Set })
	return v.page("tools", "tools", "Tools", map[string]any{"Sets": sets, "ReadOnly": v.Engine.ReadOnly})
}

// toolView is a contract as its page shows it.
type toolView struct {
	*engine.Tool
	Hints      []string
	Tokens     int // what its definition costs a model, about
	Definition int // bytes of it
	Answers    string
	Input      []schemaRow
	Output     []schemaRow
	Errors     []errorRow
	Coded      bool // errors have codes
	Examples   []exampleView
	Form       form
	May        bool // the person may try it
	Filled     string
	Tried      *trial
	Snippets   snippets
}

// errorRow is a kind of failure as the contract words it.
type errorRow struct {
	Kind contract.Kind
	contract.ErrorRule
}

// exampleView is a documented call.
type exampleView struct {
	Number    int
	Title     string
	Arguments string
	Answer    string
	Fails     bool
	Before    []string // calls that come first
	Given     []string // files that are there
}

func (v *visit) showTool() error {
	t, err := v.Engine.Find(v.r.PathValue("name"))
	if err != nil {
		return err
	}
	view := v.toolView(t)
	view.prefill(v.r.URL.Query().Get("example"))
	if v.r.URL.Query().Get("as") == "json" && !view.Form.AsJSON {
		view.Form.AsJSON, view.Form.JSON = true, "{}"
	}
	return v.page("tool", "tools", t.Title, view)
}

// prefill fills the form with the example of a number.
func (t *toolView) prefill(number string) {
	examples := t.Contract.Examples
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > len(examples) {
		return
	}
	t.Form.fill(&examples[n-1].Arguments)
	t.Filled = examples[n-1].Title
}

func (v *visit) toolView(t *engine.Tool) *toolView {
	definition := export.Tool(t.Contract)
	size := len(definition.Append(nil))
	view := &toolView{
		Tool: t, Hints: hintsOf(t.Contract), Definition: size, Tokens: (size + 3) / 4, Answers: answersOf(t.Contract),
		Input: schemaRows(&t.Input), Form: newForm(t.Contract), May: v.mayUse(t) == nil, Snippets: v.snippetsOf(t),
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

// hintsOf tells what a tool does to the world.
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
			choose(c.Hints.Destructive, "It may destroy what is there.", "It only adds; it destroys nothing."),
			choose(c.Hints.Idempotent, "To call it again with the same arguments changes nothing more.", "Each call counts: to call it again does it again."))
	}
	return append(hints, choose(c.Hints.OpenWorld, "It reaches beyond this workspace.", "It stays within this workspace."))
}

// answersOf tells how long answers may become.
func answersOf(c *contract.Contract) string {
	switch {
	case c.Truncate.List == "":
		return "not bounded by the contract"
	case c.Truncate.Cursor != "":
		return "at most " + c.Truncate.Budget.String() + " (about " + tokens(c.Truncate.Budget) + " tokens); what is beyond comes with " + c.Truncate.Cursor
	default:
		return "at most " + c.Truncate.Budget.String() + " (about " + tokens(c.Truncate.Budget) + " tokens); " + c.Truncate.List + " is cut beyond that"
	}
}

// tokens estimates what a size costs a model.
func tokens(size contract.Bytes) string { return grouped(int(size+3) / 4) }

// grouped writes a number with its thousands apart.
func grouped(n int) string {
	digits := strconv.Itoa(n)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

// Writes tells what needs another role to be tried.
func (t *toolView) Writes() bool { return !t.Tool.Hints.ReadOnly }

// Window is how long a request for approval, and then its answer, counts.
func (t *toolView) Window() string { return spanWords(time.Duration(t.Approval.Window)) }

// Short is the start of the digest, by which people tell contracts apart.
func (t *toolView) Short() string {
	_, digest, _ := strings.Cut(t.Digest, ":")
	return digest[:min(len(digest), 12)]
}
