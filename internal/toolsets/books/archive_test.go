package books_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"remit/internal/contract"
	"remit/internal/toolsets/books"
)

// piece is the number of bytes an archive reads of a large file at a time; held is the size up to
// which a file is read ahead of its turn.
const (
	piece = 256 << 10
	held  = 2 << 20
)

// readOnlyStore is a read-only store in memory. It counts its open files.
type readOnlyStore struct {
	books.Store
	files map[string][]byte
	spoil map[string]func(*bytes.Reader) io.Reader // replaces the reader of a file, to make it fail
	gone  map[string]bool                          // listed, then deleted

	open, maxOpen, opened atomic.Int64
}

func (a *readOnlyStore) Name() string { return "fs" }

func (a *readOnlyStore) Stat(context.Context, string) (books.Object, error) {
	return books.Object{}, books.ErrNotFound
}

func (a *readOnlyStore) object(key string) books.Object {
	return books.Object{Key: key, Size: int64(len(a.files[key])), Modified: time.Date(2025, 11, 24, 12, 0, 1, 5, time.UTC), Version: "1"}
}

func (a *readOnlyStore) List(_ context.Context, prefix string) iter.Seq2[books.Object, error] {
	return func(yield func(books.Object, error) bool) {
		for _, key := range slices.Sorted(maps.Keys(a.files)) {
			if strings.HasPrefix(key, prefix) && !yield(a.object(key), nil) {
				return
			}
		}
	}
}

func (a *readOnlyStore) Open(_ context.Context, key string) (*books.Body, error) {
	data, found := a.files[key]
	if !found || a.gone[key] {
		return nil, books.ErrNotFound
	}
	a.opened.Add(1)
	if now := a.open.Add(1); now > a.maxOpen.Load() {
		a.maxOpen.Store(now) // approximate, which is enough to compare it with a bound
	}
	reader := bytes.NewReader(data)
	r := &reading{Reader: reader, Seeker: reader, readOnlyStore: a}
	if spoil := a.spoil[key]; spoil != nil {
		r.Reader = spoil(reader)
	}
	return &books.Body{ReadSeekCloser: r, Object: a.object(key)}, nil
}

type reading struct {
	io.Reader
	io.Seeker
	readOnlyStore *readOnlyStore
	closed        bool
}

func (r *reading) Close() error {
	if r.closed {
		return errors.New("closed twice")
	}
	r.closed = true
	r.readOnlyStore.open.Add(-1)
	return nil
}

func (a *readOnlyStore) library() *books.Library {
	return &books.Library{
		Stores: func(context.Context) (books.Stores, error) { return books.Stores{Main: a}, nil },
		Now:    time.Now, Log: slog.New(slog.DiscardHandler),
	}
}

// noise returns incompressible data, prose compressible text.
func noise(n int) []byte {
	source := rand.NewChaCha8([32]byte{1})
	data := make([]byte, n)
	_, _ = source.Read(data)
	return data
}

func prose(n int) []byte {
	source := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("a book of lessons about programs that people and models write together, with examples and an exercise or two")
	var page strings.Builder
	for range 1000 {
		page.WriteString(words[source.IntN(len(words))] + " ")
	}
	return bytes.Repeat([]byte(page.String()), n/page.Len()+1)[:n]
}

// aBook returns a store with a book of files of all interesting sizes, and a second book.
func aBook() *readOnlyStore {
	a := &readOnlyStore{files: map[string][]byte{
		"books/ai/book.yaml":                       []byte("title: AI\n"),
		"books/ai/chapters/chapter-01/.summary.md": prose(2000),
		"books/ai/lessons/empty.md":                {},
		"books/ai/assets/images/photo.png":         prose(5000),
		"books/ai/assets/videos/film.mp4":          noise(2*piece + 7),
		"books/ai/assets/images/raw.bin":           noise(piece + 1),
		"books/ai-2/lessons/other.md":              prose(100),
		".history/ai/log/x":                        prose(100),
	}}
	for _, size := range []int{1, piece - 1, piece, piece + 1, 3*piece + 99} {
		a.files[fmt.Sprintf("books/ai/lessons/part-1/%d.md", size)] = prose(size)
	}
	for i := range 40 {
		a.files[fmt.Sprintf("books/ai/lessons/part-2/lesson-%02d.md", i)] = prose(4000 + i)
	}
	return a
}

