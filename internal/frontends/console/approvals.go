package console

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine/approval"
	"remit/internal/engine/identity"
	"remit/internal/visible"
)

// deskPage is the template of the list of requests beside the review of one.
const (
	deskPage = "approvals"
	deskPath = "/console/approvals"
)

// requestRow is a request in a list. The caller may have written all of it, so invisible characters
// are escaped.
type requestRow struct {
	ID, Summary, Tool, Principal, State, By string
	Clipped                                 string // the arguments, shortened
	// The file or the thing that the call is about; "" if unknown.
	Target              string
	Created, Expires    time.Time
	Destructive, Urgent bool
	// It was shown to the person who looks at the list.
	Opened  bool
	Href    string // its review beside the list
	request approval.Request
}

// urgent is the remaining time of a request from which on a list says that it expires.
const urgent = 10 * time.Minute

func rowOf(r approval.Request, now time.Time) requestRow {
	return requestRow{
		ID: r.ID, Summary: visible.Line(r.Summary), Tool: visible.Line(r.Tool), Principal: visible.Line(r.Principal),
		Clipped: clip(visible.Line(string(r.Arguments[:min(len(r.Arguments), 600)])), 140), Target: targetOf(r.Arguments),
		State: stateOf(r, now), By: visible.Line(r.DecidedBy), Created: r.CreatedAt, Expires: r.ExpiresAt,
		Urgent: r.State == approval.Pending && r.ExpiresAt.Sub(now) < urgent, request: r,
	}
}

// Link returns the URL of the request.
func (r requestRow) Link() string { return deskPath + "/" + url.PathEscape(r.ID) }

// Monogram returns two letters for the caller.
func (r requestRow) Monogram() string { return monogram(r.Principal) }

// Caller returns the caller as records name it.
func (r requestRow) Caller() string { return r.request.Principal }

// Colour returns the class with the colour of the caller.
func (r requestRow) Colour() string { return colourOf(r.Principal) }

// monogram returns the initials of the first two words of a name, without its kind ("agent:").
func monogram(name string) string {
	_, bare, _ := strings.Cut(name, ":")
	words := strings.FieldsFunc(cmp.Or(bare, name), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	switch len(words) {
	case 0:
		return "?"
	case 1:
		letters := []rune(words[0])
		return strings.ToUpper(string(letters[:min(2, len(letters))]))
	}
	return strings.ToUpper(string([]rune(words[0])[:1]) + string([]rune(words[1])[:1]))
}

// colourOf returns the class of one of five colours. A caller has the same one on every page.
func colourOf(name string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name))
	return "a" + strconv.Itoa(int(h.Sum32()%5)+1)
}

// targetOf returns what a call is about, as far as its arguments say so by their usual names.
func targetOf(arguments []byte) string {
	args, err := jsontree.Parse(arguments)
	if err != nil || args.Kind != jsontree.Object {
		return ""
	}
	var parts []string
	for _, name := range []string{"book_id", "chapter_id", "file", "path", "asset_type", "filename"} {
		if value := args.Field(name); value.Kind == jsontree.String && value.Text != "" {
			parts = append(parts, value.Text)
		}
	}
	if task := args.Field("task_id"); len(parts) == 0 && task.Text != "" {
		parts = []string{"task " + task.Text}
	}
	if user := args.Field("user_id"); user.Text != "" {
		parts = append(parts, "user "+user.Text)
	}
	return clip(visible.Line(strings.Join(parts, "/")), 120)
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
	inboxPageSize    = 100
	maxInboxRequests = 1000 // the store has no cursor; older requests are in the audit log
)

// listChoice says which requests a list shows. It is part of every address of the desk, so that
// the list stays the same from one request to the next.
type listChoice struct {
	Decided bool
	Query   string // words that must all occur
	By      string // what the list is grouped by: agent, tool, file or none
	Only    string // the group that is shown; "" for all
	Page    int    // 0 means the one with the open request
}

