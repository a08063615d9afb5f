package otlp

import (
	"encoding/binary"
	"errors"
	"time"
)

// errWire is an answer that is no protobuf.
var errWire = errors.New("the answer is no protobuf")

// visitFields reads a message of protobuf: visit gets each field, with its number if it is
// a varint, with its bytes if it has a length.
func visitFields(message []byte, visit func(number uint64, n uint64, data []byte)) error {
	for len(message) > 0 {
		tag, read := binary.Uvarint(message)
		if read <= 0 || tag>>3 == 0 {
			return errWire
		}
		message = message[read:]
		var n uint64
		var data []byte
		switch tag & 7 {
		case wireVarint:
			if n, read = binary.Uvarint(message); read <= 0 {
				return errWire
			}
			message = message[read:]
		case wireLength:
			length, read := binary.Uvarint(message)
			if read <= 0 || length > uint64(len(message)-read) {
				return errWire
			}
			data, message = message[read:read+int(length)], message[read+int(length):]
		case wireFixed64, wireFixed32:
			width := 8
			if tag&7 == wireFixed32 {
				width = 4
			}
			if len(message) < width {
				return errWire
			}
			message = message[width:]
		default:
			return errWire
		}
		visit(tag>>3, n, data)
	}
	return nil
}

// partial is what an answer says of things that were refused.
type partial struct {
	rejected int64
	message  string
}

// readPartial reads the answer to an export; the three signals have the same fields.
func readPartial(body []byte) (p partial, err error) {
	var inner error
	err = visitFields(body, func(number, _ uint64, data []byte) {
		if number != 1 || inner != nil {
			return
		}
		inner = visitFields(data, func(number, n uint64, data []byte) {
			switch number {
			case 1:
				p.rejected = int64(n)
			case 2:
				p.message = string(data)
			}
		})
	})
	return p, errors.Join(err, inner)
}

// readStatus reads google.rpc.Status: what went wrong, and when to try again. ok is
// whether it says when.
func readStatus(body []byte) (message string, after time.Duration, ok bool) {
	err := visitFields(body, func(number, _ uint64, data []byte) {
		switch number {
		case 2:
			message = string(data)
		case 3:
			if delay, found := readRetryInfo(data); found {
				after, ok = delay, true
			}
		}
	})
	if err != nil {
		return "", 0, false
	}
	return message, after, ok
}

// readRetryInfo reads a detail of a status, if it is the one that says when to try again.
func readRetryInfo(detail []byte) (delay time.Duration, ok bool) {
	const kind = "type.googleapis.com/google.rpc.RetryInfo"
	var isInfo bool
	var info, span []byte
	err := visitFields(detail, func(number, _ uint64, data []byte) {
		switch number {
		case 1:
			isInfo = string(data) == kind
		case 2:
			info = data
		}
	})
	if err != nil || !isInfo {
		return 0, false
	}
	var seconds, nanos uint64
	err = visitFields(info, func(number, _ uint64, data []byte) {
		if number == 1 {
			span = data
		}
	})
	if err == nil {
		err = visitFields(span, func(number, n uint64, _ []byte) {
			switch number {
			case 1:
				seconds = n
			case 2:
				nanos = n
			}
		})
	}
	if err != nil || seconds > uint64(longestDelay/time.Second) || nanos >= uint64(time.Second) {
		return longestDelay, err == nil
	}
	return time.Duration(seconds)*time.Second + time.Duration(nanos), true
}

// longestDelay stands for whatever is longer than anybody waits.
const longestDelay = 24 * time.Hour
