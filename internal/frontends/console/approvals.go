package console

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine/approval"
	"remit/internal/engine/identity"
)

// requestRow is a request in a list. All of it may have been written by the caller, so
// what does not show itself is spelt out.
type requestRow struct {
	ID, Summary, Tool, Principal, State, By string
	Clipped                                 string // the beginning of the arguments
	Created, Expires                        time.Time
}

func rowOf(r approval.Request, now time.Time) requestRow {
	return requestRow{
		ID: r.ID, Summary: approval.Plain(r.Summary), Tool: approval.Plain(r.Tool), Principal: approval.Plain(r.Principal),
		Clipped: clip(approval.Plain(string(r.Arguments[:min(len(r.Arguments), 600)])), 140),
		State:   stateOf(r, now), By: approval.Plain(r.DecidedBy), Created: r.CreatedAt, Expires: r.ExpiresAt,
	}
}

// stateOf is how far a request has come, in a word.
func stateOf(r approval.Request, now time.Time) string {
	if stage := r.Stage(now); stage != string(approval.Pending) {
		return stage
	}
	return "waiting"
}

// How much of the list of requests there is to see.
const (
	inboxPage = 25
	inboxMost = 1000 // the store has no cursor; who needs older ones asks the audit
)

// inboxView is what the list of requests shows.
type inboxView struct {
	Decided bool
	Here    string // the address of this very page
	Rows    []requestRow
	Pager   pager
}

// inbox lists what waits, or what was decided, newest first.
func (v *visit) inbox() error {
	values := v.r.URL.Query()
	page, err := pageNumber(values.Get("page"))
	if err != nil {
		return err
	}
	view := inboxView{Decided: values.Get("show") == "decided"}
	requests, more, err := v.requests(view.Decided, page)
	if err != nil {
		return err
	}
	for _, r := range requests {
		view.Rows = append(view.Rows, rowOf(r, v.Now()))
	}
	view.Here = v.r.URL.RequestURI()
	if page > 1 {
		view.Pager.Prev = v.otherPage(page - 1)
		view.Pager.Note = fmt.Sprintf("Page %d", page)
	}
	if more && page < inboxMost/inboxPage {
		view.Pager.Next = v.otherPage(page + 1)
	}
	if v.r.Header.Get("HX-Request") != "" {
		return v.part("approvals", "inbox", view)
	}
	return v.page("approvals", "approvals", "Approvals", view)
}

// otherPage is the address of another page of the same list.
func (v *visit) otherPage(page int) string {
	number := ""
	if page > 1 {
		number = strconv.Itoa(page)
	}
	address, _ := query(v.r.URL, "page", number) // a *url.URL is always one
	return address
}

func pageNumber(text string) (int, error) {
	if text == "" {
		return 1, nil
	}
	page, err := strconv.Atoi(text)
	if err != nil || page < 1 || page > inboxMost/inboxPage {
		return 0, contract.Errorf(contract.Invalid, "page must be a number from 1 to %d", inboxMost/inboxPage)
	}
	return page, nil
}

// requests are those of one page of a list, and whether there are more.
func (v *visit) requests(decided bool, page int) (some []approval.Request, more bool, err error) {
	last := page * inboxPage
	var list []approval.Request
	if decided {
		list, err = v.decided(last + 1)
	} else {
		list, err = v.waiting(v.r.Context(), last+1)
	}
	if err != nil {
		return nil, false, err
	}
	return list[min(last-inboxPage, len(list)):min(last, len(list))], len(list) > last, nil
}

// decided are at least so many requests that wait no longer, newest first, unless there
// are fewer. Those that wait lie between them, usually few.
func (v *visit) decided(least int) (some []approval.Request, err error) {
	ctx, now := v.r.Context(), v.Now()
	store, err := v.openApprovals(v.r.Context())
	if err != nil {
		return nil, err
	}
	for _, most := range []int{least + inboxPage, least + inboxMost} {
		all, err := store.List(ctx, approval.ListOptions{All: true, Limit: most, Now: now})
		if err != nil {
			return nil, err
		}
		some = slices.DeleteFunc(slices.Clone(all), func(r approval.Request) bool { return stateOf(r, now) == "waiting" })
		if len(some) >= least || len(all) < most {
			break
		}
	}
	return some, nil
}

// argument is one of the call, in full.
type argument struct{ Name, Value string }

// requestPage is what the page of one request shows.
type requestPage struct {
	requestRow
	Version, Digest  string
	Reason           string
	Decided, Spent   time.Time
	ToolLink         string // the page of its contract, if the tool is served
	Changed          bool   // the contract is another one now
	Own              bool   // the person who looks asked for it
	MayDecide        bool
	NextID           string // of another request that waits
	Arguments        []argument
	Diff             *comparison
	Unchanged        bool // what would be written is there already
	Waits            bool
	Approved, Denied bool
}

// Explained tells that the page shows all that will be written, so that the arguments
// need not stand between it and the decision.
func (p *requestPage) Explained() bool { return p.Diff != nil && p.Diff.Cut == 0 && !p.Unchanged }

func (v *visit) request() error {
	_, asked, err := v.asked()
	if err != nil {
		return err
	}
	page := v.requestPage(asked)
	return v.page("approval", "approvals", page.Summary, &page)
}

