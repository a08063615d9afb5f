package blob

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/minio/minio-go/v7"

	"remit/internal/stores/blob/s3test"
	"remit/internal/toolsets/books"
)

// newS3 returns a store with its own bucket.
func newS3(t testing.TB) *S3 {
	t.Helper()
	server := s3test.Start(t)
	s, err := OpenS3(t.Context(), server.URL(server.Bucket(t), "library"), server.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.base.(*http.Transport).CloseIdleConnections)
	return s
}

func sumOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

// store stores a text if the condition holds.
func store(t testing.TB, s *S3, key, text string, c books.Cond) (books.Object, bool, error) {
	t.Helper()
	return s.Put(t.Context(), key, strings.NewReader(text), int64(len(text)), c)
}

func mustStore(t testing.TB, s *S3, key, text string) {
	t.Helper()
	if _, _, err := store(t, s, key, text, books.Cond{}); err != nil {
		t.Fatal(err)
	}
}

func load(t testing.TB, s *S3, key string) string {
	t.Helper()
	body, err := s.Open(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	content, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// TestS3Uploaded checks that an object of another program, which has no stored hash, behaves like
// any other object.
func TestS3Uploaded(t *testing.T) {
	s := newS3(t)
	const key = "books/b/assets/images/a.png"
	upload := func(content string) {
		t.Helper()
		body, err := uploadOf(strings.NewReader(content), int64(len(content)))
		if err == nil {
			_, err = s.putWhole(t.Context(), key, body, minio.PutObjectOptions{}, &exchange{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	large := strings.Repeat("uploaded ", 300<<10)
	for _, content := range []string{"uploaded", large} {
		upload(content)
		if o, err := s.Stat(t.Context(), key); err != nil || o.Hash != "" {
			t.Errorf("stat: %+v, error %v", o, err)
		}
		_, _, err := store(t, s, key, "x", books.Cond{Hash: sumOf("another")})
		var conflict *books.ConflictError
		if !errors.As(err, &conflict) || conflict.Actual != sumOf(content) {
			t.Errorf("another hash: error %v", err)
		}
		copied := ".history/b/objects/" + sumOf(content)
		if err := s.Copy(t.Context(), key, copied, sumOf(content)); err != nil {
			t.Error(err)
		}
		if o, err := s.Stat(t.Context(), copied); err != nil || o.Hash != sumOf(content) {
			t.Errorf("the copy: %+v, error %v", o, err)
		}
		if _, created, err := store(t, s, key, "changed", books.Cond{Hash: sumOf(content)}); created || err != nil {
			t.Errorf("the right hash: created %v, error %v", created, err)
		}
		upload(content)
		if existed, err := s.Delete(t.Context(), key, books.Cond{Hash: sumOf(content)}); !existed || err != nil {
			t.Errorf("delete: existed %v, error %v", existed, err)
		}
	}
}

// TestS3Signatures uses keys that no book has, to check that requests are encoded in the way that
// stores sign them.
func TestS3Signatures(t *testing.T) {
	s := newS3(t)
	body, err := uploadOf(strings.NewReader("x"), 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"plain", "a b", "a+b", "a=b&c", "a%20b", "ä/ö", "a~b", "a(b)!'*", "a:b@c$d,e;f", `a"b`, "a?b#c"} {
		if _, err := s.putWhole(t.Context(), key, body, minio.PutObjectOptions{}, &exchange{}); err != nil {
			t.Errorf("put %q: %v", key, err)
		}
		if _, err := s.head(t.Context(), key); err != nil {
			t.Errorf("head %q: %v", key, err)
		}
		if err := s.empty(t.Context(), key); !errors.Is(err, books.ErrPathConflict) {
			t.Errorf("list %q: error %v", key, err)
		}
	}
	for o, err := range s.List(t.Context(), "") {
		if err != nil || o.Key != "plain" {
			t.Errorf("listed: %+v, error %v", o, err)
		}
	}
}

func TestS3Pages(t *testing.T) {
	s := newS3(t)
	s.perPage = 7
	const count = 5*7 + 3
	for i := range count {
		mustStore(t, s, fmt.Sprintf("books/b/%d/%04d.md", i%3, i), "x")
	}
	seen, last := 0, ""
	for o, err := range s.List(t.Context(), "books/b/") {
		if err != nil || o.Key <= last || o.Size != 1 {
			t.Fatalf("%+v after %q, error %v", o, last, err)
		}
		last = o.Key
		seen++
	}
	if seen != count {
		t.Errorf("%d objects are listed, want %d", seen, count)
	}
}

// TestS3ListsOutOfOrder checks that a page in the wrong order is sorted, and that pages in the
// wrong order are an error.
func TestS3ListsOutOfOrder(t *testing.T) {
	pages := []string{"", ""}
	entry := func(key string) string {
		return "<Contents><Key>library/" + key + "</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>&quot;1&quot;</ETag><Size>1</Size></Contents>"
	}
	s := serveFake(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("continuation-token") == "" {
			io.WriteString(w, "<R><EncodingType>url</EncodingType><IsTruncated>true</IsTruncated><NextContinuationToken>2</NextContinuationToken>"+pages[0]+"</R>")
		} else {
			io.WriteString(w, "<R><EncodingType>url</EncodingType>"+pages[1]+"</R>")
		}
	}))
	list := func() (keys string, failed error) {
		for o, err := range s.List(t.Context(), "") {
			keys, failed = keys+o.Key, err
		}
		return keys, failed
	}
	pages[0], pages[1] = entry("b")+entry("a")+entry("a%2Fx"), entry("d")+entry("odd+name")+entry("c")
	if keys, err := list(); keys != "aa/xbcd" || err != nil {
		t.Errorf("listed %s, error %v", keys, err)
	}
	pages[1] = entry("aa")
	if keys, err := list(); keys != "aa/xb" || err == nil {
		t.Errorf("listed %s, error %v", keys, err)
	}
}

// TestS3LargeReads checks that a body that is not in memory can be read from any offset, and from
// one object only.
func TestS3LargeReads(t *testing.T) {
	s := newS3(t)
	before := strings.Repeat("0123456789", 400<<10)
	mustStore(t, s, "books/b/large", before)
	body, err := s.Open(t.Context(), "books/b/large")
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	part := make([]byte, 10)
	for _, at := range []int64{0, 1234567, 5, int64(len(before)) - 10, int64(len(before)) / 2} {
		if _, err := body.Seek(at, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(body, part); err != nil || string(part) != before[at:at+10] {
			t.Errorf("at %d: %q, error %v", at, part, err)
		}
	}
	mustStore(t, s, "books/b/large", strings.ToUpper(before)+"!")
	if _, err := body.Seek(3, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	if n, err := body.Read(part); n != 0 || !errors.Is(err, errReplaced) {
		t.Errorf("after it was replaced: %q, error %v", part[:n], err)
	}
	if err := body.Close(); err != nil {
		t.Error(err)
	}
	if _, err := body.Read(part); err == nil {
		t.Error("a closed body was read")
	}
}

// TestS3Spools checks that content that can be read only once is stored like any other, and leaves
// no file behind.
func TestS3Spools(t *testing.T) {
	s := newS3(t)
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	t.Setenv("TMP", folder)
	for _, size := range []int{0, 1, inMemory, inMemory + 1} {
		content := strings.Repeat("x", size)
		stored, _, err := s.Put(t.Context(), "books/b/x", io.MultiReader(strings.NewReader(content)), int64(size), books.Cond{})
		if err != nil || stored.Hash != sumOf(content) {
			t.Errorf("%d bytes: %+v, error %v", size, stored, err)
		}
		if load(t, s, "books/b/x") != content {
			t.Errorf("%d bytes: stored something else", size)
		}
	}
	r := bytes.NewReader([]byte("only the end"))
	r.Seek(9, io.SeekStart)
	if _, _, err := s.Put(t.Context(), "books/b/x", r, 3, books.Cond{}); err != nil || load(t, s, "books/b/x") != "end" {
		t.Errorf("the rest of a reader: error %v", err)
	}
	if left, err := os.ReadDir(folder); len(left) > 0 || err != nil {
		t.Errorf("left behind: %v, error %v", left, err)
	}
}
