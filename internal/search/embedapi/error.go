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

// Error is why there are no embeddings, in words for whoever asked: without addresses, keys and what the service said.
type Error struct {
	Reason  string
	Refused bool  // the service does not take this text, or this model
	Cause   error // for the log; may be nil

	again bool          // another attempt may help
	after time.Duration // as the service asks
}

func (e *Error) Error() string { return e.Reason }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Cause }

func garbled(cause error) error {
	return &Error{Reason: "the service answered with something that is no embedding", Cause: cause}
}

// unreachable is a request without an answer. What the HTTP client says is left out as far as it has the address in it.
func unreachable(err error) error {
	if asked, ok := errors.AsType[*url.Error](err); ok {
		err = asked.Err
	}
	return &Error{Reason: "the service cannot be reached", Cause: err, again: true}
}

// refusal is an answer with another status than OK.
func refusal(answer *http.Response, now time.Time) error {
	status := answer.StatusCode
	switch {
	case status == http.StatusTooManyRequests:
		return &Error{Reason: "API rate limit exceeded", again: true, after: retryAfter(answer.Header, now)}
	case status >= 500 || status == http.StatusRequestTimeout:
		return &Error{Reason: fmt.Sprintf("the service answered %d", status), again: true, after: retryAfter(answer.Header, now)}
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return &Error{Reason: fmt.Sprintf("the service refused the key (%d)", status)}
	case status == http.StatusBadRequest || status == http.StatusRequestEntityTooLarge || status == http.StatusUnprocessableEntity:
		return &Error{Reason: fmt.Sprintf("the service answered %d", status), Refused: true}
	}
	return &Error{Reason: fmt.Sprintf("the service answered %d", status)}
}

// retryAfter is how long the service asks to be left alone: seconds, or a date.
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

// explain says of a failure what the caller is told.
func (c *Client) explain(ctx context.Context, err error, patience time.Duration) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return &Error{Reason: "canceled", Cause: context.Canceled}
	}
	if late := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded); late {
		return &Error{Reason: "timed out after " + rounded(patience), Cause: context.DeadlineExceeded}
	}
	if failed, ok := errors.AsType[*Error](err); ok {
		return failed
	}
	return &Error{Reason: "the service cannot be asked", Cause: err}
}

func rounded(d time.Duration) string {
	if d >= time.Second {
		return d.Round(100 * time.Millisecond).String()
	}
	return max(d, time.Millisecond).Round(time.Millisecond).String()
}
