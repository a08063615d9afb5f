package books_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"remit/internal/contract"
	"remit/internal/stores/blob"
	"remit/internal/toolsets/books"
)

// faulty is a store that fails for chosen operations and keys.
type faulty struct {
	books.Store
	name string // "" means the name of the wrapped store
	fail func(act, key string) error
}

var errBroken = errors.New("disk /srv/library is on fire")

func (f *faulty) fault(act, key string) error {
	if f.fail == nil {
		return nil
	}
	return f.fail(act, key)
}

func (f *faulty) Name() string {
	if f.name != "" {
		return f.name
	}
	return f.Store.Name()
}

func (f *faulty) Open(ctx context.Context, key string) (*books.Body, error) {
	if err := f.fault("open", key); err != nil {
		return nil, err
	}
	return f.Store.Open(ctx, key)
}

func (f *faulty) Stat(ctx context.Context, key string) (books.Object, error) {
	if err := f.fault("stat", key); err != nil {
		return books.Object{}, err
	}
	return f.Store.Stat(ctx, key)
}

func (f *faulty) Put(ctx context.Context, key string, r io.Reader, size int64, c books.Cond) (books.Object, bool, error) {
	if err := f.fault("put", key); err != nil {
		return books.Object{}, false, err
	}
	return f.Store.Put(ctx, key, r, size, c)
}

func (f *faulty) Delete(ctx context.Context, key string, c books.Cond) (bool, error) {
	if err := f.fault("delete", key); err != nil {
		return false, err
	}
	return f.Store.Delete(ctx, key, c)
}

// onFaulty returns a server whose store fails as fail decides.
func onFaulty(t *testing.T, fail func(act, key string) error) *testServer {
	d := serve(t)
	d.stores.Main = &faulty{Store: d.stores.Main, fail: fail}
	return d
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// log returns the changes of a book, the oldest first, as "op by old new" with shortened hashes.
func (d *testServer) log(t *testing.T, bookID, path string) []string {
	t.Helper()
	changes, err := d.library.History(t.Context(), bookID, path, 100)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, c := range slices.Backward(changes) {
		lines = append(lines, fmt.Sprintf("%s %s %.6s %.6s", c.Action, c.By, c.Old, c.New))
	}
	return lines
}

// stored lists the keys below a prefix.
func (d *testServer) stored(t *testing.T, prefix string) []string {
	t.Helper()
	var keys []string
	for object, err := range d.stores.Main.List(t.Context(), prefix) {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, object.Key)
	}
	return keys
}

func TestEveryChangeIsInTheHistory(t *testing.T) {
	d := serve(t)
	write := func(content string) {
		d.does(t, "write_content", fmt.Sprintf(`{"book_id":"abc","path":"a.md","content":%q}`, content))
	}
	write("one")
	write("two")
	write("two") // changes nothing
	d.does(t, "delete_content", `{"book_id":"abc","path":"a.md"}`)
	d.does(t, "delete_content", `{"book_id":"abc","path":"a.md"}`) // changes nothing
	write("one")
	d.does(t, "write_summary", `{"book_id":"abc","chapter_id":"chapter-01","content":"s"}`)
	want := []string{
		fmt.Sprintf("write ann  %.6s", hash("one")), fmt.Sprintf("write ann %.6s %.6s", hash("one"), hash("two")),
		fmt.Sprintf("delete ann %.6s ", hash("two")), fmt.Sprintf("write ann  %.6s", hash("one")),
	}
	if got := d.log(t, "abc", "a.md"); !slices.Equal(got, want) {
		t.Errorf("the history is %q, want %q", got, want)
	}
	for _, text := range []string{"one", "two"} {
		data, err := os.ReadFile(filepath.Join(d.dir, ".history/abc/objects", hash(text)))
		if err != nil || string(data) != text {
			t.Errorf("%q is kept as %q, error %v", text, data, err)
		}
	}
}

// TestRefusedWritesLeaveNothing: a refused write leaves no file, no history record and no
// registered book.
func TestRefusedWritesLeaveNothing(t *testing.T) {
	d := serve(t)
	d.call(t, "write_content", `{"book_id":"abc","path":"a.md","content":"x","file_hash":"`+hash("other")+`"}`)
	d.call(t, "write_content", `{"book_id":"abc","path":"../a.md","content":"x"}`)
	d.call(t, "upload_asset", `{"book_id":"abc","asset_type":"images","filename":"a.png","binary_data":"?"}`)
	// Returns an upload URL.
	d.call(t, "upload_asset", `{"book_id":"abc","asset_type":"images","filename":"a.png","file_size":20000000}`)
	d.does(t, "delete_content", `{"book_id":"abc","path":"a.md"}`)
	if got := d.stored(t, ""); len(got) != 0 {
		t.Errorf("%q is there", got)
	}
}