// chosen reads the choice from the address.
func (v *visit) chosen() (c listChoice, err error) {
	values := v.r.URL.Query()
	c = listChoice{
		Decided: values.Get("show") == "decided", Query: strings.TrimSpace(values.Get("q")),
		By: cmp.Or(values.Get("by"), "agent"), Only: values.Get("only"),
	}
	if len(c.Query) > maxQuery {
		return c, contract.Errorf(contract.Invalid, "q must have at most %d bytes", maxQuery)
	}
	if err := contract.OneOf(c.By, "agent", "tool", "file", "none"); err != nil {
		return c, contract.Errorf(contract.Invalid, "by must be agent, tool, file or none")
	}
	if text := values.Get("page"); text != "" {
		if c.Page, err = strconv.Atoi(text); err != nil || c.Page < 1 || c.Page > maxInboxRequests/inboxPageSize {
			return c, contract.Errorf(contract.Invalid, "page must be a number from 1 to %d", maxInboxRequests/inboxPageSize)
		}
	}
	return c, nil
}

// maxQuery bounds the bytes of a search in the list.
const maxQuery = 255

// At returns an address of the desk with this choice. The page is left out: it follows from the
// request that is open.
func (c listChoice) At(path string, more ...string) string {
	values := url.Values{}
	set := func(name, value, absent string) {
		if value != absent {
			values.Set(name, value)
		}
	}
	if c.Decided {
		values.Set("show", "decided")
	}
	set("q", c.Query, "")
	set("by", c.By, "agent")
	set("only", c.Only, "")
	for i := 0; i+1 < len(more); i += 2 {
		set(more[i], more[i+1], "")
	}
	if len(values) == 0 {
		return path
	}
	return path + "?" + values.Encode()
}

// AtRequest is At for the page of a request, or one below it.
func (c listChoice) AtRequest(id, rest string) string {
	return c.At(deskPath + "/" + url.PathEscape(id) + rest)
}

// AtPage is At for one page of the list.
func (c listChoice) AtPage(page int) string {
	if page == 1 {
		return c.At(deskPath)
	}
	return c.At(deskPath, "page", strconv.Itoa(page))
}

// groupOf returns the group of a request in the list.
func (c listChoice) groupOf(r *requestRow) string {
	switch {
	case c.Decided: // by time
		return ""
	case c.By == "agent":
		return r.Principal
	case c.By == "tool":
		return r.Tool
	case c.By == "file":
		return cmp.Or(r.Target, "No file")
	}
	return ""
}

// requestGroup are the requests of a page that belong together.
type requestGroup struct {
	Name  string
	Total int    // on all pages
	Only  string // the address of a list of this group alone
	Rows  []requestRow
}

// Monogram returns two letters for the group.
func (g requestGroup) Monogram() string { return monogram(g.Name) }

// Colour returns the class with the colour of the group.
func (g requestGroup) Colour() string { return colourOf(g.Name) }

// inboxView is the data of the list of requests, and of the review beside it.
type inboxView struct {
	listChoice
	Groups    []requestGroup
	Total     int // requests in the list, on all pages
	Waiting   string
	Pager     pager
	MayDecide bool
	Closed    string // why several requests cannot be approved at once
	Pane      *requestPage
	Toast     *toast
	Part      bool // this is the answer to a script, which replaces parts of the page

	rows []requestRow // in the order of the list
}

// Filtered reports whether the list leaves out requests.
func (l *inboxView) Filtered() bool { return l.Query != "" || l.Only != "" }

// Refresh returns the address of the list alone.
func (l *inboxView) Refresh() string { return l.AtPage(l.Page) }

