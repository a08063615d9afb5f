package console

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/engine/approval"
	"remit/internal/engine/audit"
	"remit/internal/engine/audit/auditindex"
	"remit/internal/visible"
)

// timelineEntry is a call in a timeline, with its request, the decision, its repeats and what it
// has changed; or several calls in a row that only read.
type timelineEntry struct {
	ID       string
	Time     time.Time
	Title    string
	Outcome  string
	Tone     string
	Icon     string
	Tool     string
	ToolHref string // the page of the tool, if it is served
	Steps    []timelineStep
	Code     string
	Message  string // the words of the failure
	Unsaid   bool   // it failed, and the record does not say why
	Retry    string // the address of the form that repeats the call
	Review   string // the address of a request that waits
	Session  string
	Href     string
	Reads    []*timelineEntry // the calls that only read, newest first
	Counts   []auditindex.Count
	reads    bool
}

// timelineStep is one line of an entry.
type timelineStep struct {
	Time       time.Time
	Word, Tone string
	Text, Name string // Name is shown as code, and leads to Href
	Href       string
	More       string
	Call       bool // it is a record of the call itself
	Changes    []recordedChange
}

// timeline returns entries of a timeline, newest first: one for the records of a call, its request
// and its repeats, and one for several calls in a row that only read.
func (v *visit) timeline(found []auditindex.Entry) (entries []*timelineEntry) {
	tools := v.served()
	byLink := map[string]*timelineEntry{} // by request and by idempotency key
	for i := range found {
		r := &found[i].Record
		links := slices.DeleteFunc([]string{auditindex.RequestOf(r), textOf(r, "key")}, func(link string) bool { return link == "" })
		if of := firstLinked(byLink, links); of != nil {
			v.addEarlier(of, &found[i])
			for _, link := range links {
				byLink[link] = of
			}
			continue
		}
		e := v.entryOf(&found[i], tools[audit.CurrentTool(textOf(r, "tool"))].Served)
		for _, link := range links {
			byLink[link] = e
		}
		entries = append(entries, e)
	}
	return foldReads(entries)
}

func firstLinked(byLink map[string]*timelineEntry, links []string) *timelineEntry {
	for _, link := range links {
		if e := byLink[link]; e != nil {
			return e
		}
	}
	return nil
}

// addEarlier adds an earlier record of the same call: that which asked, or that which a later one
// repeated.
func (v *visit) addEarlier(e *timelineEntry, found *auditindex.Entry) {
	r := &found.Record
	outcome := textOf(r, "outcome")
	has := func(word string) bool {
		return slices.ContainsFunc(e.Steps, func(s timelineStep) bool { return s.Word == word })
	}
	if request := auditindex.RequestOf(r); request != "" && !has("asked") {
		v.addRequest(e, request)
	}
	if outcome == string(contract.Pending) && has("asked") {
		return // the request says when
	}
	e.Steps = append(e.Steps, stepOf(r, found))
	slices.SortStableFunc(e.Steps, func(a, b timelineStep) int { return a.Time.Compare(b.Time) })
	if e.Outcome == "replayed" && outcome != string(contract.Pending) {
		e.Outcome, e.Tone, e.Icon = outcome, tone(outcome), iconOf(outcome)
	}
}

// entryOf returns the entry of one call. tool is nil if it is not served.
func (v *visit) entryOf(found *auditindex.Entry, tool *engine.Tool) *timelineEntry {
	r := &found.Record
	outcome := textOf(r, "outcome")
	id := textOf(r, "id")
	e := &timelineEntry{
		ID: id, Href: "/console/calls/" + id, Outcome: visible.Line(outcome), Tone: tone(outcome), Icon: iconOf(outcome),
		Tool: visible.Line(audit.CurrentTool(textOf(r, "tool"))), Session: textOf(r, "session"),
		Code: visible.Line(textOf(r, "code")), Message: visible.Text(textOf(r, "message")),
	}
	e.Time, _ = time.Parse(time.RFC3339Nano, textOf(r, "time")) // shown as never
	e.Title = e.Tool
	if audit.IsFailure(outcome) {
		e.Unsaid = e.Message == ""
	} else {
		e.Code, e.Message = "", ""
	}
	if tool != nil {
		args := r.Field("arguments")
		e.ToolHref, e.Retry = "/console/tools/"+tool.Name, "/console/tools/"+tool.Name+"?call="+id+"#try"
		known, _ := recordedArguments(&args)
		e.Title = tool.Sentence(&known, func(text string) string { return clip(visible.Line(text), 80) })
		e.reads = tool.Hints.ReadOnly && outcome == "ok"
	}
	request := auditindex.RequestOf(r)
	if rule := textOf(r, "rule"); rule != "" {
		word, tone := "allowed", "info"
		if audit.IsFailure(outcome) {
			word, tone = "denied", "warn"
		}
		e.Steps = append(e.Steps, timelineStep{Time: e.Time, Word: word, Tone: tone, Text: "by rule", Name: visible.Line(rule), Href: "/console/access?show=all"})
	}
	if request != "" {
		v.addRequest(e, request)
	}
	if textOf(r, "approved") == audit.ByMode {
		e.Steps = append(e.Steps, timelineStep{Time: e.Time, Word: "allowed", Tone: "wait", Text: "nobody was asked: --approve auto"})
	}
	if outcome != string(contract.Pending) || request == "" || len(e.Steps) == 0 {
		e.Steps = append(e.Steps, stepOf(r, found))
	}
	return e
}