func TestSizes(t *testing.T) {
	d := serve(t)
	write := func(tool, where string, size int) string {
		answer := d.call(t, tool, fmt.Sprintf(`{"book_id":"abc",%s,"content":"%s"}`, where, strings.Repeat("é", size/2)+strings.Repeat("a", size%2)))
		return text(answer.Field("error"))
	}
	for _, c := range []struct {
		tool, where string
		size        int
		want        string
	}{
		{"write_content", `"path":"a.md"`, 1 << 20, "null"},
		{"write_content", `"path":"b.md"`, 1<<20 + 1, `"ValidationError"`},
		{"write_summary", `"chapter_id":"chapter-01"`, 100 << 10, "null"},
		{"write_summary", `"chapter_id":"chapter-01"`, 100<<10 + 1, `"ValidationError"`},
	} {
		if got := write(c.tool, c.where, c.size); got != c.want {
			t.Errorf("%s of %d bytes gives %s, want %s", c.tool, c.size, got, c.want)
		}
	}
}

// TestRacersWithTheSameHash: one of the writers wins, the others get the hash of the current
// content.
func TestRacersWithTheSameHash(t *testing.T) {
	d := serve(t)
	d.does(t, "write_content", `{"book_id":"abc","path":"a.md","content":"first"}`)
	answers := make([]string, 16)
	var group sync.WaitGroup
	for i := range answers {
		group.Go(func() {
			answer := d.call(t, "write_content", fmt.Sprintf(`{"book_id":"abc","path":"a.md","content":"racer %d","file_hash":%q}`, i, hash("first")))
			answers[i] = text(answer)
		})
	}
	group.Wait()
	read := d.does(t, "read_content", `{"book_id":"abc","path":"a.md"}`)
	now := read.Field("file_hash_sha256").Text
	won := 0
	for _, answer := range answers {
		switch {
		case strings.Contains(answer, `"status":"success"`):
			won++
		case !strings.Contains(answer, `"error":"ConflictError"`) || !strings.Contains(answer, `"actual_hash":"`+now+`"`):
			t.Error(answer)
		}
	}
	if got := d.log(t, "abc", "a.md"); won != 1 || len(got) != 2 {
		t.Errorf("%d won, the history is %q", won, got)
	}
}

// TestBlindWritersAllSucceed: each replaces the content of the one before; the book they all create
// is registered once.
func TestBlindWritersAllSucceed(t *testing.T) {
	d := serve(t)
	var group sync.WaitGroup
	for i := range 16 {
		group.Go(func() {
			answer := d.call(t, "write_content", fmt.Sprintf(`{"book_id":"abc","path":"a.md","content":"writer %d"}`, i))
			if text(answer.Field("status")) != `"success"` {
				t.Error(text(answer))
			}
			d.call(t, "write_summary", fmt.Sprintf(`{"book_id":"book-%02d","chapter_id":"chapter-01","content":"x"}`, i))
		})
	}
	group.Wait()
	changes, err := d.library.History(t.Context(), "abc", "a.md", 100)
	if err != nil || len(changes) != 16 {
		t.Fatalf("%d changes, error %v", len(changes), err)
	}
	for i := range changes[1:] {
		if changes[i].Old != changes[i+1].New {
			t.Errorf("change %d replaces %q, but %q was there", i, changes[i].Old, changes[i+1].New)
		}
	}
	listed, err := d.library.Books(t.Context())
	if err != nil || len(listed) != 17 {
		t.Errorf("%d books, error %v", len(listed), err)
	}
}

