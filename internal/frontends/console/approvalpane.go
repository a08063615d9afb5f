package console

import (
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/engine/approval"
	"remit/internal/engine/identity"
	"remit/internal/frontends/console/highlight"
	"remit/internal/frontends/console/markdown"
	"remit/internal/visible"
)

// argument is one argument of a call, in full.
type argument struct{ Name, Value string }

// requestPage is the data of the review of one request.
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
	Tasks            []fieldChange // the fields of a task, if the call changes one
	Entries          [][]argument  // the entries of a memory file that the call appends
	Rendered         template.HTML // the new text as a reader sees it
	Front            string        // its front matter
	Markdown         bool          // it can be rendered
	Unchanged        bool          // the content is the same already
	Creates, Removes bool
	Unbound          bool   // the effect depends on nothing that can change until the call runs
	Mark             string // of what this page shows; an approval must carry it
	Unshown          string // why the effect cannot be shown, so that nobody can approve it
	Waiting          bool
	Approved, Denied bool
	Stale, Withdrawn bool
	MayWithdraw      bool
	Via              string // the front end and the client
	CallerReason     string // in the caller's own words, below CallerWords
	CallerWords      string
	Signing          signing
	Related          *related // nil if the page gets it later
	Off              string   // why Approve is off, besides what the page says itself
	Typed            string   // the reason that the person typed
	Problem          string   // why their decision was not recorded
	OutOfDate        bool     // what the call would do has changed since they looked
	List             listChoice
	Prev, Next       string // the neighbours in the list
	Number, Total    int    // the position in the list; 0 if it is not there
}

// Explained reports whether the review shows everything that will be written, so that it can fold
// the arguments.
func (p *requestPage) Explained() bool { return p.Diff != nil && !p.Unchanged }

// Here returns the address of the review, or of something below it.
func (p *requestPage) Here(rest string) string { return p.List.AtRequest(p.ID, rest) }

// MayApprove reports whether the review has a button that approves.
func (p *requestPage) MayApprove() bool {
	return p.Unshown == "" && p.Signing.Closed == "" && p.Signing.At == "" && p.Off == "" && !p.OutOfDate
}

// AsFields reports whether the review shows the change as fields, and its lines of text below them.
func (p *requestPage) AsFields() bool { return len(p.Tasks) > 0 || len(p.Entries) > 0 }

// request shows the review of a request, beside the list.
func (v *visit) request() error {
	choice, err := v.chosen()
	if err != nil {
		return err
	}
	request, err := v.loadRequest()
	if err != nil {
		return err
	}
	l, err := v.listRequests(choice)
	if err != nil {
		return err
	}
	if err := v.open(l, request); err != nil {
		return err
	}
	if v.wantsPart() {
		return v.part(deskPage, "pane", l.Pane)
	}
	found := v.related(request.ID)
	l.Pane.Related = &found
	if l.Toast, err = v.toastOf(v.r.URL.Query().Get("after")); err != nil {
		return err
	}
	return v.page(deskPage, "approvals", l.Pane.Summary, l)
}

// open adds the review of a request to a list.
func (v *visit) open(l *inboxView, r approval.Request) error {
	page := v.requestPage(r)
	page.List = l.listChoice
	page.List.Page = 0
	if page.Waiting {
		page.preview(v, r)
		page.Signing = v.signing(deskPath + "/" + r.ID)
	}
	if i := l.index(r.ID); i >= 0 {
		page.Number, page.Total = i+1, len(l.rows)
		l.rows[i].Opened = l.rows[i].Opened || page.Mark != ""
		if i > 0 {
			page.Prev = l.rows[i-1].Href
		}
		if i+1 < len(l.rows) {
			page.Next = l.rows[i+1].Href
		}
	} else if len(l.rows) > 0 && !l.Decided {
		page.NextID = l.rows[0].ID
	}
	l.Pane = &page
	l.arrange(r.ID)
	return nil
}

// requestState responds with the decision once the request is decided. Until then it responds with
// no content, so that it does not overwrite a reason while somebody types it.
func (v *visit) requestState() error {
	choice, err := v.chosen()
	if err != nil {
		return err
	}
	request, err := v.loadRequest()
	if err != nil {
		return err
	}
	if stateOf(request, v.Now()) == "waiting" { // the usual case: do not compute the diff
		v.w.WriteHeader(http.StatusNoContent)
		return nil
	}
	page := v.requestPage(request)
	page.List = choice
	if waiting, err := v.waiting(v.r.Context(), 1); err == nil && len(waiting) > 0 {
		page.NextID = waiting[0].ID
	}
	return v.part(deskPage, "verdict", &page)
}

