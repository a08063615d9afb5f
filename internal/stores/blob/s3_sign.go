package blob

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/minio/minio-go/v7/pkg/signer"

	"remit/internal/toolsets/books"
)

// maxTTL is the maximum lifetime of a presigned URL in S3.
const maxTTL = 7 * 24 * time.Hour

// SignPut returns a presigned URL of the store, so that uploads do not pass through this program.
// It sends no request. An empty object gets no URL, because its size would not be part of the
// signature.
func (s *S3) SignPut(ctx context.Context, key string, size int64, ttl time.Duration) (books.SignedUpload, bool, error) {
	if !s.holds(key) {
		return books.SignedUpload{}, false, books.ErrPathConflict
	}
	if size <= 0 {
		return books.SignedUpload{}, false, nil
	}
	if ttl < time.Second {
		return books.SignedUpload{}, false, errors.New("sign upload: expiry must be at least a second in the future")
	}
	signed, err := s.presign(ctx, key, size, min(ttl, maxTTL))
	if err != nil {
		return books.SignedUpload{}, false, fmt.Errorf("sign upload: %w", err)
	}
	return books.SignedUpload{URL: signed, Headers: map[string]string{"Content-Length": strconv.FormatInt(size, 10)}}, true, nil
}

func (s *S3) presign(ctx context.Context, key string, size int64, ttl time.Duration) (string, error) {
	keys, err := s.getCredentials(ctx)
	if err != nil {
		return "", err
	}
	request := http.Request{
		Method: http.MethodPut,
		URL:    s.at.url("/"+s.at.prefix+key, ""),
		Header: http.Header{"Content-Length": {strconv.FormatInt(size, 10)}},
	}
	signed := signer.PreSignV4(request, keys.AccessKeyID, keys.SecretAccessKey, keys.SessionToken, s.at.region, int64(ttl/time.Second))
	return signed.URL.String(), nil
}