// TestFaultsOfTheStore: the caller gets a plain message, the old content stays, and the history has
// no record of changes that were not made.
func TestFaultsOfTheStore(t *testing.T) {
	broken := ""
	d := onFaulty(t, func(act, key string) error {
		if broken != "" && strings.HasPrefix(act+" "+key, broken) {
			return fmt.Errorf("%s: %w", act, errBroken)
		}
		return nil
	})
	d.does(t, "write_content", `{"book_id":"abc","path":"a.md","content":"old"}`)
	const unusable = `{"error":"StorageError","message":"The book storage cannot be used right now; try again"}`
	for _, c := range []struct{ broken, tool, args string }{
		{"put books/abc/a.md", "write_content", `{"book_id":"abc","path":"a.md","content":"new"}`},
		{"put .history", "write_content", `{"book_id":"abc","path":"a.md","content":"new"}`},
		{"stat registry", "write_content", `{"book_id":"abc","path":"a.md","content":"new"}`},
		{"delete books", "delete_content", `{"book_id":"abc","path":"a.md"}`},
		{"put books", "write_summary", `{"book_id":"abc","chapter_id":"chapter-01","content":"new"}`},
		{"put registry", "write_content", `{"book_id":"new-book","path":"a.md","content":"new"}`},
		{"stat registry", "list_books", `{}`},
		{"open books", "read_content", `{"book_id":"abc","path":"a.md"}`},
		{"open books", "grep_search", `{"book_id":"abc","pattern":"x"}`},
		{"stat books", "get_asset", `{"book_id":"abc","asset_type":"images","filename":"a.png"}`},
	} {
		broken = c.broken
		want := unusable
		if strings.Contains(c.args, `"path":"a.md"`) { // every error carries the path of the call
			want = strings.TrimSuffix(unusable, "}") + `,"path":"a.md"}`
		}
		if c.broken == "put registry" {
			want = strings.Replace(want, `"The book`, `"books/new-book/a.md is stored, but its book is not in registry.yaml yet. The book`, 1)
		}
		d.fails(t, c.tool, c.args, want)
	}
	broken = ""
	got := d.field(t, "content", "read_content", `{"book_id":"abc","path":"a.md"}`)
	if lines := d.log(t, "abc", "a.md"); got != `"old"` || len(lines) != 1 {
		t.Errorf("the file holds %s, the history is %q", got, lines)
	}
	d.err = errBroken
	d.fails(t, "list_books", `{}`, unusable)
}

// TestAWriteThatCouldNotRegister: repeating the write completes it.
func TestAWriteThatCouldNotRegister(t *testing.T) {
	down := true
	d := onFaulty(t, func(act, key string) error {
		if down && act == "put" && key == "registry.yaml" {
			return errBroken
		}
		return nil
	})
	const args = `{"book_id":"abc","path":"a.md","content":"new"}`
	d.call(t, "write_content", args)
	down = false
	d.does(t, "write_content", args)
	if got := text(d.does(t, "list_books", `{}`)); !strings.Contains(got, `"abc"`) {
		t.Errorf("the books are %s", got)
	}
}