// aLargeBook also has files that are, or almost are, large enough to be streamed.
func aLargeBook() *readOnlyStore {
	a := aBook()
	a.files["books/ai/assets/images/large.bin"] = noise(held + 1)
	for _, size := range []int{held, held + 3*piece + 99} {
		a.files[fmt.Sprintf("books/ai/lessons/part-1/%d.md", size)] = prose(size)
	}
	return a
}

func (a *readOnlyStore) zip(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := a.library().WriteArchive(t.Context(), "ai", &out, nil); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// unzip reads all files of a zip.
func unzip(t *testing.T, data []byte) map[string][]byte {
	t.Helper()
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]byte{}
	for _, file := range archive.File {
		r, err := file.Open()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatalf("%s: %v", file.Name, err)
		}
		got["books/ai/"+file.Name] = content
	}
	return got
}

// TestArchiveHoldsTheBook: an archive contains all files of the book, in order, and nothing else.
func TestArchiveHoldsTheBook(t *testing.T) {
	a := aLargeBook()
	var files int
	var size int64
	var out bytes.Buffer
	err := a.library().WriteArchive(t.Context(), "ai", &out, func(n int, bytes int64) {
		if n != files+1 || bytes < size {
			t.Errorf("reported %d files and %d bytes after %d and %d", n, bytes, files, size)
		}
		files, size = n, bytes
	})
	if err != nil {
		t.Fatal(err)
	}
	want, total := map[string][]byte{}, int64(0)
	for key, content := range a.files {
		if strings.HasPrefix(key, "books/ai/") {
			want[key] = content
			total += int64(len(content))
		}
	}
	got := unzip(t, out.Bytes())
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	for key := range want {
		if !bytes.Equal(want[key], got[key]) {
			t.Errorf("%s: %d bytes are not the %d that were stored", key, len(got[key]), len(want[key]))
		}
	}
	if files != len(want) || size != total {
		t.Errorf("reported %d files and %d bytes, want %d and %d", files, size, len(want), total)
	}
	if open, maxOpen := a.open.Load(), a.maxOpen.Load(); open != 0 || maxOpen > 8 {
		t.Errorf("%d files were left open; %d were at once, at most 8 should be", open, maxOpen)
	}
}

// TestArchiveEntries: incompressible files are stored, others are compressed, and the times are
// those of the objects.
func TestArchiveEntries(t *testing.T) {
	data := aLargeBook().zip(t)
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	stored := []string{}
	for _, file := range archive.File {
		if file.Method == zip.Store {
			stored = append(stored, file.Name)
		}
		if want := time.Date(2025, 11, 24, 12, 0, 1, 0, time.UTC); !file.Modified.Equal(want) {
			t.Errorf("%s is of %s, want %s", file.Name, file.Modified, want)
		}
		if file.Mode() != 0o644 {
			t.Errorf("%s has mode %s", file.Name, file.Mode())
		}
		if follow := file.Flags&0x8 != 0; follow != (file.UncompressedSize64 > held || file.Name == "assets/videos/film.mp4") {
			t.Errorf("%s of %d bytes: its sizes follow it: %t", file.Name, file.UncompressedSize64, follow)
		}
	}
	want := []string{
		"assets/images/large.bin", "assets/images/photo.png", "assets/images/raw.bin", "assets/videos/film.mp4",
		"book.yaml", "lessons/empty.md", "lessons/part-1/1.md",
	}
	if diff := cmp.Diff(want, stored); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	if !slices.IsSortedFunc(archive.File, func(a, b *zip.File) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("the entries are out of order")
	}
}

