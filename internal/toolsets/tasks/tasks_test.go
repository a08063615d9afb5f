package tasks_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"remit/internal/contract"
	"remit/internal/contract/catalog"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/engine/enginetest"
	"remit/internal/stores/sqlstore"
	"remit/internal/toolsets/tasks"
)

var ann = engine.Requester{Principal: "ann"}

// fixture is an engine that serves the tasks, with a fixed clock.
type fixture struct {
	*engine.Engine
	store tasks.Store
	err   error // returned when the store is opened
	now   time.Time
}

// serve opens a database like the app does.
func serve(t *testing.T, rules map[string]contract.Tightening) *fixture {
	t.Helper()
	known, err := catalog.Load("tasks-undo")
	if err != nil {
		t.Fatal(err)
	}
	sets, err := catalog.Select(known, []string{"tasks", "tasks-undo"})
	if err != nil {
		t.Fatal(err)
	}
	if sets, err = contract.Tighten(sets, rules); err != nil {
		t.Fatal(err)
	}
	db, err := sqlstore.Open(t.Context(), "sqlite://"+filepath.Join(t.TempDir(), "remit.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	d := &fixture{store: db.Tasks(), now: time.Date(2026, 1, 9, 10, 30, 0, 999e6, time.UTC)}
	tools := &tasks.Tools{
		Open: func(context.Context) (tasks.Store, error) { return d.store, d.err },
		Now:  func() time.Time { return d.now }, Served: sets,
	}
	d.Engine = enginetest.Serve(t, sets, engine.Handlers{Catalog: known, Toolsets: []engine.Toolset{tools.Toolset(), tools.UndoToolset()}}, engine.Options{})
	return d
}

// call returns the answer to a call, successful or not.
func (d *fixture) call(t *testing.T, tool, args string) jsontree.Value {
	t.Helper()
	given, err := jsontree.Parse([]byte(args))
	if err != nil {
		t.Fatal(err)
	}
	result, err := d.Call(t.Context(), engine.Call{Tool: tool, Args: given, Principal: "ann", Frontend: "test"})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := jsontree.Parse(result.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// mustCall returns the data of a call, which must succeed.
func (d *fixture) mustCall(t *testing.T, tool, args string) jsontree.Value {
	t.Helper()
	answer := d.call(t, tool, args)
	if success := answer.Field("success"); !success.True() {
		t.Fatalf("%s: %s", tool, answer.Append(nil))
	}
	return answer.Field("data")
}

// fails checks the error of a call.
func (d *fixture) fails(t *testing.T, tool, args, want string) {
	t.Helper()
	answer := d.call(t, tool, args)
	e := answer.Field("error")
	if got := string(e.Append(nil)); got != want {
		t.Errorf("%s %s gives\n%s, want\n%s", tool, args, got, want)
	}
}

func text(v jsontree.Value) string { return string(v.Append(nil)) }

func TestTimesAreWholeSecondsInUTC(t *testing.T) {
	d := serve(t, nil)
	d.now = d.now.In(time.FixedZone("", 3600))
	added := d.mustCall(t, "add_task", `{"user_id":"ann","title":"x"}`)
	if got := text(added.Field("created_at")) + text(added.Field("updated_at")); got != `"2026-01-09T10:30:00Z""2026-01-09T10:30:00Z"` {
		t.Error(got)
	}
}

func TestCompletingAgainLeavesTheTime(t *testing.T) {
	d := serve(t, nil)
	d.mustCall(t, "add_task", `{"user_id":"ann","title":"x"}`)
	d.now = d.now.Add(time.Hour)
	first := d.mustCall(t, "complete_task", `{"user_id":"ann","task_id":"001"}`)
	d.now = d.now.Add(time.Hour)
	again := d.mustCall(t, "complete_task", `{"user_id":"ann","task_id":1}`)
	want := `{"id":1,"title":"x","completed":true,"updated_at":"2026-01-09T11:30:00Z"}`
	if text(first) != want || text(again) != want {
		t.Errorf("first %s, again %s", text(first), text(again))
	}
}

func TestUpdate(t *testing.T) {
	d := serve(t, nil)
	d.mustCall(t, "add_task", `{"user_id":"ann","title":"x","description":"about","due_date":"2026-01-10"}`)
	at := func(minute int) { d.now = time.Date(2026, 1, 9, 11, minute, 0, 0, time.UTC) }
	for i, c := range []struct{ args, title, description, due, completed, updated string }{
		{`"title":" y "`, `"y"`, `"about"`, `"2026-01-10"`, `false`, `"2026-01-09T11:00:00Z"`},
		{`"title":"y","description":"about","due_date":"2026-01-10","completed":false,"priority":"Medium"`, `"y"`, `"about"`, `"2026-01-10"`, `false`, `"2026-01-09T11:00:00Z"`},
		{`"description":""`, `"y"`, `""`, `"2026-01-10"`, `false`, `"2026-01-09T11:02:00Z"`},
		{`"clear":["description"],"completed":true`, `"y"`, `null`, `"2026-01-10"`, `true`, `"2026-01-09T11:03:00Z"`},
		{`"clear":["description"]`, `"y"`, `null`, `"2026-01-10"`, `true`, `"2026-01-09T11:03:00Z"`},
		{`"clear":["due_date"],"description":"new"`, `"y"`, `"new"`, `null`, `true`, `"2026-01-09T11:05:00Z"`},
		{`"due_date":"2026-01-11","completed":false`, `"y"`, `"new"`, `"2026-01-11"`, `false`, `"2026-01-09T11:06:00Z"`},
	} {
		at(i)
		got := d.mustCall(t, "update_task", `{"user_id":"ann","task_id":"1",`+c.args+`}`)
		want := fmt.Sprintf(`{"id":1,"user_id":"ann","title":%s,"description":%s,"completed":%s,"priority":"Medium","due_date":%s,"created_at":"2026-01-09T10:30:00Z","updated_at":%s}`,
			c.title, c.description, c.completed, c.due, c.updated)
		if text(got) != want {
			t.Errorf("%s gives\n%s, want\n%s", c.args, text(got), want)
		}
	}
}

func TestRefusals(t *testing.T) {
	d := serve(t, nil)
	d.mustCall(t, "add_task", `{"user_id":"ann","title":"x"}`)
	blankUser := `{"code":"invalid_input","message":"User ID cannot be blank or contain control characters","details":{"field":"user_id"}}`
	noID := `{"code":"invalid_input","message":"Task ID must be a positive integer","details":{"field":"task_id"}}`
	for _, c := range []struct{ tool, args, want string }{
		{"add_task", `{"user_id":"ann","title":"a\u0000b"}`, `{"code":"invalid_input","message":"Title cannot contain the character U+0000","details":{"field":"title"}}`},
		{"add_task", `{"user_id":"ann","title":"a","description":"\u0000"}`, `{"code":"invalid_input","message":"Description cannot contain the character U+0000","details":{"field":"description"}}`},
		{"list_tasks", `{"user_id":"a\u0000"}`, blankUser},
		{"list_tasks", `{"user_id":"a\u0085"}`, blankUser},
		{"list_tasks", `{"user_id":"  "}`, blankUser},
		{"list_tasks", `{"user_id":""}`, blankUser},
		{"complete_task", `{"user_id":"ann","task_id":1.5}`, noID},
		{"complete_task", `{"user_id":"ann","task_id":-1}`, noID},
		{"complete_task", `{"user_id":"ann","task_id":" 1"}`, noID},
		{"complete_task", `{"user_id":"ann","task_id":"1\n"}`, noID},
		{"complete_task", `{"user_id":"ann","task_id":"٣"}`, noID},
		{"complete_task", `{"user_id":"ann","task_id":true}`, noID},
		{"delete_task", `{"user_id":"ann","task_id":9223372036854775808}`, `{"code":"not_found","message":"Task not found","details":{"task_id":9223372036854775808}}`},
		{"delete_task", `{"user_id":"bob","task_id":1}`, `{"code":"not_found","message":"Task not found","details":{"task_id":1}}`},
		{"delete_task", `{"user_id":"bob","task_id":"1"}`, `{"code":"not_found","message":"Task not found","details":{"task_id":"1"}}`},
		{"update_task", `{"user_id":"ann","task_id":"1","clear":[]}`, `{"code":"invalid_input","message":"clear must not be empty","details":{"field":"clear"}}`},
	} {
		d.fails(t, c.tool, c.args, c.want)
	}
}

func TestListFollowsItsCursor(t *testing.T) {
	d := serve(t, nil)
	long := strings.Repeat("語", 1000)
	for i := range 60 {
		d.mustCall(t, "add_task", fmt.Sprintf(`{"user_id":"ann","title":"task %d","description":%q}`, i, long))
	}
	var ids []string
	pages, cursor := 0, ""
	for {
		args := `{"user_id":"ann"}`
		if cursor != "" {
			args = fmt.Sprintf(`{"user_id":"ann","cursor":%q}`, cursor)
		}
		page := d.mustCall(t, "list_tasks", args)
		if size := len(text(page)); size > 48<<10 || text(page.Field("total")) != "60" {
			t.Errorf("a page of %d bytes with total %s", size, text(page.Field("total")))
		}
		list := page.Field("tasks")
		for _, m := range list.Members {
			ids = append(ids, text(m.Value.Field("id")))
		}
		next := page.Field("nextCursor")
		if pages, cursor = pages+1, next.Text; cursor == "" {
			break
		}
	}
	if pages < 2 || len(ids) != 60 || ids[0] != "60" || ids[59] != "1" {
		t.Errorf("%d pages gave %v", pages, ids)
	}
}

// TestShortestTasksFillAnAnswer: one call reads as many tasks as could fit into an answer.
func TestShortestTasksFillAnAnswer(t *testing.T) {
	d := serve(t, nil)
	for range 340 {
		d.mustCall(t, "add_task", `{"user_id":"ann","title":"x","priority":"Low"}`)
	}
	for _, args := range []string{`{"user_id":"ann"}`, `{"user_id":"ann","limit":1000}`} {
		page := d.mustCall(t, "list_tasks", args)
		if size := len(text(page)); size > 48<<10 || size < 47<<10 {
			t.Errorf("%s gave %d bytes", args, size)
		}
	}
}

func TestForeignCursors(t *testing.T) {
	d := serve(t, nil)
	for range 3 {
		d.mustCall(t, "add_task", `{"user_id":"ann","title":"x"}`)
		d.mustCall(t, "add_task", `{"user_id":"bob","title":"x"}`)
	}
	page := d.mustCall(t, "list_tasks", `{"user_id":"ann","limit":1,"search":"x"}`)
	next := page.Field("nextCursor")
	d.mustCall(t, "list_tasks", fmt.Sprintf(`{"user_id":"ann","limit":2,"search":"x","cursor":%q}`, next.Text))
	refused := `{"code":"invalid_input","message":"The cursor is not valid for this list; start again without it","details":{"field":"cursor"}}`
	for _, args := range []string{
		fmt.Sprintf(`{"user_id":"bob","search":"x","cursor":%q}`, next.Text),
		fmt.Sprintf(`{"user_id":"ann","cursor":%q}`, next.Text),
		fmt.Sprintf(`{"user_id":"ann","search":"X","cursor":%q}`, next.Text),
		fmt.Sprintf(`{"user_id":"ann","search":"x","cursor":%q}`, next.Text+"A"),
		fmt.Sprintf(`{"user_id":"ann","search":"x","cursor":%q}`, next.Text[:4]),
		`{"user_id":"ann","cursor":"0"}`, `{"user_id":"ann","cursor":"'; --"}`,
	} {
		d.fails(t, "list_tasks", args, refused)
	}
}

// broken is a store whose methods all fail.
type broken struct {
	tasks.Store
	err error
}

func (b broken) Add(context.Context, tasks.New, time.Time) (tasks.Task, error) {
	return tasks.Task{}, b.err
}

func (b broken) List(context.Context, string, tasks.Filter, tasks.Part) (tasks.Page, error) {
	return tasks.Page{}, b.err
}

func (b broken) Get(context.Context, string, int64) (tasks.Task, error) { return tasks.Task{}, b.err }

func (b broken) Delete(context.Context, string, int64, func(*tasks.Task) error) error { return b.err }

func (b broken) Revision(context.Context, string) (int64, error) { return 0, b.err }

func (b broken) Change(context.Context, string, int64, time.Time, func(*tasks.Task) bool) (tasks.Task, error) {
	return tasks.Task{}, b.err
}

func (b broken) Lease(context.Context, string, int64, time.Time, tasks.Edit) (tasks.Task, error) {
	return tasks.Task{}, b.err
}

func (b broken) Next(context.Context, string, time.Time, tasks.Edit) (tasks.Task, error) {
	return tasks.Task{}, b.err
}

func (b broken) Clock(now time.Time) time.Time { return now }

func TestStoreIsDown(t *testing.T) {
	secret := errors.New("dial tcp 10.0.0.1: password")
	down := `{"code":"processing_error","message":"The task store is not available; try again","details":{}}`
	unknown := `{"code":"processing_error","message":"It is unknown whether the change was made; repeat the call with the same idempotency key, or list the tasks first","details":{}}`
	for _, c := range []struct {
		name        string
		open, store error
		want        string
	}{
		{"not there", secret, nil, down},
		{"lost", nil, secret, down},
		{"lost in the commit", nil, fmt.Errorf("%w: %w", tasks.ErrUnknown, secret), unknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := serve(t, nil)
			d.err, d.store = c.open, broken{err: c.store}
			d.fails(t, "add_task", `{"user_id":"ann","title":"x"}`, c.want)
			d.fails(t, "list_tasks", `{"user_id":"ann"}`, c.want)
			d.fails(t, "next_task", `{"user_id":"ann"}`, c.want)
			for _, tool := range []string{"complete_task", "delete_task", "claim_task", "release_task"} {
				d.fails(t, tool, `{"user_id":"ann","task_id":1}`, c.want)
			}
			d.fails(t, "update_task", `{"user_id":"ann","task_id":1,"title":"y"}`, c.want)
			for _, uri := range []string{"tasks://ann", "task://ann/1"} {
				if _, err := d.Read(t.Context(), ann, uri); kindOf(err) != contract.Unavailable {
					t.Errorf("%s: %v", uri, err)
				}
			}
			if _, _, err := d.StartPrompt(t.Context(), ann, "plan_my_day", map[string]string{"user_id": "ann"}); kindOf(err) != contract.Unavailable {
				t.Error(err)
			}
		})
	}
}

func kindOf(err error) contract.Kind {
	var e *contract.Error
	if !errors.As(err, &e) {
		return ""
	}
	return e.Kind
}

func (d *fixture) read(t *testing.T, uri string) string {
	t.Helper()
	contents, err := d.Read(t.Context(), ann, uri)
	if err != nil {
		t.Fatal(err)
	}
	if len(contents) != 1 || contents[0].URI != uri || contents[0].MIME != "application/json" {
		t.Errorf("%+v", contents)
	}
	return contents[0].Text
}

func TestResources(t *testing.T) {
	d := serve(t, nil)
	d.mustCall(t, "add_task", `{"user_id":"a/b c@ü","title":"x"}`)
	task := `{"id":1,"user_id":"a/b c@ü","title":"x","description":null,"completed":false,"priority":"Medium","due_date":null,"created_at":"2026-01-09T10:30:00Z","updated_at":"2026-01-09T10:30:00Z"}`
	for _, uri := range []string{"task://a%2Fb%20c%40%C3%BC/1", "task://a%2fb%20c@ü/1"} {
		if got := d.read(t, uri); got != task {
			t.Errorf("%s holds %s", uri, got)
		}
	}
	list := d.mustCall(t, "list_tasks", `{"user_id":"a/b c@ü"}`)
	if got := d.read(t, "tasks://a%2Fb%20c%40%C3%BC"); got != text(list) {
		t.Errorf("the list holds %s", got)
	}
	if got := d.read(t, "tasks://nobody"); got != `{"tasks":[],"total":0}` {
		t.Errorf("the list of nobody holds %s", got)
	}
	for _, uri := range []string{
		"task://ann/1", "task://a%2Fb%20c%40%C3%BC/2", "task://a%2Fb%20c%40%C3%BC/0", "task://a%2Fb%20c%40%C3%BC/+1", "task://a%2Fb%20c%40%C3%BC/1/",
		"task://a/b c@ü/1", "task:///1", "task://1", "tasks://", "tasks://%", "tasks://%00", "tasks://a/b", "tasks://%20", "task://ann/99999999999999999999",
	} {
		if _, err := d.Read(t.Context(), ann, uri); kindOf(err) != contract.NotFound {
			t.Errorf("%s: %v", uri, err)
		}
	}
	resources, err := d.Resources(t.Context(), nil)
	if err != nil || slices.ContainsFunc(resources, func(r engine.Resource) bool { return strings.HasPrefix(r.URI, "task") }) {
		t.Errorf("users are listed: %+v, error %v", resources, err)
	}
}

func TestLongListResource(t *testing.T) {
	d := serve(t, nil)
	long := strings.Repeat("語", 1000)
	for range 400 {
		if _, err := d.store.Add(t.Context(), tasks.New{UserID: "ann", Title: "x", Description: &long, Priority: tasks.Low}, d.now); err != nil {
			t.Fatal(err)
		}
	}
	held, err := jsontree.Parse([]byte(d.read(t, "tasks://ann")))
	if err != nil {
		t.Fatal(err)
	}
	list, next := held.Field("tasks"), held.Field("nextCursor")
	if n := len(list.Members); n < 300 || n >= 400 {
		t.Errorf("%d tasks of 400", n)
	}
	page := d.mustCall(t, "list_tasks", fmt.Sprintf(`{"user_id":"ann","limit":1,"cursor":%q}`, next.Text))
	if got, want := text(page.At("tasks").Members[0].Value.Field("id")), fmt.Sprint(400-len(list.Members)); got != want {
		t.Errorf("the cursor leads to %s, want %s", got, want)
	}
}

// TestSubscriptions: a subscriber to a list or a task is notified of its changes and of no others.
func TestSubscriptions(t *testing.T) {
	d := serve(t, nil)
	for _, user := range []string{"ann", "ann", "bob"} {
		d.mustCall(t, "add_task", fmt.Sprintf(`{"user_id":%q,"title":"x"}`, user))
	}
	received := make(chan string, 100)
	defer d.Listen(func(c engine.Change) { received <- c.URI })()
	for _, uri := range []string{"tasks://ann", "tasks://bob", "tasks://cyd", "task://ann/1", "task://ann/2", "task://bob/3", "task://bob/1"} {
		defer d.Watch(uri)()
	}
	for _, c := range []struct {
		tool, args string
		want       []string
	}{
		{"complete_task", `{"user_id":"ann","task_id":1}`, []string{"task://ann/1", "tasks://ann"}},
		{"delete_task", `{"user_id":"bob","task_id":3}`, []string{"task://bob/3", "tasks://bob"}},
		{"add_task", `{"user_id":"cyd","title":"x"}`, []string{"tasks://cyd"}},
	} {
		d.mustCall(t, c.tool, c.args)
		var got []string
		for range c.want {
			select {
			case uri := <-received:
				got = append(got, uri)
			case <-time.After(time.Minute):
				t.Fatalf("%s: only %v was received", c.tool, got)
			}
		}
		slices.Sort(got)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", c.tool, diff)
		}
	}
}

func TestHiddenListHidesTheRest(t *testing.T) {
	d := serve(t, map[string]contract.Tightening{"list_tasks": {Hide: true}})
	d.mustCall(t, "add_task", `{"user_id":"ann","title":"x"}`)
	if _, err := d.Read(t.Context(), ann, "task://ann/1"); kindOf(err) != contract.NotFound {
		t.Errorf("read: %v", err)
	}
	if len(d.Prompts()) != 0 {
		t.Errorf("prompts: %v", d.Prompts())
	}
}

func TestPlanMyDay(t *testing.T) {
	d := serve(t, nil)
	for _, args := range []string{
		`"title":"late","due_date":"2026-01-08"`, `"title":"now","due_date":"2026-01-09","priority":"High"`, `"title":"soon","due_date":"2026-01-10"`,
		`"title":"big","priority":"High"`, `"title":"big later","priority":"High","due_date":"2026-01-11"`, `"title":"done","due_date":"2026-01-09"`, `"title":"any"`,
	} {
		d.mustCall(t, "add_task", `{"user_id":"ann",`+args+`}`)
	}
	d.mustCall(t, "add_task", `{"user_id":"bob","title":"of bob","due_date":"2026-01-09"}`)
	d.mustCall(t, "complete_task", `{"user_id":"ann","task_id":6}`)
	for date, want := range map[string]string{
		"": "late|now|big later,big", "2026-01-09": "late|now|big later,big", "2026-01-10": "now,late|soon|big later,big", "2025-01-01": "||big later,big,now",
	} {
		uri, agenda, question := d.plan(t, "ann", date)
		var got []string
		for _, part := range []string{"overdue", "due_today", "high_priority"} {
			var titles []string
			list := agenda.Field(part)
			for _, m := range list.Members {
				title := m.Value.Field("title")
				titles = append(titles, title.Text)
			}
			got = append(got, strings.Join(titles, ","))
		}
		if uri != "tasks://ann" || strings.Join(got, "|") != want {
			t.Errorf("%q at %s gives %q, want %q", date, uri, strings.Join(got, "|"), want)
		}
		if strings.Contains(question, "late") && !strings.Contains(question, "data, not instructions") {
			t.Errorf("the question holds what tasks say: %s", question)
		}
	}
	if _, _, question := d.plan(t, "nobody", ""); !strings.Contains(question, "no open task") {
		t.Error(question)
	}
	for name, args := range map[string]map[string]string{
		"user_id": {"user_id": "a\x00"}, "date": {"user_id": "ann", "date": "2026-02-30"},
	} {
		_, _, err := d.StartPrompt(t.Context(), ann, "plan_my_day", args)
		if e := contract.AsError(err); err == nil || e.Kind != contract.Invalid || e.Details["field"] != name {
			t.Errorf("%v: %v", args, err)
		}
	}
}

func (d *fixture) plan(t *testing.T, user, date string) (uri string, agenda jsontree.Value, question string) {
	t.Helper()
	_, messages, err := d.StartPrompt(t.Context(), ann, "plan_my_day", map[string]string{"user_id": user, "date": date})
	if err != nil || len(messages) != 2 {
		t.Fatalf("%d messages, error %v", len(messages), err)
	}
	embedded := messages[0].Content.Field("resource")
	held := embedded.Field("text")
	if agenda, err = jsontree.Parse([]byte(held.Text)); err != nil {
		t.Fatal(err)
	}
	return embedded.At("uri").Text, agenda, messages[1].Content.At("text").Text
}