func TestTwoStores(t *testing.T) {
	d := serve(t)
	other, err := blob.OpenDisk(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	d.stores.Other = &faulty{Store: other, name: "s3"}
	d.given(t, "registry.yaml", "books:\n  - {book_id: far, title: Far, storage_backend: s3, created_at: 2025-01-01, status: active}\n")
	d.given(t, "books/far/left-behind.md", "x\n")
	d.does(t, "write_content", `{"book_id":"far","path":"a.md","content":"x\n"}`)
	d.does(t, "write_content", `{"book_id":"near","path":"a.md","content":"x\n"}`)
	if got := d.field(t, "storage_backend", "read_content", `{"book_id":"far","path":"a.md"}`); got != `"s3"` {
		t.Errorf("it is kept in %s", got)
	}
	if got := text(d.does(t, "grep_search", `{"book_id":"near","pattern":"x","all_books":true}`)); strings.Count(got, "file_path") != 2 || strings.Contains(got, "left-behind") {
		t.Errorf("found %s", got)
	}
	if got := text(d.does(t, "glob_search", `{"book_id":"near","pattern":"**","all_books":true}`)); got != `["books/far/a.md","books/near/a.md"]` {
		t.Errorf("found %s", got)
	}
	if got := d.stored(t, ".history/far"); len(got) != 0 {
		t.Errorf("the history of a book is apart from it: %q", got)
	}
}

// TestTheRegistryIsReadAgain: an edited registry is reloaded, and its errors are logged once.
func TestTheRegistryIsReadAgain(t *testing.T) {
	d := serve(t)
	const entry = "  - {book_id: %s, title: T, storage_backend: fs, created_at: 2025-01-01, status: %s}\n"
	d.given(t, "registry.yaml", "books:\n  - nothing\n"+fmt.Sprintf(entry, "abc", "active"))
	for i := range 3 {
		d.does(t, "write_content", `{"book_id":"abc","path":"a.md","content":"x"}`)
		d.does(t, "list_books", `{}`)
		d.does(t, "write_content", fmt.Sprintf(`{"book_id":"new-%d","path":"a.md","content":"x"}`, i))
	}
	if got := strings.Count(string(d.said.text), "ignoring an invalid entry"); got != 1 {
		t.Errorf("it was logged %d times", got)
	}
	d.given(t, "registry.yaml", "books:\n"+fmt.Sprintf(entry, "abc", "archived"))
	d.fails(t, "write_content", `{"book_id":"abc","path":"a.md","content":"y"}`,
		`{"error":"ValidationError","message":"The book abc is archived, so it cannot be changed; its status is in registry.yaml","field":"book_id","path":"books/abc"}`)
	d.given(t, "registry.yaml", "books: [")
	d.does(t, "read_content", `{"book_id":"abc","path":"a.md"}`)
	d.call(t, "write_content", `{"book_id":"new-book","path":"a.md","content":"y"}`)
	if data, err := os.ReadFile(filepath.Join(d.dir, "registry.yaml")); err != nil || string(data) != "books: [" {
		t.Errorf("the registry is %q, error %v", data, err)
	}
}

// TestABookWithABrokenEntry: such a book can be read but not written to, since its status is
// unknown.
func TestABookWithABrokenEntry(t *testing.T) {
	d := serve(t)
	const registry = "books:\n  - {book_id: abc, title: T, storage_backend: fs, created_at: 2025-01-01, status: Archived}\n"
	d.given(t, "registry.yaml", registry)
	d.given(t, "books/abc/a.md", "x")
	d.does(t, "read_content", `{"book_id":"abc","path":"a.md"}`)
	const want = `{"error":"StorageError","message":"registry.yaml has an invalid entry for the book abc (entry 1: status: \"Archived\" is not one of active, archived, migrating), so the book cannot be changed; correct the entry first","path":"registry.yaml"}`
	d.fails(t, "write_content", `{"book_id":"abc","path":"a.md","content":"y"}`, want)
	d.fails(t, "delete_content", `{"book_id":"abc","path":"a.md"}`, want)
	if data, err := os.ReadFile(filepath.Join(d.dir, "registry.yaml")); err != nil || string(data) != registry {
		t.Errorf("the registry is %q, error %v", data, err)
	}
	d.does(t, "write_content", `{"book_id":"other","path":"a.md","content":"y"}`)
	d.given(t, "registry.yaml", registry+"  - {book_id: abc, title: T, storage_backend: fs, created_at: 2025-01-01, status: active}\n")
	d.does(t, "write_content", `{"book_id":"abc","path":"a.md","content":"y"}`)
}

func TestSomethingElseIsWhereTheRegistryBelongs(t *testing.T) {
	d := serve(t)
	d.given(t, "registry.yaml/x", "")
	d.fails(t, "write_content", `{"book_id":"abc","path":"a.md","content":"y"}`,
		`{"error":"StorageError","message":"books/abc/a.md is stored, but its book is not in registry.yaml yet. registry.yaml is a folder or a link, so books cannot be listed or added; replace it with a file first","path":"registry.yaml"}`)
}

// accepts accepts every upload.
func accepts(string) error { return nil }

func TestReceive(t *testing.T) {
	d := serve(t)
	const key = "books/abc/assets/videos/a.mp4"
	by := "bob"
	receive := func(key string, size int64, body string) error {
		return d.library.Receive(t.Context(), books.Upload{Key: key, Size: size, By: by}, strings.NewReader(body), accepts)
	}
	for _, c := range []struct {
		key  string
		size int64
		body string
		want contract.Kind
	}{
		{key, 4, "abc", contract.Invalid},
		{key, 2, "abc", contract.Invalid},
		{key, 0, "abc", contract.Invalid},
		{"books/abc/lessons/a.md", 3, "abc", contract.NotFound},
		{"registry.yaml", 3, "abc", contract.NotFound},
		{"books/abc/assets/videos/../../../x", 3, "abc", contract.NotFound},
		{"books/abc/assets/other/a", 3, "abc", contract.NotFound},
	} {
		if err := receive(c.key, c.size, c.body); contract.AsError(err).Kind != c.want {
			t.Errorf("%s of %d bytes for %q: %v", c.key, c.size, c.body, err)
		}
	}
	if got := d.stored(t, ""); len(got) != 0 {
		t.Fatalf("%q is there", got)
	}
	for _, body := range []string{"abc", "defg"} {
		if err := receive(key, int64(len(body)), body); err != nil {
			t.Fatal(err)
		}
		by = "cyd@example.com"
	}
	want := []string{fmt.Sprintf("upload bob  %.6s", hash("abc")), fmt.Sprintf("upload cyd@example.com %.6s %.6s", hash("abc"), hash("defg"))}
	if got := d.log(t, "abc", "assets/videos/a.mp4"); !slices.Equal(got, want) {
		t.Errorf("the history is %q, want %q", got, want)
	}
	got := d.does(t, "get_asset", `{"book_id":"abc","asset_type":"videos","filename":"a.mp4"}`)
	if text(got.Field("uploaded_by_agent_id")) != `"cyd@example.com"` || text(got.Field("file_size")) != "4" {
		t.Error(text(got))
	}
	if listed, err := d.library.Books(t.Context()); err != nil || len(listed) != 1 {
		t.Errorf("%v, error %v", listed, err)
	}
}

// TestReceiveStoresNothingEarly: until an upload has arrived and is accepted, the asset and its
// history are unchanged, and nothing of it is left in the library if it is refused or cut off.
func TestReceiveStoresNothingEarly(t *testing.T) {
	d := serve(t)
	const key = "books/abc/assets/videos/a.mp4"
	receive := func(body io.Reader, arrived func(string) error) error {
		return d.library.Receive(t.Context(), books.Upload{Key: key, Size: 3, By: "bob"}, body, arrived)
	}
	if err := receive(strings.NewReader("one"), accepts); err != nil {
		t.Fatal(err)
	}
	unchanged := func(when string) {
		t.Helper()
		want := []string{fmt.Sprintf("upload bob  %.6s", hash("one"))}
		if got := d.log(t, "abc", "assets/videos/a.mp4"); !slices.Equal(got, want) || d.field(t, "file_size", "get_asset", `{"book_id":"abc","asset_type":"videos","filename":"a.mp4"}`) != "3" {
			t.Errorf("%s: the history is %q", when, got)
		}
	}
	err := receive(strings.NewReader("two"), func(got string) error {
		if got != hash("two") {
			t.Errorf("the hash is %s", got)
		}
		unchanged("while it arrives")
		return errBroken
	})
	if !errors.Is(err, errBroken) {
		t.Error(err)
	}
	if err := receive(iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader("two"))), accepts); err == nil {
		t.Error("a body that was cut off was stored")
	}
	unchanged("afterwards")
	names, err := os.ReadDir(filepath.Join(d.dir, filepath.Dir(key)))
	if err != nil || len(names) != 1 {
		t.Errorf("there are %v, error %v", names, err)
	}
	// Another upload that comes first does not harm this one, which replaces it.
	err = receive(strings.NewReader("two"), func(string) error { return receive(strings.NewReader("six"), accepts) })
	if got := d.log(t, "abc", "assets/videos/a.mp4"); err != nil || len(got) != 3 {
		t.Errorf("the history is %q, error %v", got, err)
	}
}

