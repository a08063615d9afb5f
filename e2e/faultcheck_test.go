//go:build linux

package e2e

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// storedState is what the stores hold.
type storedState struct {
	// objects holds the state of each object by name. An object that has two was stored twice.
	objects map[string][]string
	history map[string][]string // the state after each change of a file, by the file's name
}

func newStoredState() *storedState {
	return &storedState{objects: map[string][]string{}, history: map[string][]string{}}
}

// readDisk reads the stores of a workspace.
func readDisk(t *testing.T, s *workspace) (*storedState, error) {
	t.Helper()
	found := newStoredState()
	db, err := sql.Open("sqlite", s.path(".remit/remit.db"))
	if err != nil {
		return nil, err
	}
	defer db.Close()
	if err := found.addTasks(t, db); err != nil {
		return nil, err
	}
	for _, file := range []string{memoryFile, "decisions.jsonl"} {
		for _, line := range s.memory(file) {
			found.addEntry(line)
		}
	}
	return found, found.addFiles(s.path(".remit/library"))
}

// readReplicas reads a database and the folder of a bucket.
func readReplicas(t *testing.T, database, bucket string) (*storedState, error) {
	t.Helper()
	found := newStoredState()
	db, err := sql.Open("pgx", database)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	if err := found.addTasks(t, db); err != nil {
		return nil, err
	}
	lines, err := queryLines(t, database, `SELECT body FROM log_lines WHERE log LIKE 'memory/%'`)
	if err != nil {
		return nil, err
	}
	for _, line := range lines {
		found.addEntry(line)
	}
	return found, found.addFiles(bucket)
}

// queryLines returns the lines of logs in a PostgreSQL database.
func queryLines(t *testing.T, database, query string) (lines []string, err error) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		return nil, err
	}
	defer conn.Close(t.Context())
	rows, err := conn.Query(t.Context(), query)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (line string, err error) {
		var body []byte
		err = row.Scan(&body)
		return string(body), err
	})
}

// auditLines returns the lines of the day files.
func (s *workspace) auditLines() (lines []string, err error) {
	days, err := filepath.Glob(s.path(".remit/audit/*.jsonl")) // sorted
	if err != nil {
		return nil, err
	}
	for _, day := range days {
		text, err := os.ReadFile(day)
		if err != nil {
			return nil, err
		}
		lines = append(lines, strings.Split(string(text), "\n")...)
	}
	return lines, nil
}

// addTasks reads all tasks.
func (f *storedState) addTasks(t *testing.T, db *sql.DB) error {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), `SELECT title, completed FROM tasks`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var title string
		var completed bool
		if err := rows.Scan(&title, &completed); err != nil {
			return err
		}
		name, _, _ := strings.Cut(title, " ")
		f.add("task "+name, fmt.Sprintf("%s completed=%v", title, completed))
	}
	return rows.Err()
}

// addEntry adds a line of a memory file.
func (f *storedState) addEntry(line string) {
	var entry struct{ Name string }
	if err := json.Unmarshal([]byte(line), &entry); err != nil {
		entry.Name = err.Error()
	}
	f.add("entry "+entry.Name, hashOf(line))
}

func (f *storedState) add(name, state string) { f.objects[name] = append(f.objects[name], state) }

// addFiles reads the files of all books and their history.
func (f *storedState) addFiles(library string) error {
	return fs.WalkDir(os.DirFS(library), ".", func(name string, entry fs.DirEntry, err error) error {
		book, inHistory := strings.CutPrefix(name, ".history/")
		isDraft := strings.HasPrefix(entry.Name(), ".")
		if err != nil || entry.IsDir() || isDraft || !inHistory && !strings.HasPrefix(name, "books/") {
			return err
		}
		content, err := os.ReadFile(filepath.Join(library, name))
		if err != nil {
			return err
		}
		if !inHistory {
			f.add(name, hashOf(string(content)))
			return nil
		}
		id, path, isLine := strings.Cut(filepath.Dir(book), "/log/")
		if !isLine {
			return nil
		}
		var line struct{ New string }
		if err := json.Unmarshal(bytes.TrimSpace(content), &line); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		file := "books/" + id + "/" + path
		f.history[file] = append(f.history[file], line.New)
		return nil
	})
}

// check starts the servers again, waits until they have recovered, ends them, and compares what was
// acknowledged with the stores and the records.
func (b *faultBed) check(objects []*object) {
	b.t.Helper()
	for _, s := range b.servers {
		s.start()
	}
	b.awaitSettled()
	for _, s := range b.servers {
		b.endServer(s)
	}
	if got := b.audit("audit", "verify"); got.code != 0 {
		b.t.Errorf("audit verify: exit %d\n%s%s", got.code, got.out, got.errOut)
	}
	stored, err := b.stored()
	if err != nil {
		b.t.Fatal(err)
	}
	c := &comparison{stored: stored, records: b.readRecords(), about: map[string]bool{}}
	known := map[string]bool{}
	for _, o := range objects {
		known[o.name] = true
		c.compare(o)
	}
	for name, states := range stored.objects {
		if !known[name] {
			c.fail(&object{name: name}, "nobody asked for it, but it is stored: %s", states)
		}
	}
	c.findStrangeRecords()
	c.report(b, objects)
}

