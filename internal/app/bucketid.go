package app

import (
	"context"
	"errors"
	"time"

	"remit/internal/storageid"
	"remit/internal/stores/blob"
	"remit/internal/toolsets/books"
)

// idInterval is how long the id of a bucket counts as checked, because looking takes a request.
const idInterval = time.Second

// bucketID tells the bucket of the books from another one, or an empty one, in its place.
type bucketID struct {
	bucket *blob.S3
	known  storageid.Memory
	// Both remember when the id was right.
	checked, claimed opener[time.Time]
}

func newBucketID(bucket *blob.S3, known storageid.Memory) *bucketID {
	b := &bucketID{bucket: bucket, known: known}
	b.checked = b.opener(bucket.ID)
	b.claimed = b.opener(bucket.MakeID)
	return b
}

// opener compares the id that read returns with the known one. A bucket whose id is not known yet
// gets one from read, if read makes one, and is then known.
func (b *bucketID) opener(read func(context.Context) (string, error)) opener[time.Time] {
	return opener[time.Time]{
		what: "check the id of the books", pause: openPause,
		run:   func(ctx context.Context, _ time.Time) (time.Time, error) { return time.Now(), b.compare(ctx, read) },
		valid: func(at time.Time) bool { return time.Since(at) < idInterval },
	}
}

func (b *bucketID) compare(ctx context.Context, read func(context.Context) (string, error)) error {
	known, err := b.known.Known()
	if err != nil {
		return err
	}
	if known != "" {
		read = b.bucket.ID
	}
	id, err := read(ctx)
	refuse := refuseStorage("The bucket of the books")
	switch {
	case err != nil || id == known:
		return err
	case known == "":
		return b.known.Record(id)
	case id == "":
		return refuse("has lost its id: it was emptied, or another one is in its place")
	}
	return refuse("is not the one that was used before")
}

// check returns an error if the bucket is not the one that was used before. It creates nothing.
func (b *bucketID) check(ctx context.Context) error {
	_, err := b.checked.open(ctx)
	return err
}

// claim is check before a write, which gives the bucket its id.
func (b *bucketID) claim(ctx context.Context) error {
	_, err := b.claimed.open(ctx)
	return err
}

// explain returns a clearer error for an object that is missing because the bucket is another one.
func (b *bucketID) explain(ctx context.Context, err error) error {
	if !errors.Is(err, books.ErrNotFound) {
		return err
	}
	if other := b.check(ctx); other != nil {
		return other
	}
	return err
}

func (b *bucketID) close() {
	b.checked.close()
	b.claimed.close()
}

// bucket is a store of books on S3 that says so if its bucket was replaced.
type bucket struct {
	*blob.S3
	id *bucketID
}

// Open implements books.Store.
func (b *bucket) Open(ctx context.Context, key string) (*books.Body, error) {
	body, err := b.S3.Open(ctx, key)
	return body, b.id.explain(ctx, err)
}

// Stat implements books.Store.
func (b *bucket) Stat(ctx context.Context, key string) (books.Object, error) {
	object, err := b.S3.Stat(ctx, key)
	return object, b.id.explain(ctx, err)
}
