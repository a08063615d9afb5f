package console

import (
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"remit/internal/contract"
	"remit/internal/engine/approval"
	"remit/internal/engine/identity"
	"remit/internal/visible"
)

// maxReason is the maximum length of the reason of a decision, in characters.
const maxReason = 1000

// toast says what the person has just decided, and lets them take it back.
type toast struct {
	Title, Text string
	ID          string   // of the request, if it is about one
	Withdraw    []string // the requests whose approvals can be withdrawn
	Bad         bool
	Used        string // what became of the approval
	List        listChoice
}

// decide records the decision of a person and opens the next request. If somebody else decided
// first, or the call would do something else by now, the person sees that.
func (v *visit) decide() error {
	decision, err := v.decision()
	if err != nil {
		return err
	}
	choice, err := v.chosen()
	if err != nil {
		return err
	}
	l, err := v.listRequests(choice) // before the decision: the next request is the one below this
	if err != nil {
		return err
	}
	request, err := v.Desk.Decide(v.r.Context(), v.r.PathValue("id"), decision)
	if err != nil {
		return v.notDecided(l, "Your decision was not recorded", decision.Reason, err)
	}
	return v.afterDecision(l, request.ID, request.ID)
}

// withdraw takes back an approval that no call has used.
func (v *visit) withdraw() error {
	choice, err := v.chosen()
	if err != nil {
		return err
	}
	l, err := v.listRequests(choice)
	if err != nil {
		return err
	}
	by := approval.Decision{By: v.person.Principal(), Via: frontendConsole, Address: v.Address(v.r)}
	request, err := v.Desk.Withdraw(v.r.Context(), v.r.PathValue("id"), by)
	if err != nil {
		return v.notDecided(l, "The approval was not withdrawn", "", err)
	}
	if !v.wantsPart() {
		v.redirect(choice.AtRequest(request.ID, ""))
		return nil
	}
	l.Toast, l.Part = v.toastAbout(request), true
	return v.part(deskPage, "toasts", l)
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

// afterDecision opens the request that follows a decided one in a list, or the one before it.
func (v *visit) afterDecision(l *inboxView, id, about string) error {
	next := ""
	if i := l.index(id); i >= 0 {
		switch {
		case i+1 < len(l.rows):
			next = l.rows[i+1].ID
		case i > 0:
			next = l.rows[i-1].ID
		}
		l.rows = slices.Delete(l.rows, i, i+1)
	} else if len(l.rows) > 0 && !l.Decided {
		next = l.rows[0].ID
	}
	if !v.wantsPart() {
		path := deskPath
		if next != "" {
			path += "/" + next
		}
		v.redirect(l.At(path, "after", about))
		return nil
	}
	return v.moveOn(l, next, about)
}

// moveOn answers a script with the review of the next request, the list and what was decided.
func (v *visit) moveOn(l *inboxView, next, about string) (err error) {
	l.Part, l.Page = true, 0
	if l.Toast == nil {
		if l.Toast, err = v.toastOf(about); err != nil {
			return err
		}
	}
	store, err := v.openApprovals(v.r.Context())
	if err != nil {
		return err
	}
	for _, r := range l.rows {
		if r.ID != next {
			continue
		}
		request, err := store.Get(v.r.Context(), next)
		if err != nil {
			return err
		}
		if err := v.open(l, request); err != nil {
			return err
		}
	}
	if l.Pane == nil {
		l.arrange("")
	}
	return v.part(deskPage, "decided", l)
}

// notDecided shows why a decision was not recorded: somebody else was first, or what the call would
// do has changed. What the person typed stays.
func (v *visit) notDecided(l *inboxView, title, typed string, failed error) error {
	if contract.AsError(failed).Kind != contract.Conflict {
		return failed
	}
	request, err := v.loadRequest()
	if err != nil {
		return err
	}
	l.Part = v.wantsPart()
	message := title + ": " + visible.Line(contract.AsError(failed).Message) + "."
	if l.Part && stateOf(request, v.Now()) == "waiting" {
		page := v.requestPage(request)
		page.List, page.Typed, page.OutOfDate, page.Problem = l.listChoice, typed, true, message
		return v.execute(http.StatusConflict, deskPage, "out-of-date", &page)
	}
	if err := v.open(l, request); err != nil {
		return err
	}
	l.Pane.Typed, l.Pane.Problem = typed, message
	if l.Part {
		return v.execute(http.StatusConflict, deskPage, "decided", l)
	}
	return v.pageWith(http.StatusConflict, deskPage, "approvals", title, l)
}

// toastOf returns what is to be said about the request that was decided last; nil if there is none.
func (v *visit) toastOf(id string) (*toast, error) {
	if id == "" {
		return nil, nil //nolint:nilnil // nothing was decided
	}
	store, err := v.openApprovals(v.r.Context())
	if err != nil {
		return nil, err
	}
	request, err := store.Get(v.r.Context(), id)
	switch {
	case err != nil && contract.AsError(err).Kind == contract.NotFound:
		return nil, nil //nolint:nilnil // the address is old or made up
	case err != nil:
		return nil, err
	}
	return v.toastAbout(request), nil
}

// toastAbout says what was decided about a request, and what became of the approval.
func (v *visit) toastAbout(r approval.Request) *toast {
	t := &toast{ID: r.ID, Text: visible.Clip(visible.Line(r.Summary), 80)}
	switch stage := r.Stage(v.Now()); stage {
	case string(approval.Approved):
		t.Title, t.Used = "Approved", "The agent may now repeat the same call, once."
		if v.person.Role >= identity.Approver {
			t.Withdraw = []string{r.ID}
		}
	case "used":
		t.Title, t.Used = "Approved", "The call ran at "+r.UsedAt.UTC().Format("15:04:05")+" UTC."
	case string(approval.Denied):
		t.Title, t.Used = "Denied", "Nothing was run."
	case string(approval.Withdrawn):
		t.Title, t.Used = "Withdrawn", "No call can use the approval."
	case string(approval.Changed):
		t.Title, t.Used, t.Bad = "Not used", "What the call would do had changed when the agent repeated it.", true
	default:
		return nil
	}
	return t
}

// requestToast responds with what became of an approval, for a page that said that it was given.
func (v *visit) requestToast() error {
	choice, err := v.chosen()
	if err != nil {
		return err
	}
	t, err := v.toastOf(v.r.PathValue("id"))
	if err != nil {
		return err
	}
	if t == nil {
		v.w.WriteHeader(http.StatusNoContent)
		return nil
	}
	return v.part(deskPage, "toast", map[string]any{"toast": t, "list": choice})
}

// outcomes counts what became of several requests that were decided at once.
type outcomes struct {
	done                            []string
	notOpened, outOfDate, elsewhere int
	failed                          error // it ended the rest
}

// decideSeveral decides about several requests. It approves only those that were shown to the
// person and would still do what they saw.
func (v *visit) decideSeveral() error {
	v.r.PostForm.Set("verdict", strings.TrimSuffix(v.r.PostForm.Get("verdict"), "-selected"))
	decision, err := v.decision()
	if err != nil {
		return err
	}
	choice, err := v.chosen()
	if err != nil {
		return err
	}
	l, err := v.listRequests(choice)
	if err != nil {
		return err
	}
	ids := v.r.PostForm["id"]
	if len(ids) == 0 || len(ids) > maxInboxRequests {
		return contract.Errorf(contract.Invalid, "id must name 1 to %d requests", maxInboxRequests)
	}
	var found outcomes
	for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
		if decision.Mark = v.opened.mark(v.person.Principal(), id); decision.Approve && decision.Mark == "" {
			found.notOpened++
			continue
		}
		if found.failed = v.decideOne(&found, id, decision); found.failed != nil {
			break
		}
	}
	if len(found.done) == 0 && found.failed != nil {
		return found.failed
	}
	l.Toast = found.toast(decision.Approve)
	return v.afterSeveral(l, found.done)
}