// requestRecords responds with the records that belong to a request.
func (v *visit) requestRecords() error {
	return v.part(deskPage, "related", v.related(v.r.PathValue("id")))
}

// loadRequest returns the request that the URL names.
func (v *visit) loadRequest() (approval.Request, error) {
	store, err := v.openApprovals(v.r.Context())
	if err != nil {
		return approval.Request{}, err
	}
	return store.Get(v.r.Context(), v.r.PathValue("id"))
}

// requestPage returns the review of a request without what the call would do.
func (v *visit) requestPage(r approval.Request) requestPage {
	now := v.Now()
	page := requestPage{
		requestRow: rowOf(r, now), Version: visible.Line(r.Version), Digest: visible.Line(r.Digest), Reason: visible.Line(r.Reason),
		Decided: r.DecidedAt, Spent: r.UsedAt, Arguments: argumentsOf(r.Arguments),
		Own: r.Principal == v.person.Principal(), MayDecide: v.person.Role >= identity.Approver,
		Approved: r.State == approval.Approved, Denied: r.State == approval.Denied,
		Stale: r.State == approval.Changed, Withdrawn: r.State == approval.Withdrawn,
		Via: visible.Line(r.Via()), CallerReason: visible.Line(r.CallerReason), CallerWords: approval.CallerWords,
	}
	page.MayWithdraw = page.MayDecide && page.State == string(approval.Approved)
	page.Waiting = page.State == "waiting"
	if tool := v.toolOf(r); tool != nil {
		page.ToolLink = "/console/tools/" + url.PathEscape(tool.Name)
		page.Changed = tool.Digest != r.Digest
		page.Destructive = tool.Hints.Destructive
	}
	return page
}

// toolOf returns the tool of a request, if it is served. Its contract may be another one than that
// of the request.
func (v *visit) toolOf(r approval.Request) *engine.Tool {
	_, name, _ := strings.Cut(r.Tool, "/")
	if !v.Engine.Serves(name) {
		return nil
	}
	tool, err := v.Engine.Find(name)
	if err != nil || tool.ID != r.Tool {
		return nil
	}
	return tool
}

// preview adds what the call would do, as the change of a text, and remembers that the person was
// shown it.
func (p *requestPage) preview(v *visit, r approval.Request) {
	shown, err := v.Desk.Show(v.r.Context(), r, "")
	if err != nil {
		v.Log.Warn("cannot show what a request would do", "request", r.ID, "error", err)
		p.Unshown = visible.Line(contract.AsError(err).Message)
		return
	}
	p.Effect, p.Unbound, p.Mark = visible.Line(shown.Title), shown.State == "", r.PageMark(shown.State)
	p.Creates, p.Removes = shown.Before == "" && shown.After != "", shown.Before != "" && shown.After == ""
	p.Markdown = isMarkdown(shown.Title) && shown.After != "" && len(shown.After) <= maxRendered
	if shown.Before != "" || shown.After != "" {
		p.Unchanged = shown.Before == shown.After
		p.describe(v, shown)
	}
	switch person := v.person.Principal(); {
	case !p.MayDecide:
	case p.Rendered != "" && v.opened.mark(person, r.ID) != p.Mark:
		p.Off = "look at the changes first"
	case p.Rendered == "" && v.r.Method != http.MethodHead:
		v.opened.add(person, r.ID, p.Mark)
	}
}

// maxRendered bounds the bytes of a text that a review shows as its readers will see it.
const maxRendered = 256 << 10

// describe adds the change of a text, in the form that says most about it.
func (p *requestPage) describe(v *visit, shown approval.Shown) {
	if p.Markdown && v.r.Method == http.MethodGet && v.r.URL.Query().Get("view") == "rendered" {
		front, body := markdown.Split(shown.After)
		p.Front = visible.Text(front)
		p.Rendered = markdown.Render([]byte(body), markdown.Options{Highlight: highlight.Code, Shift: 2})
		p.Diff = &comparison{Name: visible.Line(shown.Title)}
		return
	}
	lines := listChoice{}.At(deskPath+"/"+url.PathEscape(p.ID)+"/lines", "shown", p.Mark)
	diff := foldedComparison(shown.Title, shown.Before, shown.After, lines)
	p.Diff = &diff
	switch {
	case strings.HasPrefix(p.Tool, "tasks"):
		p.Tasks = taskChange(shown.Before, shown.After)
	case !p.Unchanged && strings.HasSuffix(p.Target, ".jsonl"):
		p.Entries = newEntries(shown.Before, shown.After)
	}
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
