package books_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/engine/audit"
	"remit/internal/engine/enginetest"
	"remit/internal/stores/blob"
	"remit/internal/stores/blob/s3test"
	"remit/internal/toolsets/books"
)

const (
	interruptedPath = "a.md"
	interruptedKey  = "books/abc/" + interruptedPath
)

// bed is a library and its records, which processes share that die.
type bed struct {
	t     *testing.T
	store books.Store

	mu    sync.Mutex
	dir   string          // of the records
	last  string          // the hash of the last record
	made  map[string]int  // the changes of the file that were made, by call
	acked map[string]bool // the calls that succeeded
	dead  map[string]bool // processes
	count int             // of processes
}

// stride is how far the next point is at which a test of onEachStore kills a process. Only full
// runs test all points on S3, where each takes long.
func stride(t *testing.T) int {
	t.Helper()
	if os.Getenv("REMIT_FULL") != "true" && strings.HasSuffix(t.Name(), "/S3") {
		return 3
	}
	return 1
}

// onEachStore runs a test on disk and on S3.
func onEachStore(t *testing.T, check func(t *testing.T, newBed func() *bed)) {
	bedOn := func(t *testing.T, store books.Store) *bed {
		return &bed{t: t, store: store, dir: t.TempDir(), last: audit.InitialHash, made: map[string]int{}, acked: map[string]bool{}, dead: map[string]bool{}}
	}
	t.Run("disk", func(t *testing.T) {
		t.Parallel()
		check(t, func() *bed {
			disk, err := blob.OpenDisk(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			return bedOn(t, disk)
		})
	})
	t.Run("S3", func(t *testing.T) {
		t.Parallel()
		server := s3test.Start(t)
		check(t, func() *bed {
			s3, err := blob.OpenS3(t.Context(), server.URL(server.Bucket(t), ""), server.Getenv)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s3.Close)
			return bedOn(t, s3)
		})
	})
}

// Ready implements audit.Storage.
func (b *bed) Ready(string) error { return nil }

// Append implements audit.Storage.
func (b *bed) Append(day string, record []byte, _ bool) (func(context.Context) error, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f, err := os.OpenFile(filepath.Join(b.dir, audit.FileOf(day)), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	line := audit.Seal(b.last, record)
	b.last = audit.HashOf(line)
	_, err = f.Write(append(line, '\n'))
	return func(context.Context) error { return nil }, errors.Join(err, f.Close())
}

// Replace implements audit.Storage.
func (b *bed) Replace(string, []byte, string) error { return errors.New("there is no outbox") }

// mortal is a process that dies after it has stored a number of objects and records. Its store and
// its records do nothing then.
type mortal struct {
	books.Store
	bed     *bed
	name    string
	log     *audit.Log
	library *books.Library
	engine  *engine.Engine
	// Called before the file is described, and before it is changed; nil does nothing.
	onLook, onChange func()

	mu    sync.Mutex
	left  int            // after how many changes it dies; -1 is never
	queue []audit.Record // records that nobody waits for
}

var errDead = errors.New("the process is dead")

// start starts a process that dies after a number of changes; -1 is never.
func (b *bed) start(left int) *mortal {
	b.t.Helper()
	b.mu.Lock()
	b.count++
	m := &mortal{Store: b.store, bed: b, name: fmt.Sprintf("process%d", b.count), log: &audit.Log{Storage: b}, left: left}
	b.mu.Unlock()
	m.library = &books.Library{
		Stores: func(context.Context) (books.Stores, error) { return books.Stores{Main: m}, nil },
		Now:    time.Now, Log: slog.New(slog.DiscardHandler),
	}
	sets := contracts(b.t)
	tools := &books.Tools{Library: m.library, Links: links{}, Now: time.Now, Served: sets}
	m.engine = enginetest.Serve(b.t, sets, engine.Handlers{Catalog: sets, Toolsets: []engine.Toolset{tools.Toolset()}},
		engine.Options{Audit: auditor{m}, DeadlineFactor: 100})
	return m
}

// act does something unless the process is dead, which it may be afterwards.
func (m *mortal) act(do func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.left == 0 {
		return errDead
	}
	err := do()
	if m.left > 0 {
		m.left--
	}
	if m.left == 0 {
		m.die()
		return errDead
	}
	return err
}

// kill ends the process.
func (m *mortal) kill() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.left = 0
	m.die()
}

