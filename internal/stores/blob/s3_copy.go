package blob

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/minio/minio-go/v7"

	"remit/internal/toolsets/books"
)

// Copy stores an object under another key as well. The content of a large object does not pass
// through this machine.
func (s *S3) Copy(ctx context.Context, from, to, hash string) error {
	return s.retry(ctx, func(n int) (again bool, err error) {
		there := make(chan error, 1)
		go func() {
			_, err := s.stat(ctx, to)
			there <- err
		}()
		small, was, err := s.readSmall(ctx, from, hash)
		already := <-there
		switch {
		case err != nil:
			return errors.Is(err, errReplaced), err
		case !errors.Is(already, books.ErrNotFound):
			return false, already
		case small != nil:
			return false, s.putCopy(ctx, to, small)
		}
		if err := s.checkPlace(ctx, to); err != nil {
			return false, err
		}
		err = s.copyLarge(ctx, was, to)
		return changed(err, n) || errors.Is(err, books.ErrNotFound), err
	})
}

// readSmall returns the content of a small object, or the description of a large one. It returns a
// *books.ConflictError if the object does not have this hash.
func (s *S3) readSmall(ctx context.Context, key, hash string) ([]byte, *found, error) {
	body, err := s.Open(ctx, key)
	if errors.Is(err, books.ErrNotFound) {
		return nil, nil, &books.ConflictError{}
	}
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = body.Close() }() // it was only read
	if body.Size > smallBody {
		was, err := s.checkCond(ctx, key, books.Cond{Hash: hash})
		return nil, was, err
	}
	content, err := io.ReadAll(body)
	if actual := sumOfContent(content); err == nil && actual != hash {
		err = &books.ConflictError{Actual: actual}
	}
	return content, nil, err
}

// putCopy stores content unless there is an object already. A gateway over a file system may copy
// the content of one object and the metadata of another, if the object is replaced at that moment;
// so only an object that is too large for that passes through the store alone.
func (s *S3) putCopy(ctx context.Context, to string, content []byte) error {
	_, _, err := s.Put(ctx, to, bytes.NewReader(content), int64(len(content)), books.Cond{Absent: true})
	if errors.Is(err, books.ErrConflict) {
		return nil
	}
	return err
}

// copyLarge lets the store copy an object.
func (s *S3) copyLarge(ctx context.Context, was *found, to string) error {
	header := map[string]string{"X-Amz-Copy-Source-If-Match": `"` + was.tag + `"`}
	if was.computed {
		header["X-Amz-Metadata-Directive"], header[metaHash] = "REPLACE", was.Hash
	}
	e := &exchange{size: was.Size}
	stored, err := s.core.CopyObject(e.in(ctx), s.at.bucket, s.at.prefix+was.Key, s.at.bucket, s.at.prefix+to, header,
		minio.CopySrcOptions{}, minio.PutObjectOptions{})
	if err != nil {
		return e.failure(ctx, err)
	}
	if was.md5 == "" || was.md5 == stored.ETag {
		return nil
	}
	// The ETag is no MD5, or the store has copied another object.
	hash, err := s.hashOf(ctx, found{Object: books.Object{Key: to}, tag: stored.ETag})
	if err != nil || hash == was.Hash {
		return err
	}
	return errors.Join(errReplaced, s.removeObject(ctx, to, &exchange{ifMatch: stored.ETag}))
}
