package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"remit/internal/stores/sqlstore/pgtest"
)

const adders = 16

// tasksPerAdder is how many tasks each adder adds. Each one is synced to disk.
var tasksPerAdder = func() int {
	if os.Getenv("REMIT_FULL") == "true" {
		return 500
	}
	return 125
}()

// adder adds tasks one after another through the current server. It repeats each call with its
// idempotency key until the task is acknowledged.
type adder struct {
	name, user string
	addr       *atomic.Pointer[string] // address of the current server
	client     http.Client
	ids        map[int64]string // title of each acknowledged task
	repeated   int
	fault      error
}

// run adds count tasks. It stops with an error only if a call fails until the timeout.
func (a *adder) run(count int, added *atomic.Int64) {
	for n := range count {
		title := fmt.Sprintf("%s-%d", a.name, n)
		id, err := a.addWithRetry(title)
		if err != nil {
			a.fault = fmt.Errorf("%s: %w", title, err)
			return
		}
		if before, twice := a.ids[id]; twice {
			a.fault = fmt.Errorf("%s and %s both got the id %d", before, title, id)
			return
		}
		a.ids[id] = title
		added.Add(1)
	}
}

// addWithRetry repeats a call until it succeeds.
func (a *adder) addWithRetry(title string) (id int64, err error) {
	for end := time.Now().Add(timeout); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if id, err = a.add(title); err == nil {
			return id, nil
		}
		a.repeated++
	}
	return 0, err
}

func (a *adder) add(title string) (int64, error) {
	body := fmt.Sprintf(`{"user_id":%q,"title":%q}`, a.user, title)
	r, err := http.NewRequest(http.MethodPost, *a.addr.Load()+"/tools/add_task", strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", title)
	got, err := send(&a.client, r)
	if err != nil {
		return 0, err
	}
	var answer struct {
		Success bool
		Data    struct {
			ID    int64
			Title string
		}
	}
	if err := json.Unmarshal(got.body, &answer); err != nil {
		return 0, err
	}
	if !answer.Success || answer.Data.Title != title {
		return 0, fmt.Errorf("status %d: %s", got.status, clip(got.body))
	}
	return answer.Data.ID, nil
}

// crowd is all adders; four of them share a user.
type crowd struct {
	t       *testing.T
	adders  []*adder
	addr    atomic.Pointer[string]
	added   atomic.Int64
	running sync.WaitGroup
}

func newCrowd(t *testing.T, url string) *crowd {
	c := &crowd{t: t}
	c.addr.Store(&url)
	for i := range adders {
		c.adders = append(c.adders, &adder{
			name: fmt.Sprintf("caller%d", i), user: fmt.Sprintf("user-%d", i%4), addr: &c.addr, ids: map[int64]string{},
			client: http.Client{Timeout: timeout, Transport: &http.Transport{}},
		})
	}
	return c
}

func (c *crowd) start() {
	for _, a := range c.adders {
		c.running.Go(func() { a.run(tasksPerAdder, &c.added) })
	}
}

// waitAdded waits until count tasks are acknowledged.
func (c *crowd) waitAdded(count int64) {
	c.t.Helper()
	for end := time.Now().Add(2 * timeout); c.added.Load() < count; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			c.t.Fatalf("only %d tasks were added", c.added.Load())
		}
	}
}

// wait waits until all adders are done, and checks that each task is stored exactly once.
func (c *crowd) wait() {
	c.t.Helper()
	c.running.Wait()
	kept, repeated := map[int64]string{}, 0
	users := map[string]int{}
	for _, a := range c.adders {
		a.client.CloseIdleConnections()
		repeated += a.repeated
		users[a.user] += tasksPerAdder
		if a.fault != nil {
			c.t.Fatal(a.fault)
		}
		for id, title := range a.ids {
			if before, twice := kept[id]; twice {
				c.t.Errorf("%s and %s both got the id %d", before, title, id)
			}
			kept[id] = title
		}
	}
	for user, count := range users {
		c.compare(user, count, kept)
	}
	for id, title := range kept {
		c.t.Errorf("task %d, %s, was acknowledged but is not stored", id, title)
	}
	note(c.t, "%s: %d tasks of %d callers, %d calls repeated, none lost, none duplicated", c.t.Name(), adders*tasksPerAdder, adders, repeated)
}

// compare removes a user's stored tasks from the acknowledged ones, and checks that they are equal.
func (c *crowd) compare(user string, count int, kept map[int64]string) {
	c.t.Helper()
	listed := listAll(c.t, *c.addr.Load(), user)
	if len(listed) != count {
		c.t.Errorf("%s has %d tasks, want %d", user, len(listed), count)
	}
	for _, task := range listed {
		if kept[task.ID] != task.Title {
			c.t.Errorf("task %d is %q, want %q", task.ID, task.Title, kept[task.ID])
		}
		delete(kept, task.ID)
	}
}

