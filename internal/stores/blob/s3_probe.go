package blob

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"github.com/minio/minio-go/v7"
)

// UnfitError says what somebody has to mend before a store can keep books: another try
// would end the same way.
type UnfitError struct{ Why error }

func (e *UnfitError) Error() string { return e.Why.Error() }

// Unwrap gives what the store said.
func (e *UnfitError) Unwrap() error { return e.Why }

// Probe tells whether the store can keep books: it can be reached, the credentials are
// good, and it honours the conditions without which one writer would undo the work of
// another. It writes one object beneath .remit-probe/ and removes it. Once it has
// succeeded there is no need to ask again. What will not pass by itself is an *UnfitError.
func (s *S3) Probe(ctx context.Context) error {
	body, err := uploadOf(strings.NewReader("Remit looks whether this store honours conditions.\n"), 51)
	if err != nil {
		return err
	}
	key := tempPrefix + "probe/" + rand.Text()
	err = s.probe(ctx, key, body)
	// Also if ctx is over: nothing should stay behind.
	gone := s.erase(context.WithoutCancel(ctx), key, &exchange{})
	if err == nil && gone != nil {
		return fmt.Errorf("remove an object from the S3 store: %w", gone)
	}
	if !passing(err) {
		return &UnfitError{err}
	}
	return err
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
	made := err == nil || errors.Is(err, errOther) && doubtful
	if !made {
		return fmt.Errorf("write an object to the S3 store: %w", err)
	}
	if _, err := put(absent); !errors.Is(err, errOther) {
		return unfit("If-None-Match", err)
	}
	if _, err := put(func(o *minio.PutObjectOptions) { o.SetMatchETag("00000000000000000000000000000000") }); !errors.Is(err, errOther) {
		return unfit("If-Match", err)
	}
	f, err := s.head(ctx, key)
	if err != nil {
		return fmt.Errorf("look at an object of the S3 store: %w", err)
	}
	if f.Hash != body.hash {
		return &UnfitError{errors.New("this S3 store does not keep the metadata of objects (x-amz-meta-sha256); Remit needs it to tell who wrote what: use another store")}
	}
	if _, err := put(func(o *minio.PutObjectOptions) { o.SetMatchETag(f.tag) }); err != nil {
		return fmt.Errorf("replace an object of the S3 store if it is still the same: %w", err)
	}
	return nil
}

// unfit says what is wrong with a store that did not refuse what it should have.
func unfit(header string, err error) error {
	if err != nil {
		return fmt.Errorf("this S3 store does not understand %s; without it one writer could undo the work of another: use a store that honours conditional writes: %w", header, err)
	}
	return &UnfitError{fmt.Errorf("this S3 store ignores %s; without it one writer could undo the work of another: use a store that honours conditional writes", header)}
}
