package blob

import (
	"context"
	"errors"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"

	"remit/internal/toolsets/books"
)

// counting counts the requests to a store.
type counting struct {
	http.RoundTripper
	sync.Mutex
	asked []string
	then  func(r *http.Request)
}

func (c *counting) RoundTrip(r *http.Request) (*http.Response, error) {
	c.Lock()
	c.asked = append(c.asked, kindOf(r))
	c.Unlock()
	if c.then != nil {
		c.then(r)
	}
	return c.RoundTripper.RoundTrip(r)
}

// kindOf names a request by its method and its role in an upload in parts.
func kindOf(r *http.Request) string {
	query := r.URL.Query()
	switch {
	case query.Has("uploads"):
		return r.Method + " uploads"
	case query.Has("partNumber"):
		return r.Method + " part"
	case query.Has("uploadId"):
		return r.Method + " upload"
	}
	return r.Method
}

// film is generated content of some size, not held in memory: one scene repeated.
type film struct {
	size, at int64
	scene    []byte
}

// newFilm returns a film. The length of its scene does not divide the size of a part.
func newFilm(size int64, salt byte) *film {
	f := &film{size: size, scene: make([]byte, 1_000_003)}
	for i := range f.scene {
		f.scene[i] = byte(i>>8) ^ byte(i) ^ salt
	}
	return f
}

func (f *film) Read(p []byte) (int, error) {
	n, err := f.ReadAt(p, f.at)
	f.at += int64(n)
	return n, err
}

func (f *film) ReadAt(p []byte, at int64) (int, error) {
	if at >= f.size {
		return 0, io.EOF
	}
	p = p[:min(int64(len(p)), f.size-at)]
	for n := 0; n < len(p); {
		n += copy(p[n:], f.scene[(at+int64(n))%int64(len(f.scene)):])
	}
	return len(p), nil
}

func (f *film) Seek(offset int64, whence int) (int64, error) {
	if whence == io.SeekCurrent {
		offset += f.at
	}
	f.at = offset
	return offset, nil
}

const filmSize = 90 << 20

// shorter is the size of an object that is sent in two parts, the first of which has the minimum
// size of S3.
const shorter = 5<<20 + 1

// inShortParts makes a store send parts of that size.
func inShortParts(s *S3) *S3 {
	s.partSize = shorter - 1
	return s
}

// leftParts counts the uploads in parts that are not finished.
func leftParts(t *testing.T, s *S3) int {
	t.Helper()
	e := &exchange{}
	list, err := s.core.ListMultipartUploads(e.in(t.Context()), s.at.bucket, "", "", "", "", 10)
	if err != nil {
		t.Fatal(err)
	}
	return len(list.Uploads)
}

