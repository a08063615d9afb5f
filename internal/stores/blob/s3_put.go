package blob

import (
	"bytes"
	"cmp"
	"context"
	"crypto/md5" //nolint:gosec // S3 uses MD5 for its ETags; it protects nothing
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

// upload is the content of a Put, which is complete before the first byte is sent.
type upload struct {
	from   io.ReaderAt
	start  int64
	size   int64
	hash   string // SHA-256
	md5    string
	remove func() // removes the temporary file, if any
}

// inMemory is the maximum size of content held in memory, if it can be read only once. Larger
// content goes to a temporary file.
const inMemory = 1 << 20

// uploadOf reads r, which must have exactly this size.
func uploadOf(r io.Reader, size int64) (*upload, error) {
	if size < 0 {
		return &upload{remove: func() {}}, errors.New("the size of the content is negative")
	}
	if seekable, ok := r.(interface {
		io.ReadSeeker
		io.ReaderAt
	}); ok {
		start, err := seekable.Seek(0, io.SeekCurrent)
		if err == nil {
			c := &upload{from: seekable, start: start, remove: func() {}}
			return c, c.digest(seekable, io.Discard, size)
		}
	}
	c := &upload{remove: func() {}}
	if size <= inMemory {
		memoryBody := bytes.NewBuffer(make([]byte, 0, size))
		err := c.digest(r, memoryBody, size)
		c.from = bytes.NewReader(memoryBody.Bytes())
		return c, err
	}
	file, err := os.CreateTemp("", "remit-upload-*")
	if err != nil {
		return c, fmt.Errorf("buffer an upload: %w", err)
	}
	// Without a name it ends with this process, however that ends. Windows keeps the name of an
	// open file, so there the file is removed at the end.
	removed := os.Remove(file.Name()) == nil
	c.from, c.remove = file, func() {
		_ = file.Close() // nobody reads it again
		if !removed {
			_ = os.Remove(file.Name()) // if it fails, the system removes the file some day
		}
	}
	return c, c.digest(r, file, size)
}

// digest copies r to a writer, and sets the size and the hashes.
func (c *upload) digest(r io.Reader, to io.Writer, size int64) (err error) {
	tag := md5.New() //nolint:gosec // see the import
	c.hash, err = content{r: r, size: size}.copyTo(context.Background(), io.MultiWriter(tag, to))
	c.size, c.md5 = size, hex.EncodeToString(tag.Sum(nil))
	return err
}

// part returns one part of the upload.
func (c *upload) part(from, size int64) (*upload, error) {
	part := &upload{from: c.from, start: c.start + from}
	return part, part.digest(io.NewSectionReader(part.from, part.start, size), io.Discard, size)
}

// sent is an upload that is being sent.
type sent struct {
	sync.Mutex
	r    io.Reader
	over bool
}

// attach makes the upload the body of a request.
func (c *upload) attach(r *http.Request) {
	r.ContentLength, r.Body = c.size, http.NoBody
	if c.size > 0 {
		r.Body = &sent{r: io.NewSectionReader(c.from, c.start, c.size)}
	}
}

// Read returns an error after Close.
func (s *sent) Read(p []byte) (int, error) {
	s.Lock()
	defer s.Unlock()
	if s.over {
		return 0, errors.New("the request has ended")
	}
	return s.r.Read(p)
}

// Close guarantees that the content is not read any longer. Without it, the sender could still be
// reading after an early answer.
func (s *sent) Close() error {
	s.Lock()
	defer s.Unlock()
	s.over = true
	return nil
}

// Put stores an object. It reads all of r before it sends anything, because the hash precedes the
// content, so that the store can verify every byte.
func (s *S3) Put(ctx context.Context, key string, r io.Reader, size int64, c books.Cond) (stored books.Object, created bool, err error) {
	body, err := uploadOf(r, size)
	defer body.remove()
	if err != nil {
		return books.Object{}, false, err
	}
	return s.putUpload(ctx, key, body, c)
}

// Stage keeps the content on this machine, so that no other program sees it in the bucket.
func (s *S3) Stage(ctx context.Context, key string, r io.Reader, size int64) (books.Staged, error) {
	if !s.holds(key) {
		return nil, books.ErrPathConflict
	}
	body, err := uploadOf(contextReader{ctx, r}, size)
	if err != nil {
		body.remove()
		return nil, err
	}
	return &stagedUpload{s, key, body}, nil
}

// stagedUpload implements books.Staged.
type stagedUpload struct {
	s    *S3
	key  string
	body *upload
}

// Hash implements books.Staged.
func (u *stagedUpload) Hash() string { return u.body.hash }

// Put implements books.Staged.
func (u *stagedUpload) Put(ctx context.Context, c books.Cond) (stored books.Object, created bool, err error) {
	return u.s.putUpload(ctx, u.key, u.body, c)
}

// Discard implements books.Staged.
func (u *stagedUpload) Discard() { u.body.remove() }

func (s *S3) putUpload(ctx context.Context, key string, body *upload, c books.Cond) (stored books.Object, created bool, err error) {
	write := rand.Text()
	err = s.retry(ctx, func(n int) (again bool, err error) {
		if err := s.checkLate(key, body); err != nil {
			return false, err
		}
		was, err := s.checkPut(ctx, key, c, n > 0 || body.size > smallBody)
		if err != nil {
			return false, err
		}
		stored, err = s.put(ctx, key, body, write, was)
		created = was == nil && err == nil
		return changed(err, n), err
	})
	return stored, created, err
}

// conditionFor returns the condition that the store must check: that the object is still the one we
// saw. So a copy of the request that arrives late replaces no other object.
func conditionFor(was *found) (opts minio.PutObjectOptions) {
	if was == nil {
		opts.SetMatchETagExcept("*")
	} else {
		opts.SetMatchETag(was.tag)
	}
	return opts
}

// put sends an object that replaces was, or creates one if was is nil. It returns errReplaced if
// the object has changed since.
func (s *S3) put(ctx context.Context, key string, body *upload, write string, was *found) (books.Object, error) {
	meta := map[string]string{metaHash: body.hash, metaMD5: body.md5, metaWrite: write}
	e, condition := &exchange{}, conditionFor(was)
	var tag string
	var err error
	if body.size > s.partSize {
		tag, err = s.putParts(ctx, key, body, meta, condition, e)
	} else {
		condition.UserMetadata = meta
		tag, err = s.putWhole(ctx, key, body, condition, e)
	}
	if errors.Is(err, books.ErrNotFound) {
		err = errReplaced // the object that If-Match names is gone
	}
	late := &lateWrite{key: key, id: write, was: was, expires: e.expires, known: closed}
	switch {
	case err != nil && e.doubtful:
		if err = s.resolve(ctx, late, err); err != nil {
			return books.Object{}, err
		}
		return late.stored, nil
	case err != nil:
		return books.Object{}, err
	case e.doubtful && body.size <= s.partSize: // an upload in parts can be completed only once
		s.remember(late)
	}
	stored := books.Object{Key: key, Size: body.size, Hash: body.hash, Modified: time.Now().UTC(), Version: version(tag, body.size)}
	if at, err := http.ParseTime(e.date); err == nil {
		stored.Modified = at.UTC() // the store's clock
	}
	return stored, nil
}

// putWhole sends an object in one request and returns its ETag.
func (s *S3) putWhole(ctx context.Context, key string, body *upload, opts minio.PutObjectOptions, e *exchange) (string, error) {
	e.body, e.size = body, body.size
	stored, err := s.core.PutObject(e.in(ctx), s.at.bucket, s.at.prefix+key, http.NoBody, body.size, "", "", opts)
	return stored.ETag, e.failure(ctx, err)
}

// putParts sends an object in parts and returns its ETag. The exchange belongs to the request that
// completes the upload: only that request has the condition, and only that one changes anything.
func (s *S3) putParts(
	ctx context.Context, key string, body *upload, meta map[string]string, condition minio.PutObjectOptions, e *exchange,
) (tag string, err error) {
	s.sweepParts(ctx)
	name, first := s.at.prefix+key, &exchange{}
	id, err := s.core.NewMultipartUpload(first.in(ctx), s.at.bucket, name, minio.PutObjectOptions{UserMetadata: meta})
	if err != nil {
		return "", first.failure(ctx, err)
	}
	defer func() {
		if err != nil { // even if ctx has ended, because parts that stay behind cost money
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

// abort removes the parts of an upload that has failed. If that fails too, only a lifecycle rule of
// the bucket can remove them.
func (s *S3) abort(ctx context.Context, name, id string) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	_ = s.core.AbortMultipartUpload((&exchange{}).in(ctx), s.at.bucket, name, id)
}

// sweepParts removes the parts that ended processes have left among the books, at most once an
// hour. It reports no errors: the credentials may lack the permission to list them.
func (s *S3) sweepParts(ctx context.Context) {
	at, now := s.sweptAt.Load(), time.Now()
	if now.Sub(time.Unix(0, at)) < time.Hour || !s.sweptAt.CompareAndSwap(at, now.UnixNano()) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	const most = 1000 // in one answer
	found, _ := s.core.ListMultipartUploads((&exchange{}).in(ctx), s.at.bucket, s.at.prefix+"books/", "", "", "", most)
	for i := range found.Uploads {
		if s.now().Sub(found.Uploads[i].Initiated) > s.abandonedAfter {
			s.abort(ctx, found.Uploads[i].Key, found.Uploads[i].UploadID)
		}
	}
}

// checkPut is checkCond for a Put: a new object must also fit into the folders of the store.
// Whether the object is new is left to the store, unless look is set: a store may refuse a large
// object by breaking the connection, and checks an upload in parts only at the end.
func (s *S3) checkPut(ctx context.Context, key string, c books.Cond, look bool) (*found, error) {
	if !c.Absent || look {
		was, err := s.checkCond(ctx, key, c)
		if err != nil || was != nil {
			return was, err
		}
	}
	return nil, s.checkPlace(ctx, key)
}

// checkPlace returns books.ErrPathConflict if a file system could not store the key, so that the
// same keys are valid on disk and on S3. Two simultaneous writes can bypass the check.
func (s *S3) checkPlace(ctx context.Context, key string) error {
	if !s.holds(key) {
		return books.ErrPathConflict
	}
	if strings.HasPrefix(key, ".") {
		return nil // reserved names do not clash
	}
	parents := parentsOf(key)
	problems := make([]error, len(parents)+1)
	var looking sync.WaitGroup
	looking.Go(func() { problems[len(parents)] = s.empty(ctx, key+"/") })
	for i, parent := range parents {
		looking.Go(func() {
			if _, err := s.stat(ctx, parent); err == nil {
				problems[i] = books.ErrPathConflict
			} else if !errors.Is(err, books.ErrNotFound) {
				problems[i] = err
			}
		})
	}
	looking.Wait()
	return cmp.Or(problems...)
}

// parentsOf returns the folders of a key that could be objects. The folder of a book never is one.
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
