package sqlstore_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"remit/internal/engine/audit"
	"remit/internal/stores/sqlstore"
	"remit/internal/toolsets/tasks"
)

// odd has one row or two of each exported table, with what is easily lost: NULL and "", bytes that
// are no text, U+0000, and characters that JSON escapes.
var odd = map[string]string{
	"tasks": `{"claimed_by":"b","completed":true,"created_at":1,"depends_on":"[9]","description":null,"due_date":"2026-01-09","fence":3,"id":7,"lease_until":5,"previous":"{\"title\":\"b\",\"priority\":\"Low\"}","priority":2,"title":"a <b> & \"c\" \u2028 é","updated_at":9007199254740993,"user_id":"ada"}
{"claimed_by":null,"completed":false,"created_at":2,"depends_on":null,"description":"","due_date":null,"fence":0,"id":9,"lease_until":null,"previous":null,"priority":1,"title":"x","updated_at":2,"user_id":"ada"}
{"claimed_by":null,"completed":false,"created_at":2,"depends_on":null,"description":"","due_date":null,"fence":0,"id":8,"lease_until":null,"previous":null,"priority":1,"title":"x","updated_at":2,"user_id":"Zoe"}`,
	"task_lists": `{"newest":2,"revision":41,"total":2,"user_id":"ada"}
{"newest":2,"revision":1,"total":1,"user_id":"Zoe"}`,
	"task_trash": `{"claimed_by":"b","completed":true,"created_at":1,"deleted_at":9,"depends_on":"[7]","description":"d","due_date":null,"fence":4,"id":5,"lease_until":6,"previous":"{}","priority":2,"title":"gone","updated_at":2,"user_id":"ada"}`,
	"task_ids":   `{"last":12}`,
	"outbox":     `{"added_at":1,"body":"{\"time\":\"2026-01-09T10:30:00Z\"}","call":"c","id":3,"owner":"importer"}`,
	"approvals": `{"arguments":{"base64":"/wA="},"asked_seal":"","caller_reason":"","client":"","created_at":1,"decided_at":null,"decided_by":"","digest":"d","expires_at":2,"frontend":"","id":"r1","key":"k","open_key":"k","principal":"p","proof":"","reason":"no\u0000t","seal":"s","session":"","shown":"","spent_at":null,"state":"pending","summary":{"base64":"/w=="},"target":"","tool":"t","version":"1","words":"r1 t p","workspace":"."}
{"arguments":"","asked_seal":"a","caller_reason":"why","client":"c","created_at":1,"decided_at":5,"decided_by":"","digest":"d","expires_at":2,"frontend":"mcp","id":"r2","key":"k","open_key":null,"principal":"p","proof":"{}","reason":"","seal":"s","session":"s","shown":"","spent_at":6,"state":"denied","summary":"","target":"f","tool":"t","version":"1","words":"é","workspace":"/srv"}`,
	"approval_rules":         `{"allow":true,"calls":3,"created_at":1,"digest":"d","expires_at":2,"id":"r1","made_by":"m","principal":"p","proof":"{}","reason":"no\u0000t","request":"q","revoked_at":null,"revoked_by":"","scope":"{}","seal":"s","tool":"t","used":2,"used_at":5,"version":"1","workspace":"."}`,
	"background_tasks":       `{"arguments":"{}","body":null,"cancel_asked":false,"capabilities":"","client":"c\u0000","content":"","created_at":1,"digest":"d","expires_at":2,"face":"mcp","fault":null,"id":"b1","is_error":true,"lease_until":null,"message":"","owner":"","place":"/srv","poll":1,"principal":"p","questions":null,"resume":"","revision":3,"seal":"s","status":"failed","tool":"t","updated_at":2}`,
	"spent_tokens":           `{"expires_at":5,"token":"t"}`,
	"once_keys":              `{"answer":null,"created_at":1,"key":"k","lease_until":7,"principal":"p","request":"r","state":"running","tool":"t"}`,
	"file_accesses":          `{"last_at":5,"path":{"base64":"/w=="},"reads":3,"workspace":"."}`,
	"client_sessions":        `{"client":"c","ended":false,"files":"[]","id":"s1","key":"k","key_hash":{"base64":"/w=="},"last_at":2,"principal":"p","searches":"","started_at":1,"tasks":"[1]","workspace":"."}`,
	"client_sessions_pruned": `{"id":"s0","pruned_at":1,"workspace":"/elsewhere"}`,
	"agent_tokens":           `{"created_at":1,"elicits":true,"expires_at":null,"hash":"h","id":"t1","live_name":null,"made_by":"m","name":"n","rate_per":0,"rate_requests":0,"revoked_at":4,"role":"","scopes":"tasks:read","seal":"s","used_at":null,"user_id":"u"}`,
	"console_sessions":       `{"created_at":1,"expires_at":2,"hash":"h","name":"n","role":"r","seal":"s","seen_at":3}`,
	"console_voids":          `{"until":5,"whose":"w"}`,
	"passkeys":               `{"alone":true,"created_at":1,"credential_id":"c1","name":"n","person":"p","public_key":{"base64":"/w=="},"seal":"s","sign_count":0,"synced":false,"transports":"","used_at":null}`,
}

