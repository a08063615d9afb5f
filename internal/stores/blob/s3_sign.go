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

// longest is how long S3 honours an address at most.
const longest = 7 * 24 * time.Hour

// SignPut gives an address of the store itself: what is uploaded there does not pass
// through here. Nothing is sent. An empty object has none, because its size would not
// be part of the signature.
func (s *S3) SignPut(ctx context.Context, key string, size int64, ttl time.Duration) (books.Signed, bool, error) {
	if !s.holds(key) {
		return books.Signed{}, false, books.ErrNoPlace
	}
	if size <= 0 {
		return books.Signed{}, false, nil
	}
	if ttl < time.Second {
		return books.Signed{}, false, errors.New("sign an upload: it would be over at once")
	}
	signed, err := s.presign(ctx, key, size, min(ttl, longest))
	if err != nil {
		return books.Signed{}, false, fmt.Errorf("sign an upload: %w", err)
	}
	return books.Signed{URL: signed, Headers: map[string]string{"Content-Length": strconv.FormatInt(size, 10)}}, true, nil
}

func (s *S3) presign(ctx context.Context, key string, size int64, ttl time.Duration) (string, error) {
	who, err := s.who(ctx)
	if err != nil {
		return "", err
	}
	request := http.Request{
		Method: http.MethodPut,
		URL:    s.at.url("/"+s.at.prefix+key, ""),
		Header: http.Header{"Content-Length": {strconv.FormatInt(size, 10)}},
	}
	signed := signer.PreSignV4(request, who.AccessKeyID, who.SecretAccessKey, who.SessionToken, s.at.region, int64(ttl/time.Second))
	return signed.URL.String(), nil
}
