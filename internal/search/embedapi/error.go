package embedapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"time"
)

// Error is the reason why there are no embeddings, in words for the caller: without addresses, keys
// and the text of the service's response.
type Error struct {
	Reason  string
	Refused bool  // the service does not accept this text, or this model
	Cause   error // for the log; may be nil

	retryable bool          // another attempt may succeed
	delay     time.Duration // requested by the service
}

func (e *Error) Error() string { return e.Reason }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

func invalidResponse(cause error) error {
	return &Error{Reason: "the service returned an invalid response", Cause: cause}
}

// unreachable returns the error of a request without a response. It leaves out the part of the HTTP
// client's error that contains the address.
func unreachable(err error) error {
	if asked, ok := errors.AsType[*url.Error](err); ok {
		err = asked.Err
	}
	return &Error{Reason: "the service cannot be reached", Cause: err, retryable: true}
}

// statusError returns the error of a response with a status other than 200.
func statusError(response *http.Response, now time.Time) error {
	status := response.StatusCode
	switch {
	case status == http.StatusTooManyRequests:
		return &Error{Reason: "API rate limit exceeded", retryable: true, delay: retryAfter(response.Header, now)}
	case status >= 500 || status == http.StatusRequestTimeout:
		return &Error{Reason: fmt.Sprintf("the service answered %d", status), retryable: true, delay: retryAfter(response.Header, now)}
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return &Error{Reason: fmt.Sprintf("the service refused the key (%d)", status)}
	case status == http.StatusBadRequest || status == http.StatusRequestEntityTooLarge || status == http.StatusUnprocessableEntity:
		return &Error{Reason: fmt.Sprintf("the service answered %d", status), Refused: true}
	}
	return &Error{Reason: fmt.Sprintf("the service answered %d", status)}
}

// retryAfter returns the delay that the service requests, in seconds or as a date.
func retryAfter(header http.Header, now time.Time) time.Duration {
	value := header.Get("Retry-After")
	if value == "" {
		return 0
	}
	if seconds, err := strconv.ParseFloat(value, 64); err == nil {
		if !(seconds > 0) {
			return 0
		}
		return time.Duration(min(seconds, 86_400) * float64(time.Second))
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return min(max(0, at.Sub(now)), 24*time.Hour)
}

// explain converts a failure to the error that the caller gets.
func (c *Client) explain(ctx context.Context, err error, timeout time.Duration) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return &Error{Reason: "canceled", Cause: context.Canceled}
	}
	if late := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded); late {
		return &Error{Reason: "timed out after " + rounded(timeout), Cause: context.DeadlineExceeded}
	}
	if failed, ok := errors.AsType[*Error](err); ok {
		return failed
	}
	return &Error{Reason: "the request for embeddings failed", Cause: err}
}

func rounded(d time.Duration) string {
	if d >= time.Second {
		return d.Round(100 * time.Millisecond).String()
	}
	return max(d, time.Millisecond).Round(time.Millisecond).String()
}