// TestReceiveIsBoundToConsent checks that an upload replaces only the asset that a person saw who
// approved it.
func TestReceiveIsBoundToConsent(t *testing.T) {
	d := serve(t)
	const key = "books/abc/assets/videos/a.mp4"
	receive := func(seen, body string) error {
		return d.library.Receive(t.Context(), books.Upload{Key: key, Size: int64(len(body)), By: "bob", Seen: seen}, strings.NewReader(body), accepts)
	}
	if err := receive("absent", "one"); err != nil {
		t.Fatal(err)
	}
	for _, seen := range []string{"absent", hash("another")} {
		if err := receive(seen, "two"); contract.AsError(err).Kind != contract.Conflict {
			t.Errorf("for %s: %v", seen, err)
		}
	}
	if err := receive(hash("one"), "two"); err != nil {
		t.Error(err)
	}
}

// TestReceiveAppliesSecretPolicy checks that a link does not store what the policy denies, whatever
// it was when the link was issued.
func TestReceiveAppliesSecretPolicy(t *testing.T) {
	d := serve(t)
	const key = "books/abc/assets/images/server.pem"
	err := d.library.Receive(t.Context(), books.Upload{Key: key, Size: 3, By: "bob"}, strings.NewReader("abc"), accepts)
	if contract.AsError(err).Kind != contract.Denied || len(d.stored(t, "")) != 0 {
		t.Errorf("error %v, stored %q", err, d.stored(t, ""))
	}
}