// requestState answers once the request is decided, so that nobody's reason is
// overwritten while they type it.
func (v *visit) requestState() error {
	_, asked, err := v.asked()
	if err != nil {
		return err
	}
	if stateOf(asked, v.Now()) == "waiting" { // as every open page hears often: no reason to compare files
		v.w.WriteHeader(http.StatusNoContent)
		return nil
	}
	page := v.requestPage(asked)
	return v.part("approval", "decision", &page)
}

// asked is the request that the address names, and the store that it is in.
func (v *visit) asked() (approval.Store, approval.Request, error) {
	store, err := v.openApprovals(v.r.Context())
	if err != nil {
		return nil, approval.Request{}, err
	}
	request, err := store.Get(v.r.Context(), v.r.PathValue("id"))
	return store, request, err
}

func (v *visit) requestPage(r approval.Request) requestPage {
	now := v.Now()
	page := requestPage{
		requestRow: rowOf(r, now), Version: approval.Plain(r.Version), Digest: approval.Plain(r.Digest), Reason: approval.Plain(r.Reason),
		Decided: r.DecidedAt, Spent: r.SpentAt, Arguments: argumentsOf(r.Arguments),
		Own: r.Principal == v.person.Principal(), MayDecide: v.person.Role >= identity.Approver,
		Approved: r.State == approval.Approved, Denied: r.State == approval.Denied,
	}
	page.Waits = page.State == "waiting"
	page.contract(v, r)
	if page.Waits {
		page.preview(v, r)
	} else if waiting, err := v.waiting(v.r.Context(), 1); err == nil && len(waiting) > 0 {
		page.NextID = waiting[0].ID
	}
	return page
}

// contract compares what was asked under with what is served now.
func (p *requestPage) contract(v *visit, r approval.Request) {
	_, name, _ := strings.Cut(r.Tool, "/")
	if !v.Engine.Serves(name) {
		return
	}
	tool, err := v.Engine.Find(name)
	if err != nil || tool.ID != r.Tool {
		return
	}
	p.ToolLink = "/console/tools/" + url.PathEscape(name)
	p.Changed = tool.Digest != r.Digest
}

// preview compares what a file holds with what it would hold.
func (p *requestPage) preview(v *visit, r approval.Request) {
	before, after, name, ok := v.Preview(v.r.Context(), r)
	if !ok {
		return
	}
	diff := comparisonOf(name, before, after)
	p.Diff, p.Unchanged = &diff, before == after
}

// argumentsOf lists arguments by name, each in full.
func argumentsOf(source []byte) []argument {
	args, err := jsontree.Parse(source)
	if err != nil || args.Kind != jsontree.Object {
		return []argument{{Name: "arguments", Value: spelt(string(source))}}
	}
	var list []argument
	for _, m := range args.Members {
		text := m.Value.Text
		if m.Value.Kind != jsontree.String {
			text = prettyJSON(&m.Value)
		}
		list = append(list, argument{approval.Plain(m.Key), spelt(text)})
	}
	return list
}

// maxReason is how long the reason of a decision may be.
const maxReason = 1000

// decide keeps what a person decided. Whoever comes second is told who was first.
func (v *visit) decide() error {
	verdict, err := v.verdict()
	if err != nil {
		return err
	}
	ctx, now := v.r.Context(), v.Now()
	if err := v.ready("decided"); err != nil {
		return err
	}
	store, asked, err := v.asked()
	if err != nil {
		return err
	}
	// The answer stays valid for as long as the question would have.
	_, err = store.Decide(ctx, asked.ID, verdict, now, now.Add(asked.ExpiresAt.Sub(asked.CreatedAt)))
	v.recordDecision(asked, verdict, err)
	here := "/console/approvals/" + url.PathEscape(asked.ID)
	if err != nil && contract.AsError(err).Kind == contract.Conflict {
		v.problem(http.StatusConflict, problem{
			Title: "Your decision was not kept", Back: here, On: "See the request",
			Message: approval.Plain(contract.AsError(err).Message) + ".",
		})
		return nil
	}
	if err != nil {
		return err
	}
	v.goTo(here)
	return nil
}

// verdict reads what the person chose.
func (v *visit) verdict() (approval.Verdict, error) {
	reason := strings.TrimSpace(v.r.PostForm.Get("reason"))
	if !utf8.ValidString(reason) || utf8.RuneCountInString(reason) > maxReason {
		return approval.Verdict{}, contract.Errorf(contract.Invalid, "reason must be a text of at most %d characters", maxReason)
	}
	verdict := approval.Verdict{By: v.person.Principal(), Reason: reason}
	switch v.r.PostForm.Get("verdict") {
	case "approve":
		verdict.Approve = true
	case "deny":
	default:
		return approval.Verdict{}, contract.Errorf(contract.Invalid, "verdict must be approve or deny")
	}
	return verdict, nil
}

func (v *visit) recordDecision(asked approval.Request, verdict approval.Verdict, failed error) {
	what := "console/deny"
	if verdict.Approve {
		what = "console/approve"
	}
	v.record(what, v.person, failed,
		jsontree.M("request", jsontree.Str(asked.ID)), jsontree.M("tool", jsontree.Str(asked.Tool)), jsontree.M("reason", jsontree.Str(verdict.Reason)))
}
