package blob

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"github.com/minio/minio-go/v7"
)

// UnusableError reports a problem that a person must fix before the store can be used for books.
// Trying again gives the same result.
type UnusableError struct{ Reason error }

func (e *UnusableError) Error() string { return e.Reason.Error() }

// Unwrap returns the error of the store.
func (e *UnusableError) Unwrap() error { return e.Reason }

// Probe checks that the store can be used for books: that it is reachable, that the credentials are
// valid, and that it supports the conditional writes that keep one writer from overwriting the work
// of another. It writes one object below .remit-probe/ and removes it. After it has succeeded once,
// there is no need to call it again. It returns an *UnusableError for a problem that is not
// temporary.
func (s *S3) Probe(ctx context.Context) error {
	const text = "Remit checks whether this store supports conditional writes.\n"
	body, err := uploadOf(strings.NewReader(text), int64(len(text)))
	if err != nil {
		return err
	}
	key := tempPrefix + "probe/" + rand.Text()
	err = s.probe(ctx, key, body)
	// Even if ctx has ended: nothing should stay behind.
	deleteResult := s.removeObject(context.WithoutCancel(ctx), key, &exchange{})
	if err == nil && deleteResult != nil {
		return fmt.Errorf("remove an object from the S3 store: %w", deleteResult)
	}
	if isTemporary(err) || isFull(err) {
		return err
	}
	return &UnusableError{err}
}

func (s *S3) probe(ctx context.Context, key string, body *upload) error {
	put := func(on func(*minio.PutObjectOptions)) (doubtful bool, err error) {
		opts := minio.PutObjectOptions{UserMetadata: map[string]string{metaHash: body.hash}}
		on(&opts)
		e := &exchange{}
		_, err = s.putWhole(ctx, key, body, opts, e)
		return e.doubtful, err
	}
	absent := func(o *minio.PutObjectOptions) { o.SetMatchETagExcept("*") }
	doubtful, err := put(absent)
	made := err == nil || errors.Is(err, errReplaced) && doubtful
	if !made {
		return fmt.Errorf("write an object to the S3 store: %w", err)
	}
	if _, err := put(absent); !errors.Is(err, errReplaced) {
		return unfit("If-None-Match", err)
	}
	if _, err := put(func(o *minio.PutObjectOptions) { o.SetMatchETag("00000000000000000000000000000000") }); !errors.Is(err, errReplaced) {
		return unfit("If-Match", err)
	}
	f, err := s.head(ctx, key)
	if err != nil {
		return fmt.Errorf("stat an object of the S3 store: %w", err)
	}
	if f.Hash != body.hash {
		return &UnusableError{errors.New("this S3 store does not store the metadata of objects " +
			"(x-amz-meta-sha256), which Remit needs to identify its own writes: use another store")}
	}
	if _, err := put(func(o *minio.PutObjectOptions) { o.SetMatchETag(f.tag) }); err != nil {
		return fmt.Errorf("replace an object of the S3 store if it is still the same: %w", err)
	}
	return nil
}

// unfit returns the error for a store that accepted a write which it should have refused.
func unfit(header string, err error) error {
	if err != nil {
		return fmt.Errorf("this S3 store does not support %s; without it one writer could overwrite the work of "+
			"another: use a store with conditional writes: %w", header, err)
	}
	return &UnusableError{fmt.Errorf("this S3 store ignores %s; without it one writer could overwrite the work of "+
		"another: use a store with conditional writes", header)}
}
