package blob

import (
	"bytes"
	"context"
	"crypto/md5" //nolint:gosec // what S3 makes its tags of; nothing is secured by it
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"

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
func (c *upload) digest(r io.Reader, to io.Writer, size int64) error {
	hash, tag := sha256.New(), md5.New() //nolint:gosec // see the import
	n, err := io.Copy(io.MultiWriter(hash, tag, to), io.LimitReader(r, size+1))
	if err != nil {
		return fmt.Errorf("read what is to be stored: %w", err)
	}
	if n > size {
		return fmt.Errorf("what is to be stored has more than the %d bytes it should have", size)
	}
	if n < size {
		return fmt.Errorf("what is to be stored has %d bytes, and should have %d", n, size)
	}
	c.size, c.hash, c.md5 = n, hex.EncodeToString(hash.Sum(nil)), hex.EncodeToString(tag.Sum(nil))
	return nil
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
func (s *S3) Put(ctx context.Context, key string, r io.Reader, size int64, c books.Cond) (books.Object, bool, error) {
	body, err := uploadOf(r, size)
	defer body.remove()
	if err != nil {
		return books.Object{}, false, err
	}
	write := rand.Text()
	for n := range looks {
		was, err := s.judgePut(ctx, key, c, n)
		if err != nil {
			return books.Object{}, false, err
		}
		stored, err := s.put(ctx, key, body, write, conditionFor(was, c))
		if !changed(err, n) {
			return stored, was == nil && err == nil, err
		}
		if err := s.lookAgain(ctx, n); err != nil {
			return books.Object{}, false, err
		}
	}
	return books.Object{}, false, errRestless
}

// conditionFor is what the store has to check: that what we saw is still there. Whoever
// asks for nothing replaces anything, but something new is always told from the rest.
func conditionFor(was *found, c books.Cond) map[string]string {
	switch {
	case was == nil:
		return map[string]string{"If-None-Match": "*"}
	case c.Hash != "":
		return map[string]string{"If-Match": was.tag}
	}
	return map[string]string{}
}

// put sends an object. errOther says that the condition does not hold.
func (s *S3) put(ctx context.Context, key string, body *upload, write string, header map[string]string) (books.Object, error) {
	header[metaHash], header[metaMD5], header[metaWrite] = body.hash, body.md5, write
	a, err := s.do(ctx, call{method: http.MethodPut, key: key, header: header, body: body, size: body.size})
	if errors.Is(err, books.ErrNotFound) {
		err = errOther // what If-Match names is gone
	}
	if err != nil && (a.doubtful || passing(err)) {
		return s.claim(ctx, key, write, err)
	}
	if err != nil {
		return books.Object{}, err
	}
	stored := books.Object{Key: key, Size: body.size, Hash: body.hash, Modified: s.now().UTC(), Version: version(a.header.Get("ETag"), body.size)}
	if at, err := http.ParseTime(a.header.Get("Date")); err == nil {
		stored.Modified = at.UTC() // the store's clock
	}
	return stored, nil
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

// judgePut is judge for the n-th try of a Put: for something new there has to be a place
// as well. Whether it is new, the store tells whoever just tries.
func (s *S3) judgePut(ctx context.Context, key string, c books.Cond, n int) (*found, error) {
	if !c.Absent || n > 0 {
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
	answers := make(chan error, len(parents)+1)
	go func() { answers <- s.empty(ctx, key+"/") }()
	for _, parent := range parents {
		go func() {
			_, err := s.stat(ctx, parent)
			switch {
			case errors.Is(err, books.ErrNotFound):
				err = nil
			case err == nil:
				err = books.ErrNoPlace
			}
			answers <- err
		}()
	}
	var first error
	for range cap(answers) {
		if err := <-answers; first == nil {
			first = err
		}
	}
	return first
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

// empty gives ErrNoPlace if there is an object beneath a folder.
func (s *S3) empty(ctx context.Context, folder string) error {
	p, err := s.page(ctx, folder, "", 1)
	if err == nil && len(p.Contents) > 0 {
		return books.ErrNoPlace
	}
	return err
}
