package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// widths are a phone, a laptop and a wide screen, in both schemes.
func widths() []viewport {
	return []viewport{{"light", 390}, {"dark", 1024}, {"light", 1440}, {"dark", 1440}}
}

// checkStates checks that a page fits each window, is accessible and has no faults.
func (v *tab) checkStates(name string) {
	v.t.Helper()
	for _, l := range widths() {
		v.emulate(l)
		v.waitSettled()
		where := name + " " + l.String()
		if wide := evaluate[int](v, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); wide > 0 {
			v.t.Errorf("%s: the page is %d px wider than the window", where, wide)
		}
		v.checkAccessibility(where)
		v.checkFaults(where)
		v.screenshot(name + "-" + l.String())
	}
}

// wait waits until an expression is true in the page.
func (v *tab) wait(expression string) {
	v.t.Helper()
	if !evaluate[bool](v, `new Promise(done => { const look = () => (`+expression+`) ? done(true) : setTimeout(look, 20); look(); })`) {
		v.t.Errorf("%s is false", expression)
	}
}

// fill sets the value of a field as if it was typed.
func (v *tab) fill(selector, value string) {
	v.t.Helper()
	evaluate[bool](v, fmt.Sprintf(`(() => { const field = document.querySelector(%q); field.value = %q; field.dispatchEvent(new Event("input", {bubbles: true})); return true; })()`, selector, value))
}

// click clicks an element that loads no other page.
func (v *tab) click(selector string) {
	v.t.Helper()
	v.run(chromedp.Click(chromedp.CSS(selector)))
}

// forget drops the faults that a browser reports for an answer that the test has provoked.
func (v *tab) forget(status int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.faults = slices.DeleteFunc(v.faults, func(fault string) bool { return strings.Contains(fault, fmt.Sprintf("a status of %d ", status)) })
}

// drag drags an element onto another one.
func (v *tab) drag(from, to string) {
	v.t.Helper()
	evaluate[bool](v, fmt.Sprintf(`(() => {
		const data = new DataTransfer();
		const [from, to] = [document.querySelector(%q), document.querySelector(%q)];
		const fire = (on, kind) => on.dispatchEvent(new DragEvent(kind, {bubbles: true, cancelable: true, dataTransfer: data}));
		fire(from, "dragstart");
		if (fire(to, "dragover")) throw new Error("the element takes no drops");
		fire(to, "drop");
		fire(from, "dragend");
		return true;
	})()`, from, to))
}

