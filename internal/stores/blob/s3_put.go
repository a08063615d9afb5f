package blob

import (
	"bytes"
	"cmp"
	"context"
	"crypto/md5" //nolint:gosec // what S3 makes its tags of; nothing is secured by it
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/minio/minio-go/v7"

	"remit/internal/toolsets/books"
)

// upload is what a Put sends, known in full before the first byte leaves.
type upload struct {
	from   io.ReaderAt
	start  int64
	size   int64
	hash   string // SHA-256
	md5    string
	remove func() // what was made to hold it
}

// inMemory is how much of something that can be read only once is held in memory. More
// goes to a file.
const inMemory = 8 << 20

// uploadOf reads r, which must have just this size.
func uploadOf(r io.Reader, size int64) (*upload, error) {
	if size < 0 {
		return &upload{remove: func() {}}, errors.New("what is to be stored has no size")
	}
	if again, ok := r.(interface {
		io.ReadSeeker
		io.ReaderAt
	}); ok {
		start, err := again.Seek(0, io.SeekCurrent)
		if err == nil {
			c := &upload{from: again, start: start, remove: func() {}}
			return c, c.digest(again, io.Discard, size)
		}
	}
	c := &upload{remove: func() {}}
	if size <= inMemory {
		held := bytes.NewBuffer(make([]byte, 0, size))
		err := c.digest(r, held, size)
		c.from = bytes.NewReader(held.Bytes())
		return c, err
	}
	file, err := os.CreateTemp("", "remit-upload-*")
	if err != nil {
		return c, fmt.Errorf("hold an upload: %w", err)
	}
	c.from, c.remove = file, func() {
		_ = file.Close()           // nobody reads it again
		_ = os.Remove(file.Name()) // or the system does, some day
	}
	return c, c.digest(r, file, size)
}

// digest passes r on, and tells its size and hashes.
func (c *upload) digest(r io.Reader, to io.Writer, size int64) (err error) {
	tag := md5.New() //nolint:gosec // see the import
	c.hash, err = content{r: r, size: size}.copyTo(context.Background(), io.MultiWriter(tag, to))
	c.size, c.md5 = size, hex.EncodeToString(tag.Sum(nil))
	return err
}

// part is what is sent of it in one part of several.
func (c *upload) part(from, size int64) (*upload, error) {
	part := &upload{from: c.from, start: c.start + from}
	return part, part.digest(io.NewSectionReader(part.from, part.start, size), io.Discard, size)
}

// sent is an upload on its way.
type sent struct {
	sync.Mutex
	r    io.Reader
	over bool
}

// attach makes a request send it.
func (c *upload) attach(r *http.Request) {
	r.ContentLength, r.Body = c.size, http.NoBody
	if c.size > 0 {
		r.Body = &sent{r: io.NewSectionReader(c.from, c.start, c.size)}
	}
}

// Read gives nothing more once it is closed.
func (s *sent) Read(p []byte) (int, error) {
	s.Lock()
	defer s.Unlock()
	if s.over {
		return 0, errors.New("the request is over")
	}
	return s.r.Read(p)
}

// Close promises that nobody reads any longer. An answer that comes early leaves the
// sender at work.
func (s *sent) Close() error {
	s.Lock()
	defer s.Unlock()
	s.over = true
	return nil
}

// Put stores an object. What r gives is held until it is known in full, because its hash
// travels ahead of it; so the store checks every byte.
func (s *S3) Put(ctx context.Context, key string, r io.Reader, size int64, c books.Cond) (stored books.Object, created bool, err error) {
	body, err := uploadOf(r, size)
	defer body.remove()
	if err != nil {
		return books.Object{}, false, err
	}
	write := rand.Text()
	err = s.retry(ctx, func(n int) (again bool, err error) {
		was, err := s.judgePut(ctx, key, c, n > 0 || size > s.partSize)
		if err != nil {
			return false, err
		}
		stored, err = s.put(ctx, key, body, write, conditionFor(was, c))
		created = was == nil && err == nil
		return changed(err, n), err
	})
	return stored, created, err
}

// conditionFor is what the store has to check: that what we saw is still there. Whoever
// asks for nothing replaces anything, but something new is always told from the rest.
func conditionFor(was *found, c books.Cond) (opts minio.PutObjectOptions) {
	switch {
	case was == nil:
		opts.SetMatchETagExcept("*")
	case c.Hash != "":
		opts.SetMatchETag(was.tag)
	}
	return opts
}

// put sends an object. errOther says that the condition does not hold.
func (s *S3) put(ctx context.Context, key string, body *upload, write string, condition minio.PutObjectOptions) (books.Object, error) {
	meta := map[string]string{metaHash: body.hash, metaMD5: body.md5, metaWrite: write}
	e := &exchange{}
	var tag string
	var err error
	if body.size > s.partSize {
		tag, err = s.putParts(ctx, key, body, meta, condition, e)
	} else {
		condition.UserMetadata = meta
		tag, err = s.putWhole(ctx, key, body, condition, e)
	}
	if errors.Is(err, books.ErrNotFound) {
		err = errOther // what If-Match names is gone
	}
	if err != nil && (e.doubtful || passing(err)) {
		return s.claim(ctx, key, write, err)
	}
	if err != nil {
		return books.Object{}, err
	}
	stored := books.Object{Key: key, Size: body.size, Hash: body.hash, Modified: time.Now().UTC(), Version: version(tag, body.size)}
	if at, err := http.ParseTime(e.date); err == nil {
		stored.Modified = at.UTC() // the store's clock
	}
	return stored, nil
}

