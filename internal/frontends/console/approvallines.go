package console

import (
	"strconv"

	"remit/internal/contract"
	"remit/internal/engine/approval"
	"remit/internal/visible"
)

// linesPage is the data of the folded lines of a diff.
type linesPage struct {
	Request requestRow
	Diff    comparison
	Back    string // the review
}

// requestLines shows lines of the diff of a request that its review folds. They are lines of what
// the review showed; if that has changed, it says so instead.
func (v *visit) requestLines() error {
	request, err := v.loadRequest()
	if err != nil {
		return err
	}
	values := v.r.URL.Query()
	from, fromErr := strconv.Atoi(values.Get("from"))
	to, toErr := strconv.Atoi(values.Get("to"))
	if fromErr != nil || toErr != nil || from < 0 || to <= from || to-from > maxRows {
		return contract.Errorf(contract.Invalid, "from and to must be the numbers of at most %d lines", maxRows)
	}
	if stateOf(request, v.Now()) != "waiting" {
		return contract.Errorf(contract.Conflict, "This request does not wait any more")
	}
	state, ok := request.StateOf(values.Get("shown"))
	if !ok {
		return contract.Errorf(contract.Conflict, "These lines are of another request")
	}
	shown, err := v.Desk.Show(v.r.Context(), request, state)
	if err != nil {
		return err
	}
	if shown.State != state {
		return contract.Errorf(contract.Conflict, "What this request would do has changed; look at it again")
	}
	page := linesPage{Request: rowOf(request, v.Now()), Diff: linesOf(shown, from, to), Back: deskPath + "/" + request.ID}
	if v.wantsPart() {
		return v.part(deskPage, "diff-rows", page.Diff)
	}
	return v.page("lines", "approvals", "Lines of "+visible.Line(request.Summary), page)
}

// linesOf returns lines of the diff of what a request would do, in full.
func linesOf(shown approval.Shown, from, to int) comparison {
	all := diffLines(shown.Before, shown.After)
	c := comparison{Name: visible.Line(shown.Title), Exact: true, Added: all.added, Removed: all.removed}
	for i := min(from, len(all.list)); i < min(to, len(all.list)); i++ {
		c.Rows = append(c.Rows, all.row(i))
	}
	return c
}