func (m *mortal) die() {
	m.bed.mu.Lock()
	defer m.bed.mu.Unlock()
	m.bed.dead[m.name], m.queue = true, nil
}

// auditor stores the records of a process.
type auditor struct{ *mortal }

func (a auditor) Ready(time.Time) error { return nil }

// Write stores a durable record after those before it. The others wait for it.
func (a auditor) Write(ctx context.Context, r *audit.Record, durable bool) (err error) {
	if r.Outcome == audit.Begun {
		r.Owner = a.name
	}
	if durable {
		err = a.act(func() error { return a.flush(ctx, *r) })
	} else {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.left == 0 {
			return errDead
		}
		a.queue = append(a.queue, *r)
	}
	if err == nil && r.Outcome == "ok" {
		a.bed.mu.Lock()
		defer a.bed.mu.Unlock()
		a.bed.acked[r.Call] = true
	}
	return err
}

// flush stores the records that nobody waits for, and some more.
func (m *mortal) flush(ctx context.Context, more ...audit.Record) error {
	for _, r := range append(m.queue, more...) {
		if err := m.log.Write(ctx, &r, false); err != nil {
			return err
		}
	}
	m.queue = nil
	return nil
}

// noteMade notes a change of the file by the call of the context.
func (m *mortal) noteMade(ctx context.Context, key string, made bool) {
	if key != interruptedKey || !made {
		return
	}
	m.bed.mu.Lock()
	defer m.bed.mu.Unlock()
	m.bed.made[audit.EffectFrom(ctx).Call]++
}

func (m *mortal) Stat(ctx context.Context, key string) (books.Object, error) {
	if hook := m.onLook; hook != nil && key == interruptedKey {
		m.onLook = nil
		hook()
	}
	return m.Store.Stat(ctx, key)
}

func (m *mortal) Put(ctx context.Context, key string, r io.Reader, size int64, c books.Cond) (o books.Object, created bool, err error) {
	m.beforeChange(key)
	err = m.act(func() error {
		o, created, err = m.Store.Put(ctx, key, r, size, c)
		m.noteMade(ctx, key, err == nil)
		return err
	})
	return o, created, err
}

func (m *mortal) Copy(ctx context.Context, from, to, hash string) error {
	return m.act(func() error { return m.Store.Copy(ctx, from, to, hash) })
}

func (m *mortal) Delete(ctx context.Context, key string, c books.Cond) (existed bool, err error) {
	m.beforeChange(key)
	err = m.act(func() error {
		existed, err = m.Store.Delete(ctx, key, c)
		m.noteMade(ctx, key, existed)
		return err
	})
	return existed, err
}

func (m *mortal) beforeChange(key string) {
	if hook := m.onChange; hook != nil && key == interruptedKey {
		m.onChange = nil
		hook()
	}
}

// must stores a content, or deletes the file if it is "", and the record of it.
func (m *mortal) must(content string) {
	m.bed.t.Helper()
	m.do(content)
	if err := m.flush(m.bed.t.Context()); err != nil {
		m.bed.t.Fatal(err)
	}
}

// do writes a content, or deletes the file if it is "".
func (m *mortal) do(content string) {
	m.bed.t.Helper()
	tool, text := "write_content", fmt.Sprintf(`{"book_id":"abc","path":%q,"content":%q}`, interruptedPath, content)
	if content == "" {
		tool, text = "delete_content", fmt.Sprintf(`{"book_id":"abc","path":%q}`, interruptedPath)
	}
	args, err := jsontree.Parse([]byte(text))
	if err == nil {
		_, err = m.engine.Call(context.Background(), engine.Call{Tool: tool, Args: args, Principal: "ann", Frontend: "test"})
	}
	if err != nil {
		m.bed.t.Error(err)
	}
}

