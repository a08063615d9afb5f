package approvaltest

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/contracttest"
	"remit/internal/engine/approval"
)

// Selects reports whether a list with these options has the request, besides the limit. Stores of
// tests use it.
func Selects(o approval.ListOptions, r approval.Request) bool {
	state := o.State
	if state == "" && !o.All {
		state = string(approval.Pending)
	}
	switch {
	case state == approval.DecidedState && r.DecidedAt.IsZero(), state != "" && state != approval.DecidedState && r.Stage(o.Now) != state,
		o.Agent != "" && r.Principal != o.Agent,
		o.Tool != "" && r.Tool != o.Tool && !strings.HasSuffix(r.Tool, "/"+o.Tool),
		!strings.Contains(r.Words(), strings.ToLower(o.Text)):
		return false
	case o.After == "":
		return true
	}
	at, id, err := approval.ParseCursor(o.After)
	return err == nil && (r.CreatedAt.Before(at) || r.CreatedAt.Equal(at) && r.ID < id)
}

// fill stores a request in each state that can be listed, ten minutes apart. It returns the time at
// which they have these states.
func fill(t *testing.T, s approval.Store) (now time.Time) {
	now = noon.Add(3 * time.Hour)
	for i, state := range approval.ListStates() {
		if state == approval.ExpiredState {
			continue
		}
		r := request(state, "key of "+state)
		r.Principal = []string{"ada", "bob"}[i%2]
		r.Tool = []string{"learning-os/write_file", "tasks/write_file", "tasks/rewrite_file"}[i%3]
		r.Target = []string{"docs/ü.md", "1"}[i%2]
		r.CallerReason = "Because of " + strings.ToUpper(state)
		r.CreatedAt, r.ExpiresAt = now.Add(-time.Duration(i)*10*time.Minute), now.Add(time.Hour)
		ask(t, s, r)
		if state == string(approval.Pending) {
			continue
		}
		v := approval.Verdict{Approve: state != string(approval.Denied), By: "grace", Shown: "a"}
		if _, err := s.Decide(t.Context(), r.ID, v, r.CreatedAt.Add(time.Second), now.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		var err error
		switch state {
		case string(approval.Withdrawn):
			_, err = s.Withdraw(t.Context(), r.ID, v, r.CreatedAt.Add(2*time.Second))
		case string(approval.Changed), approval.UsedState:
			_, _, err = s.Take(t.Context(), r.Key, map[string]string{approval.UsedState: "a"}[state], r.CreatedAt.Add(2*time.Second))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	late := request(approval.ExpiredState, "late")
	late.Principal, late.CreatedAt, late.ExpiresAt = "bob", noon, noon.Add(time.Minute)
	ask(t, s, late)
	return now
}

// listSelected compares what a store lists with what Selects says.
func listSelected(t *testing.T, s approval.Store) {
	now := fill(t, s)
	all := list(t, s, approval.ListOptions{All: true, Now: now})
	choices := []approval.ListOptions{
		{},
		{All: true, Agent: "ada"},
		{Agent: "bob"},
		{All: true, Agent: "nobody"},
		{All: true, Tool: "tasks/write_file"},
		{All: true, Tool: "write_file"},
		{All: true, Tool: "file"},
		{All: true, Tool: "/write_file"},
		{All: true, Text: "of DENIED"},
		{All: true, Text: "DOCS/Ü.MD"},
		{All: true, Text: "%"},
		{All: true, Text: "_"},
		{All: true, Text: `"path":`},
		{All: true, Agent: "ada", Tool: "write_file", Text: "because", State: approval.DecidedState},
		{All: true, Text: "\x00"},
		{All: true, Agent: "\xff"},
	}
	for _, state := range approval.ListStates() {
		choices = append(choices, approval.ListOptions{State: state}, approval.ListOptions{State: state, All: true, Agent: "ada"})
	}
	for _, o := range choices {
		o.Now = now
		want := slices.DeleteFunc(slices.Clone(all), func(r approval.Request) bool { return !Selects(o, r) })
		if got := list(t, s, o); ids(got) != ids(want) {
			t.Errorf("%+v: listed %q, want %q", o, ids(got), ids(want))
		}
	}
	for _, state := range approval.ListStates() {
		if got := ids(list(t, s, approval.ListOptions{State: state, Now: now})); !strings.Contains(got, state) {
			t.Errorf("in the state %s are %q", state, got)
		}
	}
	_, err := s.List(t.Context(), approval.ListOptions{State: "open", Now: now})
	contracttest.WantError(t, err, contract.Invalid, "open")
	brief := list(t, s, approval.ListOptions{Now: now, Brief: true})
	if len(brief) != 1 || len(brief[0].Arguments) > 0 || brief[0].Summary == "" {
		t.Errorf("a brief list has %+v", brief)
	}
}

// listPages follows the cursor through requests that were asked at the same time.
func listPages(t *testing.T, s approval.Store) {
	for i := range 7 {
		r := request("a"+strconv.Itoa(i), "k"+strconv.Itoa(i))
		r.CreatedAt = noon.Add(time.Duration(i/3) * time.Microsecond)
		ask(t, s, r)
	}
	o, pages := approval.ListOptions{Now: noon, Limit: 2}, []string{}
	for {
		page := list(t, s, o)
		if len(page) == 0 {
			break
		}
		pages = append(pages, ids(page))
		o.After = page[len(page)-1].Cursor()
	}
	contracttest.Equal(t, strings.Join(pages, ", "), "a6 a5, a4 a3, a2 a1, a0")
	for _, cursor := range []string{"a0", "x.a0", "1"} {
		_, err := s.List(t.Context(), approval.ListOptions{After: cursor, Now: noon})
		contracttest.WantError(t, err, contract.Invalid, "cursor")
	}
}

func waitingGroups(t *testing.T, s approval.Store) {
	for i, target := range []string{"a.md", "b.md", "a.md", "", "a.md"} {
		r := request("a"+strconv.Itoa(i), "k"+strconv.Itoa(i))
		r.Target = target
		ask(t, s, r)
	}
	other := request("b", "b")
	other.Principal, other.Target = "bob", "a.md"
	ask(t, s, other)
	decide(t, s, "a4", true)
	late := request("c", "c")
	late.ExpiresAt = noon.Add(time.Second)
	ask(t, s, late)

	got, err := s.Waiting(t.Context(), noon.Add(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	group := func(principal, target string, count int) approval.Group {
		return approval.Group{Principal: principal, Tool: other.Tool, Target: target, Count: count}
	}
	contracttest.Equal(t, got, []approval.Group{group("ada", "a.md", 2), group("ada", "", 1), group("ada", "b.md", 1), group("bob", "a.md", 1)})
	contracttest.Equal(t, approval.Sum(got, func(g approval.Group) string { return g.Target }), map[string]int{"": 1, "a.md": 3, "b.md": 1})
}

func similarDecisions(t *testing.T, s approval.Store) {
	for i := range 6 {
		r := request("a"+strconv.Itoa(i), "k"+strconv.Itoa(i))
		if i == 4 {
			r.Principal = "bob"
		}
		if i == 5 {
			r.Tool = "tasks/write_file"
		}
		ask(t, s, r)
		at := noon.Add(time.Duration(i) * time.Minute)
		if _, err := s.Decide(t.Context(), r.ID, approval.Verdict{Approve: i != 1, By: "grace"}, at, at.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	ask(t, s, request("open", "open"))
	if _, err := s.Withdraw(t.Context(), "a3", approval.Verdict{By: "grace"}, noon.Add(4*time.Minute)); err != nil {
		t.Fatal(err)
	}
	similar := func(since time.Time, limit int) []approval.Request {
		got, err := s.Similar(t.Context(), approval.SimilarOptions{Principal: "ada", Tool: "learning-os/write_file", Since: since, Limit: limit})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	got := similar(noon, 0)
	contracttest.Equal(t, ids(got), "a2 a1 a0")
	contracttest.Equal(t, approval.SimilarText(got), "2 approved, 1 denied")
	contracttest.Equal(t, len(got[0].Arguments), 0)
	contracttest.Equal(t, ids(similar(noon.Add(time.Minute), 0)), "a2 a1")
	contracttest.Equal(t, ids(similar(noon, 1)), "a2")
}