// TestTasksInABrowser lets a person handle tasks with the mouse and with the keyboard while agents
// change them.
func TestTasksInABrowser(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, nil)
	w := s.serve()
	day := func(n int) string { return time.Now().UTC().AddDate(0, 0, n).Format(time.DateOnly) }
	for _, task := range []string{
		`"title":"Review chapter 3 of the handbook","priority":"High","due_date":"` + day(-3) + `"`, `"title":"Write the flaky login test","due_date":"` + day(0) + `"`,
		`"title":"Measure slow search","priority":"Low","due_date":"` + day(0) + `","depends_on":[2]`, `"title":"Document the migration"`,
		`"title":` + quoted(markup) + `,"description":` + quoted(markup) + `,"due_date":"` + day(20) + `"`,
	} {
		w.post("/tools/add_task", `{"user_id":"ada",`+task+`}`, nil)
	}
	w.post("/tools/claim_task", `{"user_id":"ada","task_id":"2"}`, nil)
	ada := openBrowser(t).window(w, "approver", "ada")
	ada.emulate(viewport{"light", 1440})
	ada.open("/console/tasks")
	ada.markDocument()
	in := func(task, column string) {
		ada.wait(`document.querySelector("#section-` + column + ` #task-` + task + `") !== null`)
	}
	in("1", "overdue")
	ada.drag("#task-1", "#section-tomorrow")
	in("1", "tomorrow")
	// The same by keyboard.
	evaluate[bool](ada, `document.querySelector("#task-4 .move > summary").focus() === undefined`)
	ada.key(kb.Enter)
	ada.key(kb.Tab)
	ada.key(kb.Enter)
	in("4", "today")
	ada.wait(`document.activeElement.closest("#task-4") !== null`)

	// Edit in place; an agent changes the same field meanwhile.
	ada.click("#task-1 .task-title")
	ada.wait(`document.activeElement.id === "pane-title"`)
	ada.waitForText("console:ada")
	ada.fill("#edit-title", "Review chapter 4")
	ada.fill("#edit-description", "typed by a person")
	w.post("/tools/update_task", `{"user_id":"ada","task_id":"1","title":"Review chapter 5"}`, nil)
	ada.wait(`document.querySelector("[data-stale]")?.hidden === false`)
	ada.click(".editor .primary")
	ada.waitForText("Somebody else has changed a field that you changed too")
	ada.waitForText("Review chapter 5")
	ada.forget(http.StatusConflict)
	ada.checkStates("task-conflict")
	ada.emulate(viewport{"light", 1440})
	ada.click(".editor .primary")
	ada.wait(`document.querySelector("#task-1 .task-title").textContent === "Review chapter 4"`)
	if got := w.post("/tools/list_tasks", `{"user_id":"ada","search":"chapter 4"}`, nil); !strings.Contains(string(got.body), "typed by a person") {
		t.Errorf("the task is %s", got.body)
	}
	if left := evaluate[int](ada, `Object.keys(sessionStorage).filter(key => key.startsWith("remit-draft")).length`); left != 0 {
		t.Errorf("%d drafts are left", left)
	}
	ada.checkNotReloaded()

	// A draft survives that the page is left, with what it is based on.
	ada.fill("#edit-title", "Review chapter 6")
	w.post("/tools/update_task", `{"user_id":"ada","task_id":"1","title":"Review chapter 7"}`, nil)
	ada.open("/console/tools")
	ada.open("/console/tasks/1")
	ada.wait(`document.querySelector("#edit-title").value === "Review chapter 6"`)
	ada.click(".editor .primary")
	ada.waitForText("Somebody else has changed a field that you changed too")
	ada.forget(http.StatusConflict)
	ada.click(`[data-take="edit-title"]`)
	ada.click(".editor .primary")
	ada.wait(`document.querySelector("#task-1 .task-title").textContent === "Review chapter 7" && !document.querySelector(".clash")`)

	// Delete, and restore.
	ada.click(".confirm > summary")
	ada.press("Delete task 1")
	ada.waitForText("Task #1 was deleted")
	ada.press("Restore")
	ada.waitForText("Task 1")
	for path, name := range map[string]string{"/console/tasks": "tasks", "/console/tasks?view=board": "tasks-board", "/console/tasks/2": "task", "/console/tasks?view=trash": "tasks-trash", "/console/tasks/2/history": "task-history"} {
		ada.open(path)
		ada.checkStates(name)
	}
	w.end()
	s.verifyAudit()
}

// TestTasksStayUnderThePointer checks that the list does not change below the pointer, and that it
// changes in place without moving what stays.
func TestTasksStayUnderThePointer(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, nil)
	w := s.serve()
	for i := range 5 {
		w.post("/tools/add_task", fmt.Sprintf(`{"user_id":"ada","title":"Task number %d"}`, i), nil)
	}
	ada := openBrowser(t).window(w, "approver", "ada")
	ada.emulate(viewport{"light", 1440})
	ada.open("/console/tasks")
	ada.waitSettled()
	at := evaluate[[]float64](ada, `(() => { const box = document.querySelector("#task-3").getBoundingClientRect(); return [box.x + 200, box.y + 10]; })()`)
	move := input.DispatchMouseEventParams{Type: input.DispatchMouseEventTypeMouseMoved, X: at[0], Y: at[1]}
	if _, err := chromedp.Call(ada.ctx, input.DispatchMouseEvent, move); err != nil {
		t.Fatal(err)
	}
	w.post("/tools/add_task", `{"user_id":"ada","title":"Comes while somebody looks"}`, nil)
	ada.wait(`document.querySelector("[data-show-new]").hidden === false`)
	if strings.Contains(ada.text(), "Comes while") {
		t.Error("the list has changed below the pointer")
	}
	ada.hold("n", 0)
	ada.waitForText("Comes while somebody looks")
	move.X, move.Y = 5, 5
	if _, err := chromedp.Call(ada.ctx, input.DispatchMouseEvent, move); err != nil {
		t.Fatal(err)
	}
	ada.watchShifts()
	w.post("/tools/update_task", `{"user_id":"ada","task_id":"3","title":"Renamed in place","priority":"High"}`, nil)
	ada.waitForText("Renamed in place")
	ada.checkShifts("tasks")
	ada.checkFaults("tasks")
	w.end()
}