// TestArchiveIsTheSame: the bytes do not depend on the number of goroutines.
func TestArchiveIsTheSame(t *testing.T) {
	want := aLargeBook().zip(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, cores := range []int{1, 3, 16} {
		runtime.GOMAXPROCS(cores)
		if got := aLargeBook().zip(t); !bytes.Equal(got, want) {
			t.Errorf("%d cores give another archive", cores)
		}
	}
}

// TestArchiveReadableByOthers: another program accepts the archive.
func TestArchiveReadableByOthers(t *testing.T) {
	unzipTool, err := exec.LookPath("unzip")
	if err != nil {
		t.Skip("LEFT OUT: unzip is missing")
	}
	name := filepath.Join(t.TempDir(), "ai.zip")
	if err := os.WriteFile(name, aLargeBook().zip(t), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), unzipTool, "-t", "-q", name).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestArchiveOmitsDeletedFiles: files deleted meanwhile are left out.
func TestArchiveOmitsDeletedFiles(t *testing.T) {
	a := aBook()
	a.gone = map[string]bool{"books/ai/book.yaml": true, "books/ai/lessons/part-2/lesson-20.md": true}
	got := unzip(t, a.zip(t))
	for key := range a.gone {
		if _, found := got[key]; found {
			t.Errorf("%s is there", key)
		}
	}
	if want := 6 + 5 + 40 - 2; len(got) != want {
		t.Errorf("%d files, want %d", len(got), want)
	}
}

// limited accepts a number of bytes and then fails.
type limited struct {
	bytes.Buffer
	left int
}

var errFull = errors.New("reader closed")

func (l *limited) Write(data []byte) (int, error) {
	if l.left -= len(data); l.left < 0 {
		return 0, errFull
	}
	return l.Buffer.Write(data)
}

// TestArchiveFails: on any failure the error is returned, the output is not a valid archive, and
// nothing stays open.
func TestArchiveFails(t *testing.T) {
	errDisk := errors.New("the disk is broken")
	after := func(n int64, err error) func(*bytes.Reader) io.Reader {
		return func(r *bytes.Reader) io.Reader {
			return io.MultiReader(io.LimitReader(r, n), &failing{err})
		}
	}
	whole := len(aBook().zip(t))
	const small, large = "books/ai/lessons/part-1/786531.md", "books/ai/lessons/part-1/2883683.md"
	for _, tc := range []struct {
		name  string
		room  int
		file  string
		spoil func(*bytes.Reader) io.Reader
		want  error
	}{
		{"a file fails at once", whole, small, after(0, errDisk), errDisk},
		{"a file fails in the second piece", whole, small, after(piece+5, errDisk), errDisk},
		{"a file fails at its end", whole, small, after(3*piece+99, errDisk), errDisk},
		{"a connection ends early", whole, small, after(2*piece, io.ErrUnexpectedEOF), nil},
		{"a file ends early", whole, small, after(2*piece, io.EOF), nil},
		{"a large file fails at once", 2 * whole, large, after(0, errDisk), errDisk},
		{"a large file fails in the second piece", 2 * whole, large, after(piece+5, errDisk), errDisk},
		{"a large file fails at its end", 2 * whole, large, after(held+3*piece+99, errDisk), errDisk},
		{"a large file is gone while it is read", 2 * whole, large, after(held, books.ErrNotFound), nil},
		{"the connection of a large file ends early", 2 * whole, large, after(2*piece, io.ErrUnexpectedEOF), nil},
		{"a large file ends early", 2 * whole, large, after(2*piece, io.EOF), nil},
		{"a large file ends at once", 2 * whole, large, after(0, io.EOF), nil},
		{"nobody reads at all", 0, "", nil, errFull},
		{"nobody reads the second file", 30_000, "", nil, errFull},
		{"nobody reads the end", whole - 10, "", nil, errFull},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := aBook()
			if tc.file == large {
				a.files[large] = prose(held + 3*piece + 99)
			}
			a.spoil = map[string]func(*bytes.Reader) io.Reader{tc.file: tc.spoil}
			out := &limited{left: tc.room}
			err := a.library().WriteArchive(t.Context(), "ai", out, nil)
			if err == nil || tc.want != nil && !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
			if _, err := zip.NewReader(bytes.NewReader(out.Bytes()), int64(out.Len())); err == nil {
				t.Error("the part looks like a whole")
			}
			if open := a.open.Load(); open != 0 {
				t.Errorf("%d files were left open", open)
			}
		})
	}
}