// iconOf returns the icon of an outcome.
func iconOf(outcome string) string {
	switch {
	case outcome == string(contract.Pending) || outcome == "asked" || outcome == audit.Begun:
		return "clock"
	case audit.IsFailure(outcome):
		return "x"
	}
	return "check"
}

// stepOf returns the line that says how a call ended, and what it has changed.
func stepOf(r *jsontree.Value, found *auditindex.Entry) timelineStep {
	outcome := textOf(r, "outcome")
	s := timelineStep{
		Call: true, Word: "called", Tone: tone(outcome), Name: visible.Line(audit.CurrentTool(textOf(r, "tool"))), Href: "/console/calls/" + textOf(r, "id"),
		Text: visible.Line(textOf(r, "version")),
	}
	s.Time, _ = time.Parse(time.RFC3339Nano, textOf(r, "time"))
	if micros, err := strconv.ParseInt(textOf(r, "micros"), 10, 64); err == nil && micros > 0 {
		s.More, _ = took(micros * 1000) // an integer
	}
	switch {
	case outcome == "replayed":
		s.Word = "repeated"
	case outcome == string(contract.Pending):
		s.Word, s.Tone = "asked", ""
	case audit.IsFailure(outcome):
		s.Word = visible.Line(outcome)
	}
	announced := slices.Clone(found.Changes)
	if effect := r.Field("effect"); effect.Kind == jsontree.Object {
		announced = append(announced, *r)
	}
	for i := range announced {
		if c := changeOf(&announced[i], r); c != nil {
			s.Changes = append(s.Changes, *c)
		}
	}
	return s
}

// addRequest adds what is stored about the approval request of a call: when it was asked, and who
// decided how.
func (v *visit) addRequest(e *timelineEntry, id string) {
	r, err := v.storedRequest(v.r.Context(), id)
	if err != nil {
		e.Steps = append(e.Steps, timelineStep{Time: e.Time, Word: "asked", Text: "request", Name: visible.Line(id), Href: deskPath + "/" + id})
		return
	}
	e.Title = visible.Line(r.Summary)
	asked := timelineStep{Time: r.CreatedAt, Word: "asked", Text: "request", Name: r.ID, Href: deskPath + "/" + r.ID}
	if r.CallerReason != "" {
		asked.More = "the caller says: “" + clip(visible.Line(r.CallerReason), 120) + "”"
	}
	e.Steps = append(e.Steps, asked)
	stage := r.Stage(v.Now())
	switch {
	case stage == string(approval.Pending):
		e.Review = deskPath + "/" + r.ID
		e.Steps = append(e.Steps, timelineStep{Time: r.CreatedAt, Word: "waiting", Tone: "wait", Text: "for a person"})
	case r.DecidedBy != "":
		s := timelineStep{Time: r.DecidedAt, Word: "approved", Tone: "good", Text: "by " + visible.Line(r.DecidedBy)}
		if r.State != approval.Approved {
			s.Word, s.Tone = string(r.State), tone(string(r.State))
		}
		if r.Proof != "" {
			s.Text += ", with a passkey"
		}
		if wait := r.DecidedAt.Sub(r.CreatedAt); wait > 0 {
			s.Text += ", after " + wait.Round(time.Second).String()
		}
		if r.Reason != "" {
			s.More = "“" + clip(visible.Line(r.Reason), 160) + "”"
		}
		e.Steps = append(e.Steps, s)
	default:
		e.Steps = append(e.Steps, timelineStep{Time: r.ExpiresAt, Word: stage, Text: "nobody decided"})
	}
}

// storedRequest returns an approval request.
func (v *visit) storedRequest(ctx context.Context, id string) (approval.Request, error) {
	store, err := v.openApprovals(ctx)
	if err != nil {
		return approval.Request{}, err
	}
	return store.Get(ctx, id)
}

// minFolded is from how many calls in a row that only read on one line stands for them.
const minFolded = 3

// foldReads replaces several calls in a row that only read, on the same day, by one entry.
func foldReads(entries []*timelineEntry) (folded []*timelineEntry) {
	for len(entries) > 0 {
		n := 0
		for n < len(entries) && entries[n].reads && entries[n].Time.UTC().YearDay() == entries[0].Time.UTC().YearDay() {
			n++
		}
		if n < minFolded {
			n = max(n, 1)
			folded = append(folded, entries[:n]...)
			entries = entries[n:]
			continue
		}
		one := &timelineEntry{ID: entries[n-1].ID, Time: entries[0].Time, Icon: "search", Reads: entries[:n]}
		counts := map[string]int{}
		for _, e := range entries[:n] {
			_, name, _ := strings.Cut(e.Tool, "/")
			counts[name]++
		}
		one.Counts = auditindex.Ranked(counts)
		folded, entries = append(folded, one), entries[n:]
	}
	return folded
}

// recordedArguments returns the arguments of a record that were recorded, and the names of those
// that were not.
func recordedArguments(args *jsontree.Value) (known jsontree.Value, hidden []string) {
	known = jsontree.Obj()
	for _, m := range args.Members {
		if hidesValue(&m.Value) {
			hidden = append(hidden, visible.Line(m.Key))
		} else {
			known.Members = append(known.Members, m)
		}
	}
	return known, hidden
}

// hidesValue reports whether a value, or a part of it, was not recorded.
func hidesValue(v *jsontree.Value) bool {
	return auditindex.IsRedacted(v) || slices.ContainsFunc(v.Members, func(m jsontree.Member) bool { return hidesValue(&m.Value) })
}
