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
	"remit/internal/visible"
)

// requestRow is a request in a list. The caller may have written all of it, so invisible characters
// are escaped.
type requestRow struct {
	ID, Summary, Tool, Principal, State, By string
	Clipped                                 string // the arguments, shortened
	Created, Expires                        time.Time
}

func rowOf(r approval.Request, now time.Time) requestRow {
	return requestRow{
		ID: r.ID, Summary: visible.Line(r.Summary), Tool: visible.Line(r.Tool), Principal: visible.Line(r.Principal),
		Clipped: clip(visible.Line(string(r.Arguments[:min(len(r.Arguments), 600)])), 140),
		State:   stateOf(r, now), By: visible.Line(r.DecidedBy), Created: r.CreatedAt, Expires: r.ExpiresAt,
	}
}

// stateOf returns the state of a request as pages show it.
func stateOf(r approval.Request, now time.Time) string {
	if stage := r.Stage(now); stage != string(approval.Pending) {
		return stage
	}
	return "waiting"
}

// Limits of the list of requests.
const (
	inboxPageSize    = 25
	maxInboxRequests = 1000 // the store has no cursor; older requests are in the audit log
)

// inboxView is the data of the list of requests.
type inboxView struct {
	Decided bool
	Here    string // the URL of this page
	Rows    []requestRow
	Pager   pager
}

// inbox lists the waiting or the decided requests, newest first.
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
	if more && page < maxInboxRequests/inboxPageSize {
		view.Pager.Next = v.otherPage(page + 1)
	}
	if v.r.Header.Get("HX-Request") != "" {
		return v.part("approvals", "inbox", view)
	}
	return v.page("approvals", "approvals", "Approvals", view)
}

// otherPage returns the URL of another page of the same list.
func (v *visit) otherPage(page int) string {
	number := ""
	if page > 1 {
		number = strconv.Itoa(page)
	}
	address, _ := query(v.r.URL, "page", number) // query accepts every *url.URL
	return address
}

func pageNumber(text string) (int, error) {
	if text == "" {
		return 1, nil
	}
	page, err := strconv.Atoi(text)
	if err != nil || page < 1 || page > maxInboxRequests/inboxPageSize {
		return 0, contract.Errorf(contract.Invalid, "page must be a number from 1 to %d", maxInboxRequests/inboxPageSize)
	}
	return page, nil
}

// requests returns one page of the list, and whether there are more.
func (v *visit) requests(decided bool, page int) (some []approval.Request, more bool, err error) {
	last := page * inboxPageSize
	var list []approval.Request
	if decided {
		list, err = v.decided(last + 1)
	} else {
		list, err = v.waiting(v.r.Context(), last+1)
	}
	if err != nil {
		return nil, false, err
	}
	return list[min(last-inboxPageSize, len(list)):min(last, len(list))], len(list) > last, nil
}

// decided returns at least count requests that are no longer waiting, newest first, or all of them
// if there are fewer. The store returns waiting requests in between, which are usually few.
func (v *visit) decided(count int) (some []approval.Request, err error) {
	ctx, now := v.r.Context(), v.Now()
	store, err := v.openApprovals(v.r.Context())
	if err != nil {
		return nil, err
	}
	for _, limit := range []int{count + inboxPageSize, count + maxInboxRequests} {
		all, err := store.List(ctx, approval.ListOptions{All: true, Limit: limit, Now: now})
		if err != nil {
			return nil, err
		}
		some = slices.DeleteFunc(slices.Clone(all), func(r approval.Request) bool { return stateOf(r, now) == "waiting" })
		if len(some) >= count || len(all) < limit {
			break
		}
	}
	return some, nil
}

// argument is one argument of a call, in full.
type argument struct{ Name, Value string }

// requestPage is the data of the page of one request.
type requestPage struct {
	requestRow
	Version, Digest  string
	Reason           string
	Decided, Spent   time.Time
	ToolLink         string // the page of the tool, if it is served
	Changed          bool   // the contract has changed since the request
	Own              bool   // the visitor made the request
	MayDecide        bool
	NextID           string // another waiting request
	Arguments        []argument
	Effect           string // in one line
	Diff             *comparison
	Unchanged        bool   // the content is the same already
	Unbound          bool   // the effect depends on nothing that can change until the call runs
	Mark             string // of what this page shows; an approval must carry it
	Unshown          string // why the effect cannot be shown, so that nobody can approve it
	Waiting          bool
	Approved, Denied bool
	Stale, Withdrawn bool
	MayWithdraw      bool
	Signing          signing
}

// Explained reports whether the diff shows everything that will be written, so that the page can
// fold the arguments.
func (p *requestPage) Explained() bool { return p.Diff != nil && p.Diff.Omitted == 0 && !p.Unchanged }

func (v *visit) request() error {
	request, err := v.loadRequest()
	if err != nil {
		return err
	}
	page := v.requestPage(request)
	return v.page("approval", "approvals", page.Summary, &page)
}

// requestState responds with the decision once the request is decided. Until then it responds with
// no content, so that it does not overwrite a reason while somebody types it.
func (v *visit) requestState() error {
	request, err := v.loadRequest()
	if err != nil {
		return err
	}
	if stateOf(request, v.Now()) == "waiting" { // the usual case: do not compute the diff
		v.w.WriteHeader(http.StatusNoContent)
		return nil
	}
	page := v.requestPage(request)
	return v.part("approval", "decision", &page)
}