func TestAsset(t *testing.T) {
	d := serve(t)
	d.given(t, "books/abc/assets/slides/a.md", "# Slides")
	d.given(t, "books/abc/lessons/a.md", "# Lesson")
	got, err := d.library.Asset(t.Context(), "books/abc/assets/slides/a.md")
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(got)
	if err := errors.Join(err, got.Close()); err != nil || string(data) != "# Slides" || got.MIME != "text/markdown" || got.Size != 8 {
		t.Errorf("%q of type %s, error %v", data, got.MIME, err)
	}
	for _, key := range []string{"books/abc/lessons/a.md", "registry.yaml", "books/abc/assets/../lessons/a.md", "books/abc/assets//a", "books/abc/assets/slides", "books/abc/assets/", "books/../abc/assets/slides/a.md", ""} {
		if got, err := d.library.Asset(t.Context(), key); contract.AsError(err).Kind != contract.NotFound {
			t.Errorf("%q: %v, error %v", key, got, err)
		}
	}
}

func TestDirectUploadsEndAtTenMiB(t *testing.T) {
	t.Parallel()
	d := serve(t)
	base64Of := func(size int) string { return strings.Repeat("AAAA", size/3) + []string{"", "AA==", "AAA="}[size%3] }
	upload := func(size int) string {
		return text(d.call(t, "upload_asset", `{"book_id":"abc","asset_type":"audio","filename":"a.bin","binary_data":"`+base64Of(size)+`"}`))
	}
	if got := upload(10<<20 - 1); !strings.Contains(got, `"file_size":10485759`) {
		t.Error(got)
	}
	if got := upload(10 << 20); !strings.Contains(got, `"ValidationError"`) || !strings.Contains(got, "send file_size instead") {
		t.Error(got)
	}
	// Without the engine, which is slow with such a long text.
	tools := &books.Tools{Library: d.library, Links: links{}, Now: time.Now}
	for _, size := range []int{10<<20 + 1, 11 << 20} {
		data := base64Of(size)
		_, err := tools.UploadAsset(t.Context(), books.UploadAssetIn{BookID: "abc", AssetType: "audio", Filename: "b.bin", BinaryData: &data})
		if contract.AsError(err).Kind != contract.Invalid {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

func TestListAssetsIsCut(t *testing.T) {
	d := serve(t)
	for i := range 1002 {
		d.given(t, fmt.Sprintf("books/abc/assets/images/%04d.png", i), "x")
	}
	d.given(t, "books/abc/assets/images/folder/deep.png", "x")
	answer, result := d.answer(t, "list_assets", `{"book_id":"abc"}`)
	if len(answer.Members) == 0 || len(answer.Members) > 1000 || !result.Truncation.Truncated || result.Truncation.Total != 1003 {
		t.Errorf("%d of %d, truncated %v", len(answer.Members), result.Truncation.Total, result.Truncation.Truncated)
	}
	deep := d.does(t, "get_asset", `{"book_id":"abc","asset_type":"images","filename":"folder/deep.png"}`)
	if text(deep.Field("filename")) != `"folder/deep.png"` {
		t.Error(text(deep))
	}
}

// TestTheHashIsThatOfTheContent: also after the file was edited by hand since the last read to
// content of the same length.
func TestTheHashIsThatOfTheContent(t *testing.T) {
	d := serve(t)
	for i, want := range []string{"one", "two", "one", "six", "ten"} {
		d.given(t, "books/abc/a.md", want)
		if i > 2 { // and at this very moment
			if err := os.WriteFile(filepath.Join(d.dir, "books/abc/a.md"), []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			got := d.does(t, "read_content", `{"book_id":"abc","path":"a.md"}`)
			if got.Field("content").Text != want || got.Field("file_hash_sha256").Text != hash(want) {
				t.Errorf("%q is %s", want, text(got))
			}
		}
	}
}
