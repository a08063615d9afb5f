package blob

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/minio/minio-go/v7"

	"remit/internal/storageid"
	"remit/internal/toolsets/books"
)

// ID returns the id of the library in the bucket, or "" if it has none.
func (s *S3) ID(ctx context.Context) (string, error) {
	body, err := s.open(ctx, idName, "")
	if errors.Is(err, books.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the id of the library: %w", err)
	}
	defer func() { _ = body.Close() }() // it was only read
	return storageid.Read(body)
}

// MakeID returns the id of the library in the bucket, and gives it one if it has none. If several
// replicas do so at once, the first one counts.
func (s *S3) MakeID(ctx context.Context) (string, error) {
	id, err := s.ID(ctx)
	if id != "" || err != nil {
		return id, err
	}
	text := storageid.New() + "\n"
	body, err := uploadOf(strings.NewReader(text), int64(len(text)))
	if err != nil {
		return "", err
	}
	opts := minio.PutObjectOptions{UserMetadata: map[string]string{metaHash: body.hash}}
	opts.SetMatchETagExcept("*")
	if _, err = s.putWhole(ctx, idName, body, opts, &exchange{}); err != nil && !errors.Is(err, errReplaced) {
		return "", fmt.Errorf("write the id of the library: %w", err)
	}
	id, err = s.ID(ctx)
	if id == "" && err == nil {
		err = errors.New("the S3 store has lost the id of the library")
	}
	return id, err
}
