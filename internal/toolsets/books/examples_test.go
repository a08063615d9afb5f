package books_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"remit/internal/contract"
	"remit/internal/contract/contracttest"
	"remit/internal/contract/jsontree"
	"remit/internal/stores/blob"
	"remit/internal/stores/blob/s3test"
	"remit/internal/toolsets/books"
)

// TestExamples replays the examples of the contracts, without any front end.
func TestExamples(t *testing.T) {
	eachExample(t, func(t *testing.T, c *contract.Contract, e *contract.Example) {
		d := serve(t)
		for name, text := range e.Given {
			d.given(t, strings.TrimPrefix(name, given), text)
		}
		d.replay(t, c, e)
	})
}

// TestExamplesOnS3 replays the examples on S3. The store is named fs, as the examples expect.
func TestExamplesOnS3(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	bucket := server.Bucket(t)
	number := 0
	eachExample(t, func(t *testing.T, c *contract.Contract, e *contract.Example) {
		number++
		store, err := blob.OpenS3(t.Context(), server.URL(bucket, strconv.Itoa(number)), server.Getenv)
		if err != nil {
			t.Fatal(err)
		}
		d := serve(t)
		d.stores.Main = &faulty{Store: store, name: "fs"}
		for name, text := range e.Given {
			if _, _, err := store.Put(t.Context(), strings.TrimPrefix(name, given), strings.NewReader(text), int64(len(text)), books.Cond{}); err != nil {
				t.Fatal(err)
			}
		}
		d.replay(t, c, e)
	})
}

// given is the path of the library in the examples.
const given = ".remit/library/"

func eachExample(t *testing.T, play func(t *testing.T, c *contract.Contract, e *contract.Example)) {
	for _, c := range contracts(t)[0].Contracts {
		for _, e := range c.Examples {
			t.Run(c.Name+"/"+e.Title, func(t *testing.T) { play(t, c, &e) })
		}
	}
}

func (d *testServer) replay(t *testing.T, c *contract.Contract, e *contract.Example) {
	t.Helper()
	for _, step := range e.Before {
		d.does(t, step.Tool, string(step.Arguments.Append(nil)))
	}
	want := e.Result
	if want.Kind == jsontree.Null {
		want = e.Error
	}
	answer := d.call(t, c.Name, string(e.Arguments.Append(nil)))
	got, want := contracttest.Varying(e, answer), contracttest.Varying(e, want)
	if diff := cmp.Diff(string(want.Canonical()), string(got.Canonical())); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// given writes a file as if it had been edited long ago: each a little later than the one before,
// and none recently enough to be read twice because of the clock's resolution.
func (d *testServer) given(t *testing.T, name, text string) {
	t.Helper()
	file := filepath.Join(d.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	d.hands++
	at := time.Now().Add(time.Duration(d.hands)*time.Second - 24*time.Hour)
	if err := os.Chtimes(file, at, at); err != nil {
		t.Fatal(err)
	}
}
