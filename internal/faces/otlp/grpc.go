package otlp

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"remit/internal/engine/telemetry"
)

// frameHead is what stands before each message of gRPC: whether it is compressed,
// and its length.
const frameHead = 5

// callGRPC makes one unary call. Such a call is a POST over HTTP/2 whose outcome is
// in the trailers.
func (c *client) callGRPC(ctx context.Context, message []byte) error {
	r, err := c.request(ctx, "application/grpc", frame(message, c.gzip))
	if err != nil {
		return err
	}
	r.Header.Set("Te", "trailers")
	r.Header.Set("Grpc-Accept-Encoding", "identity")
	if c.gzip {
		r.Header.Set("Grpc-Encoding", "gzip")
	}
	if deadline, ok := ctx.Deadline(); ok {
		r.Header.Set("Grpc-Timeout", strconv.FormatInt(max(time.Until(deadline).Milliseconds(), 1), 10)+"m")
	}
	response, err := c.http.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	body, err := io.ReadAll(io.LimitReader(response.Body, longestAnswer))
	if err != nil {
		return &url.Error{Op: "Post", Err: err}
	}
	outcome := response.Trailer
	if response.Header.Get("Grpc-Status") != "" { // nothing but trailers
		outcome = response.Header
	}
	status := outcome.Get("Grpc-Status")
	switch {
	case response.StatusCode != http.StatusOK || status == "": // somebody in between, or no gRPC at all
		return c.refusedGRPC(response)
	case status == "0":
		return acceptedFrame(body)
	default:
		return failedGRPC(status, outcome)
	}
}

func frame(message []byte, zip bool) []byte {
	var flag byte
	if zip {
		message, flag = compress(message), 1
	}
	framed := make([]byte, frameHead, frameHead+len(message))
	framed[0] = flag
	binary.BigEndian.PutUint32(framed[1:], uint32(len(message)))
	return append(framed, message...)
}

// acceptedFrame reads the answer to a call that succeeded.
func acceptedFrame(body []byte) error {
	if len(body) < frameHead || body[0] != 0 || int(binary.BigEndian.Uint32(body[1:])) != len(body)-frameHead {
		return nil // it said yes
	}
	return accepted(body[frameHead:], "application/x-protobuf")
}

// refusedGRPC is an answer that no server of gRPC gave.
func (c *client) refusedGRPC(response *http.Response) error {
	if response.StatusCode == http.StatusOK {
		return fmt.Errorf("the other side does not speak gRPC; is %s for %s?", c.url.Host, overHTTP)
	}
	return c.refused(response, nil, "")
}

// The codes of gRPC after which the protocol wants another try.
const (
	grpcCancelled         = 1
	grpcDeadlineExceeded  = 4
	grpcResourceExhausted = 8 // only if the server says when
	grpcAborted           = 10
	grpcOutOfRange        = 11
	grpcUnavailable       = 14
	grpcDataLoss          = 15
)

func failedGRPC(status string, outcome http.Header) error {
	said := unescape(outcome.Get("Grpc-Message"))
	err := fmt.Errorf("the collector answers gRPC status %s: %s", clip(status), clip(said))
	after, told := time.Duration(0), false
	details := strings.TrimRight(outcome.Get("Grpc-Status-Details-Bin"), "=")
	if raw, bad := base64.RawStdEncoding.DecodeString(details); bad == nil {
		_, after, told = readStatus(raw)
	}
	code, _ := strconv.Atoi(status) // what is no number is no code to try again for
	switch code {
	case grpcCancelled, grpcDeadlineExceeded, grpcAborted, grpcOutOfRange, grpcUnavailable, grpcDataLoss:
		return &telemetry.RetryError{After: after, Err: err}
	case grpcResourceExhausted:
		if told {
			return &telemetry.RetryError{After: after, Err: err}
		}
	}
	return err
}

// unescape reads a message, which is percent-encoded; one that is not is taken as it is.
func unescape(message string) string {
	if plain, err := url.PathUnescape(message); err == nil {
		return plain
	}
	return message
}