// decideOne decides about one of several requests. It returns only errors that end the rest.
func (v *visit) decideOne(found *outcomes, id string, decision approval.Decision) error {
	_, err := v.Desk.Decide(v.r.Context(), id, decision)
	switch {
	case err == nil:
		found.done = append(found.done, id)
		return nil
	case contract.AsError(err).Kind != contract.Conflict && contract.AsError(err).Kind != contract.NotFound:
		return err
	}
	store, openErr := v.openApprovals(v.r.Context())
	if openErr != nil {
		return openErr
	}
	if r, getErr := store.Get(v.r.Context(), id); getErr == nil && stateOf(r, v.Now()) == "waiting" {
		found.outOfDate++
	} else {
		found.elsewhere++
	}
	return nil
}

// toast says how many requests were decided, and why the others were not.
func (o *outcomes) toast(approved bool) *toast {
	t := &toast{Title: "Denied"}
	if approved {
		t.Title, t.Withdraw = "Approved", o.done
	}
	t.Text = contract.Count(len(o.done), "request")
	var left []string
	for _, part := range []struct {
		count int
		words string
	}{{o.notOpened, "not opened yet"}, {o.outOfDate, "out of date"}, {o.elsewhere, "decided by somebody else or expired"}} {
		if part.count > 0 {
			left = append(left, contract.Count(part.count, "request")+" "+part.words)
		}
	}
	if o.failed != nil {
		left = append(left, "the rest, because "+visible.Line(contract.AsError(o.failed).Message))
	}
	if t.Bad = len(left) > 0; t.Bad {
		t.Used = "Left as they were: " + strings.Join(left, ", ") + "."
	}
	return t
}