// TestS3Parts checks that a large object is sent in parts, that conditions hold there too, that a
// refused upload leaves nothing behind, and that memory does not grow with the size.
func TestS3Parts(t *testing.T) {
	s := newS3(t)
	count := &counting{RoundTripper: s.base}
	s.base = count
	put := func(salt byte, c books.Cond) (books.Object, bool, error) {
		return s.Put(t.Context(), "books/b/assets/videos/film.mp4", newFilm(filmSize, salt), filmSize, c)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	first, created, err := put(1, books.Cond{Absent: true})
	runtime.ReadMemStats(&after)
	if err != nil || !created || first.Size != filmSize {
		t.Fatalf("%+v, created %v, error %v", first, created, err)
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 16<<20 {
		t.Errorf("%d bytes were allocated", grown)
	}
	const want = "POST uploads, PUT part, PUT part, PUT part, PUT part, PUT part, PUT part, POST upload"
	if got := strings.Join(count.asked[len(count.asked)-8:], ", "); got != want {
		t.Errorf("asked for %s, want %s", got, want)
	}
	found, err := s.stat(t.Context(), first.Key)
	if err != nil || found.Hash != first.Hash || found.Version != first.Version || !strings.HasSuffix(found.tag, "-6") {
		t.Errorf("stored %+v, error %v; want %+v", found, err, first)
	}
	second, created, err := put(2, books.Cond{Hash: first.Hash})
	if err != nil || created {
		t.Fatalf("replace: created %v, error %v", created, err)
	}
	var conflict *books.ConflictError
	for name, c := range map[string]books.Cond{"absent": {Absent: true}, "what was there before": {Hash: first.Hash}} {
		if _, _, err := put(3, c); !errors.As(err, &conflict) || conflict.Actual != second.Hash {
			t.Errorf("%s: error %v", name, err)
		}
	}
	hash, err := s.hashOf(t.Context(), must(s.stat(t.Context(), first.Key)))
	if err != nil || hash != second.Hash || leftParts(t, s) != 0 {
		t.Errorf("there is %s, error %v, and %d uploads are left", hash, err, leftParts(t, s))
	}
	if got := strings.Count(strings.Join(count.asked, " "), "part"); got != 2*6 {
		t.Errorf("%d parts were sent; a refused upload should send none", got)
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// TestS3PartsConditions checks that the store refuses to complete an upload with 412 if the object
// has changed since, and that the parts are removed. If the object that If-Match names is gone,
// that must fail too.
func TestS3PartsConditions(t *testing.T) {
	s := inShortParts(newS3(t))
	body, err := uploadOf(newFilm(shorter, 0), shorter)
	if err != nil {
		t.Fatal(err)
	}
	mustStore(t, s, "books/b/x", "old")
	was := must(s.stat(t.Context(), "books/b/x"))
	mustStore(t, s, "books/b/x", "new")
	var absent, same, any minio.PutObjectOptions
	absent.SetMatchETagExcept("*")
	same.SetMatchETag(was.tag)
	for name, condition := range map[string]minio.PutObjectOptions{"If-None-Match": absent, "If-Match": same} {
		_, err := s.putParts(t.Context(), "books/b/x", body, nil, condition, &exchange{})
		if !has(err, http.StatusPreconditionFailed) || !errors.Is(err, errReplaced) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if _, err := s.putParts(t.Context(), "books/b/gone", body, nil, same, &exchange{}); err == nil {
		t.Error("an object that does not exist was replaced")
	}
	if got := load(t, s, "books/b/x"); got != "new" || leftParts(t, s) != 0 {
		t.Errorf("there is %q, and %d uploads are left", got, leftParts(t, s))
	}
	if _, err := s.putParts(t.Context(), "books/b/x", body, nil, any, &exchange{}); err != nil {
		t.Error(err)
	}
}

// TestS3PartsChange checks that replacing an object while its parts are sent is a conflict.
func TestS3PartsChange(t *testing.T) {
	s := inShortParts(newS3(t))
	other := withoutFailures(t, s)
	mustStore(t, s, "books/b/x", "1")
	once := sync.OnceFunc(func() { mustStore(t, other, "books/b/x", "2") })
	s.base = &counting{RoundTripper: s.base, then: func(r *http.Request) {
		if kindOf(r) == "PUT part" {
			once()
		}
	}}
	var conflict *books.ConflictError
	_, _, err := s.Put(t.Context(), "books/b/x", newFilm(shorter, 0), shorter, books.Cond{Hash: sumOf("1")})
	if !errors.As(err, &conflict) || conflict.Actual != sumOf("2") || leftParts(t, s) != 0 {
		t.Errorf("error %v, and %d uploads are left", err, leftParts(t, s))
	}
}

// TestS3PartsRetry checks that the object is stored once, whichever request fails in whatever way.
func TestS3PartsRetry(t *testing.T) {
	s, u := newUnsteady(t)
	inShortParts(s)
	for name, how := range failures {
		u.how = how
		for n := 1; n <= 6; n++ {
			u.fail(n)
			stored, created, err := s.Put(t.Context(), "books/b/x", newFilm(shorter, 0), shorter, books.Cond{Absent: true})
			if err != nil || !created {
				t.Fatalf("%s, failing at request %d: created %v, error %v", name, n, created, err)
			}
			u.fail(0)
			if existed, err := s.Delete(t.Context(), "books/b/x", books.Cond{Hash: stored.Hash}); !existed || err != nil {
				t.Fatalf("%s, failing at request %d: existed %v, error %v", name, n, existed, err)
			}
		}
	}
}

// TestS3PartsAbandoned checks that the parts of a process that was killed are removed some day, but
// not those of an upload in progress.
func TestS3PartsAbandoned(t *testing.T) {
	s := inShortParts(newS3(t))
	begin := func() {
		t.Helper()
		if _, err := s.core.NewMultipartUpload((&exchange{}).in(t.Context()), s.at.bucket, s.at.prefix+"books/b/y", minio.PutObjectOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	put := func() {
		t.Helper()
		if _, _, err := s.Put(t.Context(), "books/b/x", newFilm(shorter, 0), shorter, books.Cond{}); err != nil {
			t.Fatal(err)
		}
	}
	begin()
	if put(); leftParts(t, s) != 1 {
		t.Error("an upload in progress was removed")
	}
	s.abandonedAfter = -time.Minute
	if put(); leftParts(t, s) != 1 {
		t.Error("looked again within the hour")
	}
	s.sweptAt.Store(0)
	if put(); leftParts(t, s) != 0 {
		t.Error("the abandoned upload is left")
	}
}

// TestS3PartsGivenUp checks that a canceled upload leaves no parts behind.
func TestS3PartsGivenUp(t *testing.T) {
	s := inShortParts(newS3(t))
	ctx, cancel := context.WithCancel(t.Context())
	s.base = &counting{RoundTripper: s.base, then: func(r *http.Request) {
		if kindOf(r) == "PUT part" {
			cancel()
		}
	}}
	_, _, err := s.Put(ctx, "books/b/x", newFilm(shorter, 0), shorter, books.Cond{})
	if !errors.Is(err, context.Canceled) || leftParts(t, s) != 0 {
		t.Errorf("error %v, and %d uploads are left", err, leftParts(t, s))
	}
}
