package blob

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/minio/minio-go/v7"

	"remit/internal/toolsets/books"
)

var (
	// errReplaced means that a condition did not hold, or that another write was in progress.
	errReplaced = errors.New("the object was replaced meanwhile")
	// errDamaged means that the content of an object was changed without its metadata, which can
	// happen to the files behind a gateway.
	errDamaged = errors.New("the content of the object does not match its stored SHA-256: store it again, or " +
		"remove x-amz-meta-sha256 from it")
)

// refusal is an error response of the store.
type refusal struct {
	method string
	status int
	code   string // the error code of the store; a response to HEAD has none
	region string // the region of the bucket, if the store names it
}

// Error describes the response in our own words, because those of the store may repeat signatures.
func (r *refusal) Error() string {
	text := fmt.Sprintf("the S3 store answered %s with %d", r.method, r.status)
	if r.code != "" {
		text += " " + r.code
	}
	if advice := r.advice(); advice != "" {
		text += ": " + advice
	}
	return text
}

// advice returns what a person can do to fix the error, or "".
func (r *refusal) advice() string {
	switch r.code {
	case "NoSuchBucket":
		return "there is no such bucket; create it, or correct the library URL"
	case "AccessDenied", "AllAccessDisabled", "AccountProblem":
		return "the credentials lack permission; they must be allowed to read, write, delete and list objects in the bucket"
	case "SignatureDoesNotMatch":
		return "AWS_SECRET_ACCESS_KEY does not belong to AWS_ACCESS_KEY_ID, or a proxy changes requests"
	case "InvalidAccessKeyId", "XAdminUserNotFound": // the code of versitygw
		return "the store does not recognize AWS_ACCESS_KEY_ID; check it"
	case "ExpiredToken", "InvalidToken", "TokenRefreshRequired":
		return "AWS_SESSION_TOKEN is no longer valid; renew it"
	case "RequestTimeTooSkewed":
		return "the clock of this machine differs too much from the store's; correct it"
	case "PermanentRedirect", "TemporaryRedirect", "AuthorizationHeaderMalformed",
		"AuthorizationQueryParametersError", "IllegalLocationConstraintException":
		if r.region != "" {
			return "the bucket is in another region; set region=" + r.region + " in the library URL"
		}
		return "the bucket is in another region; check region and endpoint in the library URL"
	}
	if r.status == http.StatusForbidden {
		return "the credentials lack permission or are wrong; check them"
	}
	return ""
}

// Is lets errors.Is match a refusal with the errors of a books.Store.
func (r *refusal) Is(target error) bool {
	switch target {
	case books.ErrNotFound:
		// Not the bucket, nor an account.
		return r.status == http.StatusNotFound && (r.code == "" || r.code == "NoSuchKey")
	case books.ErrPathConflict:
		// A gateway over a file system has folders.
		return r.code == "ObjectParentIsFile" || r.code == "ExistingObjectIsDirectory" || r.code == "KeyTooLongError"
	case errReplaced:
		return r.status == http.StatusPreconditionFailed || r.status == http.StatusConflict && r.code == "ConditionalRequestConflict" ||
			// Completed by an attempt whose answer was lost, or removed by someone.
			r.code == "NoSuchUpload"
	}
	return false
}

// changed reports whether the n-th attempt of a write failed because of concurrent changes. A
// gateway over a file system also returns books.ErrPathConflict if another client removes the last
// object in the same folder; if that error persists, there is an entry that the gateway does not
// list.
func changed(err error, n int) bool {
	return errors.Is(err, errReplaced) || errors.Is(err, books.ErrPathConflict) && n < tries
}

// has reports whether err is a refusal with this status.
func has(err error, status int) bool {
	r, ok := errors.AsType[*refusal](err)
	return ok && r.status == status
}

// isTemporary reports whether a failure may be temporary.
func isTemporary(err error) bool {
	r, ok := errors.AsType[*refusal](err)
	return !ok || isTemporaryStatus(r.status) // otherwise it is a network error
}

// isFull reports whether the store has no space left.
func isFull(err error) bool {
	r, ok := errors.AsType[*refusal](err)
	return ok && r.status == http.StatusInsufficientStorage
}

func isTemporaryStatus(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// failure converts an error of minio-go to one of our own.
func (e *exchange) failure(ctx context.Context, err error) error {
	var response minio.ErrorResponse
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case e.failed != nil:
		return e.failed
	case !errors.As(err, &response) || e.status < 300:
		return fmt.Errorf("read the answer of the S3 store to %s: %w", e.method, err)
	case e.method == http.MethodHead:
		response.Code = "" // minio-go invents one
	}
	return &refusal{method: e.method, status: e.status, code: safeWord(response.Code), region: safeWord(response.Region)}
}

// safeWord returns text if it looks like a name, and "" otherwise, so that no other part of an
// answer gets into an error.
func safeWord(text string) string {
	const characters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-"
	if len(text) > 64 || strings.Trim(text, characters) != "" {
		return ""
	}
	return text
}
