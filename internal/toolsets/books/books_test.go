package books_test

import (
	"context"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/engine/enginetest"
	"remit/internal/stores/blob"
	"remit/internal/toolsets/books"
)

// links creates URLs that nobody serves.
type links struct{}

func (links) Asset(_ context.Context, key string) (string, error) {
	return "https://cdn.example/" + key, nil
}

func (links) Upload(_ context.Context, u books.Upload) (books.Link, error) {
	return hourLink("https://files.example/upload/" + u.Key), nil
}

func (links) Archive(_ context.Context, bookID string) (books.Link, error) {
	return hourLink("https://files.example/archives/" + bookID + ".zip"), nil
}

// hourLink returns a link that lives for an hour.
func hourLink(url string) books.Link {
	now := time.Now().UTC().Truncate(time.Second)
	return books.Link{URL: url, Issued: now, Expires: now.Add(books.LinkTTL)}
}

// testServer is an engine that serves the books of a folder.
type testServer struct {
	*engine.Engine
	dir     string
	library *books.Library
	stores  books.Stores
	err     error // returned when the stores are opened
	said    *lines
	hands   int // number of files written by given
}

// lines collects log output.
type lines struct{ text []byte }

func (l *lines) Write(p []byte) (int, error) {
	l.text = append(l.text, p...)
	return len(p), nil
}

// written loads the contract files themselves instead of the generated catalog, so that a test sees
// a change at once.
var written = sync.OnceValues(func() ([]*contract.Set, error) { return contract.LoadAll(os.DirFS("contracts")) })

func contracts(t testing.TB) []*contract.Set {
	t.Helper()
	sets, err := written()
	if err != nil {
		t.Fatal(err)
	}
	return sets
}

func serve(t testing.TB) *testServer {
	t.Helper()
	d := &testServer{dir: t.TempDir(), said: &lines{}}
	disk, err := blob.OpenDisk(d.dir)
	if err != nil {
		t.Fatal(err)
	}
	d.stores.Main = disk
	d.library = &books.Library{
		Stores: func(context.Context) (books.Stores, error) { return d.stores, d.err },
		Now:    time.Now, Log: slog.New(slog.NewTextHandler(d.said, nil)),
	}
	sets := contracts(t)
	tools := &books.Tools{Library: d.library, Links: links{}, Now: time.Now, Served: sets}
	d.Engine = enginetest.Serve(t, sets, engine.Handlers{Catalog: sets, Toolsets: []engine.Toolset{tools.Toolset()}}, engine.Options{})
	return d
}

// call returns the answer to a call, successful or not.
func (d *testServer) call(t testing.TB, tool, args string) jsontree.Value {
	t.Helper()
	answer, _ := d.answer(t, tool, args)
	return answer
}

func (d *testServer) answer(t testing.TB, tool, args string) (jsontree.Value, engine.Result) {
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
	return answer, result
}

// does returns the answer to a call that must succeed.
func (d *testServer) does(t testing.TB, tool, args string) jsontree.Value {
	t.Helper()
	answer, result := d.answer(t, tool, args)
	if result.Err != nil {
		t.Fatalf("%s: %s", tool, result.Body)
	}
	return answer
}

// fails checks the complete error of a call.
func (d *testServer) fails(t testing.TB, tool, args, want string) {
	t.Helper()
	answer := d.call(t, tool, args)
	if got := string(answer.Append(nil)); got != want {
		t.Errorf("%s %s gives\n%s, want\n%s", tool, args, got, want)
	}
}

func text(v jsontree.Value) string { return string(v.Append(nil)) }

// field returns one field of the answer to a call that must succeed, as JSON.
func (d *testServer) field(t testing.TB, name, tool, args string) string {
	t.Helper()
	answer := d.does(t, tool, args)
	return text(answer.Field(name))
}