// settle lets a process settle the calls of dead ones. It returns how many it left.
func (m *mortal) settle() (left int) {
	b := m.bed
	b.t.Helper()
	b.mu.Lock()
	dead := map[string]bool{}
	for name := range b.dead {
		dead[name] = true
	}
	b.mu.Unlock()
	r := &audit.Recovery{
		Records: b.records(), Writer: auditor{m}, Finder: func(string) audit.Finder { return m.library },
		Now: func() time.Time { return time.Now().Add(time.Hour) }, // all requests have expired
	}
	_, left, err := r.Settle(b.t.Context(), nil, func(c *audit.AnnouncedCall) bool { return dead[c.Owner] })
	if err != nil && !errors.Is(err, errDead) {
		b.t.Error(err)
	}
	return left
}

func (b *bed) records() audit.Folder { return audit.Folder{FS: os.DirFS(b.dir)} }

// check compares the records with what happened, with the history and with the file. If exact is
// false, calls that change the same content to the same may be mixed up.
func (b *bed) check(exact bool, story string) {
	b.t.Helper()
	last := b.start(-1)
	for try := 0; last.settle() > 0; try++ {
		if try == 3 {
			b.t.Fatalf("%s: calls stay open", story)
		}
	}
	var ledger audit.Ledger
	if err := ledger.ReadAll(b.t.Context(), b.records()); err != nil {
		b.t.Fatal(err)
	}
	if open := ledger.Open(); len(open) > 0 {
		b.t.Errorf("%s: %d calls are not settled", story, len(open))
	}
	made, acked, total := map[string]int{}, b.outcomes(), 0
	for _, a := range ledger.Changes {
		if a.State == audit.Made && a.Op != "register" {
			made[a.Call.ID]++
		}
	}
	for call, n := range made {
		total += n
		if exact && n != b.made[call] {
			b.t.Errorf("%s: call %s has made %d changes, but the records say %d", story, call, b.made[call], n)
		}
	}
	for call, n := range b.made {
		total -= n
		if exact && made[call] != n {
			b.t.Errorf("%s: call %s has made %d changes, but the records say %d", story, call, n, made[call])
		}
	}
	if total != 0 {
		b.t.Errorf("%s: the records have %d changes too many", story, total)
	}
	for call := range b.acked {
		if outcome := acked[call]; exact && call != "" && outcome != "ok" {
			b.t.Errorf("%s: call %s has succeeded, but its record says %q", story, call, outcome)
		}
	}
	lines, err := last.library.HistoryLines(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	if len(ledger.Changes) == 0 {
		return
	}
	found, err := last.library.Prove(b.t.Context(), lines, ledger.Changes, func(int, int) {})
	if err != nil || len(found.Problems) > 0 {
		b.t.Errorf("%s: %q, %v", story, found.Problems, err)
	}
	if b.t.Failed() {
		b.t.Fatalf("%s: the records are\n%s", story, b.summary())
	}
}

// text returns all records.
func (b *bed) text() (text string) {
	files, err := filepath.Glob(filepath.Join(b.dir, "*"))
	if err != nil {
		b.t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			b.t.Fatal(err)
		}
		text += string(data)
	}
	return text
}

// summary returns what the records say, in short.
func (b *bed) summary() string {
	var text strings.Builder
	for line := range strings.Lines(b.text()) {
		r, err := jsontree.ParseTrusted([]byte(line))
		if err != nil {
			b.t.Fatal(err)
		}
		field := func(v jsontree.Value, key string) string { f := v.Field(key); return f.Text }
		effect, undone := r.Field("effect"), r.Field("undone")
		fmt.Fprintf(&text, "%.6s %s %s undone %s %s %.6s>%.6s\n", field(r, "call"), field(r, "owner"), field(r, "outcome"), undone.Append(nil),
			field(effect, "op"), field(effect, "old"), field(effect, "new"))
	}
	return text.String()
}