// listRequests reads the requests of a choice.
func (v *visit) listRequests(c listChoice) (*inboxView, error) {
	l := &inboxView{listChoice: c, MayDecide: v.person.Role >= identity.Approver}
	waiting, err := v.waiting(v.r.Context(), maxInboxRequests+1)
	if err != nil {
		return nil, err
	}
	l.Waiting = strconv.Itoa(len(waiting))
	if len(waiting) > maxInboxRequests {
		l.Waiting = strconv.Itoa(maxInboxRequests) + "+"
	}
	requests := waiting
	if c.Decided {
		if requests, err = v.decided(c); err != nil {
			return nil, err
		}
	}
	words, now := strings.Fields(strings.ToLower(c.Query)), v.Now()
	for _, r := range requests[:min(len(requests), maxInboxRequests)] {
		row := rowOf(r, now)
		if !matches(&row, words) || c.Only != "" && l.groupOf(&row) != c.Only {
			continue
		}
		if tool := v.toolOf(r); tool != nil {
			row.Destructive = tool.Hints.Destructive
		}
		row.Opened = v.opened.mark(v.person.Principal(), r.ID) != ""
		row.Href = c.AtRequest(r.ID, "")
		l.rows = append(l.rows, row)
	}
	l.sort()
	if l.MayDecide && !c.Decided {
		if s := v.signing(deskPath); s.Needed || s.Closed != "" {
			l.Closed = cmp.Or(s.Closed, "each approval needs your passkey")
		}
	}
	return l, nil
}

// matches reports whether all words occur in what a request says.
func matches(row *requestRow, words []string) bool {
	if len(words) == 0 {
		return true
	}
	r := &row.request
	text := strings.ToLower(strings.Join([]string{r.ID, r.Summary, r.Tool, r.Principal, row.Target, string(r.Arguments), r.DecidedBy, r.Reason}, "\n"))
	return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) })
}

// sort puts the requests of each group together. The groups are in the order of their newest
// requests.
func (l *inboxView) sort() {
	first := map[string]int{}
	for i := range l.rows {
		if group := l.groupOf(&l.rows[i]); first[group] == 0 {
			first[group] = i + 1
		}
	}
	slices.SortStableFunc(l.rows, func(a, b requestRow) int { return cmp.Compare(first[l.groupOf(&a)], first[l.groupOf(&b)]) })
}

// arrange fills the page of the list that contains a request, or the chosen page.
func (l *inboxView) arrange(open string) {
	l.Total = len(l.rows)
	at := max(0, l.index(open))
	if l.Page == 0 {
		l.Page = at/inboxPageSize + 1
	}
	from := min((l.Page-1)*inboxPageSize, len(l.rows))
	to := min(from+inboxPageSize, len(l.rows))
	totals := map[string]int{}
	for i := range l.rows {
		totals[l.groupOf(&l.rows[i])]++
	}
	l.Groups = nil
	for _, row := range l.rows[from:to] {
		name := l.groupOf(&row)
		if n := len(l.Groups); n == 0 || l.Groups[n-1].Name != name {
			alone := l.listChoice
			alone.Only = name
			l.Groups = append(l.Groups, requestGroup{Name: name, Total: totals[name], Only: alone.At(deskPath)})
		}
		g := &l.Groups[len(l.Groups)-1]
		g.Rows = append(g.Rows, row)
	}
	l.Pager = pager{}
	if l.Page > 1 {
		l.Pager.Prev, l.Pager.Note = l.AtPage(l.Page-1), fmt.Sprintf("Page %d", l.Page)
	}
	if to < len(l.rows) {
		l.Pager.Next = l.AtPage(l.Page + 1)
	}
}

// index returns the position of a request in the list, or -1.
func (l *inboxView) index(id string) int {
	return slices.IndexFunc(l.rows, func(r requestRow) bool { return r.ID == id })
}

// inbox shows the list of requests.
func (v *visit) inbox() error {
	choice, err := v.chosen()
	if err != nil {
		return err
	}
	l, err := v.listRequests(choice)
	if err != nil {
		return err
	}
	l.arrange("")
	if v.r.Header.Get("HX-Request") != "" {
		l.Part = true
		return v.part(deskPage, "queue", l)
	}
	if l.Toast, err = v.toastOf(v.r.URL.Query().Get("after")); err != nil {
		return err
	}
	return v.page(deskPage, "approvals", "Approvals", l)
}

// decided returns the requests that are no longer waiting, newest first, as many as the choice
// needs. The store returns waiting requests in between, which are usually few.
func (v *visit) decided(c listChoice) (some []approval.Request, err error) {
	ctx, now := v.r.Context(), v.Now()
	store, err := v.openApprovals(ctx)
	if err != nil {
		return nil, err
	}
	count := max(1, c.Page)*inboxPageSize + 1
	if c.Query != "" {
		count = maxInboxRequests
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