// exported returns the export of each table, and of each log.
func exported(t *testing.T, db *sqlstore.DB, place string) map[string]string {
	t.Helper()
	found := map[string]string{}
	s, err := db.Snapshot(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	write := func(name string, rows func(*bytes.Buffer) error) {
		var text bytes.Buffer
		if err := rows(&text); err != nil {
			t.Fatal(err)
		}
		found[name] = text.String()
	}
	tables, err := s.Tables(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range tables {
		write(name, func(b *bytes.Buffer) error { _, err := s.WriteTable(t.Context(), name, b); return err })
	}
	memory, err := s.MemoryLogs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, log := range memory {
		write("memory/"+log.Name, func(b *bytes.Buffer) error { return s.WriteMemory(t.Context(), log.Name, b) })
	}
	days, err := s.AuditLogs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, log := range days {
		write("audit/"+log.Name, func(b *bytes.Buffer) error { return s.WriteAudit(t.Context(), log.Name, b) })
	}
	return found
}

// imported fills a new database. Rows of the outbox had another owner before.
func imported(t *testing.T, url, place string, content map[string]string) *sqlstore.DB {
	t.Helper()
	db := open(t, url)
	i, err := db.BeginImport(t.Context(), "source", place)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range tablesOf(t, db) {
		rows := strings.Replace(content[name], `"owner":"importer"`, `"owner":"old"`, 1)
		if _, err := i.Table(t.Context(), name, strings.NewReader(rows)); err != nil {
			t.Fatal(err)
		}
	}
	if err := i.Finish(t.Context(), "importer"); err != nil {
		t.Fatal(err)
	}
	return db
}

func tablesOf(t *testing.T, db *sqlstore.DB) []string {
	t.Helper()
	s, err := db.Snapshot(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	tables, err := s.Tables(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return tables
}

func oddContent() map[string]string {
	content := map[string]string{}
	for name, rows := range odd {
		content[name] = rows + "\n"
	}
	return content
}

// A table that has no row in odd would not be tested: add one.
func TestExportsAreTheSameOnBothDatabases(t *testing.T) {
	first := imported(t, newFile(t), "/here", oddContent())
	for _, name := range tablesOf(t, first) {
		if odd[name] == "" {
			t.Errorf("table %s is exported, but not tested", name)
		}
	}
	want := exported(t, first, "/here")
	content := oddContent()
	content["tasks"], content["task_lists"] = reordered(content["tasks"], 2, 0, 1), reordered(content["task_lists"], 1, 0)
	same(t, "SQLite", content, want)
	second := imported(t, newDatabase(t), "shared", want)
	same(t, "PostgreSQL", want, exported(t, second, "shared"))
	third := imported(t, newFile(t), "/there", exported(t, second, "shared"))
	same(t, "SQLite again", want, exported(t, third, "/there"))
	for name, db := range map[string]*sqlstore.DB{"SQLite": first, "PostgreSQL": second} {
		task, err := db.Tasks().Add(t.Context(), tasks.New{UserID: "ada", Title: "next"}, noon())
		if err != nil || task.ID != 13 {
			t.Errorf("%s: the next task has id %d, not 13 (%v)", name, task.ID, err)
		}
	}
}

// reordered returns lines in another order.
func reordered(text string, order ...int) string {
	lines, out := strings.SplitAfter(text, "\n"), ""
	for _, i := range order {
		out += lines[i]
	}
	return out
}

func same(t *testing.T, what string, want, got map[string]string) {
	t.Helper()
	for name := range want {
		if got[name] != want[name] {
			t.Errorf("%s: %s is\n%s\nnot\n%s", what, name, got[name], want[name])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s: %d exports, not %d", what, len(got), len(want))
	}
}

// A snapshot shows one moment, whatever others write.
func TestSnapshotStays(t *testing.T) {
	engines(t, func(t *testing.T, url func(t *testing.T) string) {
		db := open(t, url(t))
		add := func() {
			if _, err := db.Tasks().Add(t.Context(), tasks.New{UserID: "ada", Title: "x"}, noon()); err != nil {
				t.Fatal(err)
			}
		}
		add()
		s, err := db.Snapshot(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		add()
		var text bytes.Buffer
		if rows, err := s.WriteTable(t.Context(), "tasks", &text); err != nil || rows != 1 {
			t.Errorf("%d rows, not 1 (%v)", rows, err)
		}
		text.Reset()
		if _, err := s.WriteTable(t.Context(), "task_lists", &text); err != nil || !strings.Contains(text.String(), `"total":1,`) {
			t.Errorf("the list is %s (%v)", text.String(), err)
		}
	})
}

// manyTasks returns the export of n tasks.
func manyTasks(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"claimed_by":null,"completed":false,"created_at":%d,"depends_on":null,"description":null,"due_date":null,"fence":0,"id":%d,`+
			`"lease_until":null,"previous":null,"priority":1,"title":"t%d","updated_at":1,"user_id":"ada"}`+"\n", i, i+1, i)
	}
	return b.String()
}

var errCut = errors.New("the connection is gone")

// cutReader fails after some bytes.
type cutReader struct {
	*strings.Reader
	left int
}

func (r *cutReader) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, errCut
	}
	n, err := r.Reader.Read(p[:min(len(p), r.left)])
	r.left -= n
	return n, err
}

func TestImportGoesOnWhereItStopped(t *testing.T) {
	engines(t, func(t *testing.T, url func(t *testing.T) string) {
		at := url(t)
		db, text := open(t, at), manyTasks(12_000)
		begin := func(source string) (*sqlstore.Import, error) { return db.BeginImport(t.Context(), source, "") }
		i, err := begin("one")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := i.Table(t.Context(), "tasks", &cutReader{strings.NewReader(text), len(text) * 2 / 3}); !errors.Is(err, errCut) {
			t.Fatalf("error %v", err)
		}
		stored := 0
		count := func() {
			raw(t, at, func(db *sql.DB) error {
				return db.QueryRowContext(context.Background(), "SELECT count(*) FROM tasks").Scan(&stored)
			})
		}
		if count(); stored == 0 || stored == 12_000 {
			t.Fatalf("%d rows are stored after the interruption", stored)
		}
		if m, err := db.Meta(t.Context(), ""); err != nil || m.Importing != "one" {
			t.Errorf("importing %q (%v)", m.Importing, err)
		}
		if _, err := begin("another"); !errors.Is(err, sqlstore.ErrNotEmpty) {
			t.Errorf("another source: %v", err)
		}
		if i, err = begin("one"); err != nil {
			t.Fatal(err)
		}
		got, err := i.Table(t.Context(), "tasks", strings.NewReader(text))
		if err != nil || got.Rows != 12_000 {
			t.Fatalf("%+v, %v", got, err)
		}
		changed := strings.Replace(text, `"t5"`, `"u5"`, 1)
		if _, err := i.Table(t.Context(), "tasks", strings.NewReader(changed)); !errors.Is(err, sqlstore.ErrSourceChanged) {
			t.Fatalf("a changed source: %v", err)
		}
		if _, err := i.Table(t.Context(), "tasks", strings.NewReader(changed)); err != nil {
			t.Fatal(err)
		}
		if err := i.Finish(t.Context(), "importer"); err != nil {
			t.Fatal(err)
		}
		if exported(t, db, "")["tasks"] != changed {
			t.Error("the table is not what was imported")
		}
		if _, err := begin("one"); !errors.Is(err, sqlstore.ErrNotEmpty) {
			t.Errorf("a finished import begins again: %v", err)
		}
	})
}

func TestInvalidRowsAreRefused(t *testing.T) {
	row := `{"completed":true,"created_at":1,"description":null,"due_date":null,"id":7,"priority":2,"title":"x","updated_at":1,"user_id":"a"}` + "\n"
	engines(t, func(t *testing.T, url func(t *testing.T) string) {
		db := open(t, url(t))
		i, err := db.BeginImport(t.Context(), "s", "")
		if err != nil {
			t.Fatal(err)
		}
		for what, text := range map[string]string{
			"cut off": row[:40], "no JSON": "x\n", "a list": "[1]\n", "no end": strings.TrimSuffix(row, "\n"),
			"unknown column": strings.Replace(row, "title", "titel", 1),
			"a text":         strings.Replace(row, `"id":7`, `"id":"7"`, 1),
			"a number":       strings.Replace(row, `"x"`, `7`, 1),
			"no bytes":       strings.Replace(row, `"x"`, `{"base64":"*"}`, 1),
			"null":           strings.Replace(row, `"x"`, `null`, 1),
			"two sets":       row + strings.Replace(row, `"title":"x",`, "", 1),
		} {
			if _, err := i.Table(t.Context(), "tasks", strings.NewReader(text)); err == nil {
				t.Errorf("%s is accepted", what)
			}
		}
		if _, err := i.Table(t.Context(), "meta", strings.NewReader("")); err == nil {
			t.Error("a table that is not exported is accepted")
		}
	})
}

// The next row of a table that PostgreSQL numbers comes after the imported ones.
func TestNumberedRows(t *testing.T) {
	at := newDatabase(t)
	db := open(t, at)
	behind(t, at, "CREATE TABLE numbered (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body BYTEA)")
	i, err := db.BeginImport(t.Context(), "s", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := i.Table(t.Context(), "numbered", strings.NewReader(`{"body":"x","id":41}`+"\n")); err != nil {
		t.Fatal(err)
	}
	if err := i.Finish(t.Context(), "importer"); err != nil {
		t.Fatal(err)
	}
	behind(t, at, "INSERT INTO numbered (body) VALUES ('y')")
	if got := exported(t, db, "")["numbered"]; got != `{"body":"x","id":41}`+"\n"+`{"body":"y","id":42}`+"\n" {
		t.Errorf("the table is %s", got)
	}
}

func TestLogsAreImported(t *testing.T) {
	db := open(t, newDatabase(t))
	records := sqlstore.Source(func(context.Context) (*sqlstore.DB, error) { return db, nil })
	i, err := db.BeginImport(t.Context(), "s", "")
	if err != nil {
		t.Fatal(err)
	}
	hash := audit.InitialHash
	days := map[string]string{}
	for n := range 600 {
		day := fmt.Sprintf("2026-01-0%d", 1+n/300)
		line := audit.Seal(hash, []byte(fmt.Sprintf(`{"time":"%sT10:00:00Z","n":%d}`, day, n)))
		days[day] += string(line) + "\n"
		hash = audit.HashOf(line)
	}
	for _, day := range []string{"2026-01-01", "2026-01-02"} {
		if err := i.Audit(t.Context(), day, strings.NewReader(days[day])); err != nil {
			t.Fatal(err)
		}
	}
	notes := strings.Repeat("one\n\ntwo é\n", 300)
	if err := i.Memory(t.Context(), "notes.md", strings.NewReader(notes)); err != nil {
		t.Fatal(err)
	}
	if err := i.Finish(t.Context(), "importer"); err != nil {
		t.Fatal(err)
	}
	log := &audit.Log{Storage: records.Records(nil)}
	if err := log.Write(t.Context(), &audit.Record{Time: noon(), Tool: "x/y"}, true); err != nil {
		t.Fatal(err)
	}
	if n, err := audit.Verify(t.Context(), records.RecordReader()); err != nil || n != 601 {
		t.Errorf("%d records are intact (%v)", n, err)
	}
	got := exported(t, db, "")
	if got["memory/notes.md"] != notes || got["audit/2026-01-01"] != days["2026-01-01"] {
		t.Error("a log is not what was imported")
	}
}

// While the data is held, nobody changes it. Data that was moved elsewhere is not changed either,
// also by a server that has opened it before.
func TestMovedDataIsNotChanged(t *testing.T) {
	engines(t, func(t *testing.T, url func(t *testing.T) string) {
		at := url(t)
		db := open(t, at)
		add := func() error {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			_, err := db.Tasks().Add(ctx, tasks.New{UserID: "ada", Title: "x"}, noon())
			return err
		}
		hold := func() *sqlstore.Hold {
			h, err := db.Hold(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return h
		}
		if err := db.Ping(t.Context()); err != nil {
			t.Fatal(err)
		}
		if used, err := sqlstore.InUse(t.Context(), at); err != nil || !used {
			t.Errorf("in use: %v (%v)", used, err)
		}
		h := hold()
		if add() == nil {
			t.Error("a task was added while the data was held")
		}
		before := exported(t, db, "")
		h.Release()
		if _, err := db.Tasks().Add(t.Context(), tasks.New{UserID: "ada", Title: "x"}, noon()); err != nil || before["tasks"] != "" {
			t.Fatalf("%s, %v", before["tasks"], err)
		}
		if err := hold().Move(t.Context(), "postgres://host/new"); err != nil {
			t.Fatal(err)
		}
		if m, err := db.Meta(t.Context(), ""); err != nil || m.Moved != "postgres://host/new" {
			t.Errorf("moved to %q (%v)", m.Moved, err)
		}
		if _, err := db.Tasks().Add(t.Context(), tasks.New{UserID: "ada", Title: "x"}, noon()); db.Shared() && err == nil {
			t.Error("a task was added after the data was moved")
		}
		if err := db.Reopen(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := db.Tasks().Add(t.Context(), tasks.New{UserID: "ada", Title: "x"}, noon()); err != nil {
			t.Error(err)
		}
	})
}

func TestNobodyUsesAClosedDatabase(t *testing.T) {
	at := newFile(t)
	open(t, at).Close()
	if used, err := sqlstore.InUse(t.Context(), at); err != nil || used {
		t.Errorf("in use: %v (%v)", used, err)
	}
}

func FuzzImportTable(f *testing.F) {
	for name, rows := range odd {
		f.Add(name, rows+"\n")
	}
	db, err := sqlstore.Open(context.Background(), "sqlite://"+f.TempDir()+"/remit.db")
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { db.Close() })
	i, err := db.BeginImport(context.Background(), "s", "/here")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, name, text string) {
		got, err := i.Table(t.Context(), name, strings.NewReader(text))
		if err == nil && got.Rows != int64(strings.Count(text, "\n")) && name != "task_ids" {
			t.Errorf("%d rows of %q", got.Rows, text)
		}
	})
}