// endServer ends a server in an orderly way. Whatever it logs is allowed.
func (b *faultBed) endServer(s *faultServer) {
	b.t.Helper()
	s.check(s.running.cmd.Process.Signal(os.Interrupt))
	<-s.running.exit
	if code := s.running.cmd.ProcessState.ExitCode(); code != 0 {
		b.t.Errorf("exit code %d: %s", code, lastLines(s.running.stderr.String()))
	}
}

// comparison compares changes with the stores and the records.
type comparison struct {
	stored   *storedState
	records  recordIndex
	about    map[string]bool // the records that belong to a change
	failures []string
}

// compare compares the changes of one object. Only the last change may have an unknown fate,
// because a caller stops there: so the state says whether that one was made.
func (c *comparison) compare(o *object) {
	states := c.stored.objects[o.name]
	if len(states) > 1 {
		c.fail(o, "it is stored %d times", len(states))
		return
	}
	now := strings.Join(states, "")
	want, made := "", map[*change]bool{}
	for _, ch := range o.changes {
		c.about[ch.tool+" "+ch.record] = true
		if made[ch] = ch.fate == acknowledged || ch.fate == unknown && now == ch.state && now != want; made[ch] {
			want = ch.state
		}
	}
	if now != want {
		c.fail(o, "the stored state is %q, but must be %q", clip(now), clip(want))
		return
	}
	for _, ch := range o.changes {
		c.compareRecords(o, ch, made[ch])
	}
	if strings.HasPrefix(o.name, "books/") {
		c.compareHistory(o, made)
	}
}

// compareRecords checks that a change that was made has exactly one record that says so, and any
// other change none.
func (c *comparison) compareRecords(o *object, ch *change, made bool) {
	say, want := 0, 0
	for _, call := range c.records.calls(ch.tool + " " + ch.record) {
		say += call.saysDone()
	}
	if made {
		want = 1
	}
	if say != want {
		c.fail(o, "%s %s: made %v, but %d records say so", ch.tool, ch.record, made, say)
	}
}

// compareHistory checks that the history of a file has one line for each change that was made.
func (c *comparison) compareHistory(o *object, made map[*change]bool) {
	var want []string
	for _, ch := range o.changes {
		if made[ch] {
			want = append(want, ch.state)
		}
	}
	got := slices.Clone(c.stored.history[o.name])
	if len(got) != len(want) || !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))) {
		c.fail(o, "its history has the states %q, but must have %q", got, want)
	}
}

// findStrangeRecords reports records of changes that no caller sent.
func (c *comparison) findStrangeRecords() {
	for about := range c.records {
		for _, call := range c.records.calls(about) {
			if !c.about[about] && call.saysDone() > 0 {
				c.fail(&object{name: about}, "a record says that it was done, but nobody asked for it: %s", call[0].Time)
			}
		}
	}
}

// fail adds a failure with the story of its object.
func (c *comparison) fail(o *object, format string, args ...any) {
	var story strings.Builder
	fmt.Fprintf(&story, "%s: %s\n  stored: %s\n", o.name, fmt.Sprintf(format, args...), clip(strings.Join(c.stored.objects[o.name], " and ")))
	for _, line := range c.stored.history[o.name] {
		fmt.Fprintf(&story, "  history: %s\n", line)
	}
	for _, ch := range o.changes {
		fmt.Fprintf(&story, "  %s %s: %s, state afterwards %q\n    %s\n%s\n",
			ch.tool, ch.record, ch.fate, clip(ch.state), strings.Join(ch.story, "\n    "), c.records.story(ch))
	}
	c.failures = append(c.failures, story.String())
}

// report fails the test with the shortest stories, and notes what was compared.
func (c *comparison) report(b *faultBed, objects []*object) {
	b.t.Helper()
	counts := map[fate]int{}
	for _, o := range objects {
		for _, ch := range o.changes {
			counts[ch.fate]++
		}
	}
	b.t.Logf("%d changes acknowledged, %d unknown, %d refused", counts[acknowledged], counts[unknown], counts[refused])
	slices.SortFunc(c.failures, func(a, b string) int { return len(a) - len(b) })
	const shown = 6
	for _, story := range c.failures[:min(shown, len(c.failures))] {
		b.t.Error(story)
	}
	if more := len(c.failures) - shown; more > 0 {
		b.t.Errorf("and %d more", more)
	}
}