type failing struct{ err error }

func (f *failing) Read([]byte) (int, error) { return 0, f.err }

// TestArchiveCancelled: writing stops when the context is cancelled.
func TestArchiveCancelled(t *testing.T) {
	a := aBook()
	ctx, cancel := context.WithCancel(t.Context())
	err := a.library().WriteArchive(ctx, "ai", io.Discard, func(int, int64) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if open := a.open.Load(); open != 0 {
		t.Errorf("%d files were left open", open)
	}
}

// TestArchiveReadsLittleAhead: a slow reader of the archive slows down the reads from the store.
func TestArchiveReadsLittleAhead(t *testing.T) {
	a := aBook()
	stuck, free := make(chan struct{}), make(chan struct{})
	done := make(chan error, 1)
	go func() { done <- a.library().WriteArchive(t.Context(), "ai", &gate{stuck: stuck, free: free}, nil) }()
	<-stuck
	for range 1000 {
		runtime.Gosched()
	}
	if opened := a.opened.Load(); opened > 8 {
		t.Errorf("%d files were opened for a reader who took nothing", opened)
	}
	close(free)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// gate blocks the first write.
type gate struct{ stuck, free chan struct{} }

func (g *gate) Write(data []byte) (int, error) {
	if g.stuck != nil {
		close(g.stuck)
		g.stuck = nil
	}
	<-g.free
	return len(data), nil
}

// TestArchiveOfNothing: a book that does not exist or is empty has no archive.
func TestArchiveOfNothing(t *testing.T) {
	var out bytes.Buffer
	err := aBook().library().WriteArchive(t.Context(), "absent", &out, nil)
	if e := contract.AsError(err); e.Kind != contract.NotFound || e.Message != "Content not found: books/absent" || e.Details["path"] != "books/absent" {
		t.Errorf("got %v", err)
	}
	if out.Len() > 0 {
		t.Errorf("%d bytes were written", out.Len())
	}
}

// archiveLinks creates URLs of archives only.
type archiveLinks struct{ books.Links }

func (archiveLinks) Archive(_ context.Context, bookID string) (books.Link, error) {
	noon := time.Date(2025, 11, 24, 12, 0, 0, 0, time.UTC)
	return books.Link{URL: "https://links.example/" + bookID, Issued: noon, Expires: noon.Add(50 * time.Minute)}, nil
}

// TestArchiveAnswer checks the answer of get_book_archive.
func TestArchiveAnswer(t *testing.T) {
	a := &readOnlyStore{files: map[string][]byte{"books/ai/lessons/a.md": prose(10), "books/ai/lessons/b.md": prose(20), "books/ai2/lessons/c.md": prose(30)}}
	tools := &books.Tools{Library: a.library(), Links: archiveLinks{}}
	got, err := tools.Archive(t.Context(), books.ArchiveIn{BookID: "ai"})
	if err != nil {
		t.Fatal(err)
	}
	want := books.ArchiveOut{
		Status: "success", ArchiveURL: "https://links.example/ai", ExpiresAt: time.Date(2025, 11, 24, 12, 50, 0, 0, time.UTC),
		FileCount: 2, TotalSizeBytes: 30, Format: "zip", ValidFor: 3000,
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(books.ArchiveOut{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := tools.Archive(t.Context(), books.ArchiveIn{BookID: "absent"}); contract.AsError(err).Kind != contract.NotFound {
		t.Errorf("got %v", err)
	}
}
