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
	"time"

	"remit/internal/toolsets/books"
)

// Open gives the content of an object. What is small is read at once. The rest is read as
// it is asked for, and every part of it is asked for as part of the same object: once
// that is replaced, reading elsewhere than straight on fails.
func (s *S3) Open(ctx context.Context, key string) (*books.Body, error) {
	if !s.holds(key) {
		return nil, books.ErrNotFound
	}
	return s.open(ctx, key, "")
}

// open is Open of the object with a tag, if there is one; errOther if it is another by now.
func (s *S3) open(ctx context.Context, key, tag string) (*books.Body, error) {
	var body *books.Body
	_, err := steady(func() (found, error) {
		if body != nil {
			_ = body.Close() // it was of two pieces
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
	c := call{method: http.MethodGet, key: key, streams: true, header: map[string]string{}}
	if tag != "" {
		c.header["If-Match"] = tag
	}
	before := "" // the hash of what did not fit its description
	for range looks {
		a, err := s.do(ctx, c)
		if err != nil {
			return nil, found{}, err
		}
		f, err := foundIn(key, a)
		if err != nil {
			a.rest.close()
			return nil, found{}, err
		}
		if a.rest != nil {
			return &books.Body{ReadSeekCloser: &remote{s: s, ctx: ctx, f: f, rest: a.rest}, Object: f.Object}, f, nil
		}
		sum := sha256.Sum256(a.body)
		actual := hex.EncodeToString(sum[:])
		switch {
		case f.Hash == "" || f.Hash == actual:
			return &books.Body{ReadSeekCloser: held{bytes.NewReader(a.body)}, Object: f.Object}, f, nil
		case before == actual:
			return nil, found{}, errDamaged
		}
		before = actual // it was replaced while it was read, and the store did not notice
	}
	return nil, found{}, errRestless
}

// held is a body that is in memory.
type held struct{ *bytes.Reader }

// Close has nothing to give back.
func (held) Close() error { return nil }

// remote is a body that is read from the store.
type remote struct {
	s      *S3
	ctx    context.Context // that of Open: reading goes on for it
	f      found
	at     int64   // where the next Read begins
	rest   *stream // nil: nothing is under way
	from   int64   // where rest is
	closed bool
}

// Seek costs nothing until something is read.
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

// Read goes on after a broken connection where it was: the tag sees to it that this is
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
		if err := r.reach(); err != nil {
			return 0, err
		}
		got, err := r.rest.Read(p)
		r.at, r.from = r.at+int64(got), r.from+int64(got)
		if got > 0 {
			return got, nil // an error comes again with the next Read
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

// reach asks for the rest of the object from where the next Read begins.
func (r *remote) reach() error {
	if r.rest != nil && r.from == r.at {
		return nil
	}
	r.drop()
	a, err := r.s.do(r.ctx, call{method: http.MethodGet, key: r.f.Key, streams: true, header: map[string]string{
		"If-Match": r.f.tag,
		"Range":    fmt.Sprintf("bytes=%d-", r.at),
	}})
	switch {
	case err != nil:
		return fmt.Errorf("read an object: %w", err)
	case a.status != http.StatusPartialContent:
		a.rest.close()
		return errors.New("the S3 store does not give parts of objects")
	}
	if r.from = r.at; a.rest == nil {
		a.rest = &stream{body: io.NopCloser(bytes.NewReader(a.body)), timer: time.NewTimer(0), end: func() {}, outer: r.ctx, ctx: r.ctx}
	}
	r.rest = a.rest
	return nil
}

func (r *remote) drop() {
	r.rest.close()
	r.rest = nil
}

// Close ends what is under way.
func (r *remote) Close() error {
	r.drop()
	r.closed = true
	return nil
}

// stream is the body of an answer that may take its time, but not stand still.
type stream struct {
	body       io.ReadCloser
	timer      *time.Timer // stops the request
	patience   time.Duration
	end        func()
	outer, ctx context.Context // of who asked, and of the request
}

// Read waits for the next bytes, not for longer than our patience.
func (s *stream) Read(p []byte) (int, error) {
	s.timer.Reset(s.patience)
	n, err := s.body.Read(p)
	s.timer.Stop()
	if err != nil && !errors.Is(err, io.EOF) {
		err = failure(s.outer, s.ctx, err)
	}
	return n, err
}

// close gives the connection back. There need not be a stream.
func (s *stream) close() {
	if s == nil {
		return
	}
	s.end()
	_ = s.body.Close() // it was only read
}