// checkRecorded checks that each task has one audit record, and that there are no others. It reads
// them right after the last answer.
func (s *workspace) checkRecorded(flags ...string) {
	s.t.Helper()
	flags = append(flags, "--root", s.root)
	got := s.remit(append([]string{"audit", "list", "--json", "--limit", "100000", "--tool", "add_task", "--outcome", "ok"}, flags...)...)
	var records []struct {
		Call      string
		Arguments struct {
			Title string
		}
	}
	if err := json.Unmarshal([]byte(got.out), &records); err != nil {
		s.t.Fatalf("audit list: %v\n%s", err, got.errOut)
	}
	titles, calls := map[string]int{}, map[string]int{}
	for _, r := range records {
		titles[r.Arguments.Title]++
		calls[r.Call]++
	}
	if want := adders * tasksPerAdder; len(records) != want || len(titles) != want || len(calls) != want {
		s.t.Errorf("%d records of %d tasks and %d calls; there are %d tasks\n%s", len(records), len(titles), len(calls), want, got.errOut)
	}
	if got := s.remit(append([]string{"audit", "verify"}, flags...)...); got.code != 0 {
		s.t.Errorf("audit verify: exit %d\n%s%s", got.code, got.out, got.errOut)
	}
}

type listedTask struct {
	ID    int64
	Title string
}

// listAll follows the cursors of list_tasks to the end. The ids must decrease.
func listAll(t *testing.T, address, user string) (all []listedTask) {
	t.Helper()
	last, cursor := int64(1)<<62, ""
	for {
		got := postTo(t, address+"/tools/list_tasks", fmt.Sprintf(`{"user_id":%q%s}`, user, cursor), nil)
		var page struct {
			Data struct {
				Tasks      []listedTask
				Total      int
				NextCursor string
			}
		}
		if err := json.Unmarshal(got.body, &page); err != nil || got.status != http.StatusOK {
			t.Fatalf("list: status %d, %v: %s", got.status, err, clip(got.body))
		}
		for _, task := range page.Data.Tasks {
			if task.ID >= last {
				t.Errorf("task %d comes after %d", task.ID, last)
			}
			last = task.ID
		}
		all = append(all, page.Data.Tasks...)
		if page.Data.NextCursor == "" {
			if len(all) != page.Data.Total {
				t.Errorf("%d tasks are listed, but the total is %d", len(all), page.Data.Total)
			}
			return all
		}
		cursor = fmt.Sprintf(`,"cursor":%q`, page.Data.NextCursor)
	}
}

// TestTasksUnderLoad checks with many concurrent callers that every acknowledged task is stored
// exactly once, and has exactly one audit record.
func TestTasksUnderLoad(t *testing.T) {
	t.Parallel()
	onEachDatabase(t, func(t *testing.T, flags ...string) {
		s := newWorkspace(t, nil)
		w := s.serve(append(flags, "--toolsets", "tasks")...)
		c := newCrowd(t, w.url)
		c.start()
		c.wait()
		s.checkRecorded(flags...)
		w.end()
	})
}

// TestTasksSurviveKilledServer does the same, and kills the server half-way and starts another.
func TestTasksSurviveKilledServer(t *testing.T) {
	t.Parallel()
	onEachDatabase(t, func(t *testing.T, flags ...string) {
		s := newWorkspace(t, nil)
		database := flags
		flags = append(flags, "--toolsets", "tasks")
		w := s.serve(flags...)
		c := newCrowd(t, w.url)
		c.start()
		for _, part := range []int64{1, 2, 3} {
			c.waitAdded(part * adders * int64(tasksPerAdder) / 4)
			w.kill()
			w = s.serve(flags...)
			c.addr.Store(&w.url)
		}
		c.wait()
		s.checkRecorded(database...)
	})
}

// TestTasksSurviveKilledPostgres does the same, and kills PostgreSQL half-way and starts it again.
// The server recovers by itself.
func TestTasksSurviveKilledPostgres(t *testing.T) {
	t.Parallel()
	pg := pgtest.New(t)
	s := newWorkspace(t, nil)
	w := s.serve("--toolsets", "tasks", "--database", pg.URL())
	c := newCrowd(t, w.url)
	c.start()
	for _, part := range []int64{1, 2} {
		c.waitAdded(part * adders * int64(tasksPerAdder) / 3)
		pg.Kill(t)
		pg.Start(t)
	}
	c.wait()
	s.checkRecorded("--database", pg.URL())
	if strings.Contains(w.stderr.String(), passwordOf(pg.URL())) {
		t.Error("the log contains the password")
	}
}

// passwordOf returns the password in an address, or a text that no log contains if there is none.
func passwordOf(address string) string {
	if u, err := url.Parse(address); err == nil && u.User != nil {
		if password, there := u.User.Password(); there {
			return password
		}
	}
	return "\x00"
}
