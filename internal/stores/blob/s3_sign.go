package blob

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/http"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/signer"
)

// errLate means that the store got a request after its signature had expired, so that it did
// nothing.
var errLate = errors.New("a request reached the S3 store too late; if this persists, check the clocks of this machine and of the store")

// changes reports whether a request changes something in the store.
func changes(r *http.Request) bool {
	return r.Method != http.MethodGet && r.Method != http.MethodHead
}

// sign signs a request. The signature of one that changes something expires: a copy of it that the
// network delivers later has no effect. The store checks that when it has read the headers.
func (s *S3) sign(r *http.Request, keys credentials.Value, e *exchange, body *upload) *http.Request {
	if !changes(r) {
		r.Header.Set("X-Amz-Content-Sha256", noContent)
		return signer.SignV4(*r, keys.AccessKeyID, keys.SecretAccessKey, keys.SessionToken, s.at.region)
	}
	r.Header.Del("X-Amz-Content-Sha256") // not every store accepts the hash in such a signature
	if sum, err := hex.DecodeString(bodyMD5(body)); err == nil && len(sum) > 0 {
		r.Header.Set("Content-Md5", base64.StdEncoding.EncodeToString(sum))
	}
	window := s.validity
	if end, ok := r.Context().Deadline(); ok {
		window = min(window, time.Until(end))
	}
	// Both the date of the signature and the store's clock are known to a second only.
	window = max(window, 0).Truncate(time.Second) + 3*time.Second + max(s.ahead(), 0).Truncate(time.Second)
	signed := signer.PreSignV4(*r, keys.AccessKeyID, keys.SecretAccessKey, keys.SessionToken, s.at.region, int64(window/time.Second))
	at, err := time.Parse("20060102T150405Z", signed.URL.Query().Get("X-Amz-Date"))
	if end := at.Add(window); err == nil && end.After(e.expires) {
		e.expires = end
	}
	return signed
}

func bodyMD5(body *upload) string {
	if body == nil {
		return ""
	}
	return body.md5
}

// ahead returns how far the clock of the store is ahead of ours, to a second or the duration of a
// request. It is too little rather than too much.
func (s *S3) ahead() time.Duration { return time.Duration(s.clock.Load()) }

// now returns the time by the clock of the store.
func (s *S3) now() time.Time { return time.Now().Add(s.ahead()) }

// learnClock reads the clock of the store from an answer.
func (s *S3) learnClock(response *http.Response) {
	if at, err := http.ParseTime(response.Header.Get("Date")); err == nil {
		s.clock.Store(int64(time.Until(at)))
	}
}
