package books_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"remit/internal/stores/blob"
	"remit/internal/stores/blob/s3test"
	"remit/internal/toolsets/books"
	"remit/internal/toolsets/books/bookstest"
)

// TestPeopleOnS3: the commands for people work the same on S3.
func TestPeopleOnS3(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	bucket, err := blob.OpenS3(t.Context(), server.URL(server.Bucket(t), "shelf"), server.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	onS3 := &books.Library{
		Stores: func(context.Context) (books.Stores, error) { return books.Stores{Main: bucket}, nil },
		Now:    time.Now, Log: slog.New(slog.DiscardHandler),
	}
	onDisk := newTestLibrary(t)
	course := bookstest.Course(3, 30)
	onDisk.imports(course)
	done, err := onS3.Import(t.Context(), course, books.ImportOptions{Book: "c01", By: "ann"}, nil)
	if err != nil || outcomes(done)["created"] != len(done.Files) {
		t.Fatalf("%v, error %v", outcomes(done), err)
	}
	again, err := onS3.Import(t.Context(), course, books.ImportOptions{Book: "c01", By: "ann"}, nil)
	if err != nil || outcomes(again)["unchanged"] != len(done.Files) {
		t.Errorf("again: %v, error %v", outcomes(again), err)
	}
	here, there := members(t, onDisk.Library), members(t, onS3)
	if len(here) != len(done.Files) || len(there) != len(here) {
		t.Errorf("%d files on disk, %d on S3", len(here), len(there))
	}
	for name, data := range here {
		if !bytes.Equal(data, there[name]) {
			t.Errorf("%s differs", name)
		}
	}
	findings, err := onS3.Validate(t.Context(), "c01", nil)
	if err != nil || len(findings) != 3 {
		t.Errorf("%v, error %v", findings, err)
	}
	const lesson = "lessons/README.md"
	if _, err := onS3.Import(t.Context(), folderOf("README.md", "# New"), books.ImportOptions{Book: "c01", By: "bob"}, nil); err != nil {
		t.Fatal(err)
	}
	change, err := onS3.Restore(t.Context(), "c01", lesson, "", "cyd")
	if back := members(t, onS3)[lesson]; err != nil || change.Size != int64(len(here[lesson])) || !bytes.Equal(back, here[lesson]) {
		t.Errorf("restored %q: %+v, error %v", back, change, err)
	}
	changes, err := onS3.History(t.Context(), "c01", lesson, 0)
	if err != nil || len(changes) != 3 || changes[0].By != "cyd" || changes[1].By != "bob" || changes[2].By != "ann" {
		t.Errorf("%+v, error %v", changes, err)
	}
}

// members returns the files of the book c01.
func members(t *testing.T, l *books.Library) map[string][]byte {
	t.Helper()
	var out bytes.Buffer
	if err := l.Export(t.Context(), "c01", &out, nil); err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for name, data := range unzip(t, out.Bytes()) {
		files[strings.TrimPrefix(name, "books/ai/")] = data // the prefix that unzip's tests use
	}
	return files
}
