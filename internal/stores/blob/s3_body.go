package blob

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/minio/minio-go/v7"

	"remit/internal/toolsets/books"
)

// Open returns the content of an object. It reads a small object immediately. A larger one is read
// on demand, with conditional requests for the same object: once the object is replaced, reads that
// do not continue the open response fail.
func (s *S3) Open(ctx context.Context, key string) (*books.Body, error) {
	if !s.holds(key) {
		return nil, books.ErrNotFound
	}
	return s.open(ctx, key, "")
}

// open opens the object with an ETag, or the current object if tag is empty. It returns errReplaced
// if the object was replaced.
func (s *S3) open(ctx context.Context, key, tag string) (*books.Body, error) {
	var body *books.Body
	_, err := consistent(func() (found, error) {
		if body != nil {
			_ = body.Close() // it was inconsistent
		}
		var f found
		var err error
		body, f, err = s.openOnce(ctx, key, tag)
		return f, err
	})
	if err != nil {
		return nil, err
	}
	return body, nil
}

func (s *S3) openOnce(ctx context.Context, key, tag string) (*books.Body, found, error) {
	before := "" // the hash of content that did not match its metadata
	for range maxLooks {
		rest, f, err := s.get(ctx, key, tag, 0)
		if err != nil {
			return nil, found{}, err
		}
		if f.Size > smallBody {
			return &books.Body{ReadSeekCloser: &remote{s: s, ctx: ctx, f: f, rest: rest}, Object: f.Object}, f, nil
		}
		content, err := io.ReadAll(rest)
		if err != nil {
			return nil, found{}, fmt.Errorf("read an object: %w", err)
		}
		actual := sumOfContent(content)
		switch {
		case f.Hash == "" || f.Hash == actual:
			return &books.Body{ReadSeekCloser: memoryBody{bytes.NewReader(content)}, Object: f.Object}, f, nil
		case before == actual:
			return nil, found{}, errDamaged
		}
		before = actual // it was replaced during the read, and the store did not notice
	}
	return nil, found{}, errChanging
}

// sumOfContent returns the SHA-256 of content in hex.
func sumOfContent(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// get requests the content of an object from an offset on. If tag is not empty, the object must
// have this ETag.
func (s *S3) get(ctx context.Context, key, tag string, from int64) (io.ReadCloser, found, error) {
	var opts minio.GetObjectOptions
	if tag != "" {
		opts.Set("If-Match", `"`+tag+`"`)
	}
	if from > 0 {
		opts.Set("Range", fmt.Sprintf("bytes=%d-", from))
	}
	e := &exchange{streams: true}
	body, info, _, err := s.core.GetObject(e.in(ctx), s.at.bucket, s.at.prefix+key, opts)
	if err != nil {
		return nil, found{}, e.failure(ctx, err)
	}
	f, err := foundIn(key, info)
	if err == nil && from > 0 && e.status != http.StatusPartialContent {
		err = errors.New("the S3 store does not support range requests")
	}
	if err != nil {
		_ = body.Close() // nobody reads it
		return nil, found{}, err
	}
	return body, f, nil
}

// memoryBody is a body in memory.
type memoryBody struct{ *bytes.Reader }

// Close does nothing.
func (memoryBody) Close() error { return nil }

// remote is a body that is read from the store on demand.
type remote struct {
	s      *S3
	ctx    context.Context // the context of Open, which also bounds reading
	f      found
	at     int64         // offset of the next Read
	rest   io.ReadCloser // nil if no response is open
	from   int64         // the offset of rest
	closed bool
}

// Seek sends no request; the next Read does.
func (r *remote) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.at
	case io.SeekEnd:
		offset += r.f.Size
	}
	if offset < 0 {
		return 0, errors.New("seek before the start of an object")
	}
	r.at = offset
	return offset, nil
}

// Read continues at the same offset after a broken connection. The ETag guarantees that it is still
// the same object.
func (r *remote) Read(p []byte) (int, error) {
	if r.closed {
		return 0, errors.New("read of a closed object")
	}
	if len(p) == 0 {
		return 0, nil
	}
	for n := 0; ; n++ {
		if r.at >= r.f.Size {
			return 0, io.EOF
		}
		if err := r.ensureOpen(); err != nil {
			return 0, err
		}
		got, err := r.rest.Read(p)
		r.at, r.from = r.at+int64(got), r.from+int64(got)
		if got > 0 {
			return got, nil // the next Read returns the error again
		}
		r.drop()
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		if n == tries-1 || r.ctx.Err() != nil {
			return 0, fmt.Errorf("read an object: %w", err)
		}
		if err := r.s.pause(r.ctx, n); err != nil {
			return 0, err
		}
	}
}

// ensureOpen makes sure that a response is open at the offset of the next Read.
func (r *remote) ensureOpen() error {
	if r.rest != nil && r.from == r.at {
		return nil
	}
	r.drop()
	rest, _, err := r.s.get(r.ctx, r.f.Key, r.f.tag, r.at)
	if err != nil {
		return fmt.Errorf("read an object: %w", err)
	}
	r.rest, r.from = rest, r.at
	return nil
}

func (r *remote) drop() {
	if r.rest != nil {
		_ = r.rest.Close() // it was only read
		r.rest = nil
	}
}

// Close closes the open response.
func (r *remote) Close() error {
	r.drop()
	r.closed = true
	return nil
}