// putWhole sends an object in one request, and gives its tag.
func (s *S3) putWhole(ctx context.Context, key string, body *upload, opts minio.PutObjectOptions, e *exchange) (string, error) {
	e.body, e.size = body, body.size
	stored, err := s.core.PutObject(e.in(ctx), s.at.bucket, s.at.prefix+key, http.NoBody, body.size, "", "", opts)
	return stored.ETag, e.failure(ctx, err)
}

// putParts sends an object in parts, and gives its tag. The exchange is that of the request which
// completes it: only that has the condition, and only that changes anything.
func (s *S3) putParts(
	ctx context.Context, key string, body *upload, meta map[string]string, condition minio.PutObjectOptions, e *exchange,
) (tag string, err error) {
	name, first := s.at.prefix+key, &exchange{}
	id, err := s.core.NewMultipartUpload(first.in(ctx), s.at.bucket, name, minio.PutObjectOptions{UserMetadata: meta})
	if err != nil {
		return "", first.failure(ctx, err)
	}
	defer func() {
		if err != nil { // also if ctx is over: parts that stay behind cost money
			s.abort(context.WithoutCancel(ctx), name, id)
		}
	}()
	var parts []minio.CompletePart
	for from := int64(0); from < body.size; from += s.partSize {
		part, err := body.part(from, min(s.partSize, body.size-from))
		if err != nil {
			return "", err
		}
		sent := &exchange{body: part, size: part.size}
		stored, err := s.core.PutObjectPart(sent.in(ctx), s.at.bucket, name, id, len(parts)+1,
			http.NoBody, part.size, minio.PutObjectPartOptions{})
		if err != nil {
			return "", sent.failure(ctx, err)
		}
		parts = append(parts, minio.CompletePart{PartNumber: stored.PartNumber, ETag: stored.ETag})
	}
	e.size = body.size
	stored, err := s.core.CompleteMultipartUpload(e.in(ctx), s.at.bucket, name, id, parts, condition)
	return stored.ETag, e.failure(ctx, err)
}

// abort removes the parts of an upload that is given up. If that fails, a rule of the bucket has
// to; nobody can do more about it now.
func (s *S3) abort(ctx context.Context, name, id string) {
	ctx, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	_ = s.core.AbortMultipartUpload((&exchange{}).in(ctx), s.at.bucket, name, id)
}

// claim is for a write of which an answer got lost: then its condition fails because it was
// carried out, or because of another's. A store that refuses a large object before it has
// read it may be heard of as a broken connection alone.
func (s *S3) claim(ctx context.Context, key, write string, failed error) (books.Object, error) {
	f, err := s.stat(ctx, key)
	switch {
	case err == nil && f.write == write:
		return f.Object, nil
	case errors.Is(failed, errOther):
		return books.Object{}, books.ErrUnknown
	}
	return books.Object{}, failed
}

// judgePut is judge for a Put: for something new there has to be a place as well. Whether it is
// new, the store tells whoever just tries; for what is sent in parts, that comes late.
func (s *S3) judgePut(ctx context.Context, key string, c books.Cond, look bool) (*found, error) {
	if !c.Absent || look {
		was, err := s.judge(ctx, key, c)
		if err != nil || was != nil {
			return was, err
		}
	}
	return nil, s.place(ctx, key)
}

// place gives ErrNoPlace if a file system could not hold the key: what can be kept on a disk
// and what can be kept here is the same. Two writes at the same moment can escape it.
func (s *S3) place(ctx context.Context, key string) error {
	if !s.holds(key) {
		return books.ErrNoPlace
	}
	if strings.HasPrefix(key, ".") {
		return nil // what we keep for ourselves does not clash
	}
	parents := parentsOf(key)
	problems := make([]error, len(parents)+1)
	var looking sync.WaitGroup
	looking.Go(func() { problems[len(parents)] = s.empty(ctx, key+"/") })
	for i, parent := range parents {
		looking.Go(func() {
			if _, err := s.stat(ctx, parent); err == nil {
				problems[i] = books.ErrNoPlace
			} else if !errors.Is(err, books.ErrNotFound) {
				problems[i] = err
			}
		})
	}
	looking.Wait()
	return cmp.Or(problems...)
}

// parentsOf gives the folders of a key that could be objects. That of a book never is one.
func parentsOf(key string) []string {
	var parents []string
	for i, c := range key {
		if c == '/' {
			parents = append(parents, key[:i])
		}
	}
	if strings.HasPrefix(key, "books/") {
		parents = parents[min(2, len(parents)):]
	}
	return parents
}
