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
	// errOther says that a condition did not hold, or that another write was under way.
	errOther = errors.New("the object is another one by now")
	// errDamaged says that somebody changed the content of an object and left what
	// describes it, as happens to the files behind a gateway.
	errDamaged = errors.New("the object does not have the SHA-256 that it was stored with: store it again, or remove x-amz-meta-sha256 from it")
)

// refusal is an answer of the store that is not what was asked for.
type refusal struct {
	method string
	status int
	code   string // the store's own word for it; a HEAD has none
	region string // where the bucket is, if the store tells
}

// Error tells what the store said in words of ours: its own may repeat signatures.
func (r *refusal) Error() string {
	text := fmt.Sprintf("the S3 store answers %s with %d", r.method, r.status)
	if r.code != "" {
		text += " " + r.code
	}
	if words := r.words(); words != "" {
		text += ": " + words
	}
	return text
}

// words say what a person can mend.
func (r *refusal) words() string {
	switch r.code {
	case "NoSuchBucket":
		return "there is no such bucket; make it, or mend the address of the library"
	case "AccessDenied", "AllAccessDisabled", "AccountProblem":
		return "the credentials do not allow it; they need to read, write, delete and list in the bucket"
	case "SignatureDoesNotMatch":
		return "AWS_SECRET_ACCESS_KEY does not belong to AWS_ACCESS_KEY_ID, or a proxy changes requests"
	case "InvalidAccessKeyId", "XAdminUserNotFound": // the word of versitygw
		return "the store does not know AWS_ACCESS_KEY_ID"
	case "ExpiredToken", "InvalidToken", "TokenRefreshRequired":
		return "AWS_SESSION_TOKEN is no longer good"
	case "RequestTimeTooSkewed":
		return "the clock of this machine differs from the store's by more than it allows"
	case "PermanentRedirect", "TemporaryRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException":
		if r.region != "" {
			return "the bucket is elsewhere; set region=" + r.region + " in the address of the library"
		}
		return "the bucket is elsewhere; look at region and endpoint in the address of the library"
	}
	if r.status == http.StatusForbidden {
		return "the credentials do not allow it, or do not fit"
	}
	return ""
}

// Is makes errors.Is find what a refusal means for an object.
func (r *refusal) Is(target error) bool {
	switch target {
	case books.ErrNotFound:
		return r.status == http.StatusNotFound && (r.code == "" || r.code == "NoSuchKey") // not the bucket, nor an account
	case books.ErrNoPlace:
		// A gateway over a file system has folders.
		return r.code == "ObjectParentIsFile" || r.code == "ExistingObjectIsDirectory" || r.code == "KeyTooLongError"
	case errOther:
		return r.status == http.StatusPreconditionFailed || r.status == http.StatusConflict && r.code == "ConditionalRequestConflict" ||
			r.code == "NoSuchUpload" // it was completed by a try whose answer got lost, or somebody removed it
	}
	return false
}

// changed tells a write that came to nothing, for the n-th time, because of what others
// did meanwhile. A gateway over a file system also finds no place for an object if somebody
// removes the last one beside it; if that goes on, something stands there that it does not list.
func changed(err error, n int) bool {
	return errors.Is(err, errOther) || errors.Is(err, books.ErrNoPlace) && n < tries
}

// has tells a refusal with this status.
func has(err error, status int) bool {
	r, ok := errors.AsType[*refusal](err)
	return ok && r.status == status
}

// passing tells a failure that may be gone a moment later.
func passing(err error) bool {
	r, ok := errors.AsType[*refusal](err)
	return !ok || passingStatus(r.status) // or it is the network
}

func passingStatus(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// failure says in our words why an operation of minio-go failed.
func (e *exchange) failure(ctx context.Context, err error) error {
	var told minio.ErrorResponse
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case e.failed != nil:
		return e.failed
	case !errors.As(err, &told) || e.status < 300:
		return fmt.Errorf("the answer of the S3 store to %s cannot be read: %w", e.method, err)
	case e.method == http.MethodHead:
		told.Code = "" // minio-go makes one up
	}
	return &refusal{method: e.method, status: e.status, code: word(told.Code), region: word(told.Region)}
}

// word lets through what looks like a name, so that nothing else of an answer gets into an error.
func word(text string) string {
	const characters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-"
	if len(text) > 64 || strings.Trim(text, characters) != "" {
		return ""
	}
	return text
}