// afterSeveral removes decided requests from a list and shows what was done. The open request stays
// open, unless it is one of them.
func (v *visit) afterSeveral(l *inboxView, done []string) error {
	open, gone := v.r.PostForm.Get("open"), false
	at := max(0, l.index(open))
	l.rows = slices.DeleteFunc(l.rows, func(r requestRow) bool {
		decided := slices.Contains(done, r.ID)
		gone = gone || decided && r.ID == open
		return decided
	})
	if v.wantsPart() && (open == "" || !gone) {
		l.Part = true
		l.arrange(open)
		return v.part(deskPage, "list-parts", l)
	}
	next := ""
	if len(l.rows) > 0 && open != "" {
		next = l.rows[min(at, len(l.rows)-1)].ID
	}
	if v.wantsPart() {
		return v.moveOn(l, next, "")
	}
	l.arrange("")
	return v.page(deskPage, "approvals", "Approvals", l)
}

// withdrawSeveral takes back several approvals that no call has used.
func (v *visit) withdrawSeveral() error {
	choice, err := v.chosen()
	if err != nil {
		return err
	}
	ids := v.r.PostForm["id"]
	if len(ids) == 0 || len(ids) > maxInboxRequests {
		return contract.Errorf(contract.Invalid, "id must name 1 to %d requests", maxInboxRequests)
	}
	by := approval.Decision{By: v.person.Principal(), Via: frontendConsole, Address: v.Address(v.r)}
	taken := 0
	for _, id := range ids {
		_, err := v.Desk.Withdraw(v.r.Context(), id, by)
		if err != nil && contract.AsError(err).Kind != contract.Conflict && contract.AsError(err).Kind != contract.NotFound {
			return err
		}
		if err == nil {
			taken++
		}
	}
	l, err := v.listRequests(choice)
	if err != nil {
		return err
	}
	l.Toast = &toast{Title: "Withdrawn", Text: contract.Count(taken, "approval")}
	if taken < len(ids) {
		l.Toast.Bad, l.Toast.Used = true, contract.Count(len(ids)-taken, "call")+" ran before, or the approval expired."
	}
	if v.wantsPart() {
		l.Part = true
		return v.part(deskPage, "toasts", l)
	}
	l.arrange("")
	return v.page(deskPage, "approvals", "Approvals", l)
}