// outcomes returns the last outcome of each call.
func (b *bed) outcomes() map[string]string {
	b.t.Helper()
	found := map[string]string{}
	for line := range strings.Lines(b.text()) {
		r, err := jsontree.ParseTrusted([]byte(line))
		if err != nil {
			b.t.Fatal(err)
		}
		call, outcome := r.Field("call"), r.Field("outcome")
		found[call.Text] = outcome.Text
	}
	return found
}

// TestInterruptedCall kills a process at each step of a call. Another process may change the same
// file before a third one settles the call, which it does completely, or dies at each of its steps.
func TestInterruptedCall(t *testing.T) {
	onEachStore(t, func(t *testing.T, newBed func() *bed) {
		for _, before := range []string{"", "one"} {
			for _, call := range []string{"", "one", "two"} {
				for _, next := range []string{"nothing", "", "one", "two", "six"} {
					for step := 1; ; step += stride(t) {
						b := newBed()
						first := b.start(-1)
						if before != "" {
							first.must(before)
						}
						victim := b.start(step)
						victim.do(call)
						done := victim.left != 0
						victim.kill()
						if next != "nothing" {
							first.must(next)
						}
						story := fmt.Sprintf("%q becomes %q, dead after %d, then %q", before, call, step, next)
						b.start(step).settle()
						b.check(true, story)
						if done {
							break
						}
					}
				}
			}
		}
	})
}

// TestInterruptedDeletes kills two processes that delete the same file at the same time: the one
// that announces its change last has got as far as each step.
func TestInterruptedDeletes(t *testing.T) {
	onEachStore(t, func(t *testing.T, newBed func() *bed) {
		for step := 1; step <= 3; step++ {
			b := newBed()
			b.start(-1).must("one")
			first, second := b.start(-1), b.start(step)
			first.onChange = func() { second.do("") }
			first.do("")
			first.kill()
			second.kill()
			b.check(step < 3, fmt.Sprintf("the other is dead after %d", step))
		}
	})
}

// TestChangedWhileSettled lets another process change a file after recovery has read the records,
// and before it looks at the file.
func TestChangedWhileSettled(t *testing.T) {
	onEachStore(t, func(t *testing.T, newBed func() *bed) {
		for _, flushed := range []bool{false, true} {
			for step := 1; step <= 4; step++ {
				b := newBed()
				live := b.start(-1)
				live.must("one")
				victim := b.start(step)
				victim.do("")
				victim.kill()
				settler := b.start(-1)
				settler.onLook = func() {
					live.do("")
					live.do("two")
					live.do("")
					if flushed {
						live.must("six")
					}
				}
				settler.settle()
				live.must("ten")
				b.check(true, fmt.Sprintf("dead after %d, flushed %v", step, flushed))
			}
		}
	})
}

// TestChangesOutOfOrder lets a process announce that it creates a file, which others create and
// delete before it does.
func TestChangesOutOfOrder(t *testing.T) {
	onEachStore(t, func(t *testing.T, newBed func() *bed) {
		b := newBed()
		first, second := b.start(-1), b.start(-1)
		first.onChange = func() {
			second.must("two")
			second.must("")
		}
		first.must("one")
		b.check(true, "created, deleted and created")
	})
}

// TestManyInterruptedCalls lets processes change a file with several callers each, and die at any
// step, while others settle the calls of those that are dead, and die too.
func TestManyInterruptedCalls(t *testing.T) {
	onEachStore(t, func(t *testing.T, newBed func() *bed) {
		for seed := 0; seed < 10; seed += stride(t) {
			random := rand.New(rand.NewPCG(uint64(seed), 0))
			b := newBed()
			for range 4 {
				m := b.start(1 + random.IntN(40))
				var all sync.WaitGroup
				for caller := range 3 {
					contents := []string{"one", "two", "", "six", ""}
					random.Shuffle(len(contents), func(i, j int) { contents[i], contents[j] = contents[j], contents[i] })
					all.Go(func() {
						for _, content := range slices.Repeat(contents, 3) {
							if caller > 0 || content != "six" {
								m.do(content)
							}
						}
					})
				}
				all.Go(func() { m.settle() })
				all.Wait()
				m.kill()
			}
			b.check(true, fmt.Sprintf("seed %d", seed))
		}
	})
}