// loadRequest returns the request that the URL names.
func (v *visit) loadRequest() (approval.Request, error) {
	store, err := v.openApprovals(v.r.Context())
	if err != nil {
		return approval.Request{}, err
	}
	return store.Get(v.r.Context(), v.r.PathValue("id"))
}

func (v *visit) requestPage(r approval.Request) requestPage {
	now := v.Now()
	page := requestPage{
		requestRow: rowOf(r, now), Version: visible.Line(r.Version), Digest: visible.Line(r.Digest), Reason: visible.Line(r.Reason),
		Decided: r.DecidedAt, Spent: r.UsedAt, Arguments: argumentsOf(r.Arguments),
		Own: r.Principal == v.person.Principal(), MayDecide: v.person.Role >= identity.Approver,
		Approved: r.State == approval.Approved, Denied: r.State == approval.Denied,
		Stale: r.State == approval.Changed, Withdrawn: r.State == approval.Withdrawn,
	}
	page.MayWithdraw = page.MayDecide && page.State == string(approval.Approved)
	page.Waiting = page.State == "waiting"
	page.contract(v, r)
	if page.Waiting {
		page.preview(v, r)
		page.Signing = v.signing()
	} else if waiting, err := v.waiting(v.r.Context(), 1); err == nil && len(waiting) > 0 {
		page.NextID = waiting[0].ID
	}
	return page
}

// contract compares the contract of the request with the one that is served now.
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

// preview adds what the call would do, as a diff between the current and the new content.
func (p *requestPage) preview(v *visit, r approval.Request) {
	shown, err := v.Desk.Show(v.r.Context(), r, "")
	if err != nil {
		v.Log.Warn("cannot show what a request would do", "request", r.ID, "error", err)
		p.Unshown = visible.Line(contract.AsError(err).Message)
		return
	}
	p.Effect, p.Unbound, p.Mark = visible.Line(shown.Title), shown.State == "", r.PageMark(shown.State)
	if shown.Before == "" && shown.After == "" {
		return
	}
	diff := comparisonOf(shown.Title, shown.Before, shown.After)
	p.Diff, p.Unchanged = &diff, shown.Before == shown.After
}

// argumentsOf returns the arguments of a call by name, each in full.
func argumentsOf(source []byte) []argument {
	args, err := jsontree.Parse(source)
	if err != nil || args.Kind != jsontree.Object {
		return []argument{{Name: "arguments", Value: visible.Text(string(source))}}
	}
	var list []argument
	for _, m := range args.Members {
		text := m.Value.Text
		if m.Value.Kind != jsontree.String {
			text = prettyJSON(&m.Value)
		}
		list = append(list, argument{visible.Line(m.Key), visible.Text(text)})
	}
	return list
}

// maxReason is the maximum length of the reason of a decision, in characters.
const maxReason = 1000

// decide records the decision of a person. If somebody else decided first, the person sees who.
func (v *visit) decide() error {
	decision, err := v.decision()
	if err != nil {
		return err
	}
	request, err := v.Desk.Decide(v.r.Context(), v.r.PathValue("id"), decision)
	return v.afterDecision(request, "Your decision was not recorded", err)
}

// withdraw takes back an approval that no call has used.
func (v *visit) withdraw() error {
	by := approval.Decision{By: v.person.Principal(), Via: frontendConsole, Address: v.Address(v.r)}
	request, err := v.Desk.Withdraw(v.r.Context(), v.r.PathValue("id"), by)
	return v.afterDecision(request, "The approval was not withdrawn", err)
}

// afterDecision sends the person back to the request, or says why nothing was decided.
func (v *visit) afterDecision(request approval.Request, failed string, err error) error {
	here := "/console/approvals/" + url.PathEscape(request.ID)
	if err != nil && contract.AsError(err).Kind == contract.Conflict {
		v.problem(http.StatusConflict, problem{
			Title: failed, Link: here, LinkText: "See the request",
			Message: visible.Line(contract.AsError(err).Message) + ".",
		})
		return nil
	}
	if err != nil {
		return err
	}
	v.redirect(here)
	return nil
}

// decision parses the form of a decision.
func (v *visit) decision() (approval.Decision, error) {
	// The field may hold line breaks.
	reason := strings.Join(strings.Fields(v.r.PostForm.Get("reason")), " ")
	if !utf8.ValidString(reason) || utf8.RuneCountInString(reason) > maxReason {
		return approval.Decision{}, contract.Errorf(contract.Invalid, "reason must be text of at most %d characters", maxReason)
	}
	decision := approval.Decision{
		By: v.person.Principal(), Via: frontendConsole, Address: v.Address(v.r), Reason: reason, Mark: v.r.PostForm.Get("shown"),
		Answer: v.passkeyAnswer(),
	}
	switch v.r.PostForm.Get("verdict") {
	case "approve":
		decision.Approve = true
	case "deny":
	default:
		return approval.Decision{}, contract.Errorf(contract.Invalid, "verdict must be approve or deny")
	}
	return decision, nil
}
